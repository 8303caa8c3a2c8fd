"""Kinds of bucket indexes: numbers of buckets by partition, and consistent hashing. Hudi's: tests/spark."""

import json

import pyarrow as pa
import pytest

import mortice

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("v", pa.int64()), ("ts", pa.int64())])
PLAIN = {"hoodie.metadata.enable": "false", "hoodie.clean.automatic": "false", "hoodie.index.type": "BUCKET"}
COUNTS = PLAIN | {"hoodie.bucket.index.num.buckets": "2", "hoodie.bucket.index.partition.expressions": "^lim.,5;os,1"}
RINGS = PLAIN | {"hoodie.index.bucket.engine": "CONSISTENT_HASHING", "hoodie.bucket.index.num.buckets": "2"}
SPLIT = {"hoodie.bucket.index.max.num.buckets": "4", "hoodie.bucket.index.split.threshold": "0"}
MERGE = {"hoodie.bucket.index.min.num.buckets": "1", "hoodie.bucket.index.split.threshold": "9"}
MERGE |= {"hoodie.bucket.index.merge.threshold": "9"}
FOLDER = ".hoodie/.bucket_index"


def rows(numbers, ts, city=None):
    cities = [city or ("lima", "oslo", "rome")[number % 3] for number in numbers]
    return pa.table([[f"k{number}" for number in numbers], cities, list(numbers), [ts] * len(cities)], schema=SCHEMA)


