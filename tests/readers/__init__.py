"""Other readers of what mortice writes: every kind of table, read by each release of Hudi and of hudi-rs.

`python -m readers`, which `make test-reader-matrix` runs on Spark 3.5, prints the table of `docs/comparison.md`.
"""
