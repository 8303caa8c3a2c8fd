"""The native core. All functions release the GIL while Rust works, and raise subclasses of `mortice.MorticeError`.

Arrow data is exchanged only through the Arrow PyCapsule interface.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, final, type_check_only

import pyarrow as pa
from typing_extensions import Self

from mortice.errors import InvalidArgumentError
from mortice.values.argument_types import ArrowRows, ArrowStream
from mortice.values.argument_types import ArrowSchema as HasArrowSchema

__all__ = [
    "INSERT_OPTIONS",
    "INSERT_SETTINGS",
    "AlterTableStatement",
    "ArchiveResult",
    "ArchivedInstant",
    "ArrowBatch",
    "ArrowSchema",
    "Block",
    "Blocks",
    "CallArgument",
    "CatalogPartition",
    "CatalogTable",
    "Clean",
    "CleanResult",
    "CleanedFile",
    "ClusterResult",
    "ClusteringGroup",
    "Commit",
    "CommitEvent",
    "CompactResult",
    "CreateTableStatement",
    "DataFile",
    "DistributedWrite",
    "ErasedValues",
    "Erasure",
    "ExpireResult",
    "ExpiredPartition",
    "Expression",
    "FileGroupStats",
    "FileSlice",
    "Filter",
    "Finding",
    "Follower",
    "GroupDebt",
    "Health",
    "InsertStatement",
    "Instant",
    "LogBlock",
    "LogFile",
    "LogWriter",
    "MergePlan",
    "MergeStatement",
    "MergeStatementClause",
    "MetadataHealth",
    "MetadataResult",
    "PendingInstant",
    "PlainFiles",
    "PlannedCompaction",
    "PlannedSlice",
    "Procedure",
    "QueryPlan",
    "RecordBatches",
    "RepairResult",
    "RestoreResult",
    "RollbackResult",
    "RowChangeStatement",
    "RowError",
    "SavepointResult",
    "Scan",
    "SchemaChange",
    "ServiceNeed",
    "SharedQuery",
    "Split",
    "StageBatches",
    "Statement",
    "StatementAssignment",
    "StatementColumn",
    "StatementName",
    "StatementRelation",
    "Stream",
    "SyncOptions",
    "Synced",
    "Table",
    "UpgradeResult",
    "VerifyResult",
    "__version__",
    "abort_task_insert",
    "begin_task_insert",
    "bootstrap",
    "catalog_entries",
    "check_filter_text",
    "commit_task_insert",
    "create_table",
    "create_table_by_options",
    "create_table_options",
    "debug_build",
    "distinct_values",
    "forget_schema",
    "has_hdfs",
    "insert_write",
    "is_followed_option",
    "is_stream_batch_written",
    "is_sync_option",
    "is_table_property",
    "merge",
    "merge_into",
    "merge_rows",
    "merge_rules",
    "needs_commit_order",
    "option_default",
    "partition_changes",
    "pause_after_conflict",
    "position_before",
    "procedure_rows",
    "procedures",
    "query_instant",
    "referenced_columns",
    "refuse_other_writer",
    "run_service",
    "run_service_by_tasks",
    "run_stage",
    "service_rows",
    "statement_error",
    "statement_parameters",
    "stream_batch_options",
    "table_name",
    "update_where",
]

__version__: str
debug_build: bool
"""True if the core was built without optimisation. Never benchmark such a build."""
has_hdfs: bool
"""True if the core was built with its HDFS client."""

"""(requested time, completion time, action, state)"""

@final
class ArrowSchema:
    def __arrow_c_schema__(self) -> object: ...

@final
class ArrowBatch:
    num_rows: int
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Expression:
    """An expression over the columns of sides. Values are batches of one column.

    Args:
        text: The expression.
        sides: The names of the sides, and Arrow data of their schemas.
        aliases: Other names of the sides, in lower case, and the sides.
    """

    def __new__(
        cls, text: str, sides: Sequence[tuple[str, ArrowRows]], aliases: Sequence[tuple[str, str]]
    ) -> Expression: ...
    def names(self, side: str) -> list[str]:
        """Returns the top-level columns of a side that the expression reads."""

    def evaluate(self, batches: Sequence[tuple[str, ArrowRows]]) -> ArrowBatch:
        """Returns the value for each row of the batches of the sides."""

    def pushed_filter(self, side: str) -> Filter | None:
        """Returns the filter that readers get of a condition: it selects all rows for which the condition is true."""

@final
class Filter:
    """Filters in disjunctive normal form: alternatives of conjunctions of terms. It is not empty.

    Args:
        data: A filter that was pickled.
    """

    columns: list[str]
    """The columns that it looks at, in order; fields of structs with points between the names."""
    terms: list[list[tuple[str | tuple[str, ...], str, Any]]]
    """All terms of a list, in any of the lists. A tuple names a column and fields within it."""

    def __new__(cls, data: bytes) -> Filter: ...
    @staticmethod
    def parse(
        filters: object,
        schema: Callable[[], pa.Schema] | None,
        serialised: Callable[[object], bytes | tuple[str, Callable[[str], ArrowRows]] | None],
    ) -> Filter | None:
        """Returns filters of any form; None if they select all rows.

        Args:
            filters: The filters.
            schema: Returns the columns that they are about.
            serialised: Returns an expression of pyarrow as bytes, one of polars as JSON with a function that evaluates
                such without columns, and None for other values.
        """

    @staticmethod
    def superset(
        expression: object,
        schema: pa.Schema,
        serialised: Callable[[object], bytes | tuple[str, Callable[[str], ArrowRows]] | None],
    ) -> Filter | None:
        """Returns a filter that selects all rows which an expression selects, and perhaps others; None for all rows.

        Args:
            expression: The expression.
            schema: The columns that it is about.
            serialised: As for `parse`.
        """

    def both(self, other: Filter) -> Filter:
        """Returns the filter that selects the rows which both select."""

def check_filter_text(text: str) -> None:
    """Raises `InvalidArgumentError`, with the place, for text that is no filter."""

def referenced_columns(serialised: bytes) -> list[str] | None:
    """Returns the columns that a serialised expression of pyarrow refers to; None if it is not recognised."""

_Span: TypeAlias = tuple[int, int]
"""Where a part of a statement begins and ends (exclusive), as numbers of characters."""
_Partition: TypeAlias = list[tuple[str, _Span | None]]
"""The values of a PARTITION clause by column; None where any value, or that of the query, is meant."""

@final
class StatementName:
    """The name of a table or a column, and where it and what follows it begin."""

    parts: list[str]
    at: int
    behind: int

@final
class StatementRelation:
    """The name of a table that a statement reads."""

    parts: list[str]
    at: int
    end: int
    """Where it ends, with the state that it asks for and the arguments of a function."""
    as_of: str | None
    as_of_expression: _Span | None
    arguments: list[str] | None
    """The arguments of one of Hudi's table functions, such as `hudi_table_changes`: a table or a path first."""
    takes_alias: bool
    alias_at: int | None
    """Where an alias has to be put, if it takes one and has none."""

@final
class StatementColumn:
    """A column as a statement describes it: of a new table, or what is changed of one."""

    path: list[str]
    at: int
    new_name: str | None
    kind: str | None
    """The type, in SQL."""
    kind_at: int
    is_nullable: bool
    drops_not_null: bool
    comment: str | None
    after: str | None
    after_at: int
    is_first: bool

@final
class StatementAssignment:
    """A column and its new value; None for DEFAULT."""

    parts: list[str]
    at: int
    value: _Span | None

@final
class MergeStatementClause:
    """A clause of MERGE."""

    kind: str
    """`update`, `delete` or `insert`."""
    side: str
    """The rows: `matched`, `target` (without a source row) or `source` (without a target row)."""
    condition: _Span | None
    assignments: list[StatementAssignment]
    star_at: int | None
    """Where `*` is, if it is given for all columns."""

@final
class MergeStatement:
    """The clauses of MERGE."""

    alias: str | None
    source: _Span
    source_alias: str | None
    source_parts: list[str]
    """The parts of its name; `source` for a query."""
    on: _Span
    clauses: list[MergeStatementClause]

@final
class RowChangeStatement:
    """The clauses of UPDATE or DELETE."""

    alias: str | None
    assignments: list[StatementAssignment]
    condition: _Span | None

@final
class InsertStatement:
    """An INSERT clause."""

    overwrites: bool
    partition_at: int
    partition: _Partition
    rows_at: int
    """Where what follows the PARTITION clause begins."""
    by_name: bool
    columns: list[str] | None
    query: _Span
    defaults: list[_Span]
    """Where DEFAULT is a value of VALUES."""
    before: _Span | None
    """What the statement has before INSERT: `FROM a, b`."""

@final
class CreateTableStatement:
    """The clauses of CREATE TABLE."""

    parts: list[str]
    if_not_exists: bool
    is_external: bool
    provider: str
    """The source behind USING, in upper case; empty if none is given."""
    columns: list[StatementColumn]
    partitions: list[str]
    options: list[tuple[str, str]]
    properties: list[tuple[str, str]]
    location: str | None
    comment: str | None
    query: _Span | None

@final
class AlterTableStatement:
    """The clauses of ALTER TABLE."""

    kind: str
    """`add`, `replace`, `change`, `drop`, `drop_partitions`, `properties` or `rename_table`."""
    columns: list[StatementColumn]
    dropped: list[StatementName]
    if_exists: bool
    properties: list[tuple[str, str | None]]
    """Names and values; None for those that are unset."""
    properties_at: int
    partitions: list[_Partition]
    to: list[str] | None
    to_at: int

@final
class CallArgument:
    """An argument of CALL."""

    name: str | None
    at: int
    text: str | None
    """Its value, if that is a string."""
    value: _Span

