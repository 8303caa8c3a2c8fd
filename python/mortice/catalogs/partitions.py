"""Values of a partition path, as Hudi's extractors make them (`org.apache.hudi.sync.common.model`)."""

from __future__ import annotations

from urllib.parse import unquote

from mortice.catalogs.options import Extractor
from mortice.errors import InvalidArgumentError

__all__ = ["default_extractor", "partition_values"]

_DAY, _HOUR = 3, 4


def default_extractor(fields: int, hive_style: bool) -> Extractor:
    """Returns the extractor that Hudi infers for a number of partition fields."""
    if fields == 0:
        return "NonPartitionedExtractor"
    if fields > 1:
        return "MultiPartKeysValueExtractor"
    return "HiveStylePartitionValueExtractor" if hive_style else "SinglePartPartitionValueExtractor"


def partition_values(path: str, extractor: Extractor, fields: int, decodes: bool) -> tuple[str, ...]:
    """Returns the values of the partition columns of a partition.

    Args:
        path: The partition path, relative to the base path.
        extractor: The simple name of Hudi's class.
        fields: The number of partition columns.
        decodes: Whether percent codes are decoded.

    Raises `InvalidArgumentError` if the path has another form than the extractor expects.
    """
    shown = unquote(path) if decodes else path
    parts = shown.split("/")
    if extractor == "NonPartitionedExtractor":
        return ()
    if extractor == "SinglePartPartitionValueExtractor":
        return (shown,)
    if extractor in ("SlashEncodedDayPartitionValueExtractor", "SlashEncodedHourPartitionValueExtractor"):
        wanted = _DAY if extractor == "SlashEncodedDayPartitionValueExtractor" else _HOUR
        if len(parts) != wanted:
            raise InvalidArgumentError(f"{extractor} expects {wanted} parts, the partition is {path!r}")
        return ("-".join(part.partition("=")[2] or part for part in parts),)
    values = tuple(part.partition("=")[2] if "=" in part else part for part in parts)
    if extractor == "HiveStylePartitionValueExtractor" and (len(parts) != 1 or "=" not in shown):
        raise InvalidArgumentError(f"{extractor} expects COLUMN=VALUE, the partition is {path!r}")
    if len(values) != fields:
        raise InvalidArgumentError(
            f"the partition {path!r} has {len(values)} parts, and there are {fields} partition columns; "
            "hoodie.datasource.hive_sync.partition_extractor_class names another way to read it"
        )
    return values
