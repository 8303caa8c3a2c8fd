"""Registers `format("mortice")` and the table functions of SQL with a session.

The former is rarely needed: if mortice is installed, Spark 4 finds the format through the module `pyspark_mortice`.
Table functions are Python UDTFs, `SELECT * FROM mortice_changes('/lake/trips', 'earliest')`. These have fixed columns,
so values of rows are JSON. They run in a task, which reads the table itself.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from mortice.errors import InvalidArgumentError
from mortice.reading.read_options import ReadOptions
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_META = "_hoodie_"


def _table(path: object) -> Table:
    if not isinstance(path, str) or not path:
        raise InvalidArgumentError(f"the path of the table must be a string, got {path!r}")
    return Table(path, read_options=ReadOptions(threads=1))


def _json(values: Mapping[str, object]) -> str:
    return json.dumps({name: value for name, value in values.items() if not name.startswith(_META)}, default=str)


class Changes:
    """Commit by commit, the rows that were inserted, updated and deleted, of a table with change data capture; of
    others the newest version of each row that was written."""

    columns: ClassVar[str] = "operation string, commit_time string, record_key string, before string, after string"

    def eval(self, path: str, begin: str, end: str | None = None) -> Iterator[tuple[object, ...]]:
        table = _table(path)
        if table._native.has_change_data:  # noqa: SLF001
            for batch in table.changes(begin, end).to_reader():
                for row in batch.to_pylist():
                    after, before = row.get("after"), row.get("before")
                    of_row = json.loads(after or before or "{}")
                    yield row.get("op"), row.get("ts_ms"), of_row.get(f"{_META}record_key"), before, after
            return
        for batch in table.incremental(begin, end, emit_deletes=True).to_reader():
            for row in batch.to_pylist():
                operation = "d" if row.get(f"{_META}operation") == "D" else "u"
                key, at = row.get(f"{_META}record_key"), row.get(f"{_META}commit_time")
                yield operation, at, key, None, None if operation == "d" else _json(row)


class TimelineRows:
    """The instants of a table, active ones and archived ones."""

    columns: ClassVar[str] = (
        "requested_time string, completion_time string, action string, state string, archived boolean"
    )

    def eval(self, path: str) -> Iterator[tuple[object, ...]]:
        timeline = _table(path).timeline
        for is_archived, instants in ((True, timeline.archived), (False, timeline.active)):
            for one in instants:
                yield one.requested_time, one.completion_time, one.action, one.state, is_archived


class Files:
    """The files that a snapshot reads."""

    columns: ClassVar[str] = "partition string, file_id string, instant string, kind string, path string, bytes bigint"

    def eval(self, path: str) -> Iterator[tuple[object, ...]]:
        for one in _table(path).file_slices():
            if one.base_file is not None:
                yield one.partition, one.file_id, one.base_instant, "base", one.base_file.path, one.base_file.size
            for log in one.log_files:
                yield one.partition, one.file_id, one.base_instant, "log", log.path, log.size


class History:
    """Every version of a record that the files still contain."""

    columns: ClassVar[str] = "instant string, source string, state string, reason string, row string"

    def eval(self, path: str, key: str) -> Iterator[tuple[object, ...]]:
        for one in _table(path).history(key).versions:
            yield one.instant, one.source, one.state, one.reason, _json(one.values) if one.values else None


_FUNCTIONS: dict[str, type[Changes | TimelineRows | Files | History]] = {
    "mortice_changes": Changes,
    "mortice_timeline": TimelineRows,
    "mortice_files": Files,
    "mortice_history": History,
}


def register_table_functions(spark: SparkSession) -> None:
    """Registers the table functions with a session, as Spark 3.5 and later allow."""
    from pyspark.sql.functions import udtf

    for name, function in _FUNCTIONS.items():
        spark.udtf.register(name, udtf(function, returnType=function.columns))  # type: ignore[arg-type]


def register(spark: SparkSession) -> None:
    """Registers `spark.read.format("mortice")` and the table functions of SQL with this session.

        SELECT * FROM mortice_changes('/lake/trips', 'earliest')

    The functions are `mortice_changes(path, from[, to])`, `mortice_timeline(path)`, `mortice_files(path)` and
    `mortice_history(path, key)` (docs/spark.md).

    Spark plans a Python data source in a process that has no session. The current settings of object stores in the
    session (`fs.s3a.*`, `fs.azure.*`, `fs.gs.*`) are therefore stored in the source. Register it again after they have
    changed. On Spark 3.5, which has no Python data sources, a `RuntimeWarning` is issued; the functions are registered.
    """
    if hasattr(spark, "udtf"):
        register_table_functions(spark)
    if not hasattr(spark, "dataSource"):
        warnings.warn(
            f"Spark {spark.version} has no Python data sources, so format('mortice') needs Spark 4; "
            "mortice.spark.read(spark, path) works here",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    from pyspark.errors import AnalysisException

    from mortice.spark.settings.session import all_hadoop_settings
    from pyspark_mortice import DefaultSource

    class SessionSource(DefaultSource):
        session_settings = all_hadoop_settings(spark)

    try:
        spark.dataSource.register(SessionSource if SessionSource.session_settings else DefaultSource)
    except AnalysisException as error:
        # Spark 4.0 rejects the name of a source that it has discovered itself: the source is available then.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
