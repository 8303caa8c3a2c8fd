"""Writes updated, deleted and inserted rows of a statement in one commit.

Spark finds the rows and evaluates the expressions. The rows are written as those of `mortice.spark.merge_into`: an
update is never lost to ordering values, and a commit of another writer since the rows were read is a conflict
(`WriteConflictError`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice import _mortice
from mortice.commit import Commit
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
from mortice.spark.merge_types import MISFIT, is_castable, try_cast
from mortice.spark.reading.read import read_stored
from mortice.spark.schema import spark_schema
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.targets import SqlTable
from mortice.spark.statements.tokens import quoted
from mortice.spark.writing.write import write_frame
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["RowAction", "RowChanges"]

_ACTION, _MATCHED, _FOUND = "_mortice_action", "_mortice_matched", "_mortice_found"
_VALUE = "_mortice_value_"


@dataclass(frozen=True)
class RowAction:
    """What happens to the rows for which a condition is true, unless an earlier action has taken them."""

    kind: str
    """`update`, `delete` or `insert`."""
    side: str
    """Which rows these are: `matched`, `target` (without a source row) or `source` (without a target row)."""
    condition: str | None
    """SQL; None is true for all."""
    values: Mapping[str, str]
    """Expressions by column, in SQL."""


class RowChanges:
    """A statement that changes rows of a table.

    Args:
        spark: The session.
        table: The table.
        alias: What the expressions call it.
    """

    def __init__(self, spark: SparkSession, table: SqlTable, alias: str) -> None:
        self.spark, self.alias, self.options = spark, alias, table.write_options()
        self.target = WriteTarget.from_options(table.path, self.options)
        self.storage = self.target.storage_options(spark)
        opened = Table(self.target.uri, storage_options=self.storage)
        names = [name for name in opened.schema.names if not name.startswith("_hoodie_")]
        self.located = list(dict.fromkeys([*opened.record_key_fields, *opened.partition_fields]))
        changed = [name for name in names if name not in self.located]
        on = [name for name in self.located if name in names]
        clauses = (on, changed, "insert")
        # The state of the table that the rows are read from is that of the plan, or a later one: a conflict then.
        self.plan = _mortice.MergePlan(self.target.uri, self.storage, names, clauses, self.target.options, False)
        self.schema: StructType = spark_schema(pa.schema(self.plan.columns))
        self._of_storage = {name: value for name, value in self.options.items() if is_of_storage(name)}
        columns = [*names, RECORD_KEY, PARTITION_PATH]
        self.stored: DataFrame = read_stored(spark, self.target.uri, columns, None, "snapshot", self._of_storage)

    def column(self, name: str) -> str:
        """Returns the table's name of a column, whose case is ignored. Raises `InvalidArgumentError`."""
        found = [one for one in self.schema.names if one.lower() == name.lower()]
        if len(found) != 1:
            raise InvalidArgumentError(
                f"the table has no column {name!r}; it has {', '.join(self.schema.names)}", path=self.target.uri
            )
        return str(found[0])

    def of_rows(self, where: str | None, action: RowAction) -> Commit:
        """Updates or deletes the rows for which a condition is true."""
        from pyspark.sql import functions as f

        rows = self.stored.alias(self.alias)
        rows = rows.where(where) if where is not None else rows
        return self._write(rows.withColumn(_FOUND, f.lit(True)).withColumn(_ACTION, f.lit(0)), [action])

    def of_merge(self, source: DataFrame, name: str, on: str, actions: Sequence[RowAction]) -> Commit:
        """Merges rows.

        Args:
            source: The rows.
            name: What the expressions call them.
            on: The condition by which they match, in SQL.
            actions: The clauses, in order.
        """
        from pyspark.sql import functions as f

        sides = {action.side for action in actions}
        how = {
            (False, False): "inner",
            (True, False): "left",
            (False, True): "right",
            (True, True): "full",
        }["target" in sides, "source" in sides]
        stored = self.stored.withColumn(_FOUND, f.lit(True)).alias(self.alias)
        given = source.withColumn(_MATCHED, f.lit(True)).alias(name)
        joined = stored.join(given, f.expr(on), how)
        has = {"matched": (True, True), "target": (True, False), "source": (False, True)}
        chosen = f.lit(None).cast("int")
        for at, action in reversed(list(enumerate(actions))):
            stored_is, given_is = has[action.side]
            found = f.col(_FOUND).isNotNull() if stored_is else f.col(_FOUND).isNull()
            found &= f.col(_MATCHED).isNotNull() if given_is else f.col(_MATCHED).isNull()
            if action.condition is not None:
                found &= f.expr(action.condition)
            chosen = f.when(found, f.lit(at)).otherwise(chosen)
        with typed_errors():
            self._check_cardinality(joined, actions)
            return self._write(joined.withColumn(_ACTION, chosen).where(f.col(_ACTION).isNotNull()), actions)

    def _stored_column(self, name: str) -> Column:
        from pyspark.sql import functions as f

        return f.col(f"{quoted(self.alias)}.{quoted(name)}")

    def _check_cardinality(self, joined: DataFrame, actions: Sequence[RowAction]) -> None:
        """Refuses several source rows that match one row, as Spark does, unless all are deleted in any case."""
        matched = [action for action in actions if action.side == "matched"]
        if not matched or (len(matched) == 1 and matched[0].kind == "delete" and matched[0].condition is None):
            return
        pairs = joined.where(f"{_FOUND} and {_MATCHED}")
        keys = pairs.select(self._stored_column(RECORD_KEY), self._stored_column(PARTITION_PATH))
        twice = keys.groupBy(RECORD_KEY, PARTITION_PATH).count().where("count > 1").limit(1).collect()
        if twice:
            raise InvalidArgumentError(
                f"several rows of the source match the row of the key {twice[0][0]!r}; make the source distinct",
                path=self.target.uri,
            )

    def _write(self, acted: DataFrame, actions: Sequence[RowAction]) -> Commit:
        with typed_errors(), ExitStack() as stack:
            rows = stack.enter_context(persisted(self._evaluated(acted, actions)))
            self.check_fit(rows)
            given = self._new_rows(rows, actions)
            keyed = given.mapInArrow(MapRows(self.plan, "with_keys"), with_strings(given, [KEY, PATH]))
            keyed = stack.enter_context(persisted(keyed))
            self._check_places(keyed, has_inserts=any(action.kind == "insert" for action in actions))
            pairs = keyed.drop(KEY, PATH)
            merged = self._joined_names(pairs).mapInArrow(MapRows(self.plan, "merge"), self._merged_schema())
            commit = write_frame(merged, self.target, "upsert", "append", merge=self.plan)
        if commit is None:
            raise AssertionError("a write in mode append has no commit")
        return commit

    def _evaluated(self, acted: DataFrame, actions: Sequence[RowAction]) -> DataFrame:
        """Returns the stored columns of rows, the action of each, and the values of its expressions."""
        from pyspark.sql import functions as f

        stored = [self._stored_column(name).alias(f"_mortice_stored_{at}") for at, name in enumerate(self._names())]
        values = [
            f.when(f.col(_ACTION) == at, f.expr(text)).alias(f"{_VALUE}{at}_{self.schema.names.index(name)}")
            for at, action in enumerate(actions)
            for name, text in action.values.items()
        ]
        return acted.select(f.col(_ACTION), f.col(_FOUND), *stored, *values)

    def _names(self) -> list[str]:
        return [*self.schema.names, RECORD_KEY, PARTITION_PATH]

    def check_fit(self, rows: DataFrame) -> None:
        """Refuses values that the types of their columns cannot hold, as Spark's store assignment does."""
        from pyspark.sql import functions as f

        misfits = []
        for field in rows.schema:
            if not field.name.startswith(_VALUE):
                continue
            column = self.schema[int(field.name.rpartition("_")[2])]
            if field.dataType.simpleString() == column.dataType.simpleString():
                continue
            family = {field.dataType.typeName(), column.dataType.typeName()}
            from_string = field.dataType.typeName() == "string"
            if not is_castable(field.dataType, column.dataType) or (from_string and len(family) > 1):
                raise InvalidArgumentError(
                    f"column {column.name!r} is {column.dataType.simpleString()}, and its new value is "
                    f"{field.dataType.simpleString()}; cast it in the statement",
                    path=self.target.uri,
                )
            if field.dataType.typeName() == "void":
                continue
            text = f"column {column.name!r} cannot hold a value of type {field.dataType.simpleString()}: "
            is_lost = f.col(field.name).isNotNull() & try_cast(field.name, column.dataType).isNull()
            misfits.append(f.when(is_lost, f.concat(f.lit(text), f.col(field.name).cast("string"))))
        if misfits:
            found = rows.select(f.coalesce(*misfits).alias(MISFIT)).where(f"{MISFIT} is not null").limit(1).collect()
            if found:
                raise InvalidArgumentError(str(found[0][0]), path=self.target.uri)

    def _new_rows(self, rows: DataFrame, actions: Sequence[RowAction]) -> DataFrame:
        """Returns the rows as they are to be, with their stored columns behind them."""
        from pyspark.sql import functions as f

        columns = []
        for at, field in enumerate(self.schema):
            value = f.col(f"_mortice_stored_{at}")
            for number, action in reversed(list(enumerate(actions))):
                name = f"{_VALUE}{number}_{at}"
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
        """Refuses updates of record keys and partitions, and inserts of keys that there are."""
        from pyspark.sql import functions as f

        key, path = (f.col(f"_mortice_stored_{len(self.schema) + at}") for at in (0, 1))
        moved = keyed.where(_FOUND).where(~(f.col(KEY).eqNullSafe(key) & f.col(PATH).eqNullSafe(path)))
        if first := moved.select(key, f.col(KEY)).limit(1).collect():
            raise UnsupportedError(
                f"the statement changes the record key or the partition of a row ({first[0][0]!r} to {first[0][1]!r}); "
                "delete the row and insert another",
                path=self.target.uri,
            )
        if not has_inserts:
            return
        new = keyed.where(~f.col(_FOUND)).select(KEY, PATH)
        twice = new.groupBy(KEY, PATH).count().where("count > 1").limit(1).collect()
        if twice:
            raise InvalidArgumentError(
                f"several rows with the key {twice[0][0]!r} are inserted; make the source distinct",
                path=self.target.uri,
            )
        there = self.stored.select(f.col(RECORD_KEY).alias(KEY), f.col(PARTITION_PATH).alias(PATH))
        if self.plan.shadow_ordering:
            names = [*self.plan.shadow_ordering, RECORD_KEY, PARTITION_PATH]
            bases = read_stored(self.spark, self.target.uri, names, None, "read_optimized", self._of_storage)
            check_shadowed(keyed.where(~f.col(_FOUND)), bases, self.plan)
        if again := new.join(there, [KEY, PATH], "left_semi").limit(1).collect():
            raise InvalidArgumentError(
                f"a row with the key {again[0][0]!r} is inserted, and the table has one; match by the record key",
                path=self.target.uri,
            )

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
