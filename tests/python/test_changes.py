"""Change data capture: Hudi's results in each mode, ranges, images, and unsupported queries.

Hudi's results of most queries of the bundled tables are compared in test_bundled_tables.
"""

import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import DATA, OPTIONS, TABLES, assert_same_result, case, image, rows

COLUMNS = ["op", "ts_ms", "before", "after"]
CHANGING = sorted(name for name in TABLES if "_cdc_" in name)
ODD, COW, PENDING = "h12_cdc_odd_data_before_after", "h12_cdc_cow_op_key_only", "h12_cdc_pending_data_before_after"
MODES = ("op_key_only", "data_before", "data_before_after")


def query_arguments(query):
    return {name: query["options"][option] for name, option in OPTIONS.items() if option in query["options"]}


def hudi_results(name):
    return [query for query in case(name)["queries"] if query["type"] == "cdc"]


def expected(name, query):
    return pq.read_table(DATA / name / query["expected"])


def open_table(name, table_of, **options):
    semantics = "0.x" if case(name)["hudi_version"].startswith("0.") else "1.x"
    return mortice.Table(table_of(name), read_options=mortice.ReadOptions(semantics=semantics, **options))


def all_changes(name, table_of, **options):
    return open_table(name, table_of, **options).changes("000").to_arrow()


OLD = [
    (name, query)
    for name in CHANGING
    if name.startswith("h015_")
    for query in hudi_results(name)
    if "quirk" not in query
]


@pytest.mark.parametrize(("name", "query"), OLD, ids=[f"{name}-{query['id']}" for name, query in OLD])
def test_images_with_semantics_0_x_equal_those_of_0_15(name, query, table_of):
    actual = open_table(name, table_of).changes(**query_arguments(query)).to_arrow()
    assert_same_result(expected(name, query), actual, ordered=False)


@pytest.mark.parametrize("mode", MODES)
def test_images_of_every_type_equal_hudis(mode, table_of):
    name = f"h12_cdc_types_{mode}"
    theirs = by_change(expected(name, hudi_results(name)[0]))
    ours = by_change(all_changes(name, table_of))
    assert theirs.keys() == ours.keys()
    assert len(theirs) == 34
    for change, images in theirs.items():
        for their, our in zip(images, ours[change], strict=True):
            assert without_decimals(their, our) == our, change


def by_change(table):
    found = {}
    for row in table.to_pylist():
        images = [json.loads(row[name]) if row[name] else None for name in ("before", "after")]
        key = next(one["id"] for one in reversed(images) if one)
        found[row["ts_ms"], row["op"], key] = [json.dumps(one, sort_keys=True) for one in images]
    return found


def without_decimals(their, our):
    """Returns Hudi's image with our decimals, of which Hudi's image only has whether they are zero; this is
    compared."""

    def replace_decimals(one, other):
        if isinstance(one, dict) and set(one) == {"zero"}:
            assert isinstance(other, (int, float))
            assert one["zero"] == (other == 0)
            return other
        if isinstance(one, dict) and isinstance(other, dict):
            return {name: replace_decimals(value, other.get(name)) for name, value in one.items()}
        if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            return [replace_decimals(*both) for both in zip(one, other, strict=True)]
        return one

    return json.dumps(replace_decimals(json.loads(their), json.loads(our)), sort_keys=True)


@pytest.mark.parametrize("name", CHANGING)
def test_changes_of_single_commits_add_up_to_those_of_the_range(name, table_of):
    table = open_table(name, table_of)
    bounds = sorted(instant.completion_time or instant.requested_time for instant in table.timeline.completed)
    parts = [table.changes(begin, end).to_arrow() for begin, end in zip(["000", *bounds], bounds, strict=False)]
    whole = table.changes("earliest").to_arrow()
    assert whole.num_rows > 0
    assert_same_result(whole, pa.concat_tables(parts), ordered=False)
    assert {commit for part in parts for commit in part["ts_ms"].to_pylist()} == set(whole["ts_ms"].to_pylist())


