"""Compares mortice with other readers, on tables that Hudi has written: `make bench`, or `python -m versus --help`.

Tables are prepared once (`tables`, `writing`). Each contender (`contenders`) runs in a separate process (`worker`,
`process`), whose CPU seconds (with child processes) and peak memory are measured from outside (`cpu`). The queries are
in `workloads`. `rounds` alternates contenders, after `equal` has compared their rows. Each round is a line of a record
(`record`), and a report is made from a record alone (`report`, `plots`).
"""
