"""The command: `python -m versus run` measures, and writes a record and its report; see `--help`."""

import argparse
import datetime as dt
import itertools
import os
import sys
from pathlib import Path

from versus import report
from versus.contenders import CONTENDERS
from versus.homes import BENCHES
from versus.machine import machine, surroundings
from versus.record import Record, incomplete_points
from versus.rounds import Effort, Rounds
from versus.tables import prepared
from versus.workloads import WORKLOADS, points

EFFORTS = {
    "whole": Effort(rounds=5, warm_ups=2, limit_seconds=900, patience_seconds=4),
    "quick": Effort(rounds=3, warm_ups=1, limit_seconds=120, patience_seconds=4),
    "tiny": Effort(rounds=1, warm_ups=1, limit_seconds=120, patience_seconds=1),
}


def chosen(named, known, what):
    """Returns the named items, or all; an unknown name is an error."""
    names = named.split(",") if named else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no such {what}: {', '.join(unknown)}; there are: {', '.join(known)}")
    return names


def record_path(given):
    """Returns the path of a record: by default the name of the machine and the date. Records are never overwritten."""
    if given:
        return Path(given)
    day = dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d")
    names = (f"{day}{more}.csv" for more in itertools.chain([""], (f"-{again}" for again in itertools.count(2))))
    return next(path for path in (BENCHES / "record" / machine() / name for name in names) if not path.exists())


def run(options):
    """Prepares tables, measures, writes the record and its report."""
    workloads = chosen(options.workloads, WORKLOADS, "workload")
    names = chosen(options.contenders, [contender.name for contender in CONTENDERS], "contender")
    todo = points(workloads, options.scale)
    if options.resume:
        todo = incomplete_points(todo, options.resume)
    tables = prepared([table for point in todo for table in point.prepared])
    if options.prepare:
        return
    path = Path(options.resume) if options.resume else record_path(options.out)
    about = surroundings(options.scale)
    record = Record.resumed(path, about, todo) if options.resume else Record(path, about)
    rounds = Rounds([one for one in CONTENDERS if one.name in names], EFFORTS[options.scale], record)
    try:
        for point in todo:
            rounds.run(point, tables[point.start])
    finally:
        rounds.end()
    print(f"{os.path.relpath(path)}\n{os.path.relpath(report.write(path))}")


def arguments():
    parser = argparse.ArgumentParser(prog="versus", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="measure, and write a record and its report")
    runs.add_argument("--scale", choices=EFFORTS, default="whole", help="tiny: only to check that all of it works")
    runs.add_argument("--workloads", help=f"of {','.join(WORKLOADS)}; default: all")
    runs.add_argument("--contenders", help="names, separated by commas; default: all")
    runs.add_argument("--prepare", action="store_true", help="write the tables and nothing more")
    runs.add_argument("--out", help="the record; default: benches/record/MACHINE/DATE.csv")
    runs.add_argument(
        "--resume", metavar="RECORD", help="continue a record; only the last of its points is measured again"
    )
    runs.set_defaults(act=run)
    reports = commands.add_parser("report", help="write the report of a record again")
    reports.add_argument("record")
    reports.add_argument("--markdown", action="store_true", help="print a table of ratios instead")
    reports.set_defaults(act=write_report)
    return parser.parse_args()


def write_report(options):
    """Writes the page of a record, or prints its summary."""
    print("\n".join(report.markdown(options.record)) if options.markdown else report.write(options.record))


if __name__ == "__main__":
    given = arguments()
    given.act(given)
