"""mortice reads and writes Apache Hudi tables with Arrow, and thereby with Spark, pandas, polars and DuckDB.

    import mortice

    table = mortice.Table("/lake/trips")
    table.to_pandas(columns=["rider", "fare"], filters="fare > 3 and city = 'oslo'")

With Spark: `mortice.spark.read(spark, "/lake/trips")`, or `spark.read.format("mortice").load("/lake/trips")`.
"""

import importlib
import warnings
from types import ModuleType
from typing import TYPE_CHECKING

from mortice import _mortice, queries
from mortice._mortice import (
    ArchivedInstant,
    ArchiveResult,
    Clean,
    CleanedFile,
    CleanResult,
    ClusteringGroup,
    ClusterResult,
    Commit,
    CommitEvent,
    CompactResult,
    DataFile,
    Erasure,
    ExpiredPartition,
    ExpireResult,
    FileGroupStats,
    FileSlice,
    Finding,
    Health,
    Instant,
    MetadataResult,
    PlannedCompaction,
    PlannedSlice,
    RepairResult,
    RestoreResult,
    RollbackResult,
    RowError,
    SavepointResult,
    SchemaChange,
    Synced,
    UpgradeResult,
    VerifyResult,
)
from mortice.catalog_sync import sync
from mortice.create_table import bootstrap, create_table
from mortice.display import results, rows
from mortice.engines.row_merge import merge
from mortice.engines.scans import duckdb, scan_daft, scan_polars
from mortice.errors import (
    CorruptLogError,
    FileChangedError,
    FileCleanedError,
    InternalError,
    InvalidArgumentError,
    InvalidTableError,
    MemoryLimitError,
    MorticeError,
    StorageError,
    StorageForbiddenError,
    StorageThrottledError,
    StorageUnreachableError,
    TableExistsError,
    TableNotFoundError,
    TableServiceError,
    UnsupportedError,
    WriteConflictError,
)
from mortice.insight.difference import Diff
from mortice.insight.history import RecordHistory
from mortice.insight.maintenance import MaintainResult
from mortice.queries import QueryPlan, TimeTravelWarning
from mortice.reading.follow import Follower, Ranges
from mortice.reading.log_file import LogFile
from mortice.reading.mergers import register_merger
from mortice.reading.read_options import ReadOptions
from mortice.reading.scan import Scan
from mortice.reading.split import Split
from mortice.table import Table
from mortice.values import other_names
from mortice.values.damage import DamagedFileWarning
from mortice.values.observe import on_commit
from mortice.values.timeline import Timeline
from mortice.writing.log_writer import LogBlock, LogWriter, WrittenBlock

if TYPE_CHECKING:
    from mortice import spark as spark

__version__ = _mortice.__version__

__all__ = [
    "ArchiveResult",
    "ArchivedInstant",
    "Clean",
    "CleanResult",
    "CleanedFile",
    "ClusterResult",
    "ClusteringGroup",
    "Commit",
    "CommitEvent",
    "CompactResult",
    "CorruptLogError",
    "DamagedFileWarning",
    "DataFile",
    "Diff",
    "Erasure",
    "ExpireResult",
    "ExpiredPartition",
    "FileChangedError",
    "FileCleanedError",
    "FileGroupStats",
    "FileSlice",
    "Finding",
    "Follower",
    "Health",
    "Instant",
    "InternalError",
    "InvalidArgumentError",
    "InvalidTableError",
    "LogBlock",
    "LogFile",
    "LogWriter",
    "MaintainResult",
    "MemoryLimitError",
    "MetadataResult",
    "MorticeError",
    "PlannedCompaction",
    "PlannedSlice",
    "QueryPlan",
    "Ranges",
    "ReadOptions",
    "RecordHistory",
    "RepairResult",
    "RestoreResult",
    "RollbackResult",
    "RowError",
    "SavepointResult",
    "Scan",
    "SchemaChange",
    "Split",
    "StorageError",
    "StorageForbiddenError",
    "StorageThrottledError",
    "StorageUnreachableError",
    "Synced",
    "Table",
    "TableExistsError",
    "TableNotFoundError",
    "TableServiceError",
    "TimeTravelWarning",
    "Timeline",
    "UnsupportedError",
    "UpgradeResult",
    "VerifyResult",
    "WriteConflictError",
    "WrittenBlock",
    "__version__",
    "bootstrap",
    "create_table",
    "duckdb",
    "merge",
    "on_commit",
    "queries",
    "register_merger",
    "scan_daft",
    "scan_polars",
    "sync",
]


def __dir__() -> list[str]:
    """Returns the public names, for completion."""
    return [*__all__, "__doc__", "__file__", "__name__", "__path__", "spark"]


if not TYPE_CHECKING:  # which must go on to report unknown names

    def __getattr__(name: str) -> ModuleType:
        """Imports `mortice.spark` when it is first used, so that `import mortice` suffices."""
        if name == "spark":
            return importlib.import_module("mortice.spark")
        of_tables = {one: f"Table(path).{one}" for one in dir(Table)} | {
            one: f"Table(path): {meant}" for one, meant in other_names.names_of("Table").items()
        }
        others = {**of_tables, **other_names.names_of("module")}
        raise other_names.missing_attribute("module 'mortice'", name, others, __all__)


# `mortice.table(path)` is answered by what `__getattr__` says of it; `from mortice.table import …` works as before.
globals().pop("table", None)
for _kind in (Commit, FileSlice, Health, Instant):
    other_names.answering(_kind)
results.show_as_tables(ArchiveResult, CleanResult, ClusterResult, CompactResult, Erasure, MetadataResult)
results.show_as_tables(PlannedCompaction, RepairResult, RestoreResult, RollbackResult, SavepointResult)
rows.show_rows_as_tables()

if _mortice.debug_build:
    warnings.warn(
        "mortice was built without optimisation and is many times slower; do not measure it (make build optimises)",
        RuntimeWarning,
        stacklevel=2,
    )
