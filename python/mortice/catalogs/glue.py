"""The catalog of AWS Glue (`AWSGlueCatalogSyncClient` of Hudi)."""

from __future__ import annotations

from typing import Any

from mortice._mortice import CatalogPartition, CatalogTable
from mortice.catalogs import StoredTable
from mortice.errors import InvalidArgumentError

_MOST_ADDED, _MOST_DROPPED = 100, 25
_OWN = ("Name", "Description", "Owner", "Retention")


class Glue:
    """The catalog of the account and region that boto3 finds, or of a client that a caller hands in."""

    def __init__(self, client: Any = None) -> None:
        if client is None:
            try:
                import boto3
            except ImportError as error:
                raise InvalidArgumentError("a sync with Glue needs boto3: pip install 'mortice[glue]'") from error
            client = boto3.client("glue")
        self._client = client
        self._errors: Any = client.exceptions

    def close(self) -> None:
        self._client.close()

    def ensure_database(self, name: str, *, create: bool) -> None:
        try:
            self._client.get_database(Name=name)
        except self._errors.EntityNotFoundException as error:
            if not create:
                raise InvalidArgumentError(f"Glue has no database {name!r}") from error
            described = {"Name": name, "Description": "Automatically created by " + "org.apache.hudi.aws.sync"}
            self._client.create_database(DatabaseInput=described)

    def table(self, database: str, name: str) -> StoredTable | None:
        try:
            found = self._client.get_table(DatabaseName=database, Name=name)["Table"]
        except self._errors.EntityNotFoundException:
            return None
        return StoredTable(
            columns=[(column["Name"], column["Type"]) for column in found["StorageDescriptor"]["Columns"]],
            partition_columns=[(column["Name"], column["Type"]) for column in found.get("PartitionKeys", [])],
        )

    def create_table(self, database: str, table: CatalogTable) -> None:
        self._client.create_table(DatabaseName=database, TableInput=self._table(table))

    def alter_table(self, database: str, table: CatalogTable) -> None:
        """Replaces columns, formats and properties, and those of the partitions."""
        stored = self._client.get_table(DatabaseName=database, Name=table.name)["Table"]
        new = self._table(table)
        new["Parameters"] = {**stored.get("Parameters", {}), **table.properties}
        columns = [(column["Name"], column["Type"]) for column in stored["StorageDescriptor"]["Columns"]]
        kept = {name: stored[name] for name in _OWN if name in stored}
        self._client.update_table(DatabaseName=database, TableInput={**kept, **new})
        if columns != table.columns:
            self._renew_partitions(database, table)

    def drop_table(self, database: str, name: str) -> None:
        self._client.delete_table(DatabaseName=database, Name=name)

    def partitions(self, database: str, table: CatalogTable) -> list[CatalogPartition]:
        pages = self._client.get_paginator("get_partitions").paginate(DatabaseName=database, TableName=table.name)
        return [
            CatalogPartition(one["Values"], one["StorageDescriptor"]["Location"])
            for page in pages
            for one in page["Partitions"]
        ]

    def add_partitions(self, database: str, table: CatalogTable, partitions: list[CatalogPartition]) -> None:
        for at in range(0, len(partitions), _MOST_ADDED):
            new = [self._partition(table, one) for one in partitions[at : at + _MOST_ADDED]]
            done = self._client.batch_create_partition(
                DatabaseName=database, TableName=table.name, PartitionInputList=new
            )
            _raise_of(done, "add")

    def drop_partitions(self, database: str, table: CatalogTable, partitions: list[CatalogPartition]) -> None:
        for at in range(0, len(partitions), _MOST_DROPPED):
            gone = [{"Values": list(one.values)} for one in partitions[at : at + _MOST_DROPPED]]
            done = self._client.batch_delete_partition(
                DatabaseName=database, TableName=table.name, PartitionsToDelete=gone
            )
            _raise_of(done, "drop")

    def _renew_partitions(self, database: str, table: CatalogTable) -> None:
        for one in self.partitions(database, table):
            self._client.update_partition(
                DatabaseName=database,
                TableName=table.name,
                PartitionValueList=list(one.values),
                PartitionInput=self._partition(table, one),
            )

    def _table(self, table: CatalogTable) -> dict[str, object]:
        return {
            "Name": table.name,
            "TableType": "MANAGED_TABLE" if table.is_managed else "EXTERNAL_TABLE",
            "Parameters": dict(table.properties),
            "PartitionKeys": _columns(table.partition_columns),
            "StorageDescriptor": self._storage(table, table.location),
        }

    def _partition(self, table: CatalogTable, one: CatalogPartition) -> dict[str, object]:
        return {"Values": list(one.values), "StorageDescriptor": self._storage(table, one.location)}

    @staticmethod
    def _storage(table: CatalogTable, location: str) -> dict[str, object]:
        return {
            "Columns": _columns(table.columns),
            "Location": _s3(location),
            "InputFormat": table.input_format,
            "OutputFormat": CatalogTable.OUTPUT_FORMAT,
            "SerdeInfo": {"SerializationLibrary": CatalogTable.SERDE, "Parameters": dict(table.serde_properties)},
        }


def _columns(columns: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"Name": name, "Type": kind, "Comment": ""} for name, kind in columns]


def _s3(location: str) -> str:
    """Returns a location as Athena knows it: `s3a` is the name of Hadoop's client."""
    return "s3://" + location.partition("://")[2] if location.startswith(("s3a://", "s3n://")) else location


def _raise_of(answer: dict[str, Any], verb: str) -> None:
    errors = answer.get("Errors") or []
    if errors:
        first = errors[0]
        raise InvalidArgumentError(
            f"Glue did not {verb} {len(errors)} partitions, the first {first['PartitionValues']}: "
            f"{first['ErrorDetail'].get('ErrorMessage')}"
        )
