"""The Hive metastore, over Thrift (`HMSDDLExecutor` of Hudi)."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from mortice._mortice import CatalogPartition, CatalogTable
from mortice.catalogs import StoredTable
from mortice.errors import InvalidArgumentError

_PORT = 9083
_MILLISECONDS = 30_000
_AT_ONCE = 1000
_TABLE, _EXTERNAL = "MANAGED_TABLE", "EXTERNAL_TABLE"


class HiveMetastore:
    """A connection to a metastore. Raises `InvalidArgumentError` if none of the addresses answers."""

    def __init__(self, uris: Sequence[str]) -> None:
        try:
            from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
            from thrift.protocol.TBinaryProtocol import TBinaryProtocol
            from thrift.transport import TSocket, TTransport
        except ImportError as error:
            raise InvalidArgumentError(
                "a sync with a Hive metastore needs pymetastore: pip install 'mortice[hive]'"
            ) from error
        self._types: Any = ttypes
        refused = []
        for uri in uris:
            address = urlsplit(uri)
            if address.scheme != "thrift" or not address.hostname:
                raise InvalidArgumentError(f"the address of a metastore must be thrift://HOST:PORT, got {uri!r}")
            socket = TSocket.TSocket(address.hostname, address.port or _PORT)
            socket.setTimeout(_MILLISECONDS)
            self._transport = TTransport.TBufferedTransport(socket)
            try:
                self._transport.open()
            except TTransport.TTransportException as error:
                refused.append(f"{uri}: {error}")
                continue
            self._client: Any = ThriftHiveMetastore.Client(TBinaryProtocol(self._transport))
            return
        raise InvalidArgumentError(f"no metastore answers ({'; '.join(refused)})")

    def close(self) -> None:
        self._transport.close()

    def ensure_database(self, name: str, *, create: bool) -> None:
        try:
            self._client.get_database(name)
        except self._types.NoSuchObjectException as error:
            if not create:
                raise InvalidArgumentError(f"the metastore has no database {name!r}") from error
            database = self._types.Database(name=name, description="automatically created by hoodie", parameters={})
            self._client.create_database(database)

    def table(self, database: str, name: str) -> StoredTable | None:
        try:
            found = self._client.get_table(database, name)
        except self._types.NoSuchObjectException:
            return None
        return StoredTable(
            columns=[(column.name, column.type) for column in found.sd.cols],
            partition_columns=[(column.name, column.type) for column in found.partitionKeys],
        )

    def create_table(self, database: str, table: CatalogTable) -> None:
        self._client.create_table(self._table(database, table))

    def alter_table(self, database: str, table: CatalogTable) -> None:
        """Replaces columns, formats and properties; with them those of the partitions."""
        stored = self._client.get_table(database, table.name)
        new = self._table(database, table)
        new.parameters = {**stored.parameters, **new.parameters}
        new.owner, new.createTime, new.privileges = stored.owner, stored.createTime, stored.privileges
        # The metastore hands new columns down to the partitions, as Hudi asks it to.
        context = self._types.EnvironmentContext(properties={"CASCADE": "true"})
        self._client.alter_table_with_environment_context(database, table.name, new, context)

    def drop_table(self, database: str, name: str) -> None:
        self._client.drop_table(database, name, False)

    def partitions(self, database: str, table: CatalogTable) -> list[CatalogPartition]:
        found = self._client.get_partitions(database, table.name, -1)
        return [CatalogPartition(list(one.values), one.sd.location) for one in found]

    def add_partitions(self, database: str, table: CatalogTable, partitions: list[CatalogPartition]) -> None:
        for at in range(0, len(partitions), _AT_ONCE):
            new = [
                self._types.Partition(
                    values=list(one.values),
                    dbName=database,
                    tableName=table.name,
                    sd=self._storage(table, one.location),
                    parameters={},
                )
                for one in partitions[at : at + _AT_ONCE]
            ]
            self._client.add_partitions(new)

    def drop_partitions(self, database: str, table: CatalogTable, partitions: list[CatalogPartition]) -> None:
        for one in partitions:
            self._client.drop_partition(database, table.name, list(one.values), False)

    def _table(self, database: str, table: CatalogTable) -> Any:
        return self._types.Table(
            tableName=table.name,
            dbName=database,
            owner=_user(),
            createTime=0,
            lastAccessTime=0,
            retention=0,
            sd=self._storage(table, table.location),
            partitionKeys=self._columns(table.partition_columns),
            parameters=dict(table.properties),
            tableType=_TABLE if table.is_managed else _EXTERNAL,
        )

    def _storage(self, table: CatalogTable, location: str) -> object:
        serde = self._types.SerDeInfo(serializationLib=CatalogTable.SERDE, parameters=dict(table.serde_properties))
        return self._types.StorageDescriptor(
            cols=self._columns(table.columns),
            location=location,
            inputFormat=table.input_format,
            outputFormat=CatalogTable.OUTPUT_FORMAT,
            compressed=False,
            numBuckets=0,
            serdeInfo=serde,
            bucketCols=[],
            sortCols=[],
            parameters={},
        )

    def _columns(self, columns: list[tuple[str, str]]) -> list[object]:
        return [self._types.FieldSchema(name=name, type=kind, comment="") for name, kind in columns]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return ""