def create(path, **more):
    return mortice.create_table(path, SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts", **more)


def content(table):
    found = table.to_arrow()
    return sorted(zip(found["id"].to_pylist(), found["ts"].to_pylist(), strict=True))


def buckets(path, city):
    return {file.name[:8] for file in (path / city).glob("*.parquet")}


def nodes(path, city):
    """The prefixes of the newest ring's file groups, by value."""
    newest = max((path / FOLDER / "consistent_hashing_metadata" / city).glob("*.hashing_meta"))
    return {node["value"]: node["fileIdPrefix"] for node in json.loads(newest.read_text())["nodes"]}


def test_partitions_have_the_numbers_of_buckets_of_their_rules(tmp_path):
    table = create(tmp_path)
    table.upsert(rows(range(60), 1), COUNTS)
    table.upsert(rows(range(30, 90), 2), COUNTS)
    assert content(table) == sorted([(f"k{n}", 1) for n in range(30)] + [(f"k{n}", 2) for n in range(30, 90)])
    found = {city: len(buckets(tmp_path, city)) for city in ("lima", "oslo", "rome")}
    assert found == {"lima": 5, "oslo": 1, "rome": 2}
    with pytest.raises(mortice.InvalidArgumentError, match="is not one of 2 buckets"):
        table.upsert(rows(range(9), 3), COUNTS | {"hoodie.bucket.index.partition.expressions": "x,1"})


def test_rules_that_the_table_has_stored_take_the_place_of_options(tmp_path):
    table = create(tmp_path)
    configs = tmp_path / FOLDER / "partition_bucket_index_meta/configs"
    configs.mkdir(parents=True)
    stored = {"expressions": "rome,4", "defaultBucketNumber": 1, "rule": "regex", "version": 1}
    for instant, rule in (("00000000000000", "rome,7"), ("20260101000000000", "rome,4")):
        (configs / f"{instant}.hashing_config").write_text(json.dumps(stored | {"expressions": rule}))
    table.upsert(rows(range(60), 1), COUNTS)
    found = {city: len(buckets(tmp_path, city)) for city in ("lima", "oslo", "rome")}
    assert found == {"lima": 1, "oslo": 1, "rome": 4}
    (configs / "20260201000000000.hashing_config").write_text("{")
    with pytest.raises(mortice.InvalidTableError, match="configuration of a bucket index"):
        table.upsert(rows(range(60), 1), COUNTS)
    assert table.count() == 60


@pytest.mark.parametrize("rule", ["lima", "lima,0", "lima,x", "(?<=l)ima,3"])
def test_rules_that_are_none_are_refused_by_name_before_anything_is_written(tmp_path, rule):
    table = create(tmp_path)
    with pytest.raises(mortice.MorticeError, match=r"hoodie\.bucket\.index\.partition\.expressions"):
        table.upsert(rows(range(3), 1), COUNTS | {"hoodie.bucket.index.partition.expressions": rule})
    assert not any(tmp_path.glob("*/*.parquet"))


def test_file_groups_of_consistent_hashing_are_split_and_merged(tmp_path):
    table = create(tmp_path)
    table.upsert(rows(range(60), 1), RINGS)
    assert set(nodes(tmp_path, "lima")) == {1073741824, 2147483647}
    table.upsert(rows(range(30, 90), 2), RINGS)
    table.delete(rows(range(10), 3), RINGS)
    expected = content(table)
    assert len(expected) == 80
    table.cluster(options=RINGS | SPLIT)
    assert content(table) == expected
    assert list(nodes(tmp_path, "lima")) == [536870911, 1073741824, 1610612735, 2147483647]
    table.upsert(rows(range(20, 90), 4), RINGS)
    assert [ts for _, ts in content(table)].count(4) == 70
    assert table.count() == 80
    table.cluster(options=RINGS | MERGE)
    assert len(nodes(tmp_path, "lima")) == 1
    assert table.count() == 80
    table.upsert(rows(range(10, 100), 5), RINGS)
    assert content(table) == sorted((f"k{n}", 5) for n in range(10, 100))
    assert not table.verify().findings


def test_rows_of_a_planned_resizing_are_refused_until_it_is_executed_or_rolled_back(tmp_path):
    table = create(tmp_path)
    table.upsert(rows(range(30), 1), RINGS)
    before = nodes(tmp_path, "oslo")
    planned = table.cluster(run=False, options=RINGS | SPLIT).scheduled
    assert planned
    with pytest.raises(mortice.UnsupportedError, match="pending clustering"):
        table.upsert(rows(range(30), 2), RINGS)
    table.rollback(planned)
    table.upsert(rows(range(30), 2), RINGS)
    assert nodes(tmp_path, "oslo") == before
    table.cluster(options=RINGS | SPLIT)
    assert nodes(tmp_path, "oslo") != before
    table.rollback(table.timeline[-1].requested_time)
    assert nodes(tmp_path, "oslo") == before
    table.upsert(rows(range(30), 3), RINGS)
    assert content(table) == sorted((f"k{n}", 3) for n in range(30))


def test_what_consistent_hashing_cannot_do_is_refused_by_name(tmp_path):
    table = create(tmp_path / "rings")
    table.upsert(rows(range(30), 1), RINGS)
    for write in (table.insert_overwrite, table.insert_overwrite_table):
        with pytest.raises(mortice.UnsupportedError, match="delete the rows instead"):
            write(rows(range(3), 2), RINGS)
    with pytest.raises(mortice.UnsupportedError, match="delete the rows instead"):
        table.delete_partitions(["lima"])
    for options in (PLAIN, PLAIN | {"hoodie.index.type": "SIMPLE"}):
        with pytest.raises(mortice.InvalidArgumentError, match="CONSISTENT_HASHING"):
            table.upsert(rows(range(3), 2), options)
    with pytest.raises(mortice.InvalidArgumentError, match=r"leave hoodie\.clustering"):
        table.cluster(
            options=RINGS | {"hoodie.clustering.execution.strategy.class": "x.SparkSortAndSizeExecutionStrategy"}
        )
    assert table.count() == 30
    copies = create(tmp_path / "copies", table_type="COPY_ON_WRITE")
    with pytest.raises(mortice.UnsupportedError, match="copy-on-write"):
        copies.upsert(rows(range(3), 1), RINGS)
    other = create(tmp_path / "other")
    other.upsert(rows(range(30), 1), PLAIN | {"hoodie.bucket.index.num.buckets": "2"})
    with pytest.raises(mortice.InvalidArgumentError, match="is not one of 2 file groups of consistent hashing"):
        other.upsert(rows(range(30), 1), RINGS)


def test_a_damaged_ring_is_an_error_that_names_the_file(tmp_path):
    table = create(tmp_path)
    table.upsert(rows(range(30), 1), RINGS)
    (tmp_path / FOLDER / "consistent_hashing_metadata/lima/00000000000000.hashing_meta").write_text("{}")
    with pytest.raises(mortice.InvalidTableError, match=r"lima/00000000000000\.hashing_meta"):
        table.upsert(rows(range(30), 2), RINGS)
    assert table.count() == 30
