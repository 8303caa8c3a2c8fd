"""`DROP TABLE` of `mortice.spark.sql`: which files it deletes, which it keeps, and what a failure in between leaves."""

import pathlib
import shutil

import pyarrow as pa
import pytest

import mortice
import mortice.spark
from mortice.spark.statements.drop_table import HadoopFiles, LocalFiles, TableFolder
from support.spark_database import current_database

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
ROWS = pa.table({"id": ["a", "b"], "city": ["oslo", "rome"]})
COLUMNS = "(id string, n int) using hudi tblproperties (primaryKey = 'id')"


@pytest.fixture
def folder(spark, tmp_path):
    """The folder of the current database."""
    with current_database(spark, "dropping", tmp_path):
        yield tmp_path / "db"


@pytest.fixture
def run(spark, folder):
    return lambda text: [tuple(row) for row in mortice.spark.sql(spark, text.replace("{at}", str(folder))).collect()]


def table_at(path):
    """Returns a partitioned table with its metadata table, as a folder."""
    table = mortice.create_table(path, ROWS.schema, name="t", record_key="id", partition_by="city")
    table.upsert(ROWS)
    return pathlib.Path(path)


def ids(path):
    return sorted(mortice.Table(path).to_arrow().column("id").to_pylist())


def test_files_of_a_managed_table_are_deleted_and_those_of_others_stay(run, folder, spark):
    run(f"create table managed {COLUMNS} partitioned by (n)")
    run("insert into managed values ('a', 1), ('b', 2)")
    run("drop table managed")
    assert not (folder / "managed").exists()
    # The name and the folder can be used again, also for other columns.
    run("create table if not exists managed using hudi tblproperties (primaryKey = 'k') as select 'x' as k, 1.5D as v")
    assert run("select k, v from managed") == [("x", 1.5)]
    run("drop table if exists managed")
    assert list(folder.iterdir()) == []
    run("drop table if exists managed")
    for location in ("location '{at}/other'", "options (path '{at}/other')", "location 'file:{at}/other'"):
        run(f"create table external {COLUMNS} {location}")
        run("insert into external values ('a', 1)")
        run("drop table external")
        assert set(ids(folder / "other")) == {"a"}
    # A table that is there already is another's, also if it is in the place of a managed one.
    shutil.move(folder / "other", folder / "there")
    run(f"create table there {COLUMNS}")
    run("drop table there")
    assert (folder / "there" / ".hoodie").exists()


@pytest.mark.spark4
def test_purge_deletes_the_files_of_external_tables_as_hudi_does(run, folder):
    run(f"create table external {COLUMNS} location '{{at}}/far/other'")
    run("insert into external values ('a', 1)")
    run("drop table external purge")
    assert list((folder / "far").iterdir()) == []
    path = table_at(folder / "t")
    run("create temporary view seen using mortice options (path '{at}/t')")
    with pytest.raises(mortice.InvalidArgumentError, match="PURGE is for tables"):
        run("drop view seen purge")
    run("drop table seen")
    assert ids(path) == ["a", "b"]


@pytest.mark.spark4
def test_a_table_stays_managed_after_changes_and_spark_alone_deletes_nothing(run, folder, spark):
    run(f"create table first {COLUMNS}")
    run("alter table first add columns (tip double)")
    run("alter table first rename to Second")
    run("insert into second values ('a', 1, 1.5)")
    run("alter table dropping.second rename column n to number")
    assert run("select number, tip from second") == [(1, 1.5)]
    run("drop table second")
    assert list(folder.iterdir()) == []
    with pytest.raises(mortice.InvalidArgumentError, match="without LOCATION is managed"):
        run("create table t using mortice options (path '{at}/t', `mortice.managed` 'default.t')")
    for statement in ("drop table {name}", "alter table {name} rename to other"):
        name = f"t{len(list(folder.iterdir()))}"
        run(f"create table {name} {COLUMNS}")
        spark.sql(statement.format(name=name))
        run("drop table if exists other")
        assert (folder / name / ".hoodie").exists()


def test_views_of_tables_have_no_files(run, folder):
    run(f"create table t {COLUMNS}")
    run("create temporary view seen using mortice options (path '{at}/t')")
    run("drop view seen")
    assert (folder / "t" / ".hoodie").exists()
    run("drop table t")


