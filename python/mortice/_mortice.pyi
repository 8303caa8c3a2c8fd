"""The native core. Everything here releases the GIL while Rust works and raises `mortice.MorticeError` subclasses.

Arrow data crosses the border through the Arrow PyCapsule interface alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, final

__all__ = [
    "ArrowBatch",
    "ArrowSchema",
    "Block",
    "Blocks",
    "Follower",
    "LogBlock",
    "LogFile",
    "LogWriter",
    "QueryPlan",
    "RecordBatches",
    "Scan",
    "SharedQuery",
    "Split",
    "Stream",
    "Table",
    "__version__",
    "debug_build",
    "merge_rows",
]

__version__: str
debug_build: bool
"""Whether the core was built without optimisation (never benchmark such a build)."""

_Instant = tuple[str, str | None, str, str]
"""(requested time, completion time, action, state)"""

_Filters = Sequence[Sequence[tuple[str, str, Any]]] | None
"""Disjunctive normal form: any of the lists, all terms of a list."""

@final
class ArrowSchema:
    def __arrow_c_schema__(self) -> object: ...

@final
class ArrowBatch:
    num_rows: int
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Table:
    """One table, its timeline read once, at opening."""

    def __new__(
        cls,
        uri: str,
        storage_options: Mapping[str, str],
        *,
        semantics: str,
        on_corrupt: str,
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
    def uri(self) -> str: ...
    @property
    def version(self) -> int: ...
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
        """The same schema as Avro, in JSON: what fields default to stands there."""
    def schema(self) -> ArrowSchema: ...
    def has_column_ids(self, as_of: str | None = None) -> bool:
        """Whether columns are told by ids, not by their names (schema on read)."""
    def timeline(self) -> list[_Instant]:
        """Active instants."""
    def archived(self) -> list[_Instant]:
        """Archived instants. Reads the archive, the first time."""
    def metadata(self, requested_time: str, action: str, state: str, plan: bool) -> str | None:
        """JSON of what an instant's file holds, or that of its plan."""
    def follow(self, start: str) -> Follower: ...
    def position_here(self, position: str, layout: int) -> str | None:
        """A position that was told of this table's timeline when it had `layout`, 1 or 2; None lies before every commit."""
    def file_slices(self, as_of: str | None = None, filters: _Filters = None) -> list[dict[str, Any]]:
        """Dicts of `partition`, `file_id`, `base_instant`, `base_file` (None or {path, len}), `log_files` ([{path, len}])."""
    def snapshot(
        self,
        columns: Sequence[str] | None,
        filters: _Filters,
        as_of: str | None,
        merge: bool,
        emit_deletes: bool,
        merger: object | None = None,
    ) -> QueryPlan: ...
    def read_optimized(self, columns: Sequence[str] | None, filters: _Filters, as_of: str | None) -> QueryPlan: ...
    def incremental(
        self,
        columns: Sequence[str] | None,
        filters: _Filters,
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
        filters: _Filters,
        begin: str,
        end: str | None,
        merger: object | None,
        *,
        holes: str,
    ) -> QueryPlan: ...
    def storage_requests(self) -> tuple[int, int, int]:
        """Requests made to open the table and to plan queries: folders listed, files opened, byte ranges fetched."""

@final
class Follower:
    """Commits one by one, as they complete."""

    def position(self) -> str | None: ...
    def layout(self) -> int:
        """Of the timeline that positions are on, 1 or 2: an upgrade changes both."""
    def peek(self) -> tuple[str, int, bool] | None:
        """What comes next: position, bytes of its files, whether it is of a table service, which has no rows of its own."""
    def pass_by(self) -> None:
        """Goes behind what `peek` told of."""
    def next(
        self,
        columns: Sequence[str] | None,
        filters: _Filters,
        merger: object | None,
        changelog: bool,
        emit_deletes: bool,
    ) -> tuple[str, Scan] | None:
        """The next commit and its rows; None where there is none yet. After an error the same comes again."""

