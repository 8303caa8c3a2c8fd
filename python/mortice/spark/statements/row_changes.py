"""Writes updated, deleted and inserted rows of a statement in one commit.

Spark finds the rows and evaluates the expressions. The rows are written as those of `mortice.spark.merge_into`: an
update is never lost to ordering values, and a commit of another writer since the rows were read is a conflict
(`WriteConflictError`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.merge_frame import (
    DELETES,
    KEY,
    PARTITION_PATH,
    PATH,
    RECORD_KEY,
    MapRows,
    check_shadowed,
    persisted,
    with_strings,
)
from mortice.spark.merge_types import try_cast
from mortice.spark.reading.read import read_stored
from mortice.spark.schema import spark_schema
from mortice.spark.statements.generated_keys import GeneratedKeys
from mortice.spark.statements.merge_scopes import ACTION as _ACTION
from mortice.spark.statements.merge_scopes import FOUND as _FOUND
from mortice.spark.statements.merge_scopes import MATCHED as _MATCHED
from mortice.spark.statements.merge_scopes import ROW as _ROW
from mortice.spark.statements.merge_scopes import MergeScopes, RowAction
from mortice.spark.statements.spark_errors import located_errors
from mortice.spark.statements.target_table import VALUE, TargetTable
from mortice.spark.statements.targets import SqlTable
from mortice.spark.statements.tokens import quoted
from mortice.spark.writing.write import write_frame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["RowAction", "RowChanges"]


class RowChanges(TargetTable):
    """A statement that changes rows of a table.

    Args:
        spark: The session.
        table: The table.
        alias: What the expressions call it.
    """

    def __init__(self, spark: SparkSession, table: SqlTable, alias: str) -> None:
        super().__init__(spark, table, alias)
        names = list(self.schema.names)
        located = list(dict.fromkeys([*self.opened.record_key_fields, *self.opened.partition_fields]))
        self.generated: GeneratedKeys | None = None
        self._plan: _mortice.MergePlan | None = None
        if self.opened.record_key_fields:
            clauses = ([name for name in located if name in names], [n for n in names if n not in located], "insert")
            # The state that the rows are read from is that of the plan, or a later one: a conflict then.
            self._plan = _mortice.MergePlan(self.target.uri, self.storage, names, clauses, self.target.options, False)
            self.schema = spark_schema(pa.schema(self._plan.columns))
        else:
            self.generated = GeneratedKeys(self.opened)
        columns = [*names, RECORD_KEY, PARTITION_PATH]
        self.stored: DataFrame = read_stored(spark, self.target.uri, columns, None, "snapshot", self.of_storage)

    @property
    def plan(self) -> _mortice.MergePlan:
        """The merge, of a table whose keys are columns."""
        if self._plan is None:
            raise AssertionError("a table with generated keys has no plan of a merge")
        return self._plan

    def of_rows(self, where: str | None, action: RowAction) -> Commit:
        """Updates or deletes the rows for which a condition is true."""
        from pyspark.sql import functions as f

        rows = self.stored.alias(self.alias)
        used = [*([where] if where is not None else []), *action.values.values()]
        with located_errors((rows, text) for text in used):
            found = rows.where(f.expr(str(where))) if where is not None else rows
            acted = found.withColumn(_FOUND, f.lit(True)).withColumn(_ACTION, f.lit(0))
            return self._write(self._evaluated(acted, [action]), [action])

    def of_merge(self, source: DataFrame, name: str, on: str, actions: Sequence[RowAction]) -> Commit:
        """Merges rows.

        Args:
            source: The rows.
            name: What the expressions call them.
            on: The condition by which they match, in SQL.
            actions: The clauses, in order.
        """
        sides = {action.side for action in actions}
        how = {
            (False, False): "inner",
            (True, False): "left",
            (False, True): "right",
            (True, True): "full",
        }["target" in sides, "source" in sides]
        scopes = MergeScopes(self.stored.select(*map(quoted, self._names())), self.alias, source, name)
        with typed_errors(), located_errors(scopes.expressions(on, actions)):
            joined = scopes.joined(on, how)
            self._check_cardinality(scopes.paired(joined, actions), actions)
            return self._write(scopes.acted(joined, actions, self.schema.names), actions)

    def _stored_column(self, name: str) -> Column:
        from pyspark.sql import functions as f

        return f.col(f"{quoted(self.alias)}.{quoted(name)}")

    def _check_cardinality(self, paired: DataFrame, actions: Sequence[RowAction]) -> None:
        """Refuses several source rows that match one row, as Spark does, unless each of them deletes it."""
        from pyspark.sql import functions as f

        matched = [action for action in actions if action.side == "matched"]
        if not matched or (len(matched) == 1 and matched[0].kind == "delete" and matched[0].condition is None):
            return
        deletes = [at for at, action in enumerate(actions) if action.kind == "delete"]
        is_deleted = f.coalesce(f.col(_ACTION).isin(deletes), f.lit(False)) if deletes else f.lit(False)
        pairs = paired.where(f"{_FOUND} and {_MATCHED}")
        rows = pairs.groupBy(_ROW).agg(
            f.first(self._stored_column(RECORD_KEY)), f.count("*").alias("n"), f.min(is_deleted).alias("deleted")
        )
        twice = rows.where("n > 1 and not deleted").drop(_ROW).limit(1).collect()
        if twice:
            raise InvalidArgumentError(
                f"several rows of the source match the row of the key {twice[0][0]!r}; make the source distinct",
                path=self.target.uri,
            )

    def _write(self, evaluated: DataFrame, actions: Sequence[RowAction]) -> Commit:
        with typed_errors(), ExitStack() as stack:
            rows = stack.enter_context(persisted(evaluated))
            self.check_fit(rows, casts_strings=True)
            given = self._new_rows(rows, actions)
            if self.generated is not None:
                return self.registered(self.generated.write(given, self.target, self.schema.names))
            keyed = given.mapInArrow(MapRows(self.plan, "with_keys"), with_strings(given, [KEY, PATH]))
            keyed = stack.enter_context(persisted(keyed))
            self._check_places(keyed, has_inserts=any(action.kind == "insert" for action in actions))
            pairs = keyed.drop(KEY, PATH)
            merged = self._joined_names(pairs).mapInArrow(MapRows(self.plan, "merge"), self._merged_schema())
            commit = write_frame(merged, self.target, "upsert", "append", merge=self.plan)
        if commit is None:
            raise AssertionError("a write in mode append has no commit")
        return self.registered(commit)

    def _evaluated(self, acted: DataFrame, actions: Sequence[RowAction]) -> DataFrame:
        """Returns the stored columns of rows, the action of each, and the values of its expressions."""
        from pyspark.sql import functions as f

        stored = [self._stored_column(name).alias(f"_mortice_stored_{at}") for at, name in enumerate(self._names())]
        values = [
            f.when(f.col(_ACTION) == at, f.expr(str(text))).alias(f"{VALUE}{at}_{self.schema.names.index(name)}")
            for at, action in enumerate(actions)
            for name, text in action.values.items()
        ]
        return acted.select(f.col(_ACTION), f.col(_FOUND), *stored, *values)

    def _names(self) -> list[str]:
        return [*self.schema.names, RECORD_KEY, PARTITION_PATH]

    def _new_rows(self, rows: DataFrame, actions: Sequence[RowAction]) -> DataFrame:
        """Returns the rows as they are to be, with their stored columns behind them."""
        from pyspark.sql import functions as f

        columns = []
        for at, field in enumerate(self.schema):
            value = f.col(f"_mortice_stored_{at}")
            for number, action in reversed(list(enumerate(actions))):
                name = f"{VALUE}{number}_{at}"
                if field.name in action.values:
                    new = try_cast(name, field.dataType)
                elif action.kind == "insert":
                    new = f.lit(None).cast(field.dataType)
                else:
                    continue
                value = f.when(f.col(_ACTION) == number, new).otherwise(value)
            columns.append(value.alias(field.name))
        deletes = [at for at, action in enumerate(actions) if action.kind == "delete"]
        is_deleted = f.col(_ACTION).isin(deletes) if deletes else f.lit(False)
        kept = [f.col(f"_mortice_stored_{at}") for at in range(len(self._names()))]
        found = f.col(_FOUND).isNotNull().alias(_FOUND)
        return rows.select(*columns, is_deleted.alias(DELETES), found, *kept)

    def _check_places(self, keyed: DataFrame, *, has_inserts: bool) -> None:
        """Refuses updates of record keys and partitions, and inserts that a deleted row wins over."""
        from pyspark.sql import functions as f

        key, path = (f.col(f"_mortice_stored_{len(self.schema) + at}") for at in (0, 1))
        moved = keyed.where(_FOUND).where(~(f.col(KEY).eqNullSafe(key) & f.col(PATH).eqNullSafe(path)))
        if first := moved.select(key, f.col(KEY)).limit(1).collect():
            raise UnsupportedError(
                f"the statement changes the record key or the partition of a row ({first[0][0]!r} to {first[0][1]!r}); "
                "delete the row and insert another",
                path=self.target.uri,
            )
        if has_inserts and self.plan.shadow_ordering:
            names = [*self.plan.shadow_ordering, RECORD_KEY, PARTITION_PATH]
            bases = read_stored(self.spark, self.target.uri, names, None, "read_optimized", self.of_storage)
            check_shadowed(keyed.where(~f.col(_FOUND)), bases, self.plan)

    def _joined_names(self, keyed: DataFrame) -> DataFrame:
        from pyspark.sql import functions as f

        plan = self.plan
        return keyed.select(
            *(f.col(quoted(name)).alias(f"{plan.GIVEN}{name}") for name in [*self.schema.names, DELETES]),
            *(
                f.col(f"_mortice_stored_{at}").alias(f"{plan.STORED}{name}")
                for at, name in enumerate(self._names())
                if name != RECORD_KEY
            ),
            f.col(_FOUND).alias(plan.MATCHED),
        )

    def _merged_schema(self) -> StructType:
        from pyspark.sql.types import BooleanType, StructField, StructType

        marks = [StructField(name, BooleanType()) for name in (self.plan.DELETES, self.plan.UPDATES)]
        fields = [StructField(field.name, field.dataType) for field in self.schema]
        return StructType([*fields, *marks])