@pytest.mark.spark4
def test_a_table_whose_folder_is_refused_keeps_its_name_and_files(run, folder, spark):
    run(f"create table t {COLUMNS}")
    run("insert into t values ('a', 1)")
    inner = table_at(folder / "t" / "deep" / "inner")
    with pytest.raises(mortice.InvalidArgumentError, match=r"another table in it: .*/t/deep/inner"):
        run("drop table t")
    assert run("select id from t") == [("a",)]
    assert ids(inner) == ["a", "b"]
    shutil.rmtree(folder / "t" / "deep")
    run("drop table t")
    # Without a folder there is nothing to refuse.
    run(f"create table t {COLUMNS}")
    shutil.rmtree(folder / "t")
    run("drop table t")
    assert not spark.catalog.tableExists("t")


def test_files_that_cannot_be_deleted_are_reported_with_their_folder(run, folder, monkeypatch):
    run(f"create table t {COLUMNS}")
    run("insert into t values ('a', 1)")

    def denied(*_):
        raise PermissionError("denied by the store")

    monkeypatch.setattr(LocalFiles, "delete_file", denied)
    with pytest.raises(mortice.StorageError, match=r"(?s)was dropped.*denied by the store.*/db/t"):
        run("drop table t")
    # The entry goes first, then the files: until the first of them is deleted, the table is whole.
    assert ids(folder / "t") == ["a"]


def linked(path):
    target = path.parent / "target"
    path.rename(target)
    path.symlink_to(target, target_is_directory=True)


REFUSED = {
    "it is a link": linked,
    r"no table in it \(\.hoodie/hoodie\.properties\)": lambda path: (path / ".hoodie/hoodie.properties").unlink(),
    "another table in it": lambda path: table_at(path / "oslo" / "more"),
    "in the folder of the table": lambda path: shutil.copytree(path / ".hoodie", path.parent / ".hoodie"),
    "export/part-0.csv is not one of the table": lambda path: [
        (path / "export").mkdir(),
        (path / "export/part-0.csv").write_text("a"),
    ],
    "notes.txt is not one of the table": lambda path: (path / "notes.txt").write_text("keep"),
}


# Hadoop reads local links as folders.
@pytest.mark.parametrize(
    ("kind", "reason"),
    [*(("local", reason) for reason in REFUSED), *(("hadoop", reason) for reason in list(REFUSED)[1:])],
)
def test_a_folder_that_is_not_exactly_one_table_is_not_deletable(request, tmp_path, kind, reason):
    path = table_at(tmp_path / "in" / "t")
    REFUSED[reason](path)
    found = sorted(tmp_path.rglob("*"))
    files = LocalFiles() if kind == "local" else HadoopFiles(request.getfixturevalue("spark"), f"file://{path}")
    with pytest.raises(mortice.InvalidArgumentError, match=reason):
        TableFolder(files, str(path)).check_deletable()
    assert sorted(tmp_path.rglob("*")) == found


def test_links_within_the_folder_are_not_followed(tmp_path):
    path, kept = table_at(tmp_path / "t"), table_at(tmp_path / "kept")
    (path / "oslo" / "link").symlink_to(kept, target_is_directory=True)
    (path / ".hoodie" / "link").symlink_to(kept, target_is_directory=True)
    folder = TableFolder(LocalFiles(), str(path))
    assert folder.check_deletable()
    folder.delete()
    assert not path.exists()
    assert ids(kept) == ["a", "b"]


@pytest.mark.parametrize("kind", ["local", "hadoop"])
def test_an_end_in_between_leaves_a_whole_table_or_none(request, tmp_path, kind):
    files = LocalFiles() if kind == "local" else HadoopFiles(request.getfixturevalue("spark"), f"file://{tmp_path}")
    left = []
    for step in range(20):
        path = table_at(tmp_path / f"t{step}")
        shutil.copy(path / ".hoodie/hoodie.properties", path / ".hoodie/hoodie.properties.backup")
        folder = TableFolder(EndsAt(files, step), str(path))
        assert folder.check_deletable()
        try:
            folder.delete()
        except KeyboardInterrupt:
            pass
        else:
            assert not path.exists()
            break
        try:
            left.append(ids(path))
        except mortice.TableNotFoundError:
            left.append(None)
            with pytest.raises(mortice.InvalidArgumentError, match="not empty"):
                TableFolder(files, str(path)).check_vacant()
    # The two copies of the properties, then partitions and the rest.
    assert left[:2] == [["a", "b"]] * 2
    assert len(left) >= 5
    assert set(map(str, left[2:])) == {"None"}


class EndsAt:
    """A file system whose process ends before a deletion.

    Args:
        files: The file system.
        step: The number of the deletion.
    """

    def __init__(self, files, step):
        self.files, self.step = files, step

    def __getattr__(self, name):
        method = getattr(self.files, name)
        if not name.startswith("delete"):
            return method

        def counted(path):
            if self.step == 0:
                raise KeyboardInterrupt
            self.step -= 1
            method(path)

        return counted
