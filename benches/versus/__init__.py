"""mortice beside its rivals, on tables that Hudi itself has written: `make bench`, or `python -m versus --help`.

Tables are prepared once (`tables`, `writing`). Each contender (`contenders`) runs in a process of its own (`worker`,
`process`), which is watched from outside: CPU seconds of all that it started, its peak of memory (`cpu`). What is asked
is in `workloads`; `rounds` has the contenders take turns, after `equal` has held their rows to be the same. Each
round is a line of a record (`record`), and a report is made from a record alone (`report`, `plots`).
"""
