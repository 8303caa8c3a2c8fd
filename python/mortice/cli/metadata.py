"""`mortice metadata`: builds the metadata table of a table, changes its indexes, or deletes it."""

from __future__ import annotations

import argparse
import dataclasses

from mortice.cli.arguments import add_service_options
from mortice.cli.progress import service_progress
from mortice.cli.show import print_json, print_table
from mortice.options import checked_storage_options, checked_uri
from mortice.services.metadata_table import MetadataResult, build_metadata, delete_metadata

__all__ = ["add_metadata"]


def add_metadata(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the commands to the parser."""
    metadata = commands.add_parser(
        "metadata",
        help="build or delete the metadata table of a table",
        description="Builds the metadata table of a table, adds and drops indexes of it, or deletes it.",
        allow_abbrev=False,
    )
    actions = metadata.add_subparsers(required=True, metavar="ACTION")
    build = actions.add_parser(
        "build",
        help="build it, add indexes, drop others",
        description="Builds the metadata table of a table that has none; adds indexes to one that is there, and drops "
        "others: column_stats, partition_stats, record_index, bloom_filters.",
        allow_abbrev=False,
    )
    build.set_defaults(run=run_build)
    build.add_argument("path", metavar="TABLE", help="the table's base path")
    build.add_argument("--add", metavar="A,B", default="", help="indexes to add")
    build.add_argument("--drop", metavar="A,B", default="", help="indexes to drop")
    build.add_argument("--rebuild", action="store_true", help="delete the metadata table first, even if it is damaged")
    add_service_options(build, "hoodie.metadata.index.column.stats.column.list=city,fare")
    delete = actions.add_parser(
        "delete",
        help="delete it",
        description="Deletes the metadata table: files are listed from storage from then on. Writers build it again, "
        "unless hoodie.metadata.enable=false.",
        allow_abbrev=False,
    )
    delete.set_defaults(run=run_delete)
    delete.add_argument("path", metavar="TABLE", help="the table's base path")
    add_service_options(delete, "those of the lock of a table with several writers")


def run_build(arguments: argparse.Namespace) -> int:
    """Builds or changes a metadata table, or prints what would be done."""
    uri, storage = checked_uri(arguments.path), checked_storage_options(dict(arguments.storage_options))
    add, drop = (
        [name.strip() for name in names.split(",") if name.strip()] for names in (arguments.add, arguments.drop)
    )
    options, dry_run = dict(arguments.options), arguments.dry_run
    with service_progress("files", arguments.progress):
        built = build_metadata(uri, storage, options, add=add, drop=drop, rebuild=arguments.rebuild, dry_run=dry_run)
    return _print_built(built, arguments)


def run_delete(arguments: argparse.Namespace) -> int:
    """Deletes a metadata table, or prints what would be done."""
    uri, storage = checked_uri(arguments.path), checked_storage_options(dict(arguments.storage_options))
    return _print_built(delete_metadata(uri, storage, dict(arguments.options), dry_run=arguments.dry_run), arguments)


def _print_built(built: MetadataResult, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print_json(dataclasses.asdict(built))
        return 0
    if arguments.dry_run:
        print_table(["deleted file", "bytes"], [list(file) for file in built.deleted], widest=200)
    would = "would be " if arguments.dry_run else ""
    if built.dropped:
        size = sum(size for _, size in built.deleted)
        print(f"{', '.join(built.dropped)} {would}deleted: {len(built.deleted)} files, {size:,} bytes")
    if built.added:
        print(f"{', '.join(built.added)} {would}built: from {built.files} data files, {built.bytes:,} bytes")
    if not built.added and not built.dropped:
        print("nothing to change")
    print(f"metadata table: {', '.join(built.partitions) or 'none'}")
    return 0
