"""The types of Hudi 1.2: VECTOR, BLOB, VARIANT. Hudi's results are compared in test_bundled_tables."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import DATA, assert_same_result, hudi_result, logs_of, with_properties

VECTORS = ["h12_vectors", "h12_vectors_parquet_logs"]
SHAPES = {
    "f": ("VECTOR(3)", pa.float32()),
    "d": ("VECTOR(2, DOUBLE)", pa.float64()),
    "i": ("VECTOR(4, INT8)", pa.int8()),
}
VARIANT = "h12_test_jar_variant_mor_avro"


def hudi_types(schema):
    return {field.name: field.metadata[b"hudi_type"].decode() for field in schema if field.metadata}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_lists_with_hudi_type_metadata(name, table_of):
    scan = mortice.Table(table_of(name)).snapshot()
    for schema in (scan.schema, scan.to_arrow().schema, scan.splits()[0].to_reader().schema):
        assert {column: schema.field(column).type.value_type for column in SHAPES} == {
            column: kind for column, (_, kind) in SHAPES.items()
        }
        assert hudi_types(schema) == {"b": "BLOB"} | {column: text for column, (text, _) in SHAPES.items()}


@pytest.mark.parametrize("name", VECTORS)
def test_log_records_have_vectors_as_lists(name, table_of):
    rows = []
    for log in logs_of(table_of(name)):
        file = mortice.LogFile(log)
        for block in file.blocks():
            if "DATA" in block.type:
                records = file.records(block)
                assert (
                    hudi_types(records.schema).items()
                    <= ({"b": "BLOB"} | {c: t for c, (t, _) in SHAPES.items()}).items()
                )
                rows += [row for row in records.to_pylist() if row.get("i")]
    assert [row["i"] for row in rows if row["id"] == 2] == [[-128, 127, 2, 2]]
    assert [row["d"] for row in rows if row["id"] == 3] == [[0.1, 1.0]]
    assert all(math.isnan(row["f"][1]) for row in rows)


def test_partial_updates_equal_hudis_compaction(table_of):
    table = mortice.Table(table_of("h12_vectors"))
    *_, before, compaction = table.timeline.active.completed
    assert (before.action, compaction.action) == ("deltacommit", "commit")
    merged = table.snapshot(as_of=before.requested_time)
    assert any(slice_.log_files for slice_ in table.file_slices(as_of=before.requested_time))
    names = [name for name in merged.schema.names if not name.startswith("_hoodie")]
    assert_same_result(hudi_result("h12_vectors").select(names), merged.to_arrow().select(names))


def test_filters_on_vectors_only_test_for_null(table_of):
    table = mortice.Table(table_of("h12_vectors"))
    every = table.snapshot(columns=["id", "f"]).to_arrow().to_pylist()
    for operator, is_null in (("is null", True), ("is not null", False)):
        found = table.snapshot(columns=["id"], filters=[("f", operator)]).to_arrow()["id"].to_pylist()
        assert sorted(found) == sorted(row["id"] for row in every if (row["f"] is None) == is_null)
        assert found
    with pytest.raises(mortice.InvalidArgumentError, match="only be tested"):
        table.snapshot(filters=[("f", "=", 1.0)]).to_arrow()


def with_base_column(path, name, change):
    """Rewrites the base file of a table with one column changed."""
    base = max(path.glob("*.parquet"), key=lambda file: file.name.rsplit("_", 1)[1])
    rows = pq.read_table(base)
    at = rows.schema.get_field_index(name)
    pq.write_table(rows.set_column(at, name, change(rows[name].combine_chunks())), base)


@pytest.mark.parametrize(
    ("stored", "error"), [(pa.binary(8), mortice.InvalidTableError), (pa.binary(), mortice.UnsupportedError)], ids=str
)
def test_stored_vectors_of_a_wrong_size_are_refused_by_name(stored, error, copy_of):
    path = copy_of("h12_vectors")
    with_base_column(path, "f", lambda column: pa.array([b"8 bytes."] * len(column), stored))
    with pytest.raises(error, match=r"column f is a VECTOR\(3\)"):
        mortice.Table(path).snapshot().to_arrow()
    assert mortice.Table(path).snapshot(columns=["id", "d"]).to_arrow().num_rows == 5


def test_shredded_variants_are_refused_by_name(copy_of):
    path = copy_of(VARIANT)

    def shredded(column):
        children = {"value": column.field("value"), "metadata": column.field("metadata")}
        children["typed_value"] = pa.nulls(len(column), pa.int64())
        return pa.StructArray.from_arrays(list(children.values()), list(children))

    with_base_column(path, "v", shredded)
    with pytest.raises(mortice.UnsupportedError, match="column v: unsupported shredded VARIANT"):
        mortice.Table(path).snapshot().to_arrow()
    assert mortice.Table(path).snapshot(columns=["id"]).to_arrow().num_rows == 1


def test_changes_of_vectors_are_refused_by_name(copy_of):
    path = copy_of("h12_vectors")
    with_properties(path, {"hoodie.table.cdc.enabled": "true", "hoodie.table.checksum": None})
    with pytest.raises(mortice.UnsupportedError, match=r"VECTOR\(3\).*incremental"):
        mortice.Table(path).changes("earliest").to_arrow()


def vector_schema():
    vector = {
        "type": "fixed",
        "name": "v3",
        "size": 12,
        "logicalType": "vector",
        "dimension": 3,
        "elementType": "FLOAT",
    }
    fields = [{"name": "k", "type": "string"}, {"name": "v", "type": ["null", vector], "default": None}]
    return json.dumps({"type": "record", "name": "r", "fields": fields})


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.float32())], ids=str
)
@pytest.mark.parametrize("form", ["avro", "parquet"])
def test_lists_are_written_as_vectors(form, kind, tmp_path):
    rows = pa.table({"k": ["a", "b"], "v": pa.array([[1.5, -0.0, 2.0], None], kind)})
    with mortice.LogWriter(tmp_path, "f-0", "001") as log:
        log.write_records(rows, schema=vector_schema(), format=form)
        path = tmp_path / log.path
    file = mortice.LogFile(path)
    (block,) = file.blocks()
    records = file.records(block)
    assert records.to_pylist() == rows.to_pylist()
    assert hudi_types(records.schema) == {"v": "VECTOR(3)"}


@pytest.mark.parametrize("value", [[1.0, 2.0], [1.0, 2.0, None], []], ids=str)
def test_lists_that_are_not_vectors_are_refused(value, tmp_path):
    rows = pa.table({"k": ["a"], "v": pa.array([value], pa.list_(pa.float32()))})
    with (
        pytest.raises(mortice.InvalidArgumentError, match=r"v: .*VECTOR\(3\)"),
        mortice.LogWriter(tmp_path, "f-0", "001") as log,
    ):
        log.write_records(rows, schema=vector_schema())


def test_rows_with_vectors_are_merged(table_of):
    rows = mortice.Table(table_of("h12_vectors")).snapshot(columns=["id", "f", "ts"]).to_arrow()
    newer = pa.table({"id": [2], "f": pa.array([[7.0, 8.0, 9.0]], pa.list_(pa.float32())), "ts": [99]})
    merged = mortice.merge(rows, newer, record_key="id", ordering="ts")
    found = {row["id"]: row["f"] for row in merged.to_pylist()}
    assert found[2] == [7.0, 8.0, 9.0]
    assert set(found) == set(rows["id"].to_pylist())


ARCHIVES = {
    "hudi_0_8_0": (1, {"20250825152246": 3, "20250825152516": 0}),
    "hudi_0_13_0": (
        5,
        {"20250825153407576": 3, "20250825153420441": 0, "20250825153424509": 0, "20250825153427613": 0},
    ),
}
"""Table version, and each archived commit with the files that it started, as Hudi 1.2 reads them."""


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_from_hudis_own_tests(name, tmp_path):
    version, commits = ARCHIVES[name]
    folder = tmp_path / ".hoodie" / "archived"
    folder.mkdir(parents=True)
    (folder / ".commits_.archive.1_1-0-1").write_bytes((DATA / "archives" / f"{name}.archive").read_bytes())
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": version,
        "hoodie.timeline.layout.version": 1,
        "hoodie.archivelog.folder": "archived",
    }
    lines = [f"{key}={value}" for key, value in properties.items()]
    (tmp_path / ".hoodie" / "hoodie.properties").write_text("\n".join(lines))
    # Instants that are not older than all active ones were not archived.
    (tmp_path / ".hoodie" / "20990101000000000.commit").write_text("{}")
    timeline = mortice.Table(tmp_path).timeline
    assert [(one.requested_time, one.action) for one in timeline.archived] == [(time, "commit") for time in commits]
    partitions = {"americas/united_states/san_francisco", "americas/brazil/sao_paulo", "asia/india/chennai"}
    for one in timeline.archived:
        commit_metadata = timeline.metadata(one)
        written = [stat for stats in commit_metadata["partitionToWriteStats"].values() for stat in stats]
        assert set(commit_metadata["partitionToWriteStats"]) == partitions
        assert sum(stat["numWrites"] for stat in written) == 10
        assert sum(stat["prevCommit"] == "null" for stat in written) == commits[one.requested_time]
