"""SQL statements that Spark does not run on a Python data source: `mortice.spark.sql`.

The core parses a statement (`mortice._mortice.Statement`). Its expressions and queries are kept as they were written:
Spark evaluates them (`statement_text`). `targets` finds the table that a name, a path or a view stands for.
`row_changes` writes updated, deleted and inserted rows in one commit; `changes`, `queries` and `procedures` have the
statements; `run` chooses.
"""