@final
class Statement:
    """A statement of Spark's SQL: what it is, and its clauses, which are read when they are asked for.

    Methods that read clauses raise `InvalidArgumentError`, which shows the place, for what is not valid.
    """

    kind: str
    """`merge`, `create_table`, …, `query`, `other` for what is Spark's, `refused` for what tables of mortice do not have."""
    names: list[StatementName]
    """The names that it is about: the table, those of several INSERT, and the source of CREATE TABLE LIKE."""
    end: int
    view_options: list[tuple[str, str]] | None
    """The options of a view for a table."""
    is_query: bool
    is_cache: bool
    is_temporary: bool
    is_extended: bool
    if_exists: bool
    purges: bool
    names_table: bool
    """Whether the arguments of CALL name a table or a path."""

    @staticmethod
    def parse(text: str, values: Sequence[tuple[int, int, str, str]]) -> Statement:
        """Returns a statement. Raises `InvalidArgumentError`, which shows the place, if its beginning is not valid.

        Args:
            text: The statement.
            values: The values of its parameters: begin, end, kind (`string`, `number`, `word` or `literal`), value.
        """

    def relations(self) -> list[StatementRelation]:
        """Returns the tables that it reads."""

    def with_relations(self) -> tuple[_Span | None, list[StatementRelation]]:
        """Returns the WITH clause of a change of rows, and where the rest of the statement names its queries."""

    def words(self) -> tuple[list[str], list[str]]:
        """Returns the names in it, in lower case, but those that it writes to: first parts, and those behind points."""

    def qualified(self, parts: Sequence[str]) -> list[_Span]:
        """Returns where columns are qualified by a name, whose parts are in lower case."""

    def merge(self) -> MergeStatement: ...
    def row_change(self) -> RowChangeStatement: ...
    def inserts(self) -> list[InsertStatement]: ...
    def partition(self) -> _Partition | None:
        """Returns the PARTITION clause of TRUNCATE, SHOW PARTITIONS or MSCK REPAIR."""

    def create_table(self) -> CreateTableStatement: ...
    def alter_table(self) -> AlterTableStatement: ...
    def arguments(self) -> list[CallArgument]: ...
    def property(self) -> str | None:
        """Returns the property that SHOW TBLPROPERTIES names."""

    def index(self) -> tuple[str, str, bool, str | None]:
        """Returns what a statement about indexes does, the partition of the metadata table, whether IF (NOT) EXISTS is
        given, and the type of a new index."""

    def refusal(self) -> InvalidArgumentError | None:
        """Returns the error of a statement that tables of mortice do not have."""

@final
class Procedure:
    """A procedure of CALL."""

    name: str
    kind: str
    """`rows` if `procedure_rows` computes it, `run` if `run_service` runs it, `service` for another table service, `refused`; `function` for the rows of a
    table function of SQL."""
    parameters: list[tuple[str, str, bool, str | None]]
    """Name, type, whether it is required, default; in the order of arguments without names."""
    options: dict[str, str]
    """The options of writes and services that arguments stand for, by their names."""
    columns: list[tuple[str, str]]
    """Names and types; none where they follow from the result."""
    text: str
    """What it does; of a refused one, what to use instead."""

def procedures() -> list[Procedure]:
    """Returns all procedures, sorted by name."""

def procedure_rows(
    name: str,
    uri: str,
    storage_options: Mapping[str, str],
    arguments: Mapping[str, bool | int | float | str],
) -> list[tuple[bool | int | float | str | None, ...]]:
    """Returns the rows of a procedure of the kind `rows`."""

def run_service(
    name: str,
    uri: str,
    storage_options: Mapping[str, str],
    arguments: Mapping[str, bool | int | float | str],
    options: Mapping[str, str],
) -> list[tuple[bool | int | float | str | None, ...]]:
    """Runs a procedure of the kind `run`, and returns its rows."""

def service_rows(
    name: str,
    uri: str,
    storage_options: Mapping[str, str],
    instants: Sequence[str],
    shows_partitions: bool,
) -> list[tuple[bool | int | float | str | None, ...]]:
    """Returns the rows that Hudi's procedure of a table service has of instants that the service has run for."""

INSERT_OPTIONS: list[str]
"""The options that say which write an INSERT is; the write does not get them."""
INSERT_SETTINGS: list[str]
"""What only the session says of an INSERT."""

def insert_write(session: Mapping[str, str], table: Mapping[str, str], overwrites: bool) -> tuple[str, dict[str, str]]:
    """Returns the operation of an INSERT, and the options that its write gets besides those of the table.

    An INSERT OVERWRITE that replaces the partitions of its rows alone is an `insert_overwrite`, and else an
    `insert_overwrite_table`. `session` and `table` are the settings of the session and the options of the table.
    """

def create_table_options(
    title: str, properties: Sequence[tuple[str, str]], partitions: Sequence[str], columns: Sequence[str] | None
) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Returns the options that the entry of a new table keeps, and those of the write that creates it.

    `title` is the name of the table or its path, `properties` are its options and properties without those of the
    storage. Without columns, the options of the write are empty.
    """

def statement_parameters(text: str) -> list[tuple[int, int, str | None]]:
    """Returns where the parameters of a statement are, and their names; None for `?`."""

def statement_error(text: str, at: int, message: str) -> InvalidArgumentError:
    """Returns the error for a statement, which shows the line of a place."""

def table_name(text: str) -> list[str]:
    """Returns the parts of the name of a table. Raises `InvalidArgumentError` for anything else."""

@type_check_only
class CorruptBlock(TypedDict):
    """A corrupt block that a read has skipped."""

    file: str
    offset: int
    reason: str

@type_check_only
class DamagedLog(TypedDict):
    """A log file that has lost bytes of a completed write."""

    file: str
    offset: int
    instant: str
    reason: str

@type_check_only
class ReadReport(TypedDict):
    """What has been read (`Scan.report`)."""

    files: int
    blocks: dict[str, int]
    """The number of log blocks, by kind."""
    corrupt: list[CorruptBlock]
    damaged: list[DamagedLog]
    rolled_back: int
    """Log blocks of instants that were rolled back."""
    uncommitted: int
    """Log blocks of instants that have not completed."""
    records_read: int
    records_won: int
    passes: int
    """Further passes over logs whose keys did not fit into memory."""
    slices_pruned: int
    row_groups_pruned: int
    base_rows: int
    rows: int
    list_requests: int
    open_requests: int
    read_requests: int
    peak_fetched_bytes: int

@type_check_only
class TaskRunner(Protocol):
    """An engine that runs stages as tasks. Its methods return what the tasks report."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at once, as far as it is known."""

    def run(self, stage: bytes, tasks: int) -> list[bytes]:
        """Runs a stage whose tasks read files.

        Args:
            stage: The stage, serialised.
            tasks: The number of tasks.
        """

    def exchange(self, read: bytes, tasks: int, then: bytes, partitions: int) -> list[bytes]:
        """Runs a stage whose tasks read files, and one that gets what they send. Returns what the latter reports.

        Args:
            read: The stage that reads.
            tasks: The number of its tasks.
            then: The stage that gets the chunks.
            partitions: Partitions of the shuffled chunks.
        """

@type_check_only
class ErasureTasks(Protocol):
    """The parts of an erasure that tasks of an engine do. Filters are lists of lists of terms."""

    def count(self, filters: object, as_of: str | None) -> int:
        """Returns the number of rows that filters select."""

    def count_unaided(self, filters: object) -> int:
        """Returns the number of rows that filters select, of the newest state and of base files alone, whichever is
        greater. Files are listed in the storage, and none is left out by statistics or indexes.
        """

    def values(self, columns: Sequence[str], filters: object) -> Iterable[ArrowRows]:
        """Returns batches with the distinct values, without null, of columns of the rows that filters select."""

    def shared(self, column: str, values: ArrowBatch) -> Iterable[ArrowRows]:
        """Returns batches with the values of a column, out of some, that rows have."""

    def search(self, files: Sequence[tuple[str, int]], erased: ErasedValues) -> Sequence[tuple[str, str]]:
        """Returns the files, out of some with their sizes, that have values of erased rows, and how."""

    def is_in_metadata(self, erased: ErasedValues) -> bool:
        """Returns whether records of the metadata table have values of erased rows."""

    def delete_where(self, filters: object, options: Mapping[str, str]) -> object:
        """Deletes the rows that filters select."""

    def compact(self, options: Mapping[str, str]) -> object:
        """Executes and plans compactions."""

@type_check_only
class _Result:
    """What results have in common."""

    def to_dict(self) -> dict[str, object]:
        """Returns the fields by name; results within them are dicts, too."""
    def __replace__(self, **changes: object) -> Self: ...

@final
class DataFile(_Result):
    """One file of a file slice."""

    __match_args__ = ("path", "size")
    def __new__(cls, path: str, size: int) -> DataFile: ...
    @property
    def path(self) -> str:
        """The path, relative to the table's base path."""
    @property
    def size(self) -> int:
        """The size of the file, in bytes."""

@final
class FileSlice(_Result):
    """The files that contain the rows of one file group as of one instant."""

    __match_args__ = ("partition", "file_id", "base_instant", "base_file", "log_files")
    def __new__(
        cls,
        partition: str,
        file_id: str,
        base_instant: str,
        base_file: DataFile | None,
        log_files: Sequence[DataFile],
    ) -> FileSlice: ...
    @property
    def partition(self) -> str:
        """The partition path; empty for a table without partitions."""
    @property
    def file_id(self) -> str:
        """The id of the file group."""
    @property
    def base_instant(self) -> str:
        """The instant of the base file, or of the first log file if there is no base file."""
    @property
    def base_file(self) -> DataFile | None:
        """The base file; None if there is none."""
    @property
    def log_files(self) -> tuple[DataFile, ...]:
        """The log files, in the order in which they are merged."""
    @property
    def size(self) -> int:
        """The size of all files, in bytes."""

@final
class Instant(_Result):
    """One action on the timeline."""

    __match_args__ = ("requested_time", "completion_time", "action", "state")
    def __new__(cls, requested_time: str, completion_time: str | None, action: str, state: str) -> Instant: ...
    @property
    def requested_time(self) -> str:
        """The time when the action was requested; the name of the instant."""
    @property
    def completion_time(self) -> str | None:
        """The time when the action completed. None if it is pending, and below table version 8, except for archived
        instants since Hudi 0.14."""
    @property
    def action(self) -> str:
        """Hudi's name of the action: `deltacommit`, `commit`, `compaction`, `replacecommit`, `clean`, `rollback`, …"""
    @property
    def state(self) -> str:
        """`REQUESTED`, `INFLIGHT` or `COMPLETED`."""
    @property
    def is_completed(self) -> bool:
        """True if the action has completed."""

