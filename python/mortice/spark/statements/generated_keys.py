"""Changes of rows of tables whose keys Hudi generates: rows are known by `_hoodie_record_key`.

Such rows are written by an upsert with the keys of the stored rows, or by a delete of them. New rows get keys in the
form of Hudi: the time, the task and the number of the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError, UnsupportedError, WriteConflictError
from mortice.spark.merge_frame import DELETES, PARTITION_PATH, RECORD_KEY
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.tokens import quoted
from mortice.spark.writing.write import write_frame
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FOUND = "_mortice_found"
_PLAIN = ("string", "int", "bigint", "smallint", "tinyint", "boolean")
_NOT_IN_PATHS = r"[/:%=*?\"\\\x00-\x1f]|^\.{0,2}$"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_SERVICES = ("rollback", "clean", "savepoint", "indexing")


def _writes(table: Table) -> set[str]:
    """Returns the completed instants that may have changed rows. A write rolls back what failed ones have left."""
    return {one.requested_time for one in table.timeline.completed if one.action not in _SERVICES}


class GeneratedKeys:
    """The rows of a table with generated keys, in the state in which it was opened."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.known = _writes(table)

    def write(self, rows: DataFrame, target: WriteTarget, names: Sequence[str]) -> Commit:
        """Writes changed rows in one commit.

        Args:
            rows: The rows as they are to be, their marks, and the stored ones, as `RowChanges` has them.
            target: The table.
            names: The columns of the table.
        """
        from pyspark.sql import functions as f

        counts = {bool(row[0]): row[1] for row in rows.groupBy(DELETES).count().collect()}
        if len(counts) > 1:
            raise UnsupportedError(
                "the statement deletes some rows and writes others, in a table with generated keys; use one statement "
                "for each",
                path=self.table.uri,
            )
        key, path = (f.col(f"_mortice_stored_{len(names) + at}") for at in (0, 1))
        if True in counts:
            gone = rows.select(key.alias(RECORD_KEY), path.alias(PARTITION_PATH))
            return self._committed(gone, target, "delete")
        self._check(rows, names)
        made = f.concat(
            f.lit(datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S%f")[:17]),
            *(f.lit("_"), f.spark_partition_id().cast("string")),
            *(f.lit("_"), f.monotonically_increasing_id().cast("string")),
        )
        new = rows.select(
            *(f.col(quoted(name)) for name in names),
            f.when(f.col(_FOUND), key).otherwise(made).alias(RECORD_KEY),
            f.when(f.col(_FOUND), path).otherwise(self._path()).alias(PARTITION_PATH),
        )
        return self._committed(new, target, "upsert")

    def _committed(self, rows: DataFrame, target: WriteTarget, operation: str) -> Commit:
        commit = write_frame(rows, target, operation, "append", [self._unchanged])
        if commit is None:
            raise AssertionError("a write in mode append has no commit")
        return commit

    def _unchanged(self, table: Table) -> None:
        """Refuses the commit if another writer has committed since the table was opened."""
        now = _writes(table)
        first = min(now, default="")
        # Older ones may have been archived; the write itself is a new one.
        gone = [time for time in self.known if time >= first and time not in now]
        if gone or len(now - self.known) > 1:
            raise WriteConflictError(
                "another writer has changed the table since its rows were read; run the statement again",
                path=self.table.uri,
            )

    def _check(self, rows: DataFrame, names: Sequence[str]) -> None:
        """Refuses other partitions of stored rows, and ordering values that are less than the stored ones."""
        from pyspark.sql import functions as f

        def stored(name: str) -> Column:
            return f.col(f"_mortice_stored_{names.index(name)}")

        fields = [name for name in self.table.partition_fields if name in names]
        moved = [~f.col(quoted(name)).eqNullSafe(stored(name)) for name in fields]
        late = [f.col(quoted(name)) < stored(name) for name in self.table.ordering_fields if name in names]
        found = rows.where(_FOUND)
        for conditions, what in ((moved, "changes the partition"), (late, "lessens the ordering value")):
            for condition in conditions:
                if found.where(condition).limit(1).collect():
                    raise UnsupportedError(
                        f"the statement {what} of a row; delete the row and insert another", path=self.table.uri
                    )
        new = rows.where(~f.col(_FOUND))
        for name in fields:
            kind = rows.schema[name].dataType.simpleString()
            if kind not in _PLAIN or self._is_encoded():
                if new.limit(1).collect():
                    raise UnsupportedError(
                        f"new rows of a table with generated keys that is partitioned by {name} ({kind}); insert them "
                        "by INSERT INTO",
                        path=self.table.uri,
                    )
            elif kind == "string":
                wrong = new.where(f.col(quoted(name)).rlike(_NOT_IN_PATHS)).select(quoted(name)).limit(1).collect()
                if wrong:
                    raise InvalidArgumentError(
                        f"column {name!r} cannot be part of a partition path: {wrong[0][0]!r}", path=self.table.uri
                    )

    def _is_encoded(self) -> bool:
        return self.table.properties.get("hoodie.datasource.write.partitionpath.urlencode", "").lower() == "true"

    def _path(self) -> Column:
        """Returns the partition path of new rows, as Hudi's key generators for plain columns make it."""
        from pyspark.sql import functions as f

        named = self.table.properties.get("hoodie.datasource.write.hive_style_partitioning", "").lower() == "true"
        parts = []
        for name in self.table.partition_fields:
            value = f.coalesce(f.col(quoted(name)).cast("string"), f.lit(_NULL))
            parts.append(f.concat(f.lit(f"{name}="), value) if named else value)
        return f.concat_ws("/", *parts) if parts else f.lit("")
