"""Workers that ran a task of mortice read the directory of a zip archive again only if it has changed."""

import importlib
import os
import sys
import zipfile
import zipimport

import pyarrow as pa
import pytest

import mortice
import mortice.spark
from mortice.spark.execution import worker
from mortice.spark.execution.arrow_udf import ReadDescriptors
from mortice.spark.execution.worker import WorkerOptions, keep_unchanged
from mortice.spark.settings.options import read_query

NAME = "h11_event_time_deletes"
IS_LAZY = sys.version_info >= (3, 13)
"""Whether Python reads the directory of an archive only on import."""
eager = pytest.mark.skipif(IS_LAZY, reason="Python reads directories lazily")


def write_zip(path, module, value, seconds_ago=60):
    """Writes an archive with one module, with a modification time of this many seconds ago."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{module}.py", f"VALUE = {value!r}\n")
    then = path.stat().st_mtime - seconds_ago
    os.utime(path, (then, then))


@pytest.fixture
def directory_reads(monkeypatch):
    """Records the archives whose directories Python reads, in order. The process is restored afterwards."""
    found = []
    read = zipimport._read_directory
    monkeypatch.setattr(zipimport, "_read_directory", lambda archive: found.append(archive) or read(archive))
    monkeypatch.setattr(zipimport.zipimporter, "invalidate_caches", zipimport.zipimporter.invalidate_caches)
    # Files of a test have changed just now.
    monkeypatch.setattr(worker, "_TRUSTED_AGE_NS", 0)
    return found


@pytest.fixture
def archive(tmp_path, monkeypatch):
    path = tmp_path / "modules.zip"
    write_zip(path, "of_an_archive", 1)
    monkeypatch.syspath_prepend(str(path))
    yield path
    for name in ("of_an_archive", "of_an_archive_2"):
        sys.modules.pop(name, None)


@eager
def test_an_archive_that_has_not_changed_is_read_once(directory_reads, archive):
    assert keep_unchanged()
    importers = [zipimport.zipimporter(str(archive)) for _ in range(3)]
    directory_reads.clear()
    for _ in range(4):
        for importer in importers:
            importer.invalidate_caches()
    assert directory_reads == [str(archive)]
    assert importers[2].find_spec("of_an_archive") is not None


@eager
def test_an_archive_that_has_changed_is_read_again(directory_reads, archive):
    assert importlib.import_module("of_an_archive").VALUE == 1
    assert keep_unchanged()
    importlib.invalidate_caches()
    write_zip(archive, "of_an_archive_2", 2, seconds_ago=30)
    with pytest.raises(ImportError):
        importlib.import_module("of_an_archive_2")
    importlib.invalidate_caches()
    assert importlib.import_module("of_an_archive_2").VALUE == 2


@eager
def test_an_archive_that_changed_just_now_is_read_each_time(directory_reads, archive, monkeypatch):
    """Its next change might not be visible in its modification time."""
    monkeypatch.setattr(worker, "_TRUSTED_AGE_NS", 2_000_000_000)
    importer = zipimport.zipimporter(str(archive))
    assert keep_unchanged()
    directory_reads.clear()
    importer.invalidate_caches()
    importer.invalidate_caches()
    assert directory_reads == [str(archive)] * 2


@eager
def test_an_archive_that_is_deleted_and_restored(directory_reads, archive):
    importer = zipimport.zipimporter(str(archive))
    assert keep_unchanged()
    importer.invalidate_caches()
    archive.unlink()
    importer.invalidate_caches()
    assert importer.find_spec("of_an_archive") is None
    write_zip(archive, "of_an_archive", 1)
    importer.invalidate_caches()
    assert importer.find_spec("of_an_archive") is not None


@eager
def test_it_is_replaced_once(directory_reads):
    assert keep_unchanged()
    replaced = zipimport.zipimporter.invalidate_caches
    assert keep_unchanged()
    assert zipimport.zipimporter.invalidate_caches is replaced


def test_a_replacement_by_others_is_kept(directory_reads, monkeypatch):
    def of_others(importer):
        """An importer other than Python's."""

    monkeypatch.setattr(zipimport.zipimporter, "invalidate_caches", of_others)
    assert not keep_unchanged()
    assert zipimport.zipimporter.invalidate_caches is of_others


@pytest.mark.skipif(not IS_LAZY, reason="Python reads directories at once")
def test_nothing_is_replaced_if_python_is_lazy(directory_reads):
    before = zipimport.zipimporter.invalidate_caches
    assert not keep_unchanged()
    assert zipimport.zipimporter.invalidate_caches is before