@final
class FileGroupStats(_Result):
    """What a write did to a file group: one file of it."""

    __match_args__ = ("partition", "file_id", "path", "file_bytes", "rows_written", "inserts", "updates", "deletes")
    def __new__(
        cls,
        partition: str,
        file_id: str,
        path: str | None,
        file_bytes: int,
        rows_written: int,
        inserts: int,
        updates: int,
        deletes: int,
    ) -> FileGroupStats: ...
    @property
    def partition(self) -> str:
        """The partition path; empty if the table is not partitioned."""
    @property
    def file_id(self) -> str:
        """The id of the file group."""
    @property
    def path(self) -> str | None:
        """The file's path, relative to the table; None if no file was written."""
    @property
    def file_bytes(self) -> int:
        """The size of the file, in bytes."""
    @property
    def rows_written(self) -> int:
        """The number of rows in the file; of a log file, of its records."""
    @property
    def inserts(self) -> int:
        """The number of rows whose key was new."""
    @property
    def updates(self) -> int:
        """The number of rows whose key was there."""
    @property
    def deletes(self) -> int:
        """The number of deleted keys."""

@final
class RowError(_Result):
    """A row that was not written, with `hoodie.write.ignore.failed`."""

    __match_args__ = ("record_key", "message")
    def __new__(
        cls,
        record_key: str | None,
        message: str,
    ) -> RowError: ...
    @property
    def record_key(self) -> str | None:
        """Its record key; None if it has none."""
    @property
    def message(self) -> str:
        """Why it was not written; it names the row, counted from 0, and the column."""

@final
class SchemaChange(_Result):
    """A column, or a field within one, that a write has added or given another type."""

    __match_args__ = ("column", "before", "after")
    def __new__(
        cls,
        column: str,
        before: pa.DataType | None,
        after: pa.DataType,
    ) -> SchemaChange: ...
    @property
    def column(self) -> str:
        """The column, or the path of a field: `rider.age`, `stops.element.city`."""
    @property
    def before(self) -> pa.DataType | None:
        """The type that it had; None if it is new."""
    @property
    def after(self) -> pa.DataType:
        """The type that it has."""

@final
class Commit(_Result):
    """A completed write.

    commit = table.upsert(rows)
    commit.instant, commit.inserts, commit.updates
    """

    __match_args__ = (
        "instant",
        "completion_time",
        "operation",
        "stats",
        "errors",
        "error_count",
        "attempts",
        "schema_changes",
    )
    def __new__(
        cls,
        instant: str,
        completion_time: str | None,
        operation: str,
        stats: list[FileGroupStats],
        errors: list[RowError] = ...,
        error_count: int = 0,
        attempts: int = 1,
        schema_changes: list[SchemaChange] = ...,
    ) -> Commit: ...
    @property
    def instant(self) -> str:
        """The requested time: the value of `_hoodie_commit_time` in the rows that were written. Empty if an update or a
        merge had nothing to write, and made no commit."""
    @property
    def completion_time(self) -> str | None:
        """The completion time; None up to table version 7."""
    @property
    def operation(self) -> str:
        """The operation, as Hudi's constant: `UPSERT`, `BULK_INSERT`, `DELETE_PARTITION`, `COMPACT`, `CLUSTER`, …."""
    @property
    def stats(self) -> list[FileGroupStats]:
        """What was done to each file group."""
    @property
    def errors(self) -> list[RowError]:
        """The first rows that were not written, at most 10,000. Without `hoodie.write.ignore.failed` there are none."""
    @property
    def error_count(self) -> int:
        """The number of rows that were not written."""
    @property
    def attempts(self) -> int:
        """How often the write was tried: more than once after conflicts with other writers, if options allow it."""
    @property
    def schema_changes(self) -> list[SchemaChange]:
        """What the write has changed of the table's columns: nothing, unless its argument `schema` allows it."""
    @property
    def inserts(self) -> int:
        """The number of rows whose key was new."""
    @property
    def updates(self) -> int:
        """The number of rows whose key was there. A late row that loses is not counted where a base file is rewritten;
        it is where rows are appended to a log, as no stored row is read."""
    @property
    def deletes(self) -> int:
        """The number of deleted keys."""
    @property
    def bytes_written(self) -> int:
        """The size of the written files, in bytes."""
    def _repr_html_(self) -> str:
        """The commit as a table, for notebooks."""

@final
class CompactResult(_Result):
    """What compactions, or log compactions, did."""

    __match_args__ = ("scheduled", "commits")
    def __new__(
        cls,
        scheduled: str | None,
        commits: list[Commit],
    ) -> CompactResult: ...
    @property
    def scheduled(self) -> str | None:
        """The requested time of the one that was planned; None if there was nothing to compact, or it was not asked for."""
    @property
    def commits(self) -> list[Commit]:
        """Those that were executed, oldest first."""
    @property
    def commit(self) -> Commit | None:
        """The last one that was executed; None if nothing was."""

@final
class PlannedSlice(_Result):
    """A file slice that a compaction merges."""

    __match_args__ = ("partition", "file_id", "base_file", "base_bytes", "log_files", "log_bytes")
    def __new__(
        cls,
        partition: str,
        file_id: str,
        base_file: str | None,
        base_bytes: int,
        log_files: list[str],
        log_bytes: int,
    ) -> PlannedSlice: ...
    @property
    def partition(self) -> str:
        """The partition path; empty if the table is not partitioned."""
    @property
    def file_id(self) -> str:
        """The id of the file group."""
    @property
    def base_file(self) -> str | None:
        """The name of the base file; None if the slice has log files only."""
    @property
    def base_bytes(self) -> int:
        """The bytes of the base file; 0 if there is none. A log compaction does not read it."""
    @property
    def log_files(self) -> list[str]:
        """The names of the log files."""
    @property
    def log_bytes(self) -> int:
        """The bytes of the log files."""

@final
class PlannedCompaction(_Result):
    """A compaction that would be executed."""

    __match_args__ = ("instant", "slices")
    def __new__(
        cls,
        instant: str | None,
        slices: list[PlannedSlice],
    ) -> PlannedCompaction: ...
    @property
    def instant(self) -> str | None:
        """Its requested time; None if it is not on the timeline yet."""
    @property
    def slices(self) -> list[PlannedSlice]:
        """What it merges, in the order of its plan."""

@final
class ClusterResult(_Result):
    """What clustering did."""

    __match_args__ = ("scheduled", "commits")
    def __new__(
        cls,
        scheduled: str | None,
        commits: list[Commit],
    ) -> ClusterResult: ...
    @property
    def scheduled(self) -> str | None:
        """The requested time of the plan that was made; None if there was nothing to cluster, or it was not asked for."""
    @property
    def commits(self) -> list[Commit]:
        """Those of the plans that were executed, oldest first."""
    @property
    def commit(self) -> Commit | None:
        """The last commit; None if nothing was executed."""

@final
class ClusteringGroup(_Result):
    """File groups of a partition that are rewritten together."""

    __match_args__ = ("instant", "partition", "file_ids", "files", "file_bytes", "outputs")
    def __new__(
        cls,
        instant: str | None,
        partition: str,
        file_ids: list[str],
        files: int,
        file_bytes: int,
        outputs: int,
    ) -> ClusteringGroup: ...
    @property
    def instant(self) -> str | None:
        """The requested time of the pending plan; None of a plan that would be made."""
    @property
    def partition(self) -> str:
        """The partition path; empty if the table is not partitioned."""
    @property
    def file_ids(self) -> list[str]:
        """The ids of the file groups."""
    @property
    def files(self) -> int:
        """The number of their files: base files and log files."""
    @property
    def file_bytes(self) -> int:
        """The size of these files, in bytes."""
    @property
    def outputs(self) -> int:
        """The number of new files that is expected."""

@final
class CommitEvent(_Result):
    """A commit that has completed."""

    __match_args__ = ("uri", "commit")
    def __new__(cls, uri: str, commit: Commit) -> CommitEvent: ...
    @property
    def uri(self) -> str:
        """The table's base path."""
    @property
    def commit(self) -> Commit:
        """What it did."""

@final
class Synced(_Result):
    """What a sync did with one table of the catalog."""

    __match_args__ = ("database", "table", "created", "columns_changed", "partitions_added", "partitions_dropped")
    def __new__(
        cls,
        database: str,
        table: str,
        created: bool,
        columns_changed: bool,
        partitions_added: int,
        partitions_dropped: int,
    ) -> Synced: ...
    @property
    def database(self) -> str:
        """The database."""
    @property
    def table(self) -> str:
        """The table."""
    @property
    def created(self) -> bool:
        """Whether the catalog did not have it."""
    @property
    def columns_changed(self) -> bool:
        """Whether the columns of its entry were others."""
    @property
    def partitions_added(self) -> int:
        """How many partitions were added."""
    @property
    def partitions_dropped(self) -> int:
        """How many were dropped."""

@final
class CleanedFile(_Result):
    """A file that a clean deleted, or would delete."""

    __match_args__ = ("path", "bytes")
    def __new__(
        cls,
        path: str,
        bytes: int,  # noqa: A002
    ) -> CleanedFile: ...
    @property
    def path(self) -> str:
        """The file's path, relative to the table."""
    @property
    def bytes(self) -> int:
        """The size of the file."""

@final
class Clean(_Result):
    """A clean that was completed, or that would be run."""

    __match_args__ = ("instant", "files", "partitions", "earliest")
    def __new__(
        cls,
        instant: str | None,
        files: list[CleanedFile],
        partitions: list[str],
        earliest: str | None,
    ) -> Clean: ...
    @property
    def instant(self) -> str | None:
        """The requested time; None of one that is not on the timeline: a dry run."""
    @property
    def files(self) -> list[CleanedFile]:
        """The files that were deleted."""
    @property
    def partitions(self) -> list[str]:
        """Partitions that were deleted, as they had no files any more."""
    @property
    def earliest(self) -> str | None:
        """The earliest write that queries can still go back to; None by file versions."""

@final
class CleanResult(_Result):
    """What cleaning did, or would do."""

    __match_args__ = ("cleans", "reason")
    def __new__(
        cls,
        cleans: list[Clean],
        reason: str | None = None,
    ) -> CleanResult: ...
    @property
    def cleans(self) -> list[Clean]:
        """The cleans that were completed, or would be, oldest first; none if there is nothing to delete."""
    @property
    def reason(self) -> str | None:
        """Why nothing is deleted; None if something is."""

