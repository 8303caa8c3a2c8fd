"""The settings with which a table is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from mortice.errors import InvalidArgumentError
from mortice.values.options import (
    DEFAULT_BATCH_ROWS,
    DEFAULT_ON_CORRUPT,
    DEFAULT_SEMANTICS,
    checked_bool,
    checked_count,
    checked_on_corrupt,
    checked_on_damage,
    checked_optional_count,
    checked_semantics,
)
from mortice.values.other_names import with_hints

__all__ = ["ReadOptions", "checked_read_options"]


@with_hints
@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a table is read, by all its queries, and by its writes and services as far as they read.

        table = mortice.Table("/lake/trips", read_options=mortice.ReadOptions(threads=4, on_damage="raise"))

    `dataclasses.replace` returns options with other values.

    Args:
        mmap: True maps large files on local disks into memory. Nobody may make them shorter while they are read: that
            ends the process (docs/tuning.md).
        semantics: The merge rules: `"1.x"`, those of the newest Hudi, or `"0.x"`, those of Hudi 0.15 on tables that it
            can read.
        memory_limit: Bytes of memory for the keys and contents of logs and for batches that wait to be consumed.
            Default: 1 GiB. File slices that are read at the same time share it. Larger merges spill to `spill_dir`.
            Mapped files do not count.
        spill_dir: The directory for spilled data. Default: the system's directory for temporary files.
        on_corrupt: `"skip"` skips corrupt log blocks, as Hudi does; `"raise"` raises an error.
        on_damage: What happens if a log file has lost bytes that a completed write wrote: it is shorter than the write
            recorded, or a block of it is corrupt. `"warn"` reads the rest and warns (`DamagedFileWarning`), `"raise"`
            raises `CorruptLogError`, `"ignore"` reads the rest. Default: queries warn; writes and services that merge
            logs raise before they change anything.
        threads: Threads of a read, at most. Default: one for each core.
        batch_rows: Rows in a batch, at most.
        optimized_log_scan: True merges log blocks instant by instant, as Hudi 1.2 does; False block by block, as Hudi
            1.0 and 1.1 do by default. The results differ if blocks of several instants alternate, and for log
            compaction.
        spill_compressed: True compresses spilled data.
        prune: False also reads files and row groups that partition paths and statistics of base files exclude. The rows
            are the same, unless a writer's statistics are wrong.
        record_positions: False merges by record key even if the logs record row positions in the base file
            (`hoodie.merge.use.record.positions`). The rows differ only if a base file contains a key several times, as
            after `bulk_insert`: by position, the default as in Hudi, an update changes all rows of the key, by key the
            first of them.
        use_metadata: False lists files from storage even if the table has a metadata table. The files are the same;
            `Scan.explain` reports which was used.
        use_column_stats: False also opens file slices that the column statistics of the metadata table exclude. The
            rows are the same; `Scan.explain` reports how many slices were skipped.
        use_record_index: False does not look up the keys and values of a filter (`=`, `in`) in the table's record
            index, secondary indexes and Bloom filters. The rows are the same if no key is stored twice: a record index
            has one location of each key.

    Raises:
        InvalidArgumentError: A value is invalid.
    """

    mmap: bool = False
    semantics: str = DEFAULT_SEMANTICS
    memory_limit: int | None = None
    spill_dir: str | os.PathLike[str] | None = None
    on_corrupt: str = DEFAULT_ON_CORRUPT
    on_damage: str | None = None
    threads: int | None = None
    batch_rows: int = DEFAULT_BATCH_ROWS
    optimized_log_scan: bool = True
    spill_compressed: bool = True
    prune: bool = True
    record_positions: bool = True
    use_metadata: bool = True
    use_column_stats: bool = True
    use_record_index: bool = True

    def __post_init__(self) -> None:
        checked_semantics(self.semantics)
        checked_on_corrupt(self.on_corrupt)
        checked_on_damage(self.on_damage)
        checked_count("batch_rows", self.batch_rows)
        for name in ("threads", "memory_limit"):
            checked_optional_count(name, getattr(self, name))
        for name, default in type(self).__dataclass_fields__.items():
            if isinstance(default.default, bool):
                checked_bool(name, getattr(self, name))
        if self.spill_dir is not None:
            if not isinstance(self.spill_dir, (str, os.PathLike)):
                raise InvalidArgumentError(f"spill_dir must be a string or a Path, got {self.spill_dir!r}")
            object.__setattr__(self, "spill_dir", os.fspath(self.spill_dir))


def checked_read_options(given: object, settings: Mapping[str, object]) -> ReadOptions:
    """Returns the options of a call; all defaults for None. `settings` are fields, which replace those of the options.

    Raises `InvalidArgumentError`.
    """
    if given is not None and not isinstance(given, ReadOptions):
        raise InvalidArgumentError(f"read_options must be a ReadOptions, got {given!r}")
    return replace(given or ReadOptions(), **cast("dict[str, Any]", settings))
