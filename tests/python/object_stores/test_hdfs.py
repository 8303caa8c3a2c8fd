"""Tables on a NameNode and a DataNode, opened by URI, name service and mount table."""

import pickle

import pyarrow as pa
import pytest

import mortice
from mortice import _mortice
from mortice.cli import main
from support.cases import assert_same_result, hudi_result

MOR = "h11_event_time_deletes"
TABLES = [
    *(MOR, "h10_types", "h10_bucket_log_only", "h015_orc_mor", "h015_cow_partitioned", "h10_hfile_log_blocks"),
    *("h11_parquet_log_blocks", "h12_bootstrap_mor", "h12_column_stats", "h12_duplicate_keys_commit_time"),
]

needs_hdfs = pytest.mark.skipif(not _mortice.has_hdfs, reason="built without HDFS: maturin develop --features hdfs")


@pytest.mark.skipif(_mortice.has_hdfs, reason="built with HDFS")
@pytest.mark.parametrize("uri", ["hdfs://name-node/table", "hdfs:///table", "viewfs://cluster/table"])
def test_without_the_client_the_error_says_how_to_build_it(uri):
    with pytest.raises(mortice.UnsupportedError, match="--features hdfs"):
        mortice.Table(uri)


@needs_hdfs
@pytest.mark.parametrize(
    ("uri", "options", "part"),
    [
        ("hdfs://nn/t", {"access_key_id": "x"}, "known: conf_dir, max_requests, read_timeout, timeout, user"),
        ("hdfs://nn/t", {"mmap": "false"}, "argument of its own"),
        ("hdfs://nn/a/../t", {}, "'..'"),
        ("hdfs://me@nn/t", {}, "storage option user"),
        ("hdfs:///t", {"conf_dir": "/none"}, "fs.defaultFS"),
        ("viewfs://c/t", {}, "fallback"),
        (
            "hdfs://ns/t",
            {"dfs.ha.namenodes.ns": "a", "dfs.namenode.rpc-address.ns.a": "h:x", "timeout": "soon"},
            "timeout",
        ),
    ],
)
def test_invalid_uris_and_options_are_named(uri, options, part):
    with pytest.raises(mortice.InvalidArgumentError, match=part):
        mortice.Table(uri, storage_options=options)


@pytest.mark.object_stores
@needs_hdfs
class TestOnACluster:
    @pytest.mark.parametrize("name", TABLES)
    def test_rows_equal_hudis_result(self, on_hdfs, name):
        assert_same_result(hudi_result(name), mortice.Table(on_hdfs(name).uri).snapshot().to_arrow())

    def test_a_split_is_read_in_another_process(self, on_hdfs):
        scan = mortice.Table(on_hdfs(MOR).uri).snapshot()
        parts = [pa.table(pickle.loads(pickle.dumps(split)).to_reader()) for split in scan.splits()]
        assert_same_result(hudi_result(MOR), pa.concat_tables(parts))

    def test_the_command_line_reads(self, on_hdfs, capsys):
        assert main(["read", on_hdfs(MOR).uri, "--json"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == hudi_result(MOR).num_rows

    def test_a_log_file_has_the_blocks_of_the_local_one(self, on_hdfs, table_of):
        folder = table_of(MOR)
        path = next(folder.rglob(".*.log.*"))
        local = mortice.LogFile(path)
        remote = mortice.LogFile(f"{on_hdfs(MOR).uri}/{path.relative_to(folder).as_posix()}")
        assert remote.size == local.size
        blocks = [block for block in local.blocks() if block.type.endswith("_DATA_BLOCK")]
        there = [block for block in remote.blocks() if block.type.endswith("_DATA_BLOCK")]
        assert [block.offset for block in there] == [block.offset for block in blocks] != []
        assert [remote.records(block) for block in there] == [local.records(block) for block in blocks]

    def test_a_missing_table(self, on_hdfs):
        with pytest.raises(mortice.TableNotFoundError):
            mortice.Table(on_hdfs(MOR).uri + "-none")

    def test_a_name_service_and_a_mount_table_by_configuration_files(self, on_hdfs, hdfs, tmp_path, monkeypatch):
        stored = on_hdfs(MOR)
        address = hdfs.uri.removeprefix("hdfs://")
        settings = {
            "fs.defaultFS": "hdfs://lake",
            "dfs.nameservices": "lake",
            "dfs.ha.namenodes.lake": "nn1,nn2",
            # The first NameNode does not exist: the client uses the second.
            "dfs.namenode.rpc-address.lake.nn1": "127.0.0.1:9",
            "dfs.namenode.rpc-address.lake.nn2": address,
            "fs.viewfs.mounttable.all.link./tables": f"hdfs://{address}/lake",
            "fs.viewfs.mounttable.all.linkFallback": f"hdfs://{address}/",
        }
        write_site(tmp_path / "core-site.xml", settings)
        monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
        path = stored.uri.removeprefix(hdfs.uri)
        for uri in (f"hdfs://lake{path}", f"hdfs://{path}", f"hdfs:{path}", f"viewfs://all/tables/{MOR}"):
            assert mortice.Table(uri).snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows, uri
        monkeypatch.delenv("HADOOP_CONF_DIR")
        for options in ({"conf_dir": str(tmp_path)}, settings):
            table = mortice.Table(f"hdfs://lake{path}", storage_options=options)
            assert table.snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows

    def test_a_file_removed_after_planning_is_an_error(self, on_hdfs, hdfs, table_of):
        hdfs.copy(table_of(MOR), "/lake/removed")
        scan = mortice.Table(f"{hdfs.uri}/lake/removed").snapshot()
        assert list(scan.splits())
        hdfs.run("remove", "/lake/removed")
        with pytest.raises(mortice.FileCleanedError, match="plan the query again"):
            scan.to_arrow()

    def test_a_file_that_the_user_may_not_read(self, on_hdfs, hdfs, table_of):
        hdfs.copy(table_of(MOR), "/lake/closed")
        hdfs.run("permit", "/lake/closed", "700")
        with pytest.raises(mortice.StorageForbiddenError, match="HADOOP_USER_NAME"):
            mortice.Table(f"{hdfs.uri}/lake/closed", storage_options={"user": "somebody"})

    def test_an_unreachable_name_node(self):
        with pytest.raises(mortice.StorageUnreachableError):
            mortice.Table("hdfs://127.0.0.1:9/t", storage_options={"timeout": "3s"})

    def test_a_cluster_without_data_nodes(self, tmp_path_factory, table_of):
        from support.object_stores import hdfs as hdfs_module
        from support.object_stores.servers import free_port

        with hdfs_module.hdfs(tmp_path_factory.mktemp("hdfs"), free_port()) as own:
            own.copy(table_of(MOR), "/t")
            options = {"timeout": "20s", "read_timeout": "2s"}
            table = mortice.Table(f"{own.uri}/t", storage_options=options)
            assert table.snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows
            own.run("stop-data")
            with pytest.raises(mortice.StorageError):
                mortice.Table(f"{own.uri}/t", storage_options=options).snapshot().to_arrow()
        with pytest.raises(mortice.StorageUnreachableError):
            mortice.Table(f"{own.uri}/t", storage_options={"timeout": "3s"})


def write_site(path, settings):
    found = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
    )
    path.write_text(f'<?xml version="1.0"?>\n<configuration>{found}</configuration>\n')
