"""Errors name the problem and its location, can be caught by built-in classes, and can be pickled."""

import errno
import pickle

import pytest

import mortice

CLASSES = [
    mortice.CorruptLogError,
    mortice.FileChangedError,
    mortice.FileCleanedError,
    mortice.InternalError,
    mortice.InvalidArgumentError,
    mortice.InvalidTableError,
    mortice.MemoryLimitError,
    mortice.MorticeError,
    mortice.StorageError,
    mortice.StorageForbiddenError,
    mortice.StorageThrottledError,
    mortice.StorageUnreachableError,
    mortice.TableNotFoundError,
    mortice.TableServiceError,
    mortice.UnsupportedError,
    mortice.WriteConflictError,
]
ATTRIBUTES = ("path", "offset", "block", "instant", "code")


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_pickles_with_its_attributes(kind):
    error = kind("what", path="a.log", offset=7, block=2, instant="001", code="MORTICE-TEST")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert isinstance(copy, mortice.MorticeError)
    assert str(copy) == str(error) == "[MORTICE-TEST] what (file a.log, offset 7, block 2, instant 001)"
    assert [getattr(copy, name) for name in ATTRIBUTES] == ["a.log", 7, 2, "001", "MORTICE-TEST"]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_has_a_code(kind):
    assert kind("what").code == kind.default_code
    assert str(kind("what")).startswith(f"[{kind.default_code}]")
    assert len({one.default_code for one in CLASSES}) == len(CLASSES)


def test_errors_can_be_caught_by_built_in_classes():
    assert issubclass(mortice.TableNotFoundError, FileNotFoundError)
    assert mortice.TableNotFoundError("what").errno == errno.ENOENT
    assert issubclass(mortice.InvalidArgumentError, ValueError)
    assert issubclass(mortice.StorageError, OSError)
    assert issubclass(mortice.StorageForbiddenError, PermissionError)
    assert issubclass(mortice.StorageUnreachableError, ConnectionError)


def test_native_errors_have_a_class_and_a_location(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        mortice.Table(tmp_path / "nothing here")
    error = missing.value
    assert isinstance(error, mortice.TableNotFoundError)
    assert error.code == "MORTICE-NOT-FOUND"
    assert "nothing here" in str(error)
    assert "nothing here" in error.path
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_errors_keep_their_class_through_a_reader(copy_of):
    path = copy_of("h11_event_time_deletes")
    scan = mortice.Table(path).snapshot()
    for base in path.glob("*.parquet"):
        base.unlink()
    with pytest.raises(mortice.MorticeError) as raised:
        scan.to_reader().read_all()
    assert isinstance(raised.value, (mortice.FileCleanedError, mortice.TableNotFoundError))
    assert raised.value.path.endswith(".parquet")
