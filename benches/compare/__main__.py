"""The command: builds, measures in turns, prints what got slower and fails if anything did."""

import argparse
import sys

from compare import builds
from compare.parts import measured
from compare.verdict import TOLERANCE, compared, comparison, slower, together

ROUNDS = 4
"""The first round is of all benchmarks, the others of those with a component that seems slower."""


def in_turns(base, now, benches, run=measured):
    """Returns (before, now), each {part: (minimum, median)}."""
    of_base, of_now = [], []
    for round_ in range(ROUNDS):
        for bench in benches:
            print(f"{bench}{', again' if round_ else ''}", flush=True)
            of_base.append(run(base, bench))
            of_now.append(run(now, bench))
        before, after = together(of_base), together(of_now)
        benches = sorted({part[0] for part in slower(before, after)})
        if not benches:
            break
    return before, after


def arguments():
    parser = argparse.ArgumentParser(prog="compare", description="Which parts got slower since a commit.")
    parser.add_argument("base", nargs="?", help="a commit; HEAD, or the one before where no file has changed since")
    parser.add_argument("--only", help="names of benchmarks, separated by commas")
    return parser.parse_args()


def main():
    options = arguments()
    named = options.base or ("HEAD" if builds.is_changed() else "HEAD~1")
    commit = builds.git("rev-parse", named)
    base, now = builds.kept(commit), builds.current()
    if not builds.is_changed():
        builds.keep(now, builds.git("rev-parse", "HEAD"))
    before, after = in_turns(base, now, options.only.split(",") if options.only else now.benches)
    print(f"\nsince {commit[:10]} ({named}); ratios above 1 are slower")
    for part in compared(before, after):
        print(f"  {comparison(before, after, part)}")
    worse = list(slower(before, after))
    for part in worse:
        print(f"slower: {comparison(before, after, part)}")
    if not worse:
        print(f"no part got slower by more than {TOLERANCE - 1:.0%}")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