@final
class ExpiredPartition(_Result):
    """A partition that has expired."""

    __match_args__ = ("partition", "since")
    def __new__(cls, partition: str, since: str) -> ExpiredPartition: ...
    @property
    def partition(self) -> str:
        """Its path."""
    @property
    def since(self) -> str:
        """The requested time of the write that its age is counted from."""

@final
class ExpireResult(_Result):
    """The partitions that have expired, and the commit that deleted them."""

    __match_args__ = ("instant", "partitions", "reason")
    def __new__(
        cls,
        instant: str | None,
        partitions: list[ExpiredPartition],
        reason: str | None = None,
    ) -> ExpireResult: ...
    @property
    def instant(self) -> str | None:
        """The commit; None of a dry run, and if nothing has expired."""
    @property
    def partitions(self) -> list[ExpiredPartition]:
        """The partitions that were deleted, or would be."""
    @property
    def reason(self) -> str | None:
        """Why none can expire: the table has no partitions, or there is no age at which they expire."""

@final
class ArchivedInstant(_Result):
    """An instant that was archived, or would be."""

    __match_args__ = ("instant", "completion_time", "action", "files")
    def __new__(
        cls,
        instant: str,
        completion_time: str | None,
        action: str,
        files: list[tuple[str, int]],
    ) -> ArchivedInstant: ...
    @property
    def instant(self) -> str:
        """The requested time."""
    @property
    def completion_time(self) -> str | None:
        """The completion time; None up to table version 7."""
    @property
    def action(self) -> str:
        """The action, as Hudi's name: `deltacommit`, `clean`, …."""
    @property
    def files(self) -> list[tuple[str, int]]:
        """Its files on the active timeline, which are deleted: paths relative to the table, and bytes."""

@final
class ArchiveResult(_Result):
    """What archival did, or would do."""

    __match_args__ = ("instants",)
    def __new__(
        cls,
        instants: list[ArchivedInstant],
    ) -> ArchiveResult: ...
    @property
    def instants(self) -> list[ArchivedInstant]:
        """The archived instants, oldest first; none if there are not too many on the active timeline."""

@final
class ServiceNeed(_Result):
    """What a table service would do now."""

    __match_args__ = ("service", "is_due", "gain", "files", "bytes", "pending", "problem")
    def __new__(
        cls,
        service: str,
        is_due: bool,
        gain: str,
        files: int,
        bytes: int,  # noqa: A002
        pending: int,
        problem: str | None = None,
    ) -> ServiceNeed: ...
    @property
    def service(self) -> str:
        """`compact`, `cluster`, `clean` or `archive`: the method of `Table`, and the command."""
    @property
    def is_due(self) -> bool:
        """True if it is due by Hudi's usual options, or a plan of it is pending."""
    @property
    def gain(self) -> str:
        """What it would gain, in words."""
    @property
    def files(self) -> int:
        """The number of files that it would read (`compact`, `cluster`), delete (`clean`) or move (`archive`)."""
    @property
    def bytes(self) -> int:
        """Their size."""
    @property
    def pending(self) -> int:
        """The number of its plans that are pending."""
    @property
    def problem(self) -> str | None:
        """Why it cannot run, such as a table version that is not written; None if it can."""

@final
class GroupDebt(_Result):
    """What a query of a file group reads besides its base file."""

    __match_args__ = ("partition", "file_id", "base_bytes", "log_files", "log_bytes")
    def __new__(
        cls,
        partition: str,
        file_id: str,
        base_bytes: int,
        log_files: int,
        log_bytes: int,
    ) -> GroupDebt: ...
    @property
    def partition(self) -> str:
        """The partition path."""
    @property
    def file_id(self) -> str:
        """The id of the file group."""
    @property
    def base_bytes(self) -> int:
        """The size of its base file; 0 without one."""
    @property
    def log_files(self) -> int:
        """The number of log files that a query merges."""
    @property
    def log_bytes(self) -> int:
        """Their size."""

@final
class PendingInstant(_Result):
    """An instant that has not completed."""

    __match_args__ = ("instant", "action", "state", "age_seconds", "is_stale")
    def __new__(
        cls,
        instant: str,
        action: str,
        state: str,
        age_seconds: float | None,
        is_stale: bool,
    ) -> PendingInstant: ...
    @property
    def instant(self) -> str:
        """Its requested time."""
    @property
    def action(self) -> str:
        """Hudi's name of the action."""
    @property
    def state(self) -> str:
        """`REQUESTED` or `INFLIGHT`."""
    @property
    def age_seconds(self) -> float | None:
        """How long ago it was requested."""
    @property
    def is_stale(self) -> bool:
        """True for a write that was requested more than an hour ago. Its writer is probably dead, and the next write rolls
        it back. Plans of compaction and clustering do not become stale."""

@final
class MetadataHealth(_Result):
    """The state of the metadata table."""

    __match_args__ = ("partitions", "is_used", "listing", "base_bytes", "log_files", "log_bytes", "problem")
    def __new__(
        cls,
        partitions: list[str],
        is_used: bool,
        listing: str,
        base_bytes: int,
        log_files: int,
        log_bytes: int,
        problem: str | None = None,
    ) -> MetadataHealth: ...
    @property
    def partitions(self) -> list[str]:
        """What it indexes."""
    @property
    def is_used(self) -> bool:
        """True if queries list files by it; False if they list them from storage."""
    @property
    def listing(self) -> str:
        """How queries list files, and why, as `Scan.explain` has it."""
    @property
    def base_bytes(self) -> int:
        """The size of its base files."""
    @property
    def log_files(self) -> int:
        """The number of its log files."""
    @property
    def log_bytes(self) -> int:
        """Their size."""
    @property
    def problem(self) -> str | None:
        """Why it cannot be read; None if it can."""

@final
class Health(_Result):
    """The health of a table."""

    __match_args__ = (
        "uri",
        "at",
        "version",
        "table_type",
        "partitions",
        "file_groups",
        "base_files",
        "base_bytes",
        "log_files",
        "log_bytes",
        "debt",
        "small_files",
        "small_bytes",
        "active_instants",
        "writes_since_compaction",
        "last_write",
        "last_compaction",
        "last_clustering",
        "last_clean",
        "archived_until",
        "pending",
        "metadata",
        "services",
        "timeline_zone",
        "problems",
    )
    def __new__(
        cls,
        uri: str,
        at: str,
        version: int,
        table_type: str,
        partitions: int,
        file_groups: int,
        base_files: int,
        base_bytes: int,
        log_files: int,
        log_bytes: int,
        debt: list[GroupDebt],
        small_files: int,
        small_bytes: int,
        active_instants: int,
        writes_since_compaction: int,
        last_write: Instant | None,
        last_compaction: Instant | None,
        last_clustering: Instant | None,
        last_clean: Instant | None,
        archived_until: Instant | None,
        pending: list[PendingInstant],
        metadata: MetadataHealth | None,
        services: list[ServiceNeed],
        timeline_zone: str,
        problems: list[str],
    ) -> Health: ...
    @property
    def uri(self) -> str:
        """The base path."""
    @property
    def at(self) -> str:
        """When it was determined: ISO 8601, in UTC."""
    @property
    def version(self) -> int:
        """The table version."""
    @property
    def table_type(self) -> str:
        """`MERGE_ON_READ` or `COPY_ON_WRITE`."""
    @property
    def partitions(self) -> int:
        """The number of partitions."""
    @property
    def file_groups(self) -> int:
        """The number of file groups that queries read."""
    @property
    def base_files(self) -> int:
        """The number of their base files."""
    @property
    def base_bytes(self) -> int:
        """The size of these."""
    @property
    def log_files(self) -> int:
        """The number of log files that queries merge."""
    @property
    def log_bytes(self) -> int:
        """Their size."""
    @property
    def debt(self) -> list[GroupDebt]:
        """The file groups that have log files, those with the most bytes of logs first."""
    @property
    def small_files(self) -> int:
        """The number of base files below 100 MiB, Hudi's limit for small files, in partitions that have several of them."""
    @property
    def small_bytes(self) -> int:
        """Their size."""
    @property
    def active_instants(self) -> int:
        """The number of instants that are not archived."""
    @property
    def writes_since_compaction(self) -> int:
        """The number of completed writes since the last compaction."""
    @property
    def last_write(self) -> Instant | None:
        """The last completed write."""
    @property
    def last_compaction(self) -> Instant | None:
        """The last completed compaction on the active timeline."""
    @property
    def last_clustering(self) -> Instant | None:
        """The last completed clustering on the active timeline."""
    @property
    def last_clean(self) -> Instant | None:
        """The last completed clean on the active timeline."""
    @property
    def archived_until(self) -> Instant | None:
        """The last instant that was archived; None if there is no archive."""
    @property
    def pending(self) -> list[PendingInstant]:
        """What has not completed."""
    @property
    def metadata(self) -> MetadataHealth | None:
        """The metadata table; None if the table has none."""
    @property
    def services(self) -> list[ServiceNeed]:
        """What each service would gain, in the order in which they are run."""
    @property
    def timeline_zone(self) -> str:
        """The zone of instants: `UTC`, or `LOCAL`."""
    @property
    def problems(self) -> list[str]:
        """What is wrong, in words: stale instants, a metadata table that is not used. Empty if nothing is."""
    @property
    def log_ratio(self) -> float:
        """The bytes of logs per byte of base files: how much more a query reads than after a compaction."""
    @property
    def due(self) -> list[str]:
        """The services that are due."""

@final
class MetadataResult(_Result):
    """What was done with a metadata table, or would be."""

    __match_args__ = ("partitions", "added", "dropped", "files", "bytes", "deleted")
    def __new__(
        cls,
        partitions: list[str],
        added: list[str],
        dropped: list[str],
        files: int,
        bytes: int,  # noqa: A002
        deleted: list[tuple[str, int]],
    ) -> MetadataResult: ...
    @property
    def partitions(self) -> list[str]:
        """The partitions that it has afterwards; empty if there is no metadata table."""
    @property
    def added(self) -> list[str]:
        """Those that were built."""
    @property
    def dropped(self) -> list[str]:
        """Those that were deleted, also to be built again."""
    @property
    def files(self) -> int:
        """The number of the table's data files, which are listed, and read for indexes; 0 if nothing is built."""
    @property
    def bytes(self) -> int:
        """Their bytes."""
    @property
    def deleted(self) -> list[tuple[str, int]]:
        """The files that were deleted, relative to the table, with their bytes."""

