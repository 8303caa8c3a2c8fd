"""The cost of a commit by the number of commits before it, with all table services on.

    python benches/commits/many_commits.py [--commits N] [--rows N] [--keys N] [--type TYPE] [--out RECORD.csv]

One process writes to one table. Half of the rows of each commit are new keys until there are `--keys`; the others
update stored ones. Compaction is inline, cleaning, archival and the services of the metadata table are automatic. Every
commit is a line of the record: its number, CPU and wall seconds of the process, and, every 20 commits, the files and
bytes of the table and of its `.hoodie` folder. With matplotlib installed, a plot is written next to the record.
"""

import argparse
import csv
import random
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import mortice

SCHEMA = pa.schema(
    [("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("fare", pa.float64()), ("note", pa.string())]
)
OPTIONS = {
    "hoodie.index.type": "SIMPLE",
    "hoodie.compact.inline": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
}
CITIES = 4
EVERY = 20
COLUMNS = ("commit", "cpu_s", "wall_s", "files", "bytes", "hoodie_files", "hoodie_bytes")


def batch(dice, number, rows, keys, known):
    """Returns the rows of a commit and the number of keys known after it."""
    new = range(known, min(known + rows // 2, keys))
    old = [dice.randrange(known) for _ in range(rows - len(new))] if known else []
    ids = sorted({*new, *old})
    columns = [
        [f"key-{one:09d}" for one in ids],
        [f"city-{one % CITIES}" for one in ids],
        [number] * len(ids),
        [dice.random() * 100 for _ in ids],
        [f"commit {number}, row {one}" for one in ids],
    ]
    return pa.table(columns, schema=SCHEMA), known + len(new)


def size_of(folder):
    """Returns the files and bytes below a folder."""
    sizes = [path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def run(table, commits, rows, keys, record):
    """Writes the commits; returns the expected newest `ts` of each key."""
    dice, known, newest, path = random.Random(commits), 0, {}, Path(table.uri)
    for number in range(1, commits + 1):
        data, known = batch(dice, number, rows, keys, known)
        cpu, wall = time.process_time(), time.perf_counter()
        table.upsert(data, OPTIONS)
        line = [number, f"{time.process_time() - cpu:.4f}", f"{time.perf_counter() - wall:.4f}"]
        newest.update(dict.fromkeys(data["id"].to_pylist(), number))
        if number % EVERY == 0 or number == 1:
            line += [*size_of(path), *size_of(path / ".hoodie")]
        record.writerow(line)
    return newest


def medians(lines, column, around):
    """Returns the median of a figure of the 20 commits around a number, which has one compaction in five."""
    near = [float(line[column]) for line in lines if abs(int(line["commit"]) - around) <= EVERY // 2]
    return statistics.median(near), statistics.mean(near)


def plot(lines, path):
    """Draws CPU seconds and files by commit."""
    try:
        from matplotlib import pyplot
    except ImportError:
        return
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4))
    numbers = [int(line["commit"]) for line in lines]
    left.plot(numbers, [float(line["cpu_s"]) for line in lines], ".", markersize=2, color="#c33")
    left.set(xlabel="commit", ylabel="CPU, s", yscale="log")
    sized = [line for line in lines if line["files"]]
    for column, color in (("files", "#247"), ("hoodie_files", "#e83")):
        right.plot([int(line["commit"]) for line in sized], [int(line[column]) for line in sized], color=color)
    right.set(xlabel="commit", ylabel="files: table, and .hoodie of them", ylim=(0, None))
    figure.savefig(path, bbox_inches="tight")


def main():
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--type", default="MERGE_ON_READ")
    parser.add_argument("--table", help="the folder of the table, which is kept; default: a temporary one")
    parser.add_argument("--out", default="many-commits.csv")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, Path(given.out).open("w", newline="") as file:
        path = given.table or str(Path(temporary, "table"))
        table = mortice.create_table(
            path,
            SCHEMA,
            name="commits",
            record_key="id",
            partition_by="city",
            ordering="ts",
            table_type=given.type,
        )
        record = csv.writer(file)
        record.writerow(COLUMNS)
        newest = run(table, given.commits, given.rows, given.keys, record)
        rows = mortice.Table(path).snapshot(columns=["id", "ts"]).to_arrow()
        stored = dict(zip(rows["id"].to_pylist(), rows["ts"].to_pylist(), strict=True))
        if stored != newest or rows.num_rows != len(newest):
            raise SystemExit("the table does not have the rows that were written")
    with Path(given.out).open(newline="") as file:
        lines = list(csv.DictReader(file, restval=""))
    for around in sorted({20, 100, 1000, given.commits - EVERY // 2}):
        if around <= given.commits:
            median, mean = medians(lines, "cpu_s", around)
            print(f"commit {around}: CPU {median:.3f} s median, {mean:.3f} s mean of those around it")
    plot(lines, Path(given.out).with_suffix(".svg"))


if __name__ == "__main__":
    main()
