"""Tables of Spark's catalog: `CREATE TABLE trips USING mortice LOCATION '/lake/trips'`.

Spark passes path and options of such a table to a Python data source once, when the table is created, and stores the
columns that the source returns. Each later query passes these columns, and nothing else. So path and options are stored
with the columns, in the metadata of their fields.

A write passes the columns of its rows. If names and types of these equal the table's, Spark leaves them as they are:
with the metadata of the columns that they were selected from, which may be those of another table (measured with Spark
4.0 and 4.3: the rows of `INSERT INTO b SELECT * FROM a` and of `CREATE TABLE b … AS SELECT * FROM a` have the path of
`a`). Only if a type differs it makes them columns of the target, with the metadata of the target. So one column, of
strings, is declared to be a `varchar` of a length that no other table has, in the key that Spark has for it: rows
always differ, and Spark removes the key from them. A column that still has the key was not made a column of the target.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.settings.option_names import SPARK_PREFIX, Decision, decision, is_of_storage

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

READS, WRITES = "mortice", "mortice_target"
"""The keys of the options in the metadata of columns: for queries, and for writes."""
MANAGED = "mortice.managed"
"""The option of a table whose files DROP TABLE deletes: the name that it was created with, as `database.table`.

It is stored apart from the options of queries, in `MANAGED_KEY`.
"""
MANAGED_KEY = "mortice_managed"
OPERATION = "hoodie.datasource.write.operation"
RAW_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of Spark for columns of strings with a limited length (`CharVarcharUtils`)."""
_MARKED = 16
"""How many columns have the options, so that they are not lost with a column that is dropped in the catalog."""
_SHORTEST = 10**9
_OWN = ("columns", "filters")
_SECRET = re.compile(r"secret|password|token|credential|account\.key|access\.key|sas", re.IGNORECASE)
_REMEDY = "write them by mortice.spark.write, or run the statement by mortice.spark.sql(spark, '…')"


def is_of_catalog(options: Mapping[str, str]) -> bool:
    """Returns true for options of a table that is created in the catalog, and not of a query or a view."""
    return str(options.get("provider", "")).lower() == "mortice" and "owner" in options


def catalog_path(options: Mapping[str, str]) -> str | None:
    """Returns the path that options of a catalog table have."""
    path = options.get("path") or options.get("location")
    if path is None:
        return None
    # Hadoop's form of a local path.
    return re.sub(r"^file:/(?!/)", "/", str(path))


def with_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Returns the columns of a new catalog table, with its path and options in their metadata.

    Raises `InvalidArgumentError` for a table without a path, and for options that are secrets.
    """
    from pyspark.sql.types import StringType, StructField, StructType

    path = catalog_path(options)
    if path is None:
        raise InvalidArgumentError("the path of the table is missing; add LOCATION '…' or OPTIONS (path '…')")
    kept = {str(name): str(value) for name, value in options.items() if _is_kept(str(name))}
    for name in kept:
        if is_of_storage(name) and _SECRET.search(name):
            raise InvalidArgumentError(
                f"the option {name} of a catalog table would be stored with its columns, where all who read them see "
                "it; set it in the session and call mortice.spark.register(spark)"
            )
    stored = json.dumps({"path": path, **kept}, sort_keys=True)
    target = next((at for at, field in enumerate(schema) if isinstance(field.dataType, StringType)), None)
    fields = []
    for at, field in enumerate(schema):
        metadata = dict(field.metadata or {})
        if at < _MARKED:
            metadata[READS] = stored
            if MANAGED in options:
                metadata[MANAGED_KEY] = str(options[MANAGED])
        if at == target:
            metadata[WRITES] = stored
            metadata[RAW_TYPE] = f"varchar({_SHORTEST + _number(stored)})"
        fields.append(StructField(field.name, field.dataType, field.nullable, metadata))
    return StructType(fields)


def read_options(options: Mapping[str, str], schema: StructType | None) -> dict[str, str]:
    """Returns the options of a query: those that Spark passes, and those of the catalog table that `schema` is of."""
    given = _of_query(options)
    if "path" in given or "paths" in given:
        return given
    stored = _stored(schema, READS)
    if stored is None:
        if schema is None:
            return given
        raise InvalidArgumentError(
            "the path of the table is not known: Spark does not pass the options of a table that was created with a "
            "list of columns to a Python data source; create it without columns (CREATE TABLE … USING mortice LOCATION "
            "'…'), or by mortice.spark.sql, or name the path in the query: SELECT … FROM … WITH (path = '…')"
        )
    return {**stored, **given}


def write_options(options: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """Returns the options of a write: those that Spark passes, and those of the catalog table that it is to.

    Raises `UnsupportedError` if it is not certain which table that is.
    """
    if "path" in options:
        return dict(options)
    if any(WRITES in field.metadata and RAW_TYPE in field.metadata for field in schema):
        raise UnsupportedError(
            "the rows have the columns of a mortice table that they are selected from, and Spark does not say which "
            f"table they are for; {_REMEDY}"
        )
    stored = _stored(schema, WRITES)
    if stored is None:
        raise UnsupportedError(
            "Spark does not say which table the rows are for: it passes path and options of a table to a Python data "
            "source neither in CREATE TABLE … AS SELECT, nor if the table has no column of strings, nor if it was "
            f"created with a list of columns; {_REMEDY}"
        )
    of_reads = {name for name in stored if decision(name) in (Decision.TAKEN, Decision.REFUSED)}
    of_write = {
        name: value
        for name, value in stored.items()
        if name == "path"
        or is_of_storage(name)
        or (name not in of_reads and name not in _OWN and not _mortice.is_table_property(name))
    }
    return {OPERATION: "insert", **of_write, **options}


def stored_options(schema: StructType) -> dict[str, str] | None:
    """Returns the options that the columns of a catalog table have, with its path; None if they have none."""
    return _stored(schema, READS)


def managed_name(schema: StructType) -> str | None:
    """Returns the name that a table was created with whose files DROP TABLE deletes; None for other tables."""
    found = (field.metadata[MANAGED_KEY] for field in schema if MANAGED_KEY in (field.metadata or {}))
    return next((str(name) for name in found), None)


def _of_query(options: Mapping[str, str]) -> dict[str, str]:
    if not is_of_catalog(options):
        return dict(options)
    path = catalog_path(options)
    kept = {str(name): value for name, value in options.items() if _is_kept(str(name))}
    return kept if path is None else {"path": path, **kept}


def _is_kept(name: str) -> bool:
    """Returns true for an option of mortice, of Hudi or of a storage; others are properties of the catalog."""
    plain = name.lower().removeprefix(SPARK_PREFIX)
    if plain == MANAGED:
        return False
    return plain in _OWN or plain.startswith(("hoodie.", "mortice.", "as.of.")) or is_of_storage(name)


def _stored(schema: StructType | None, key: str) -> dict[str, str] | None:
    for field in schema or ():
        found = (field.metadata or {}).get(key)
        if found is not None:
            options: dict[str, str] = json.loads(found)
            return options
    return None


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % _SHORTEST