@final
class UpgradeResult(_Result):
    """What an upgrade or downgrade did, or would do."""

    __match_args__ = (
        "from_version",
        "to_version",
        "properties",
        "rolled_back",
        "compactions",
        "log_files",
        "timeline_files",
        "archived_instants",
        "rebuilt",
    )
    def __new__(
        cls,
        from_version: int,
        to_version: int,
        properties: list[tuple[str, str | None, str | None]],
        rolled_back: list[str],
        compactions: list[str],
        log_files: int,
        timeline_files: int,
        archived_instants: int,
        rebuilt: list[str],
    ) -> UpgradeResult: ...
    @property
    def from_version(self) -> int:
        """The table version before."""
    @property
    def to_version(self) -> int:
        """The table version afterwards."""
    @property
    def properties(self) -> list[tuple[str, str | None, str | None]]:
        """The properties that change: the name, and the values before and after; None where there is none."""
    @property
    def rolled_back(self) -> list[str]:
        """The requested times of failed writes, which are rolled back first."""
    @property
    def compactions(self) -> list[str]:
        """The requested times of compactions: those that were run; of a plan those that are pending."""
    @property
    def log_files(self) -> int:
        """The number of log files that are merged into base files."""
    @property
    def timeline_files(self) -> int:
        """The number of files of the active timeline that are written in another layout."""
    @property
    def archived_instants(self) -> int:
        """The number of archived instants that are written in another layout."""
    @property
    def rebuilt(self) -> list[str]:
        """The partitions of the metadata table that is deleted and built again; none if it stays."""

@final
class RollbackResult(_Result):
    """An instant that was rolled back, or would be."""

    __match_args__ = ("instant", "action", "state", "rollback_instant", "deleted", "undone_logs")
    def __new__(
        cls,
        instant: str,
        action: str,
        state: str,
        rollback_instant: str | None,
        deleted: list[tuple[str, int]],
        undone_logs: list[tuple[str, int]],
    ) -> RollbackResult: ...
    @property
    def instant(self) -> str:
        """Its requested time."""
    @property
    def action(self) -> str:
        """Its action, as it was on the timeline."""
    @property
    def state(self) -> str:
        """Its state before: `REQUESTED`, `INFLIGHT` or `COMPLETED`."""
    @property
    def rollback_instant(self) -> str | None:
        """The requested time of the rollback; None of a plan."""
    @property
    def deleted(self) -> list[tuple[str, int]]:
        """The data files that were deleted, or would be: paths relative to the table, and bytes."""
    @property
    def undone_logs(self) -> list[tuple[str, int]]:
        """Log files that stay, and whose blocks a rollback block undoes: up to table version 7."""

@final
class SavepointResult(_Result):
    """A savepoint that was made or deleted, or would be."""

    __match_args__ = ("instant", "completion_time", "files")
    def __new__(
        cls,
        instant: str,
        completion_time: str | None,
        files: dict[str, dict[str, int]],
    ) -> SavepointResult: ...
    @property
    def instant(self) -> str:
        """The requested time of the write that it keeps."""
    @property
    def completion_time(self) -> str | None:
        """When it was made; None up to table version 7, and of a plan."""
    @property
    def files(self) -> dict[str, dict[str, int]]:
        """The names of the files that it keeps, by partition, with their bytes."""

@final
class RestoreResult(_Result):
    """A table that was restored, or would be."""

    __match_args__ = ("instant", "restore_instant", "undone")
    def __new__(
        cls,
        instant: str,
        restore_instant: str | None,
        undone: list[RollbackResult],
    ) -> RestoreResult: ...
    @property
    def instant(self) -> str:
        """The requested time of the write that it was restored to."""
    @property
    def restore_instant(self) -> str | None:
        """The requested time of the restore; None of a plan."""
    @property
    def undone(self) -> list[RollbackResult]:
        """The writes that were undone, or would be, newest first. Their `rollback_instant` is None."""

@final
class Erasure(_Result):
    """What `Table.erase` has done, or `Table.plan_erase` would do. It does not contain what was erased."""

    __match_args__ = (
        "table",
        "columns",
        "rows",
        "commits",
        "savepoints",
        "started",
        "finished",
        "files_read",
        "bytes_read",
        "values_searched",
    )
    def __new__(
        cls,
        table: str,
        columns: list[str],
        rows: int,
        commits: list[str] = ...,
        savepoints: dict[str, int] = ...,
        started: str | None = None,
        finished: str | None = None,
        files_read: int = 0,
        bytes_read: int = 0,
        values_searched: int = 0,
    ) -> Erasure: ...
    @property
    def table(self) -> str:
        """The table's base path."""
    @property
    def columns(self) -> list[str]:
        """The columns of the filters."""
    @property
    def rows(self) -> int:
        """The number of rows that the filters select now."""
    @property
    def commits(self) -> list[str]:
        """The instants of what was done: the delete, compactions, cleans."""
    @property
    def savepoints(self) -> dict[str, int]:
        """Savepoints that hold such rows, and how many: an erasure is refused while there are some."""
    @property
    def started(self) -> str | None:
        """When it began, in UTC."""
    @property
    def finished(self) -> str | None:
        """When all files had been read, in UTC."""
    @property
    def files_read(self) -> int:
        """The number of files that remained, all of which were read."""
    @property
    def bytes_read(self) -> int:
        """Their size."""
    @property
    def values_searched(self) -> int:
        """The number of values that were searched for: record keys, constants of the filters, and values that no other row
        has."""
    def to_json(self) -> str:
        """Returns the audit record as JSON."""

@final
class ErasedValues:
    """The values of erased rows, which files are searched for in tasks of an engine. It pickles.

    Args:
        columns: Batches of values, each of one column.
    """

    def __new__(cls, columns: Sequence[ArrowRows]) -> ErasedValues: ...
    def search(self, uri: str, paths: Sequence[str]) -> list[tuple[str, str]]:
        """Reads files of a table, by their paths within it. Returns those that have values, and how."""
    def is_in(self, records: ArrowRows) -> bool:
        """Returns whether strings and binary values of records contain a value."""

def distinct_values(data: ArrowRows) -> list[ArrowBatch]:
    """Returns the distinct values, without null, of each column of Arrow data, each in a batch."""

@final
class Finding(_Result):
    """One thing that is wrong with a table."""

    __match_args__ = ("kind", "path", "message", "bytes")
    def __new__(
        cls,
        kind: str,
        path: str,
        message: str,
        bytes: int | None,  # noqa: A002
    ) -> Finding: ...
    @property
    def kind(self) -> str:
        """What kind of thing: the documentation of the class names the kinds, docs/recovery.md explains them."""
    @property
    def path(self) -> str:
        """Where, relative to the table."""
    @property
    def message(self) -> str:
        """In words."""
    @property
    def bytes(self) -> int | None:
        """The bytes of the file, if there is one."""
    @property
    def remedy(self) -> str:
        """What to do, in a few words; docs/recovery.md has the rest."""

@final
class VerifyResult(_Result):
    """What a verification found."""

    __match_args__ = ("findings", "pending", "files", "bytes", "rows")
    def __new__(
        cls,
        findings: list[Finding],
        pending: list[str],
        files: int,
        bytes: int,  # noqa: A002
        rows: int | None,
    ) -> VerifyResult: ...
    @property
    def findings(self) -> list[Finding]:
        """What is wrong; empty if nothing is."""
    @property
    def pending(self) -> list[str]:
        """Writes that are pending on the timeline, which is not wrong in itself."""
    @property
    def files(self) -> int:
        """The number of data files in storage."""
    @property
    def bytes(self) -> int:
        """Their bytes."""
    @property
    def rows(self) -> int | None:
        """The rows of the latest file slices; None if their contents were not decoded."""
    def _repr_html_(self) -> str:
        """The findings as a table, for notebooks."""

@final
class RepairResult(_Result):
    """What was repaired, or would be, and what is wrong besides."""

    __match_args__ = ("repaired", "left", "merged")
    def __new__(
        cls,
        repaired: list[Finding],
        left: list[Finding],
        merged: Commit | None = None,
    ) -> RepairResult: ...
    @property
    def repaired(self) -> list[Finding]:
        """What was deleted or merged, or would be."""
    @property
    def left(self) -> list[Finding]:
        """What is wrong besides, and stays."""
    @property
    def merged(self) -> Commit | None:
        """The commit that made one file group of those of each bucket; None if there was nothing to merge, it was not
        asked for, or nothing was changed."""

