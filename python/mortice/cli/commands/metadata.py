"""`mortice metadata`: builds the metadata table of a table, changes its indexes, or deletes it."""

from __future__ import annotations

import click

from mortice.cli.parameters import LOCK, WIDEST_PATH, Target, columns_of, on_tables, service_options
from mortice.cli.progress import service_progress
from mortice.services.metadata_table import MetadataResult, build_metadata, delete_metadata
from mortice.values.options import checked_storage_options, checked_uri

__all__ = ["metadata"]


@click.group()
def metadata() -> None:
    """Build the metadata table of a table, change its indexes, or delete it."""


@metadata.command()
@click.option("--add", metavar="A,B", default="", help="Indexes to add.")
@click.option("--drop", metavar="A,B", default="", help="Indexes to drop.")
@click.option("--rebuild", is_flag=True, help="Delete the metadata table first, even if it is damaged.")
@service_options("hoodie.metadata.index.column.stats.column.list=city,fare")
@on_tables
def build(
    target: Target,
    *,
    add: str,
    drop: str,
    rebuild: bool,
    dry_run: bool,
    progress: bool,
    options: tuple[tuple[str, str], ...],
) -> None:
    """Build it, add indexes, drop others.

    Builds the metadata table of a table that has none; adds indexes to one that is there, and drops others:
    column_stats, partition_stats, record_index, bloom_filters.
    """
    uri, storage = checked_uri(target.path), checked_storage_options(target.storage_options)
    names = columns_of(add) or [], columns_of(drop) or []
    with service_progress("files", progress):
        built = build_metadata(
            uri, storage, dict(options), add=names[0], drop=names[1], rebuild=rebuild, dry_run=dry_run
        )
    _show_built(target, built, dry_run=dry_run)


@metadata.command()
@service_options(LOCK, has_progress=False)
@on_tables
def delete(target: Target, dry_run: bool, options: tuple[tuple[str, str], ...]) -> None:
    """Delete it: files are listed from storage from then on.

    Writers build it again, unless hoodie.metadata.enable=false.
    """
    uri, storage = checked_uri(target.path), checked_storage_options(target.storage_options)
    _show_built(target, delete_metadata(uri, storage, dict(options), dry_run=dry_run), dry_run=dry_run)


def _show_built(target: Target, built: MetadataResult, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    lines = []
    if built.dropped:
        size = sum(size for _, size in built.deleted)
        lines.append(f"{', '.join(built.dropped)} {would}deleted: {len(built.deleted)} files, {size:,} bytes")
    if built.added:
        lines.append(f"{', '.join(built.added)} {would}built: from {built.files} data files, {built.bytes:,} bytes")
    if not lines:
        lines.append("nothing to change")
    lines.append(f"metadata table: {', '.join(built.partitions) or 'none'}")
    rows = [list(file) for file in built.deleted] if dry_run or target.form == "csv" else []
    target.show(built.to_dict(), ["deleted file", "bytes"], rows, lines, WIDEST_PATH)