def test_nothing_is_replaced_outside_of_a_task(directory_reads):
    before = zipimport.zipimporter.invalidate_caches
    WorkerOptions().prepare()
    assert zipimport.zipimporter.invalidate_caches is before


@pytest.fixture
def run_in_task(directory_reads, monkeypatch):
    """As in a worker. Returns a function that reports whether the method was replaced."""
    from pyspark import TaskContext

    before = zipimport.zipimporter.invalidate_caches
    monkeypatch.setattr(TaskContext, "get", lambda: "a task")
    return lambda: zipimport.zipimporter.invalidate_caches is not before


@eager
@pytest.mark.parametrize("is_on", [True, False])
def test_an_option_disables_it(run_in_task, table_of, is_on):
    options = {"path": str(table_of(NAME)), "mortice.zip.cache": str(is_on).lower()}
    assert read_query(options).tasks.worker.zip_cache == is_on
    list(ReadDescriptors([], iter, worker=WorkerOptions(zip_cache=is_on))(iter([])))
    assert run_in_task() == is_on


@eager
@pytest.mark.spark4
@pytest.mark.parametrize("is_on", [True, False])
def test_an_option_disables_it_for_the_data_source(run_in_task, table_of, is_on):
    from pyspark.sql.types import StringType, StructType

    from mortice.spark.data_source import MorticeDataSource

    source = MorticeDataSource({"path": str(table_of(NAME)), "mortice.zip.cache": str(is_on).lower()})
    reader = source.reader(StructType().add("_hoodie_record_key", StringType()))
    assert run_in_task() == is_on
    assert sum(batch.num_rows for task in reader.partitions() for batch in reader.read(task))
    assert run_in_task() == is_on


@eager
@pytest.mark.parametrize("is_on", [True, False])
def test_an_argument_disables_it_for_merges(run_in_task, is_on):
    schema = pa.schema([("k", pa.string()), ("v", pa.int64())])
    merge = mortice.spark.merge_udf(schema, record_key="k", ordering="v", is_newer="n", zip_cache=is_on)
    assert list(merge(iter([]))) == []
    assert run_in_task() == is_on


def counted(batches):
    """Returns the process, and how many directories a second consecutive `importlib.invalidate_caches()` reads."""
    import importlib
    import os
    import zipimport

    import pyarrow as pa

    found = []
    read = zipimport._read_directory
    zipimport._read_directory = lambda archive: found.append(archive) or read(archive)
    try:
        importlib.invalidate_caches()
        found.clear()
        importlib.invalidate_caches()
    finally:
        zipimport._read_directory = read
    for _ in batches:
        yield pa.record_batch({"pid": [os.getpid()], "directory_reads": [len(found)]})


def imported(module):
    """A function for `mapInArrow` that imports a module in each task, and returns its value."""

    def run(batches):
        import importlib

        import pyarrow as pa

        for _ in batches:
            yield pa.record_batch({"value": [importlib.import_module(module).VALUE]})

    return run


def test_workers_do_not_read_directories_again(spark, table_of):
    mortice.spark.read(spark, table_of(NAME)).count()
    # By tasks that run in the same workers.
    rows = spark.range(0, 4, 1, numPartitions=4).mapInArrow(counted, "pid long, directory_reads long").collect()
    patched = {row.pid for row in rows if row.directory_reads == 0}
    assert patched


def test_a_later_add_py_file_is_found(spark, table_of, tmp_path):
    mortice.spark.read(spark, table_of(NAME)).count()
    for number in range(2):
        module = f"added_{tmp_path.name.replace('-', '_')}_{number}"
        write_zip(tmp_path / f"{module}.zip", module, number, seconds_ago=0)
        spark.sparkContext.addPyFile(str(tmp_path / f"{module}.zip"))
        frame = spark.range(0, 4, 1, numPartitions=4).mapInArrow(imported(module), "value long")
        assert [row.value for row in frame.collect()] == [number] * 4
        (tmp_path / f"{module}_file.py").write_text(f"VALUE = {number + 10}\n")
        spark.sparkContext.addPyFile(str(tmp_path / f"{module}_file.py"))
        frame = spark.range(0, 4, 1, numPartitions=4).mapInArrow(imported(f"{module}_file"), "value long")
        assert [row.value for row in frame.collect()] == [number + 10] * 4
        mortice.spark.read(spark, table_of(NAME)).count()
