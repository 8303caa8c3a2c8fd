"""Tables with change data capture: tasks of Spark write the changes that a write in one process writes."""

import json
import re
import shutil
from pathlib import Path

import pytest

import mortice
import mortice.spark
from support.tables.written import NO_METADATA, SCHEMA, new_table, rows

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
DDL = "id string, city string, ts bigint, fare double"
IN_TASKS = {"mortice.write.driver.bytes": "0"}
FIRST = [(f"k{n}", "xy"[n % 2], 1, float(n)) for n in range(8)]
SECOND = [("k0", "x", 2, 10.0), ("k1", "y", 2, 11.0), ("n1", "x", 2, 1.0), ("k2", "x", 0, 5.0)]
DELETED = [("k3", "y", 3, None), ("k4", "x", 3, None)]


def changes(uri):
    """The changes of each commit, the first of which is number 0."""
    table = mortice.Table(str(uri))
    times = [instant.requested_time for instant in table.timeline.completed]
    found = table.changes("earliest").to_arrow().to_pylist()
    images = [[text and json.loads(text) for text in (row["before"], row["after"])] for row in found]
    for image in (image for pair in images for image in pair if image):
        for name in [name for name in image if name.startswith("_hoodie_")]:
            del image[name]
    return sorted(
        (times.index(row["ts_ms"]), row["op"], *map(str, pair)) for row, pair in zip(found, images, strict=True)
    )


def change_logs(uri):
    return {path.name for path in Path(uri).rglob("*.cdc") if not path.name.endswith(".crc")}


@pytest.mark.parametrize("kind", [(9, "COPY_ON_WRITE"), (9, "MERGE_ON_READ"), (6, "COPY_ON_WRITE")])
@pytest.mark.parametrize("mode", ["OP_KEY_ONLY", "DATA_BEFORE_AFTER"])
def test_tasks_write_the_changes_of_a_write(spark, tmp_path, kind, mode):
    path, copy = tmp_path / "trips", tmp_path / "copy"
    properties = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": mode}
    new_table(path, *kind, properties=properties)
    shutil.copytree(path, copy)
    table = mortice.Table(str(copy))
    for operation, given in (("upsert", FIRST), ("upsert", SECOND), ("delete", DELETED)):
        frame = spark.createDataFrame(given, DDL)
        mortice.spark.write(frame, path, operation, options=NO_METADATA | IN_TASKS)
        getattr(table, operation)(rows(*given), NO_METADATA)
    mortice.spark.delete_where(spark, path, "id = 'k5'", NO_METADATA | IN_TASKS)
    table.delete_where("id = 'k5'", NO_METADATA)
    if kind[1] == "MERGE_ON_READ":
        mortice.spark.compact(spark, path, NO_METADATA)
        table.compact(NO_METADATA)
    assert changes(path) == changes(copy)
    by_tasks, by_process = change_logs(path), change_logs(copy)
    assert len(by_tasks) == len(by_process) > 0
    # The token names the stage of Spark; of a process it is 0.
    stages = [re.search(r"_\d+-(\d+)-\d+[._]", name) for name in by_tasks]
    assert all(stage is not None and int(stage[1]) > 0 for stage in stages), by_tasks
    assert mortice.Table(str(path)).snapshot(columns=SCHEMA.names).to_arrow().sort_by("id") == table.snapshot(
        columns=SCHEMA.names
    ).to_arrow().sort_by("id")
