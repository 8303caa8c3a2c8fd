"""SQL statements that Spark does not run on a Python data source: `mortice.spark.sql`.

A statement is divided into tokens (`tokens`), and its clauses are kept as they were written: Spark evaluates
conditions and expressions itself. `targets` finds the table that a name, a path or a view stands for. `row_changes`
writes updated, deleted and inserted rows in one commit; `changes`, `queries` and `procedures` have the statements;
`run` chooses.
"""
