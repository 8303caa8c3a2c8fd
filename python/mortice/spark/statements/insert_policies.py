"""Which operation an INSERT is, and its options, by the session's settings and those of the table.

The rules are those of Hudi 1.2 (`ProvidesHoodieConfig`), tried with it: the session's settings take precedence over the
table's, and `hoodie.datasource.write.operation` over `hoodie.spark.sql.insert.into.operation`. `hoodie.sql.insert.mode`
is checked and changes no rows, and `hoodie.datasource.write.insert.drop.duplicates` has no effect in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.settings.option_names import SPARK_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["INTO_OPERATION", "InsertPolicy"]

INTO_OPERATION = "hoodie.spark.sql.insert.into.operation"
"""The option that says which operation INSERT INTO is."""
_OPERATION = "hoodie.datasource.write.operation"
_POLICY = "hoodie.datasource.insert.dup.policy"
_DROPS = "hoodie.datasource.write.insert.drop.duplicates"
_COMBINES = "hoodie.combine.before.insert"
_MODE = "hoodie.sql.insert.mode"
_BULK = "hoodie.sql.bulk.insert.enable"
_OVERWRITE_MODE = "hoodie.datasource.overwrite.mode"
_SPARK_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
_INSERTS = ("insert", "upsert", "bulk_insert")
_OVERWRITES = ("insert_overwrite", "insert_overwrite_table")
_STRICT = ("strict", "upsert")


class InsertPolicy:
    """What the session and the table say of an INSERT.

    Args:
        spark: The session.
        options: The options of writes of the table.
    """

    def __init__(self, spark: SparkSession, options: Mapping[str, Any]) -> None:
        self.spark = spark
        self._table = {name: str(value) for name, value in options.items()}
        own = (_OPERATION, INTO_OPERATION, _POLICY, _DROPS, _MODE, _BULK, _OVERWRITE_MODE)
        self._others = {name: value for name, value in options.items() if name not in own}

    def _session(self, name: str) -> str | None:
        found = self.spark.conf.get(name, None)
        return found if found is not None else self.spark.conf.get(f"{SPARK_PREFIX}{name}", None)

    def _given(self, name: str) -> str | None:
        found = self._session(name)
        return self._table.get(name) if found is None else found

    def into(self) -> tuple[str, dict[str, Any]]:
        """Returns the operation of INSERT INTO, and its options."""
        self._check_mode()
        name = _OPERATION if self._given(_OPERATION) is not None else INTO_OPERATION
        operation = str(self._given(name) or "insert")
        if operation not in _INSERTS:
            raise UnsupportedError(
                f"INSERT INTO with {name}={operation}, which would be another statement; "
                f"it can be {', '.join(_INSERTS)}"
            )
        policy, options = self._given(_POLICY), self._combined()
        if policy is None:
            return operation, options
        # An upsert with such a policy is an insert, of which a write warns.
        is_insert = operation == "upsert" and policy.lower() in ("drop", "fail")
        return "insert" if is_insert else operation, {**options, _POLICY: policy}

    def overwrite(self) -> dict[str, Any]:
        """Returns the options of INSERT OVERWRITE."""
        self._check_mode()
        operation = self._session(_OPERATION)
        if operation is not None and operation not in _OVERWRITES:
            raise UnsupportedError(
                f"INSERT OVERWRITE with {_OPERATION}={operation} in the session, which would overwrite nothing; "
                f"RESET {_OPERATION}"
            )
        return self._combined()

    def is_dynamic(self) -> bool:
        """Returns whether INSERT OVERWRITE replaces the partitions of its rows alone."""
        mode = self._given(_OVERWRITE_MODE) or self.spark.conf.get(_SPARK_OVERWRITE_MODE, "static")
        if str(mode).lower() not in ("static", "dynamic"):
            raise InvalidArgumentError(f"{_OVERWRITE_MODE} must be static or dynamic, got {mode!r}")
        return str(mode).lower() == "dynamic"

    def _combined(self) -> dict[str, Any]:
        combines = self._session(_COMBINES)
        return self._others if combines is None else {**self._others, _COMBINES: combines}

    def _check_mode(self) -> None:
        mode = self._given(_MODE)
        if mode is not None and mode.lower() not in (*_STRICT, "non-strict"):
            raise InvalidArgumentError(f"{_MODE} must be upsert, strict or non-strict, got {mode!r}")
        is_bulk = (self._given(_BULK) or "").lower() == "true"
        if is_bulk and mode is not None and mode.lower() in _STRICT and self._given(INTO_OPERATION) is None:
            raise InvalidArgumentError(f"{_BULK}=true is possible with {_MODE}=non-strict only, got {mode!r}")
