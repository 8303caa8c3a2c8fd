"""Writes a table of each kind, has each reader read it in each of its ways, and prints who read what was written."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa

from readers.readers import HUDI, Hudi, Mortice, ReaderError, hudi_rs
from readers.tables import SCHEMA, Written, write_all
from support.hudi import fetch_hudi


def _plain(value: object) -> object:
    """Returns a value without what readers differ in: zones of timestamps, which are UTC, and scales of decimals."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=timezone.utc)
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    return value


def _difference(found: pa.Table, want: list[dict]) -> str | None:
    missing = set(SCHEMA.names) - set(found.column_names)
    if missing:
        return f"no columns {sorted(missing)}"
    rows = [_plain(row) for row in found.select(SCHEMA.names).to_pylist()]
    rows.sort(key=lambda row: str(row["id"]))
    if rows == want:
        return None
    if len(rows) != len(want):
        return f"{len(rows)} rows for {len(want)}"
    one, other = next((row, wanted) for row, wanted in zip(rows, want, strict=True) if row != wanted)
    name = next(name for name in SCHEMA.names if one[name] != other[name])
    return f"{name} of {other['id']} is {one[name]!r} and not {other[name]!r}"


def _read(way: str, read: Callable[[Path, Path], pa.Table], written: Written, out: Path) -> str | None:
    """Returns what is wrong with an answer, if anything."""
    want = [row for row in written.rows if way != "key" or row["id"] == "k05"]
    try:
        found = read(written.root, out)
    except (ReaderError, AssertionError) as error:
        return " ".join(str(error).split())[:300]
    return _difference(found, want)


def _readers(arguments: argparse.Namespace) -> Iterator[Mortice]:
    yield Mortice()
    yield from hudi_rs(arguments.hudi_rs)
    for release in arguments.hudi:
        jar = arguments.jars / f"{fetch_hudi.ARTIFACT}-{release}.jar" if arguments.jars else None
        try:
            found = jar if jar and jar.is_file() else fetch_hudi.fetch(release)
        except SystemExit as error:
            print(f"left out, Hudi {release}: {error}", file=sys.stderr, flush=True)
        else:
            yield Hudi(release, found)


def _wrong(reader: Mortice, written: Written, out: Path) -> list[str]:
    """Has a reader read a table in each of its ways. Returns what is wrong."""
    found = {way: _read(way, read, written, out / way) for way, read in reader.ways().items()}
    where = f"{reader.name}, version {written.version}, {written.table_type}, {written.kind}"
    return [f"{where}, {way}: {text}" for way, text in found.items() if text]


def _row(reader: Mortice, tables: list[Written], out: Path) -> tuple[dict[tuple[int, str], str], int]:
    """Has a reader read all tables that it knows. Returns how many it reads, by version and type, and what is wrong."""
    right: Counter[tuple[int, str]] = Counter()
    mistakes = 0
    for written in tables:
        if written.version not in reader.versions:
            continue
        wrong = _wrong(reader, written, out)
        right[written.version, written.table_type] += not wrong
        mistakes += len(wrong)
        for line in wrong:
            print(line, flush=True)
    of = Counter((written.version, written.table_type) for written in tables)
    return {at: f"{right[at]} of {count}" if at[0] in reader.versions else "–" for at, count in of.items()}, mistakes


def main() -> int:
    """Prints what is wrong, and how many tables of each version and type each reader reads. Returns 1 if not all."""
    parser = argparse.ArgumentParser(prog="readers", description=__doc__)
    parser.add_argument("--hudi", nargs="*", choices=[*HUDI], default=[*HUDI], help="releases of Hudi")
    parser.add_argument("--jars", type=Path, help="a folder with bundles of Hudi, which else are fetched with Maven")
    parser.add_argument("--hudi-rs", type=Path, help="the command of tests/readers/hudi_rs, if it was built")
    arguments = parser.parse_args()
    mistakes, header = 0, []
    with tempfile.TemporaryDirectory(prefix="readers") as folder:
        tables = write_all(Path(folder))
        out = Path(folder) / "out"
        out.mkdir()
        for reader in _readers(arguments):
            cells, wrong = _row(reader, tables, out)
            mistakes += wrong
            if not header:
                header = [f"{version}, {table_type}" for version, table_type in cells]
                print(f"| reader | {' | '.join(header)} |\n|---|{'---|' * len(header)}")
            print(f"| {reader.name} | {' | '.join(cells.values())} |", flush=True)
            reader.close()
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