def test_changes_of_archived_commits_equal_those_of_active_ones(table_of):
    """Hudi's result was read after each commit; Hudi does not read the archive."""
    name = "h12_cdc_archived_data_before"
    table = open_table(name, table_of)
    parts = pa.concat_tables([expected(name, query) for query in hudi_results(name)])
    assert_same_result(parts, table.changes("000").to_arrow(), ordered=False)
    active = {file.name.split("_")[0] for file in table_of(name).glob(".hoodie/timeline/*_*.deltacommit")}
    assert set(parts["ts_ms"].to_pylist()) - active


@pytest.mark.parametrize("name", CHANGING)
def test_applying_all_changes_results_in_the_snapshot(name, table_of):
    """Applies the changes one by one to rows by partition and key."""
    table = open_table(name, table_of)
    place = "city" if "city" in table.snapshot().schema.names else "part"
    state = {}
    for change in sorted(table.changes("000").to_arrow().to_pylist(), key=lambda one: (one["ts_ms"], one["op"])):
        before, after = (json.loads(change[name] or "null") for name in ("before", "after"))
        where = ((after or before).get(place, ""), (after or before)["id"])
        if change["op"] == "d":
            state.pop(where, None)
        else:
            state[where] = after["ts"]
    rows_now = table.snapshot(columns=[place, "id", "ts"]).to_arrow().to_pylist()
    assert {(row[place], row["id"]): row["ts"] for row in rows_now} == state


@pytest.mark.parametrize("name", [ODD, COW, "h12_cdc_types_op_key_only", "h12_cdc_types_data_before_after"])
@pytest.mark.parametrize("options", [{"batch_rows": 1}, {"memory_limit": 1 << 16}, {"threads": 1}], ids=str)
def test_changes_do_not_depend_on_the_memory_limit(name, options, table_of):
    scan = open_table(name, table_of, **options).changes("000")
    batches = list(scan.to_reader())
    assert max(batch.num_rows for batch in batches) <= options.get("batch_rows", 65536)
    assert_same_result(all_changes(name, table_of), pa.Table.from_batches(batches), ordered=False)


def test_columns_and_filters_apply_to_change_rows(table_of):
    table = mortice.Table(table_of(ODD))
    whole = table.changes("000")
    assert whole.schema.names == COLUMNS
    deleted = table.changes("000", columns=["before", "op"], filters=[("op", "=", "d")])
    assert deleted.schema.names == ["before", "op"]
    deletes = [one for one in whole.to_arrow().to_pylist() if one["op"] == "d"]
    assert Counter(deleted.to_arrow()["before"].to_pylist()) == Counter(one["before"] for one in deletes)
    assert deleted.count() == len(deletes) > 0
    commit = deletes[0]["ts_ms"]
    of_commit = table.changes("000", filters=[("ts_ms", "=", commit)]).to_arrow()
    assert set(of_commit["ts_ms"].to_pylist()) == {commit}
    for wrong in ({"columns": ["id"]}, {"filters": [("id", "=", "k001")]}):
        with pytest.raises(mortice.InvalidArgumentError, match="id"):
            table.changes("000", **wrong)


def test_an_empty_range_has_the_schema_of_changes(table_of):
    scan = mortice.Table(table_of(ODD)).changes("99991231235959000")
    assert scan.splits() == []
    assert scan.count() == 0
    assert scan.to_arrow().schema.names == COLUMNS
    assert "changes" in scan.explain()


def test_images_are_compact_json_in_the_order_of_columns(table_of):
    table = mortice.Table(table_of(ODD))
    after = next(text for text in table.changes("000").to_arrow()["after"].to_pylist() if text and "note" in text)
    assert after == json.dumps(json.loads(after), separators=(",", ":"))
    assert list(json.loads(after)) == [name for name in table.schema.names if name != "_hoodie_is_deleted"]