@final
class Table:
    """One table, in the state in which it was opened, or that its last write, service or `refresh` has left.

    Options are checked strings by Hudi's names. `plan_…` has the arguments of its service and changes nothing.
    """

    def __new__(
        cls,
        uri: str,
        storage_options: Mapping[str, str],
        *,
        mmap: bool,
        semantics: str,
        on_corrupt: str,
        on_damage: str | None,
        batch_rows: int,
        optimized_log_scan: bool,
        threads: int | None,
        prune: bool,
        use_metadata: bool,
        use_column_stats: bool,
        use_record_index: bool,
        record_positions: bool,
        memory_limit: int | None,
        spill_dir: str | None,
        spill_compressed: bool,
    ) -> Table: ...
    @property
    def has_change_data(self) -> bool:
        """Whether writes store what they change (`hoodie.table.cdc.enabled`)."""

    def service_needs(self, options: Mapping[str, str], names: Sequence[str]) -> list[ServiceNeed]:
        """What services would do, of a table that is opened once. The problem of one that cannot run says why."""
    def service_progress(self) -> tuple[int, int]:
        """How much of the service that runs on the table, or ran last, is done, and of how much: bytes, files or
        instants."""
    def refresh(self) -> None:
        """Opens the table again."""
    def copy(self) -> Table:
        """Returns a table that stays in the state that this one has now."""
    @property
    def uri(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def has_meta_columns(self) -> bool:
        """Whether files have Hudi's meta columns (`hoodie.populate.meta.fields`)."""
    @property
    def merge_mode(self) -> str: ...
    @property
    def custom_merge(self) -> str | None: ...
    @property
    def record_key_fields(self) -> list[str]: ...
    @property
    def partition_fields(self) -> list[str]: ...
    @property
    def ordering_fields(self) -> list[str]: ...
    @property
    def properties(self) -> dict[str, str]: ...
    @property
    def semantics(self) -> str: ...
    def avro_schema(self) -> str:
        """The same schema as Avro JSON, which contains the defaults of fields."""
    def schema(self) -> ArrowSchema: ...
    def has_column_ids(self, as_of: str | None = None) -> bool:
        """Returns true if columns are identified by ids, not by their names (schema on read)."""
    def timeline(self) -> list[Instant]:
        """Active instants."""
    def archived(self) -> list[Instant]:
        """Archived instants. The first call reads the archive."""
    def metadata(self, requested_time: str, action: str, state: str, plan: bool) -> str | None:
        """Returns the content of an instant's file, or of its plan, as JSON."""
    def instant_kinds(self) -> list[str]:
        """Returns what the instants of the active timeline are, in its order: `write`, `compaction`, `clustering`, or
        Hudi's name of another action; of pending ones the action."""
    def follow(self, start: str) -> Follower: ...
    def position_here(self, position: str, layout: int) -> str | None:
        """Converts a position of a timeline of `layout` 1 or 2 to the current one; None is before every commit."""
    def file_slices(self, as_of: str | None = None, filters: Filter | None = None) -> list[FileSlice]:
        """Returns the file slices that a snapshot reads."""
    def snapshot(
        self,
        columns: Sequence[str] | None,
        filters: Filter | None,
        as_of: str | None,
        merge: bool,
        emit_deletes: bool,
        merger: object | None = None,
    ) -> QueryPlan: ...
    def read_optimized(self, columns: Sequence[str] | None, filters: Filter | None, as_of: str | None) -> QueryPlan: ...
    def incremental(
        self,
        columns: Sequence[str] | None,
        filters: Filter | None,
        begin: str,
        end: str | None,
        merger: object | None,
        *,
        holes: str,
        skip_compact: bool,
        skip_cluster: bool,
        skip_log_compact: bool,
        fall_back_to_full_scan: bool | None,
        schema_at_end: bool,
        changelog: bool,
        emit_deletes: bool,
    ) -> QueryPlan: ...
    def changes(
        self,
        columns: Sequence[str] | None,
        filters: Filter | None,
        begin: str,
        end: str | None,
        merger: object | None,
        *,
        holes: str,
    ) -> QueryPlan: ...
    def storage_requests(self) -> tuple[int, int, int]:
        """Returns the requests of opening and planning: directories listed, files opened, byte ranges fetched."""
    def upsert(self, data: ArrowRows, options: Mapping[str, str], validator: _Validator = None) -> Commit:
        """Updates the rows whose keys are in the table, and inserts the others."""
    def insert(self, data: ArrowRows, options: Mapping[str, str], validator: _Validator = None) -> Commit:
        """Inserts rows."""
    def bulk_insert(self, data: ArrowRows, options: Mapping[str, str], validator: _Validator = None) -> Commit:
        """Inserts rows into new file groups."""
    def insert_overwrite(self, data: ArrowRows, options: Mapping[str, str], validator: _Validator = None) -> Commit:
        """Replaces the partitions that the rows belong to."""
    def insert_overwrite_table(
        self, data: ArrowRows, options: Mapping[str, str], validator: _Validator = None
    ) -> Commit:
        """Replaces the content of the table."""
    def delete(self, data: ArrowRows, options: Mapping[str, str], validator: _Validator = None) -> Commit:
        """Deletes the keys of rows."""
    def delete_partitions(
        self, partitions: Sequence[str], options: Mapping[str, str], validator: _Validator = None
    ) -> Commit:
        """Deletes partitions."""
    def delete_where(self, filters: Filter | None, options: Mapping[str, str], validator: _Validator = None) -> Commit:
        """Deletes the rows that filters select."""
    def alter(self, changes: Mapping[str, object], options: Mapping[str, str], validator: _Validator = None) -> Commit:
        """Changes the columns of the table, in the state in which it was opened.

        `changes` has `drop` and `nullable`, lists of paths; `rename`, `comment` and `move`, lists of pairs; `type` and
        `add`, Arrow data whose columns are named by paths.
        """
    def health(self, options: Mapping[str, str]) -> Health:
        """Returns what slows queries of the table down, what is pending, and what its services would gain."""
    def compact(self, options: Mapping[str, str], schedule: bool, run: bool) -> CompactResult:
        """Plans a compaction, if one is due, and executes what is pending."""
    def plan_compact(self, options: Mapping[str, str], schedule: bool, run: bool) -> list[PlannedCompaction]: ...
    def log_compact(self, options: Mapping[str, str], schedule: bool, run: bool) -> CompactResult:
        """Plans a log compaction, if one is due, and executes what is pending."""
    def plan_log_compact(self, options: Mapping[str, str], schedule: bool, run: bool) -> list[PlannedCompaction]: ...
    def cluster(self, options: Mapping[str, str], schedule: bool, run: bool) -> ClusterResult:
        """Plans a clustering, and executes what is planned."""
    def plan_cluster(self, options: Mapping[str, str], schedule: bool, run: bool) -> list[ClusteringGroup]:
        """Returns the groups of the plans that `cluster` would execute, and of the plan that it would make."""
    def clean(self, options: Mapping[str, str]) -> CleanResult:
        """Completes pending cleans, and runs a new one."""
    def plan_clean(self, options: Mapping[str, str]) -> CleanResult: ...
    def expire_partitions(self, options: Mapping[str, str]) -> ExpireResult:
        """Deletes partitions that have expired."""
    def plan_expire_partitions(self, options: Mapping[str, str]) -> ExpireResult: ...
    def archive(self, options: Mapping[str, str]) -> ArchiveResult:
        """Archives old instants."""
    def plan_archive(self, options: Mapping[str, str]) -> ArchiveResult: ...
    def rollback(self, instant: str, options: Mapping[str, str]) -> RollbackResult:
        """Rolls an instant back."""
    def plan_rollback(self, instant: str, options: Mapping[str, str]) -> RollbackResult: ...
    def savepoint(self, instant: str | None, options: Mapping[str, str], *, user: str, comment: str) -> SavepointResult:
        """Makes a savepoint; without an instant, of the latest completed write that the table shows."""
    def plan_savepoint(self, instant: str | None, options: Mapping[str, str]) -> SavepointResult: ...
    def delete_savepoint(self, instant: str, options: Mapping[str, str]) -> SavepointResult:
        """Deletes a savepoint, and returns it."""
    def plan_delete_savepoint(self, instant: str, options: Mapping[str, str]) -> SavepointResult: ...
    def restore(self, instant: str, options: Mapping[str, str]) -> RestoreResult:
        """Restores the table."""
    def plan_restore(self, instant: str, options: Mapping[str, str]) -> RestoreResult: ...
    def upgrade(self, to: int, options: Mapping[str, str]) -> UpgradeResult:
        """Brings the table to a later version."""
    def plan_upgrade(self, to: int, options: Mapping[str, str]) -> UpgradeResult: ...
    def downgrade(self, to: int, options: Mapping[str, str]) -> UpgradeResult:
        """Brings the table to an earlier version."""
    def plan_downgrade(self, to: int, options: Mapping[str, str]) -> UpgradeResult: ...
    def build_metadata(
        self,
        options: Mapping[str, str],
        add: Sequence[str],
        drop: Sequence[str],
        rebuild: bool,
        *,
        runner: TaskRunner | None = None,
    ) -> MetadataResult:
        """Builds or changes the metadata table. Tasks of `runner` read the keys of a record index and write its base files;
        without one, this process does."""
    def indexes(self) -> list[tuple[str, str, str]]:
        """Returns the name, the type and the columns of each index of the metadata table."""

    def plan_build_metadata(
        self, options: Mapping[str, str], add: Sequence[str], drop: Sequence[str], rebuild: bool
    ) -> MetadataResult: ...
    def delete_metadata(self, options: Mapping[str, str]) -> MetadataResult:
        """Deletes the metadata table."""
    def plan_delete_metadata(self, options: Mapping[str, str]) -> MetadataResult: ...
    def verify(
        self, *, contents: bool, keys: bool, global_keys: bool, runner: TaskRunner | None = None
    ) -> VerifyResult:
        """Verifies contents, and keys within partitions or the table. Tasks of `runner` read and compare the keys; without
        one, this process does, and sorts them in files of the directory for spilled data."""
    def repair(self, options: Mapping[str, str], merge_buckets: bool) -> RepairResult:
        """Repairs the table; with `merge_buckets` makes one file group of those of each bucket that has several, before."""
    def plan_repair(self, options: Mapping[str, str], merge_buckets: bool) -> RepairResult: ...
    def erase(
        self,
        filters: Filter | None,
        options: Mapping[str, str],
        table: object,
        *,
        tasks: ErasureTasks | None = None,
        merger: object | None = None,
    ) -> Erasure:
        """Erases the rows that filters select. `table` deletes, compacts, cleans and builds the metadata table, by the
        methods of `mortice.Table`; `tasks`, if given, do the first two, and read rows and files."""
    def plan_erase(self, filters: Filter | None, *, merger: object | None = None) -> Erasure: ...

@final
class Follower:
    """Commits as they complete, one by one."""

    def position(self) -> str | None: ...
    def layout(self) -> int:
        """Returns the layout of the timeline that positions refer to, 1 or 2. An upgrade of the table changes both."""
    def peek(self) -> tuple[str, int, bool] | None:
        """Returns the next commit: position, bytes of its files, true for a table service, which wrote no rows of its own."""
    def advance(self) -> None:
        """Skips the commit that `peek` returned."""
    def next(
        self,
        columns: Sequence[str] | None,
        filters: Filter | None,
        merger: object | None,
        changelog: bool,
        emit_deletes: bool,
    ) -> tuple[str, Scan] | None:
        """Returns the next commit and its rows; None if there is none yet. After an error, the same commit is returned."""

@final
class QueryPlan:
    """A query that is not planned yet."""

    def schema(self) -> ArrowSchema:
        """Returns the schema of the rows. Files are listed only if the timeline does not contain a schema."""
    def scan(self) -> Scan:
        """Plans the query."""

@final
class Scan:
    """A planned query: its splits are fixed."""

    @staticmethod
    def from_splits(columns: object, query: SharedQuery, splits: Sequence[Split], description: str) -> Scan:
        """Returns a scan that another process has planned; `columns` is Arrow data of its schema, `description` what `explain` returned."""
    def query_bytes(self) -> bytes:
        """Returns what the splits share, for `SharedQuery.from_bytes`."""
    @property
    def split_count(self) -> int: ...
    @property
    def size(self) -> int:
        """The size of the files of all splits, in bytes."""

    def base_share(self) -> float:
        """Returns the share of the bytes of base files that is read, estimated from the types of the columns."""

    def without_columns(self) -> Scan:
        """Returns a scan of the same rows without columns, for counting."""
    def schema(self) -> ArrowSchema: ...
    def splits(self, max_split_bytes: int | None = None) -> list[Split]:
        """Returns the splits. All have the same `query` object, in every call."""
    def plain_files(self) -> PlainFiles:
        """Returns the files whose rows another Parquet reader returns, and a scan of all other rows. Reads footers."""
    def explain(self) -> str: ...
    def stream(self) -> Stream:
        """Reads all splits, on as many threads as the table's options allow."""

@final
class PlainFiles:
    """The files of a scan whose rows another Parquet reader returns, and a scan of all other rows."""

    @property
    def paths(self) -> list[str]:
        """The full paths or URIs of the files."""

    def columns(self) -> ArrowSchema:
        """Returns the columns to read of the files: those of the query, then those of its filter."""
    @property
    def condition(self) -> str | None:
        """The filter as a condition of Spark's SQL; None if every row passes."""

    @property
    def unbounded(self) -> list[str]:
        """Columns of floats by whose bounds rows must not be pruned: they may leave out NaN."""

    @property
    def rest(self) -> Scan: ...
    def explain(self) -> str:
        """Returns a line with the number of file slices that are read in either way, and why."""

@final
class SharedQuery:
    """What the splits of a query share."""

    @property
    def credentials(self) -> str | None:
        """The name of the function that supplies credentials, if there is one."""
    @staticmethod
    def from_bytes(data: bytes, merger: object | None = None) -> SharedQuery: ...
    def to_bytes(self) -> bytes: ...

@final
class Split:
    """One file slice of a query, complete in itself."""

    @staticmethod
    def from_bytes(data: bytes, merger: object | None = None) -> Split: ...
    @staticmethod
    def with_query(query: SharedQuery, data: bytes) -> Split:
        """Returns the split that `to_bytes_without_query` wrote; `query` must be its own."""
    def to_bytes(self) -> bytes: ...
    def to_bytes_without_query(self) -> bytes: ...
    @property
    def query(self) -> SharedQuery: ...
    @property
    def partition(self) -> str: ...
    @property
    def file_id(self) -> str: ...
    @property
    def size(self) -> int:
        """The size of base and log files in bytes; for a part, its share of it."""
    @property
    def log_size(self) -> int:
        """The size of its log files in bytes, which `size` includes."""
    @property
    def part(self) -> tuple[int, int] | None:
        """The number of the part of a file slice, and the number of parts."""
    def schema(self) -> ArrowSchema: ...
    def stream(self, start_row: int = 0) -> Stream: ...

@final
class Stream:
    """A stream of record batches, also a C stream for any Arrow consumer. It is read once."""

    def schema(self) -> ArrowSchema: ...
    def __iter__(self) -> Stream: ...
    def __next__(self) -> ArrowBatch: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def report(self) -> ReadReport:
        """Returns what has been read so far: `files`, `blocks` (by kind), `corrupt` ([{file, offset, reason}]),
        `damaged` ([{file, offset, instant, reason}]), `rolled_back`, `uncommitted` (blocks), `records_read`,
        `records_won`, `slices_pruned`, `row_groups_pruned`, `base_rows`, `rows`, `list_requests`, `open_requests`,
        `read_requests`, `peak_fetched_bytes`."""
    def close(self) -> None: ...

@final
class Block:
    index: int
    """Ordinal in the file, from 0."""
    type: str
    offset: int
    end: int
    block_size: int | None
    trailing_length: int | None
    log_format_version: int | None
    content_version: int | None
    content_offset: int
    content_length: int
    instant_time: str | None
    header: dict[str, str]
    footer: dict[str, str]
    record_count: int | None
    damage: str | None
    """Why the block is corrupt; None for an intact one."""
    damage_offset: int | None
    """The offset in the file at which the damage was detected."""
    refusal: str | None
    """Why a table read would raise an error at this block: damage that Hudi does not skip either, or an unknown block type or
    header key. Skipping it could lose rows."""

@final
class Blocks:
    """The blocks of a log file. Intact blocks precede an error."""

    def __iter__(self) -> Blocks: ...
    def __next__(self) -> Block: ...

@final
class LogFile:
    def __new__(cls, path: str, storage_options: Mapping[str, str], *, mmap: bool) -> LogFile: ...
    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int:
        """The size of the file, in bytes."""
    def blocks(self, reverse: bool = False) -> Blocks: ...
    def records(self, block: Block, keys: Sequence[str] | None, prefixes: Sequence[str] | None) -> ArrowBatch: ...
    def record_batches(self, block: Block, rows: int) -> RecordBatches: ...
    def deletes(self, block: Block) -> ArrowBatch: ...
    def positions(self, block: Block) -> ArrowBatch | None: ...

@final
class RecordBatches:
    """The records of a block, decoded as they are read."""

    def schema(self) -> ArrowSchema: ...
    def __iter__(self) -> RecordBatches: ...
    def __next__(self) -> ArrowBatch: ...

@final
class LogBlock:
    """A log block, complete and in memory."""

    @staticmethod
    def records(
        data: object,
        *,
        instant: str,
        schema: str | None,
        table_name: str | None,
        record_format: str,
        compression: str,
        max_block_bytes: int,
        header: Mapping[str, str],
    ) -> list[LogBlock]:
        """Encodes `data`, anything with `__arrow_c_stream__` or `__arrow_c_array__`, as one block or more."""
    @staticmethod
    def deletes(
        data: object,
        *,
        instant: str,
        record_key: str,
        partition_column: str,
        partition_path: str | None,
        ordering: Sequence[str],
        schema: str | None,
        header: Mapping[str, str],
    ) -> LogBlock:
        """Encodes deletes. `partition_path`, if given, is that of all keys; `partition_column` is then not used."""
    @staticmethod
    def rollback(target_instant: str, instant: str) -> LogBlock: ...
    @property
    def type(self) -> str:
        """Hudi's name of the block type: AVRO_DATA_BLOCK, PARQUET_DATA_BLOCK, DELETE_BLOCK or COMMAND_BLOCK."""
    @property
    def record_count(self) -> int | None:
        """The number of records or deleted keys; None for a command block."""
    def __len__(self) -> int:
        """The size of the block in the file, in bytes."""
    def __bytes__(self) -> bytes: ...

@final
class LogWriter:
    def __new__(
        cls,
        folder: str,
        storage_options: Mapping[str, str],
        *,
        file_id: str,
        instant: str,
        version: int | None,
        write_token: str | None,
        max_file_bytes: int,
        append: bool,
    ) -> LogWriter: ...
    def append(self, blocks: Sequence[LogBlock]) -> list[tuple[str, int, int]]:
        """Writes blocks. Returns path, offset and length of each."""
    @property
    def paths(self) -> list[str]: ...
    def finish(self) -> None: ...

def query_instant(argument: str, text: str, utc: bool) -> str: ...
def position_before(argument: str, text: str, utc: bool) -> str | None: ...
def create_table(
    uri: str,
    columns: HasArrowSchema,
    storage_options: Mapping[str, str],
    *,
    name: str,
    record_key: Sequence[str],
    partition_by: Sequence[str],
    ordering: Sequence[str],
    merge_on_read: bool,
    version: int,
    properties: Mapping[str, str],
) -> None:
    """Creates a table with the columns of some Arrow data, whose rows are not read."""

def bootstrap(uri: str, storage_options: Mapping[str, str], options: Mapping[str, str]) -> Commit:
    """Makes a table of the folder that the options name, by Hudi's names. Returns its first commit."""

_Clauses = tuple[Sequence[str] | None, Sequence[str] | None, str]
"""Of a merge: (`on`, `when_matched_update`, `when_not_matched`)."""

def merge_into(
    table: Table,
    data: ArrowRows,
    clauses: _Clauses,
    delete: Filter | None,
    options: Mapping[str, str],
    validator: _Validator = None,
) -> Commit:
    """Merges Arrow data into a table, in the state in which it was opened, as SQL's `MERGE INTO` does."""

_NewValues = Sequence[tuple[str, str | tuple[ArrowRows, str]]]
"""Columns, and what each gets: an expression, or a batch of one row and one column and how messages show its value."""
_RowClause = tuple[str, str, str | None, str | _NewValues]
"""A clause: `matched`, `not_matched` or `not_matched_by_source`; `update`, `delete` or `insert`; the condition; values,
or `"all"`: all columns that rows and table have in common."""

def merge(
    table: Table,
    data: ArrowRows,
    on: str | Sequence[str],
    clauses: Sequence[_RowClause],
    options: Mapping[str, str],
    validator: _Validator = None,
) -> Commit:
    """Merges Arrow data into a table, in the state in which it was opened, by a condition or columns that are equal.

    A row gets the first clause of its side whose condition is true. Expressions name columns of the table as `t.fare`
    or `target.fare`, those of the rows as `s.fare` or `source.fare`. If no row changes nothing is written, and
    `Commit.instant` is empty.
    """

def update_where(
    table: Table,
    values: _NewValues,
    rows: str | Filter | None,
    options: Mapping[str, str],
    validator: _Validator = None,
) -> Commit:
    """Updates the rows of a table that a condition or filters select, in the state in which it was opened.

    If no row is selected nothing is written, and `Commit.instant` is empty.
    """

def merge_rules(
    *,
    semantics: str,
    ordering: Sequence[str],
    mode: str | None,
    payload: str | None,
    is_registered: bool,
    partial_update: str | None,
    unavailable: str | None,
    delete_field: str | None,
    delete_marker: str | None,
) -> tuple[dict[str, str], str | None]:
    """Returns the properties of a table that merges by rules, and the full name of the payload class."""

def needs_commit_order(properties: Mapping[str, str], semantics: str, partial: bool) -> bool:
    """Returns true if a merge depends on the order of newer rows even if their ordering values differ."""

def merge_rows(
    older: ArrowRows,
    newer: ArrowRows,
    *,
    record_key: Sequence[str],
    properties: Mapping[str, str],
    semantics: str,
    schema: str | None,
    commit_order: Sequence[str],
    partial: bool,
    emit_deletes: bool,
    merger: object | None = None,
) -> tuple[ArrowSchema, list[ArrowBatch]]:
    """Merges older rows as those of a base file with newer rows as those of its logs, in a table with these properties.

    Both are Arrow data. The result has the columns and types of the older rows. `schema` is an Avro schema that defines the
    defaults of columns.
    """

_Validator = Callable[[Table], object] | None
"""A function of the table as the write would leave it; an exception refuses the commit, which is rolled back."""

_Step = tuple[str, int, dict[str, bytes], int]
"""(name, partitions of DataFrames, stages by name, tasks that read keys)"""

@final
class MergePlan:
    """A merge whose rows another engine joins: the clauses, resolved against the table and the columns of the rows."""

    KEY: str
    """The column of record keys that `with_keys` adds."""
    PATH: str
    """The column of partition paths that `with_keys` and `with_paths` add."""
    DELETES: str
    """The column that is true in rows that delete their keys: of given rows if they match, and of rows to write."""
    UPDATES: str
    """The column of rows to write that is true in stored rows of which some columns are changed."""
    ACTION: str
    """The column of joined rows with the number of the action that is done to each; null if there is none."""
    MISFIT: str
    """The column of rows that says what is wrong with a value of each; null if nothing is."""
    REPEATED: str
    """The condition on groups of pairs of given and stored rows of which it is not known which is to be merged, in SQL:
    by the numbers of all, `pairs`, and of those that delete nothing, `kept`."""
    GIVEN: str
    """What the names of the columns of given rows, and of computed values, begin with in joined rows."""
    STORED: str
    """The same, of stored rows."""

    def __new__(
        cls,
        uri: str,
        storage_options: Mapping[str, str],
        given: Sequence[str],
        clauses: _Clauses,
        options: Mapping[str, str],
        ignores_case: bool,
    ) -> MergePlan: ...
    @staticmethod
    def of_actions(
        uri: str,
        storage_options: Mapping[str, str],
        actions: Sequence[tuple[str, Mapping[str, str]]],
        options: Mapping[str, str],
    ) -> MergePlan:
        """Returns the plan of actions that the engine chooses: the name of each (`update`, `delete`, `insert`), and by
        columns of the table the columns that have their values."""
    @staticmethod
    def from_bytes(data: bytes) -> MergePlan: ...
    def to_bytes(self) -> bytes: ...
    @property
    def columns(self) -> ArrowSchema:
        """The table's columns, without meta columns."""
    @property
    def given(self) -> list[str]:
        """The columns of the rows, by the names that the table has for them."""
    @property
    def used(self) -> list[str]:
        """Those of them that the merge uses."""
    @property
    def on(self) -> list[str]:
        """The columns by which rows match."""
    @property
    def partitions(self) -> list[str]:
        """The partition columns."""
    @property
    def by_path(self) -> bool:
        """Whether rows match by partition path, besides the record key."""
    @property
    def actions(self) -> list[str]:
        """The names of the actions, by their numbers."""
    @property
    def has_keys(self) -> bool:
        """Whether keys are columns, and not generated."""
    def with_keys(self, rows: ArrowRows) -> ArrowBatch:
        """Returns a batch of given rows with their record keys and partition paths. Raises for null in `on`."""
    def with_paths(self, rows: ArrowRows) -> ArrowBatch:
        """Returns a batch of rows that have the partition columns with their partition paths."""
    def merge(self, rows: ArrowRows) -> ArrowBatch:
        """Returns the rows to write, of a batch of joined rows. Raises for updates that readers would not show, and for
        rows that would be written to another place than that where they are stored."""
    def refuse_repeated(self, rows: ArrowRows) -> None:
        """Raises for keys, as the columns `on`, that several given rows have."""
    @staticmethod
    def refuse_matched_twice(key: str) -> None:
        """Raises for the key of a stored row that several given rows match."""

@final
class DistributedWrite:
    """The driver's part of a write whose rows are in other processes."""

    def __new__(
        cls,
        uri: str,
        storage_options: Mapping[str, str],
        operation: str,
        columns: HasArrowSchema,
        options: Mapping[str, str],
        parallelism: int,
        merge: MergePlan | None = None,
        driver_bytes: int = 0,
    ) -> DistributedWrite: ...
    @property
    def schema(self) -> ArrowSchema:
        """The columns that the rows are written as, without meta columns."""
    @property
    def warnings(self) -> list[str]:
        """Sentences on options that have no effect."""
    @property
    def is_small(self) -> bool:
        """Whether the stages after the first are so little work that this process can run them: known after the first."""
    def begin_with_stored_rows(self) -> Table:
        """Begins the write before its rows are made of those of the table. Returns the table to read them from."""
    def start(self) -> _Step:
        """The first step: `prepare`."""
    def next(self, reports: Sequence[bytes]) -> _Step:
        """The next step (`tag`, `move`, `write` or `commit`), from the reports of the last one."""
    def run_here(self, prepared: ArrowStream) -> list[bytes]:
        """Runs all further steps in this process, given the chunks of the first. Returns the reports for `commit`."""
    def commit(
        self, reports: Sequence[bytes], validator: _Validator = None, runner: TaskRunner | None = None
    ) -> Commit:
        """Commits, given the reports of the step `write`. Rolls the write back if it cannot be committed.

        Then runs table services. Tasks of `runner` execute their plans; without one, this process does.
        """
    def abort(self, reason: str) -> None:
        """Rolls the write back, if it has begun and not ended."""

@final
class StageBatches:
    """The batches that a task of a stage hands on."""

    def __iter__(self) -> StageBatches: ...
    def __next__(self) -> ArrowBatch: ...

def run_stage(stage: bytes, task: tuple[int, int, int], batches: ArrowStream) -> StageBatches:
    """Runs one task of a stage: partition, stage and attempt as the engine counts, and the batches that come to it."""

def begin_task_insert(
    uri: str, storage_options: Mapping[str, str], operation: str, columns: HasArrowSchema, options: Mapping[str, str]
) -> tuple[bytes, list[str]]:
    """Begins inserts whose tasks write the rows that they have: each runs the state by `run_stage`.

    Returns the state of the write, and sentences on options that have no effect.
    """

def commit_task_insert(state: bytes, reports: Sequence[bytes]) -> Commit:
    """Commits such a write, given the reports of its tasks. Rolls it back if it cannot be committed."""

def abort_task_insert(state: bytes, reason: str) -> None:
    """Rolls such a write back, unless `commit_task_insert` was called."""

def create_table_by_options(
    uri: str, storage_options: Mapping[str, str], operation: str, columns: HasArrowSchema, options: Mapping[str, str]
) -> bool:
    """Creates the table that a write with these options describes. Returns false if there is one meanwhile."""

def forget_schema(uri: str, storage_options: Mapping[str, str]) -> None:
    """Removes the columns of a table that a write has created and not written to."""

_StreamBatch = tuple[str, int, str | None, str]
"""A batch of a stream: identifier, number, the id of the query, the operation."""

def stream_batch_options(batch: _StreamBatch) -> dict[str, str]:
    """What the commit of a batch records, as options of the write."""

def is_stream_batch_written(
    uri: str, storage_options: Mapping[str, str], batch: _StreamBatch, reads_archive: bool
) -> bool:
    """Whether a batch is in a table, which need not be there. Raises for a batch of another query or writer."""

def refuse_other_writer(uri: str, batch: _StreamBatch) -> None:
    """Raises for a batch that another writer has written."""

def run_service_by_tasks(
    uri: str,
    storage_options: Mapping[str, str],
    service: Literal["compact", "log_compact", "cluster"],
    options: Mapping[str, str],
    runner: TaskRunner,
    *,
    schedule: bool,
    run: bool,
) -> tuple[str | None, list[Commit]]:
    """Plans a service, if it is due, and executes what is pending by tasks of an engine. Returns the requested time of
    the plan, and the commits."""

def is_followed_option(name: str) -> bool:
    """Whether writes follow an option of Hudi, in every table."""

def is_table_property(name: str) -> bool:
    """Whether an option of writes names a property of the table, which the table keeps."""

def option_default(name: str) -> str:
    """Returns the value that an option of writes and services has if it is not given."""

def pause_after_conflict(options: Mapping[str, str], attempt: int) -> float | None:
    """How many seconds a caller that repeats writes waits after an attempt that had a conflict; None if it does not."""

@final
class SyncOptions:
    """What a sync with a catalog does, by Hudi's options of its sync tools."""

    @staticmethod
    def resolve(options: Mapping[str, str]) -> SyncOptions: ...
    @staticmethod
    def asked_for(options: Mapping[str, str]) -> SyncOptions | None: ...
    @property
    def is_glue(self) -> bool:
        """Whether the catalog is AWS Glue; a Hive metastore otherwise."""

    @property
    def metastore_uris(self) -> list[str]:
        """Addresses of the metastore, `thrift://host:port`; the first that answers is used."""

    @property
    def database(self) -> str: ...
    @property
    def creates_database(self) -> bool: ...
    @property
    def ignores_errors(self) -> bool: ...
    @property
    def without_effect(self) -> list[str]:
        """Options of a connection that the sync does not make."""

@final
class CatalogTable:
    """A table as a catalog has it."""

    SERDE: str
    OUTPUT_FORMAT: str

    @property
    def name(self) -> str: ...
    @property
    def location(self) -> str: ...
    @property
    def columns(self) -> list[tuple[str, str]]:
        """Name and Hive type, without partition columns."""

    @property
    def partition_columns(self) -> list[tuple[str, str]]: ...
    @property
    def input_format(self) -> str: ...
    @property
    def serde_properties(self) -> dict[str, str]: ...
    @property
    def properties(self) -> dict[str, str]: ...
    @property
    def is_managed(self) -> bool: ...

@final
class CatalogPartition:
    """A partition of a catalog: the values of its columns, and its location."""

    def __new__(cls, values: Sequence[str], location: str) -> Self: ...
    @property
    def values(self) -> list[str]: ...
    @property
    def location(self) -> str: ...

def is_sync_option(name: str) -> bool: ...
def catalog_entries(
    table: Table, options: SyncOptions, spark: str | None
) -> tuple[list[CatalogTable], list[CatalogPartition]]: ...
def partition_changes(
    stored: Sequence[CatalogPartition], wanted: Sequence[CatalogPartition]
) -> tuple[list[CatalogPartition], list[CatalogPartition]]: ...
