"""Which parts got slower since the last commit: `python -m compare [BASE] [--only BENCH,…]`, or `make bench-compare`.

The benchmarks of the parts (`benches/rust`, `benches/python`) are built of the files as they are and of a baseline:
BASE, by itself HEAD where files have changed since, else the commit before. Each benchmark is run on the one and on the
other in turns, for a machine is not the same an hour later; what seems slower is asked again, for it is not the same a
minute later either.

    builds      what is run: of the files as they are, or of a commit, kept
    parts       one run of one benchmark
    verdict     what counts as slower
"""
