"""Tables of Hudi 0.15 read with `semantics="0.x"`: rows, types and the order of columns equal those of 0.15."""

import json
import zipfile

import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import DATA, OPTIONS, assert_same_result

CASES = DATA / "by_0_15"
UNAVAILABLE = "unavailable_values"
# 0.15 returns null for partition columns that the files of these tables lack; mortice returns the values of the path.
NULLS_OF_0_15 = {"partition_columns_cow_dropped": ("b", "a")}


def case_metadata(name):
    return json.loads((CASES / name / "case.json").read_text(encoding="utf-8"))["queries"]


QUERIES = [
    pytest.param(folder.name, query, id=f"{folder.name}-{query['id']}")
    for folder in sorted(CASES.iterdir())
    for query in case_metadata(folder.name)
]


@pytest.fixture(scope="module")
def extracted_tables(tmp_path_factory):
    """Returns the directory of a case's table, by the case's name."""
    root = tmp_path_factory.mktemp("by_0_15")
    for folder in CASES.iterdir():
        with zipfile.ZipFile(folder / "table.zip") as archive:
            archive.extractall(root / folder.name)
    return root.joinpath


def read(table, query, **more):
    arguments = {name: query["options"][option] for name, option in OPTIONS.items() if option in query["options"]}
    methods = {"read_optimized": table.read_optimized, "incremental": table.incremental}
    return methods.get(query["type"], table.snapshot)(**arguments, **more).to_arrow()


@pytest.mark.parametrize(("name", "query"), QUERIES)
def test_rows_equal_those_of_0_15(name, query, extracted_tables):
    expected = pq.read_table(CASES / name / f"{query['id']}.parquet")
    actual = read(mortice.Table(extracted_tables(name), read_options=mortice.ReadOptions(semantics="0.x")), query)
    assert actual.column_names == expected.column_names
    if query["type"] == "incremental" and name in NULLS_OF_0_15:
        columns = NULLS_OF_0_15[name]
        assert all(expected[column].null_count == expected.num_rows for column in columns)
        assert all(actual[column].null_count == 0 for column in columns)
        expected, actual = expected.drop_columns(columns), actual.drop_columns(columns)
    assert_same_result(expected, actual, ordered=True)


@pytest.mark.parametrize(("name", "query"), [one for one in QUERIES if one.values[0].startswith("partition_columns")])
def test_projected_columns_keep_the_requested_order(name, query, extracted_tables):
    table = mortice.Table(extracted_tables(name), read_options=mortice.ReadOptions(semantics="0.x"))
    assert read(table, query, columns=["b", "id", "a"]).column_names == ["b", "id", "a"]


ASKED_1_2 = [query for query in case_metadata(UNAVAILABLE) if query["id"] in {"snapshot", "time_travel", "incr_all"}]


@pytest.mark.parametrize("query", ASKED_1_2, ids=lambda query: query["id"])
def test_semantics_1_x_fills_no_unavailable_values_by_the_payload_class(query, extracted_tables):
    result = CASES / UNAVAILABLE / f"{query['id']}_by_1_2.parquet"
    assert_same_result(pq.read_table(result), read(mortice.Table(extracted_tables(UNAVAILABLE)), query), ordered=True)


def test_first_value_is_refused_where_hudi_has_removed_it(extracted_tables):
    with pytest.raises(mortice.UnsupportedError, match=r"FirstValueAvroPayload.*semantics=\"0\.x\".*register_merger"):
        mortice.Table(extracted_tables("first_value")).snapshot()
