"""Merge of one file slice: `snapshot().to_arrow()` compared with a naive merge in pyarrow.

The naive merge receives the log records as Arrow (by `LogFile.records`, so decoding is not compared) and keeps the
newest row of each key by ordering value. It does not handle deletes, rollbacks or payload classes.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import unpack

NAME = "h11_event_time_deletes"
GROUP = "merge a slice of 150 base rows and 6 log files"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return unpack(NAME, tmp_path_factory.mktemp(NAME))


@pytest.mark.benchmark(group=GROUP)
def test_mortice(benchmark, path):
    table = mortice.Table(path, read_options=mortice.ReadOptions(threads=1))
    assert benchmark(lambda: table.snapshot().to_arrow()).num_rows > 0


@pytest.mark.benchmark(group=GROUP)
def test_naive(benchmark, path):
    (slice_,) = mortice.Table(path).file_slices()
    names = ["_hoodie_record_key", "trip_id", "city", "rider", "fare", "seats", "ts", "note"]

    def merge():
        parts = [pq.read_table(path / slice_.base_file.path, columns=names)]
        for data_file in slice_.log_files:
            log = mortice.LogFile(path / data_file.path)
            for block in log.blocks():
                if block.type == "AVRO_DATA_BLOCK":
                    parts.append(pa.table(log.records(block)).select(names).cast(parts[0].schema))
        rows = pa.concat_tables(parts)
        order = pa.array(range(rows.num_rows))
        newest = rows.append_column("order", order).sort_by([("ts", "ascending"), ("order", "ascending")])
        last = (
            newest.append_column("at", pa.array(range(newest.num_rows)))
            .group_by("_hoodie_record_key")
            .aggregate([("at", "max")])
        )
        return newest.take(last["at_max"]).num_rows

    assert benchmark(merge) > 0