@final
class QueryPlan:
    """A query that is not planned yet."""

    def schema(self) -> ArrowSchema:
        """The schema of the query's rows. Reads the timeline, and lists no files unless they alone hold a schema."""
    def scan(self) -> Scan:
        """Plans the query."""

@final
class Scan:
    """A planned query: its splits are fixed."""

    @property
    def split_count(self) -> int: ...
    @property
    def size(self) -> int:
        """Bytes of the files of all splits."""

    def base_share(self) -> float:
        """The share of the bytes of base files that is read, estimated from the types of the columns."""

    def without_columns(self) -> Scan:
        """The same rows without their columns, for those who count them."""
    def schema(self) -> ArrowSchema: ...
    def splits(self, max_split_bytes: int | None = None) -> list[Split]:
        """The splits of one query have the same object as `query`, in every call."""
    def explain(self) -> str: ...
    def stream(self) -> Stream:
        """All splits, on as many threads as the table's options allow."""

@final
class SharedQuery:
    """What the splits of a query have in common."""

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
        """The split that `to_bytes_without_query` wrote; `query` must be its own."""
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
        """Bytes of base and log files; of a part, its share of them."""
    @property
    def log_size(self) -> int:
        """Bytes of its log files, which `size` includes."""
    @property
    def part(self) -> tuple[int, int] | None:
        """Which part of a slice, and of how many."""
    def schema(self) -> ArrowSchema: ...
    def stream(self, start_row: int = 0) -> Stream: ...

@final
class Stream:
    """Record batches being read. Also a C stream for any Arrow consumer; a stream is read once."""

    def schema(self) -> ArrowSchema: ...
    def __iter__(self) -> Stream: ...
    def __next__(self) -> ArrowBatch: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def report(self) -> dict[str, Any]:
        """What has been read so far: `files`, `blocks` (by kind), `corrupt` ([{file, offset, reason}]), `rolled_back`,
        `uncommitted` (blocks), `records_read`, `records_won`, `slices_pruned`, `row_groups_pruned`, `base_rows`, `rows`,
        `list_requests`, `open_requests`, `read_requests`, `peak_fetched_bytes`."""
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
    """Why the block is corrupt; None for a sound one."""
    damage_offset: int | None
    """Where in the file the damage shows."""
    refusal: str | None
    """Why a table read would stop here, rather than risk missing rows: damage that Hudi does not pass over either, or a block
    type or header key that no release knows."""

@final
class Blocks:
    """The blocks of a log file: sound ones come before an error."""

    def __iter__(self) -> Blocks: ...
    def __next__(self) -> Block: ...

@final
class LogFile:
    def __new__(cls, path: str, storage_options: Mapping[str, str]) -> LogFile: ...
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
    """Records of a block as they are read."""

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
        """`data`: anything with `__arrow_c_stream__` or `__arrow_c_array__`. At least one block, though it be empty."""
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
        """`partition_path`, where given, is that of all keys; `partition_column` is then not looked for."""
    @staticmethod
    def rollback(target_instant: str, instant: str) -> LogBlock: ...
    @property
    def type(self) -> str:
        """Hudi's name of the type: AVRO_DATA_BLOCK, PARQUET_DATA_BLOCK, DELETE_BLOCK or COMMAND_BLOCK."""
    @property
    def record_count(self) -> int | None:
        """Records or deleted keys; None of a command."""
    def __len__(self) -> int:
        """Bytes in the file."""
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
        """Path, offset and length of each block."""
    @property
    def paths(self) -> list[str]: ...
    def finish(self) -> None: ...

def merge_rows(
    older: Any,
    newer: Any,
    *,
    record_key: Sequence[str],
    properties: Mapping[str, str],
    semantics: str,
    schema: str | None,
    commit_order: Sequence[str],
    partial: bool,
    emit_deletes: bool,
    merger: Any = None,
) -> tuple[ArrowSchema, list[ArrowBatch]]:
    """Older rows in the place of a base file and newer ones in that of its logs, merged as a table with these properties is.

    Both are Arrow data. What comes out has the columns of the older rows and their types. `schema` is an Avro schema that
    tells columns' defaults.
    """