def test_compaction_and_clustering_have_no_changes(table_of):
    table = mortice.Table(table_of(ODD))
    services = {one.requested_time for one in table.timeline.completed if one.action in ("commit", "replacecommit")}
    commits = set(table.changes("000").to_arrow()["ts_ms"].to_pylist())
    overwriting = {step["instant"] for step in case(ODD)["steps"] if "over" in step["what"] or "part" in step["what"]}
    assert services & commits <= overwriting
    assert services - overwriting


def test_a_missing_base_file_is_an_error_of_the_read(copy_of):
    path = copy_of(PENDING)
    next(path.glob("*.parquet")).unlink()
    scan = mortice.Table(path).changes("000")
    with pytest.raises(mortice.FileCleanedError) as raised:
        scan.to_arrow()
    assert raised.value.path.endswith(".parquet")
    assert raised.value.instant


def test_missing_replaced_files_are_an_error_of_the_plan(copy_of):
    path = copy_of(ODD)
    table = mortice.Table(path)
    replaced = [step["instant"] for step in case(ODD)["steps"] if "insert_overwrite" in step["what"]]
    earlier = {split.file_id for split in table.snapshot(as_of=case(ODD)["steps"][0]["instant"]).splits()}
    for file_id in earlier:
        for file in [*path.glob(f"*/{file_id}*"), *path.glob(f"*/.{file_id}*")]:
            file.unlink()
    with pytest.raises(mortice.FileCleanedError) as raised:
        mortice.Table(path).changes("000")
    assert raised.value.instant in replaced
    last = max(table.timeline.completed, key=lambda one: one.completion_time)
    before = sorted(one.completion_time for one in table.timeline.completed)[-2]
    assert mortice.Table(path).changes(before, last.completion_time).count() > 0


def test_a_missing_change_log_is_an_error(copy_of):
    path = copy_of(COW)
    for log in path.rglob(".*.cdc"):
        log.unlink()
    with pytest.raises(mortice.FileCleanedError) as raised:
        mortice.Table(path).changes("000").to_arrow()
    assert raised.value.path.endswith(".cdc")


def test_a_table_without_change_log_is_an_error(table_of):
    with pytest.raises(mortice.UnsupportedError, match=r"hoodie\.table\.cdc\.enabled"):
        mortice.Table(table_of("h11_event_time_deletes")).changes("000")


@pytest.mark.parametrize("begin", [None, "yesterday", ""])
def test_bounds_must_be_instants(begin, table_of):
    with pytest.raises(mortice.InvalidArgumentError):
        mortice.Table(table_of(ODD)).changes(begin)


def test_a_missing_image_of_a_change_log_is_the_string_null(table_of):
    changes = all_changes("h12_cdc_types_data_before_after", table_of).to_pylist()
    assert {one["before"] for one in changes if one["op"] == "i"} == {None, "null"}


def test_changes_do_not_depend_on_the_slice_in_the_commit_metadata(copy_of):
    """Up to table version 7 metadata is JSON. Without file slices in it, files are listed."""
    name = "h015_cdc_odd_op_key_only"
    path = copy_of(name)
    with_slices = open_table(name, lambda _: path).changes("000").to_arrow()
    for file in path.glob(".hoodie/*.deltacommit"):
        metadata = json.loads(file.read_text(encoding="utf-8"))
        stats = [one for some in metadata["partitionToWriteStats"].values() for one in some]
        for stat in stats:
            stat.pop("baseFile", None)
            stat.pop("logFiles", None)
        file.write_text(json.dumps(metadata), encoding="utf-8")
    without_slices = open_table(name, lambda _: path).changes("000").to_arrow()
    assert rows(without_slices.select(["op", "ts_ms", "after"])) == rows(with_slices.select(["op", "ts_ms", "after"]))
    assert Counter(map(image, without_slices["before"].to_pylist())) == Counter(
        map(image, with_slices["before"].to_pylist())
    )
