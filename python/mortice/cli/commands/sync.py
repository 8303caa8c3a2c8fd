"""`mortice sync`: registers tables in a catalog."""

from __future__ import annotations

import dataclasses

import click

from mortice.catalog_sync import sync as sync_table
from mortice.cli.parameters import NAME_AND_VALUE, Target, on_tables

__all__ = ["sync"]

_HIVE = "hoodie.datasource.hive_sync."
_GLUE = {"hoodie.meta.sync.client.tool.class": "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"}


@click.command()
@click.option("--metastore", metavar="URI", help="The Hive metastore, thrift://HOST:PORT.")
@click.option("--glue", is_flag=True, help="Register in AWS Glue, with the account that boto3 finds.")
@click.option("--database", metavar="NAME", help="The database. Default: default.")
@click.option(
    "--option",
    "options",
    type=NAME_AND_VALUE,
    multiple=True,
    help="An option of Hudi's sync tools, by its name.",
)
@on_tables
def sync(
    target: Target, *, metastore: str | None, glue: bool, database: str | None, options: tuple[tuple[str, str], ...]
) -> None:
    """Register a table in a Hive metastore or in AWS Glue, or bring its entries up to date."""
    given = dict(_GLUE) if glue else {}
    if metastore is not None:
        given[_HIVE + "metastore.uris"] = metastore
    if database is not None:
        given[_HIVE + "database"] = database
    done = sync_table(target.table(), {**given, **dict(options)})
    target.show(
        [dataclasses.asdict(one) for one in done],
        ["table", "state", "partitions added", "partitions dropped"],
        [
            [
                f"{one.database}.{one.table}",
                "created" if one.created else "columns changed" if one.columns_changed else "up to date",
                one.partitions_added,
                one.partitions_dropped,
            ]
            for one in done
        ],
    )
