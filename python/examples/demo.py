"""Reads a merge-on-read table, written by Hudi, and prints what merging its logs changed.

    python demo.py [--spark] [TABLE]

Without an argument it reads the bundled table: 150 trips in a base file, then six commits in log files with updates,
deletes, and late events, which do not replace rows with a later event time. With `--spark` PySpark reads it as well,
and the times of all reads are printed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mortice
from mortice.cli.tables import print_facts

BUNDLED = Path(__file__).parents[2] / "tests" / "data" / "h11_event_time_deletes" / "table.zip"
KEY = "_hoodie_record_key"
SHOWN = 4


@contextmanager
def timed(what: str, timings: list[tuple[str, str]]) -> Iterator[None]:
    """Records the time of the block."""
    started = time.perf_counter()
    yield
    timings.append((what, f"{(time.perf_counter() - started) * 1000:.0f} ms"))


def main() -> None:
    """Extracts the table, reads, compares, prints."""
    arguments = sys.argv[1:]
    with_spark = "--spark" in arguments
    paths = [argument for argument in arguments if argument != "--spark"]
    with tempfile.TemporaryDirectory(prefix="mortice-demo-") as folder:
        if not paths:
            zipfile.ZipFile(BUNDLED).extractall(folder)
        path = paths[0] if paths else folder
        show(path)
        if with_spark:
            compare_times(path)


def show(path: str) -> None:
    """Prints some rows, and how merged rows differ from those of the base files alone."""
    table = mortice.Table(path)
    logs = [log for slice_ in table.file_slices() for log in slice_.log_files]
    print(table)
    print(f"{len(table.file_slices())} file slices, {len(logs)} log files, {len(table.timeline)} instants\n")
    merged, base = (scan.to_arrow().to_pylist() for scan in (table.snapshot(), table.read_optimized()))
    compare(table, {row[KEY]: row for row in merged}, {row[KEY]: row for row in base})


def compare_times(path: str) -> None:
    """Prints the times of reads with and without Spark."""
    import mortice.spark

    table = mortice.Table(path)
    timings: list[tuple[str, str]] = []
    spark = start_spark(timings)
    with timed("Spark, merged rows, first time (starts the Python workers)", timings):
        mortice.spark.read(spark, path).count()
    with timed("Spark, merged rows: mortice.spark.read", timings):
        mortice.spark.read(spark, path).collect()
    with timed("Spark, base files alone", timings):
        mortice.spark.read(spark, path, query_type="read_optimized").collect()
    with timed("no Spark, merged rows: Table.snapshot().to_arrow()", timings):
        table.snapshot().to_arrow()
    with timed("no Spark, base files alone", timings):
        table.read_optimized().to_arrow()
    spark.stop()
    print()
    print_facts(["what", "took"], timings)


def start_spark(timings: list[tuple[str, str]]) -> Any:
    """A local session whose workers run this Python."""
    from support.find_java import use_java

    use_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    with timed("starting Spark", timings):
        spark = builder.master("local[2]").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def compare(table: mortice.Table, merged: dict[str, Any], base: dict[str, Any]) -> None:
    """Prints some of the rows that merging changed, and of the late events that it correctly ignored."""
    columns = [name for name in table.schema.names if not name.startswith("_hoodie_")]
    lines = []
    for key in sorted(merged.keys() | base.keys()):
        before, after = base.get(key), merged.get(key)
        if before is None or after is None:
            change = "inserted" if before is None else "deleted"
            lines.append([key, change, row_text(columns, before), row_text(columns, after)])
            continue
        changed = [name for name in columns if before[name] != after[name]]
        if changed:
            lines.append([key, "updated", row_text(changed, before), row_text(changed, after)])
    lines += [[key, "late event lost", lost, won] for key, lost, won in late_events(table, merged)]
    counts = Counter(line[1] for line in lines)
    print(f"base files alone: {len(base)} rows   merged: {len(merged)} rows")
    print("   ".join(f"{change}: {count}" for change, count in counts.items()) + "   some of each:\n")
    shown = [line for change in counts for line in [line for line in lines if line[1] == change][:SHOWN]]
    print_facts(["key", "change", "base file (or late event)", "merged"], shown)


def late_events(table: mortice.Table, merged: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields log records whose ordering value is less than that of the final row of their key."""
    ordering = table.ordering_fields[:1]
    for slice_ in table.file_slices() if ordering else []:
        for data_file in slice_.log_files:
            log = mortice.LogFile(Path(table.uri, data_file.path))
            for block in log.blocks():
                if block.type != "AVRO_DATA_BLOCK":
                    continue
                for record in log.records(block).to_pylist():
                    row = merged.get(record[KEY])
                    if row is not None and record[ordering[0]] < row[ordering[0]]:
                        yield record[KEY], row_text(ordering, record), row_text(ordering, row)


def row_text(columns: list[str], row: Any) -> str:
    """Returns the values of some columns on one line."""
    return "-" if row is None else " ".join(f"{name}={row[name]}" for name in columns)


if __name__ == "__main__":
    main()
