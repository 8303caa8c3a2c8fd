"""Results of writes and services: values that can be compared, copied and sent to other processes."""

import copy
import dataclasses
import pickle

import pyarrow as pa
import pytest

import mortice

STATS = mortice.FileGroupStats("city=oslo", "f-0", "city=oslo/f-0.parquet", 2048, 3_000, 1_200, 5, 0)
CHANGE = mortice.SchemaChange("rider.age", pa.int32(), pa.list_(pa.timestamp("us", "UTC")))
COMMIT = mortice.Commit(
    instant="20240101120000000",
    completion_time=None,
    operation="UPSERT",
    stats=[STATS],
    errors=[mortice.RowError(None, "row 3: no key")],
    error_count=1,
    schema_changes=[CHANGE],
)
FINDING = mortice.Finding("orphan_file", "city=oslo/f-1.parquet", "no instant accounts for it", 7)
SLICE = mortice.PlannedSlice("", "f-0", None, 0, ["log.1", "log.2"], 9)
ROLLED_BACK = mortice.RollbackResult("1", "commit", "INFLIGHT", None, [("x.parquet", 4)], [])
RESULTS = [
    STATS,
    CHANGE,
    COMMIT,
    FINDING,
    SLICE,
    ROLLED_BACK,
    mortice.CommitEvent("/lake/trips", COMMIT),
    mortice.DataFile("p/f-0.parquet", 7),
    mortice.FileSlice("p", "f-0", "1", mortice.DataFile("p/f-0.parquet", 7), [mortice.DataFile("p/.f-0.log.1", 2)]),
    mortice.Instant("1", None, "commit", "INFLIGHT"),
    mortice.Synced("default", "trips", True, False, 2, 0),
    mortice.ArchiveResult([mortice.ArchivedInstant("1", "2", "clean", [("1.clean", 5)])]),
    mortice.ExpireResult("1", [mortice.ExpiredPartition("p", "0")]),
    mortice.CleanResult([mortice.Clean(None, [mortice.CleanedFile("x.parquet", 4_096)], ["p"], "1")]),
    mortice.ClusterResult("1", [COMMIT]),
    mortice.ClusteringGroup(None, "p", ["f-0", "f-1"], 2, 10, 1),
    mortice.CompactResult(None, []),
    mortice.MetadataResult(["files"], ["files"], [], 1, 2, []),
    mortice.PlannedCompaction("1", [SLICE]),
    mortice.RepairResult([FINDING], [], COMMIT),
    mortice.RestoreResult("1", "2", [ROLLED_BACK]),
    mortice.SavepointResult("1", None, {"p": {"x.parquet": 4}}),
    mortice.VerifyResult([FINDING], ["1"], 1, 7, None),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda one: type(one).__name__)
def test_results_are_values(result):
    kind = type(result)
    assert getattr(mortice, kind.__name__) is kind is getattr(mortice._mortice, kind.__name__)
    assert kind.__module__ == "mortice"
    for same in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), result.__replace__()):
        assert (same, hash(same), repr(same)) == (result, hash(result), repr(result))
    field = kind.__match_args__[0]
    changed = result.__replace__(**{field: [] if isinstance(getattr(result, field), list) else "other"})
    assert changed != result
    with pytest.raises(AttributeError):
        setattr(result, field, None)
    assert list(result.to_dict()) == list(kind.__match_args__)
    # Programs that took them for dataclasses, which they were, go on to.
    assert list(dataclasses.asdict(result)) == list(kind.__match_args__)
    assert dataclasses.replace(result) == result
    with pytest.raises(TypeError):
        kind(unknown=1)


def test_a_dict_has_the_results_within_a_result_as_dicts():
    assert mortice.CompactResult("1", [COMMIT]).to_dict()["commits"][0]["stats"] == [
        {
            "partition": "city=oslo",
            "file_id": "f-0",
            "path": "city=oslo/f-0.parquet",
            "file_bytes": 2048,
            "rows_written": 3_000,
            "inserts": 1_200,
            "updates": 5,
            "deletes": 0,
        }
    ]


def test_what_is_shown_of_results():
    shown = "Commit(20240101120000000, UPSERT: 1,200 inserted, 5 updated in 1 file, 1 not written)"
    assert repr(COMMIT) == str(COMMIT) == shown
    assert shown in COMMIT._repr_html_()
    assert repr(COMMIT.errors) == "[RowError(record_key=None, message='row 3: no key')]"
    assert repr(CHANGE) == f"SchemaChange(column='rider.age', before={pa.int32()!r}, after={CHANGE.after!r})"
    clean = mortice.CleanResult([mortice.Clean(None, [mortice.CleanedFile("x", 4_096)], ["p"], "1")])
    assert (
        repr(clean)
        == "CleanResult(cleans=[Clean(not run: 1 files, 4,096 bytes; 1 partitions; earliest 1)], reason=None)"
    )
    assert ">repair</td>" in mortice.VerifyResult([FINDING], [], 1, 7, None)._repr_html_()


def test_terminals_get_no_control_characters_of_a_table():
    assert "\x1b" not in repr(COMMIT.__replace__(operation="\x1b[31m"))
    assert "\x1b" not in repr(mortice.Finding("orphan_file", "\x1b[31m", "", None))


def test_the_types_of_changed_columns_are_those_of_pyarrow():
    assert (CHANGE.before, CHANGE.after) == (pa.int32(), pa.list_(pa.timestamp("us", "UTC")))
    with pytest.raises(AttributeError):
        mortice.SchemaChange("a", None, "int32")
