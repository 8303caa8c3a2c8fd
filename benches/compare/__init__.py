"""Finds components that got slower since the last commit: `python -m compare [BASE] [--only BENCH,…]`, or `make
bench-compare`.

The benchmarks of components (`benches/rust`, `benches/python`) are built from the working tree and from a baseline:
BASE, by default HEAD if files have changed since, otherwise the commit before. The two builds of each benchmark
alternate, because the speed of a machine changes within an hour. Components that seem slower are measured again,
because it also changes within a minute.

    builds      builds of the working tree, and of commits, which are kept
    parts       one run of one benchmark
    verdict     decides what counts as slower
"""
