"""Spark's writes and merges under each index: the rows are those of one process, and of Hudi's rule."""

import pytest

import mortice
import mortice.spark
from mortice.errors import InvalidArgumentError
from support.key_places import (
    DDL,
    GIVEN_FARE,
    INDEXES,
    STORED,
    given,
    places_deleted,
    places_inserted,
    places_upserted,
    rows_of,
    stored_table,
    tuples,
)

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
BY_PLACE = "t.id = s.id AND t.city = s.city"
SPARK_CASES = [
    ("record index", "mor-9", "0"),
    pytest.param("record index", "cow-9", "100000000", marks=pytest.mark.slow),
    pytest.param("record index", "mor-9 by commit time", "100000000", marks=pytest.mark.slow),
    pytest.param("record index, moves", "mor-8", "0", marks=pytest.mark.slow),
    pytest.param("record index", "mor-6", "100000000", marks=pytest.mark.slow),
    ("global simple", "mor-9", "100000000"),
    pytest.param("global bloom, stays", "cow-6", "100000000", marks=pytest.mark.slow),
    ("simple", "mor-9", "0"),
    ("bucket", "mor-9", "100000000"),
]
"""Index, kind of the table, and bytes of rows that the driver's process may write without tasks."""


def merged(frame, uri, options):
    mortice.spark.merge(frame, uri, BY_PLACE, options).when_not_matched_insert().execute()


def merged_into(frame, uri, options):
    mortice.spark.merge_into(frame, uri, on=["id", "city"], when_matched_update=[], options=options)


@pytest.mark.parametrize(("index", "kind", "driver_bytes"), SPARK_CASES)
def test_rows_are_where_hudi_has_them(spark, tmp_path, index, kind, driver_bytes):
    options = INDEXES[index][0]
    of_spark = options | {"mortice.write.driver.bytes": driver_bytes}

    def frame(leaving_out=()):
        return spark.createDataFrame(tuples(given(leaving_out)), DDL).repartition(2)

    def fresh(name):
        return stored_table(tmp_path / name, index, kind).uri

    uri = fresh("upserted")
    mortice.spark.write(frame(), uri, "upsert", options=of_spark)
    assert rows_of(uri) == places_upserted(index)
    uri = fresh("merged")
    mortice.spark.merge(frame(), uri, "id", of_spark, when_matched_update={"fare": "s.fare"})
    assert rows_of(uri) == STORED | dict.fromkeys([("same", "oslo"), ("other", "oslo")], GIVEN_FARE)
    mortice.spark.write(frame(), uri, "delete", options=of_spark)
    assert set(rows_of(uri)) == set(places_deleted(index))
    for insert in (merged, merged_into):
        uri = fresh(f"of {insert.__name__}")
        if places_inserted(index) is None:
            with pytest.raises(InvalidArgumentError, match="though no stored row matches it"):
                insert(frame(), uri, of_spark)
            assert rows_of(uri) == STORED
            insert(frame(["other"]), uri, of_spark)
            assert rows_of(uri) == places_inserted(index, ["other"])
        else:
            insert(frame(), uri, of_spark)
            assert rows_of(uri) == places_inserted(index)


@pytest.mark.filterwarnings("ignore:mortice does not know the option hoodie:UserWarning")
@pytest.mark.parametrize("index", ["global simple", "simple", "bucket"])
def test_an_insert_of_a_merge_in_sql_changes_no_stored_row(spark, tmp_path, index):
    table = stored_table(tmp_path / "t", index, "mor-9")
    given = ", ".join(f"'{name}' '{value}'" for name, value in INDEXES[index][0].items())
    mortice.spark.sql(spark, f"CREATE TEMPORARY VIEW of_index USING mortice OPTIONS (path '{table.uri}', {given})")
    text = (
        "MERGE INTO of_index t USING (SELECT 'other' AS id, 'oslo' AS city, 2.0D AS fare, 5L AS ts) s "
        "ON t.id = s.id AND t.fare = s.fare WHEN NOT MATCHED THEN INSERT *"
    )
    try:
        with pytest.raises(InvalidArgumentError, match="though no stored row matches it"):
            mortice.spark.sql(spark, text)
        elsewhere = text.replace("'oslo'", "'rome'")
        if INDEXES[index][1]:
            with pytest.raises(InvalidArgumentError, match="though no stored row matches it"):
                mortice.spark.sql(spark, elsewhere)
            assert rows_of(table.uri) == STORED
        else:
            mortice.spark.sql(spark, elsewhere)
            assert rows_of(table.uri) == STORED | {("other", "rome"): 2.0}
    finally:
        mortice.spark.sql(spark, "DROP VIEW of_index")
