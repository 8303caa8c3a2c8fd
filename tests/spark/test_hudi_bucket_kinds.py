"""Tables whose buckets are counted by partition, or have ranges of hashes, are written by Hudi and mortice in turns."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pyspark = pytest.importorskip("pyspark")
if not pyspark.__version__.startswith("3.5."):
    pytest.skip("Hudi is run with pyspark 3.5", allow_module_level=True)

from support.hudi import fetch_hudi  # noqa: E402

if fetch_hudi.jar() is None:
    pytest.skip("no jar of Hudi: make hudi-jar fetches it with Maven", allow_module_level=True)

import mortice  # noqa: E402
from support.hudi.hudi_on_spark import HudiOnSpark  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning"),
]
SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("v", pa.int64()), ("ts", pa.int64())])
SESSION = (
    "spark.sql.catalogImplementation=in-memory",
    "spark.sql.catalog.spark_catalog=org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.kryo.registrator=org.apache.spark.HoodieSparkKryoRegistrar",
)
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2", "hoodie.clean.automatic": "false"}
HUDI = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.compact.inline": "false",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
RINGS = BUCKETS | {"hoodie.index.bucket.engine": "CONSISTENT_HASHING"}
CLUSTERING = "org.apache.hudi.client.clustering."
RESIZE = RINGS | {
    "hoodie.bucket.index.max.num.buckets": "4",
    "hoodie.bucket.index.min.num.buckets": "1",
    "hoodie.clustering.plan.strategy.class": CLUSTERING + "plan.strategy.SparkConsistentBucketClusteringPlanStrategy",
    "hoodie.clustering.execution.strategy.class": CLUSTERING
    + "run.strategy.SparkConsistentBucketClusteringExecutionStrategy",
}
TWICE = {
    "hoodie.clustering.updates.strategy": CLUSTERING + "update.strategy.SparkConsistentBucketDuplicateUpdateStrategy",
}
SPLIT = RESIZE | {"hoodie.bucket.index.split.threshold": "0.000001", "hoodie.bucket.index.merge.threshold": "0"}
MERGE = RESIZE | {"hoodie.bucket.index.split.threshold": "9", "hoodie.bucket.index.merge.threshold": "8"}


@pytest.fixture(scope="module")
def hudi():
    process = HudiOnSpark(fetch_hudi.jar(), SESSION)
    yield process
    process.close()


class Turns:
    """One table that both write to, and the rows that it has to have."""

    def __init__(self, hudi, folder):
        self.hudi, self.folder, self.path = hudi, folder, folder / "t"
        self.expected = {}

    def rows(self, numbers, ts):
        self.expected |= {f"k{number}": ts for number in numbers}
        cities = [("lima", "oslo", "rome")[number % 3] for number in numbers]
        columns = [[f"k{number}" for number in numbers], cities, list(numbers), [ts] * len(cities)]
        return pa.table(columns, schema=SCHEMA)

    def by_hudi(self, numbers, ts, options):
        pq.write_table(self.rows(numbers, ts), self.folder / "rows.parquet")
        self.hudi.write(self.folder / "rows.parquet", self.path, HUDI | options)
        self.check()

    def by_mortice(self, numbers, ts, options):
        mortice.Table(self.path).upsert(self.rows(numbers, ts), options)
        self.check()

    def cluster_by_hudi(self, op, options):
        name = "t_" + "".join(filter(str.isalnum, self.folder.name))
        self.hudi.sql(f"CREATE TABLE IF NOT EXISTS {name} USING hudi LOCATION '{self.path}'")
        text = ",".join(f"{option}={value}" for option, value in options.items())
        self.hudi.sql(f"CALL run_clustering(table => '{name}', op => '{op}', options => '{text}')")
        self.check()

    def check(self):
        self.hudi.read(self.path, self.folder / "out")
        expected = sorted(self.expected.items())
        for found in (pq.read_table(self.folder / "out"), mortice.Table(self.path).to_arrow()):
            assert sorted(zip(found["id"].to_pylist(), found["ts"].to_pylist(), strict=True)) == expected

    def groups(self, city):
        return [split.file_id for split in mortice.Table(self.path).snapshot().splits() if split.partition == city]


def test_buckets_are_counted_by_partition_as_hudi_counts_them(hudi, tmp_path):
    turns = Turns(hudi, tmp_path)
    options = BUCKETS | {"hoodie.bucket.index.partition.expressions": "^lim.,5;os,1"}
    mortice.create_table(turns.path, SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts")
    # Hudi's first writes in a process may fail while tasks of it parse the rules at the same time.
    turns.by_mortice(range(40), 1, options)
    turns.by_hudi(range(30), 2, options | {"hoodie.upsert.shuffle.parallelism": "1"})
    turns.by_mortice(range(20, 60), 3, options)
    assert {city: len(turns.groups(city)) for city in ("lima", "oslo", "rome")} == {"lima": 5, "oslo": 1, "rome": 2}


def test_a_stored_number_of_buckets_is_followed(hudi, tmp_path):
    turns = Turns(hudi, tmp_path)
    turns.by_hudi(range(40), 1, BUCKETS)
    hudi.sql(f"CREATE TABLE stored USING hudi LOCATION '{turns.path}'")
    hudi.sql("SET hoodie.index.type=BUCKET")
    arguments = "overwrite => 'lima,4', bucket_number => 2, dry_run => false"
    hudi.sql(f"CALL partition_bucket_index_manager(table => 'stored', {arguments})")
    turns.by_mortice(range(20, 80), 2, BUCKETS | {"hoodie.bucket.index.num.buckets": "7"})
    assert {city: len(turns.groups(city)) for city in ("lima", "oslo")} == {"lima": 4, "oslo": 2}
    turns.by_hudi(range(60, 90), 3, BUCKETS)


def test_ranges_of_hashes_are_split_and_merged_by_either(hudi, tmp_path):
    turns = Turns(hudi, tmp_path)
    mortice.create_table(turns.path, SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts")
    turns.by_mortice(range(40), 1, RINGS)
    turns.by_hudi(range(20, 60), 2, RINGS)
    mortice.Table(turns.path).cluster(options=SPLIT)
    turns.check()
    turns.by_hudi(range(10, 70), 3, RINGS)
    turns.by_mortice(range(30, 80), 4, RINGS)
    turns.cluster_by_hudi("scheduleandexecute", MERGE)
    turns.by_mortice(range(50, 90), 5, RINGS)
    turns.by_hudi(range(60, 99), 6, RINGS)


def test_plans_of_either_are_executed_by_the_other(hudi, tmp_path):
    turns = Turns(hudi, tmp_path)
    turns.by_hudi(range(40), 1, RINGS)
    turns.cluster_by_hudi("schedule", SPLIT)
    # Hudi writes to the old file groups, and to those that the plan will make.
    turns.by_hudi(range(20, 60), 2, RINGS | TWICE)
    with pytest.raises(mortice.UnsupportedError, match="pending clustering"):
        turns.by_mortice(range(3), 2, RINGS)
    turns.expected |= {"k0": 1, "k1": 1, "k2": 1}
    assert len(mortice.Table(turns.path).cluster(schedule=False, options=RINGS).commits) == 1
    turns.check()
    assert len(turns.groups("lima")) == 4
    turns.by_mortice(range(30, 70), 3, RINGS)
    turns.by_hudi(range(40, 80), 4, RINGS)
    assert mortice.Table(turns.path).cluster(run=False, options=MERGE).scheduled
    turns.cluster_by_hudi("execute", MERGE)
    assert len(turns.groups("lima")) == 1
    turns.by_mortice(range(60, 90), 5, RINGS)
