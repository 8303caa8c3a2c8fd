"""`Table.with_validators`: functions see the table as a write would leave it, and can refuse it."""

import pathlib

import pyarrow as pa
import pytest

import mortice
from mortice.errors import InvalidArgumentError

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
KINDS = [("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 6), ("COPY_ON_WRITE", 6)]
BEFORE = {"k1": 1.0, "k2": 1.0, "k3": 1.0}


class TooCheapError(Exception):
    """What a user raises."""


def rows(*numbers, fare=1.0, ts=1):
    given = [{"id": f"k{n}", "city": "oslo" if n % 2 else "rome", "fare": fare, "ts": ts} for n in numbers]
    return pa.Table.from_pylist(given, schema=SCHEMA)


def content(table):
    found = table.snapshot(columns=["id", "fare"]).to_arrow().to_pylist()
    return {row["id"]: row["fare"] for row in found}


def state(path):
    """The rows, base files and instants of a table. Rollbacks stay on the timeline, and add to logs of version 6."""
    table = mortice.Table(path)
    base = sorted(str(file) for file in pathlib.Path(path).glob("*/*.parquet"))
    instants = [(one.requested_time, one.state) for one in table.timeline if one.action != "rollback"]
    return content(table), base, instants


@pytest.fixture(params=KINDS, ids=str)
def table(request, tmp_path):
    table_type, version = request.param
    table = mortice.create_table(
        tmp_path / "t",
        SCHEMA,
        name="t",
        record_key="id",
        partition_by="city",
        ordering="ts",
        table_type=table_type,
        version=version,
    )
    table.upsert(rows(1, 2, 3))
    return table


WRITES = {
    "upsert": (lambda table: table.upsert(rows(3, 4, fare=2.0, ts=2)), BEFORE | {"k3": 2.0, "k4": 2.0}),
    "insert": (lambda table: table.insert(rows(5)), BEFORE | {"k5": 1.0}),
    "bulk_insert": (lambda table: table.bulk_insert(rows(6)), BEFORE | {"k6": 1.0}),
    "delete": (lambda table: table.delete(rows(1)), {"k2": 1.0, "k3": 1.0}),
    "delete_where": (lambda table: table.delete_where([("id", "=", "k2")]), {"k1": 1.0, "k3": 1.0}),
    "delete_partitions": (lambda table: table.delete_partitions(["oslo"]), {"k2": 1.0}),
    "insert_overwrite": (lambda table: table.insert_overwrite(rows(7)), {"k2": 1.0, "k7": 1.0}),
    "insert_overwrite_table": (lambda table: table.insert_overwrite_table(rows(8)), {"k8": 1.0}),
    "merge_into": (
        lambda table: table.merge_into(rows(2, fare=9.0), when_matched_update=["fare"]),
        BEFORE | {"k2": 9.0},
    ),
}
REPLACING = {"delete_partitions", "insert_overwrite", "insert_overwrite_table"}


@pytest.mark.parametrize("operation", WRITES)
def test_functions_see_the_table_as_the_write_would_leave_it(table, operation):
    write, expected = WRITES[operation]
    before, seen = state(table.uri), []

    def refuses(new):
        # Others do not see it.
        seen.append((content(new), new.timeline.latest.action, content(mortice.Table(new.uri))))
        raise TooCheapError

    with pytest.raises(TooCheapError) as raised:
        write(table.with_validators(refuses))
    assert "refused the commit" in str(raised.value.__cause__)
    [(rows_seen, action, others)] = seen
    assert (rows_seen, others) == (expected, BEFORE)
    assert (action == "replacecommit") == (operation in REPLACING)
    assert state(table.uri) == before
    commits = []
    commit = write(table.with_validators(lambda new: commits.append(new.timeline.latest.requested_time)))
    assert commits == [commit.instant]
    assert content(mortice.Table(table.uri)) == expected


def test_false_refuses_and_functions_run_in_order(tmp_path):
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", ordering="ts")
    called = []

    def first(_):
        called.append("first")

    def second(new):
        called.append("second")
        return new.snapshot().count() < 3

    def third(_):
        called.append("third")

    checked = table.with_validators(first).with_validators(second, third)
    checked.upsert(rows(1, 2))
    assert called == ["first", "second", "third"]
    with pytest.raises(InvalidArgumentError, match="the validator second refused the commit"):
        checked.upsert(rows(3))
    assert called == ["first", "second", "third", "first", "second"]
    # The table itself has no validators.
    assert table.upsert(rows(3)).inserts == 1
    with pytest.raises(InvalidArgumentError, match="validators must be functions"):
        table.with_validators("check")


def test_a_validator_cannot_write_to_the_table(table):
    called = []

    def writes(new):
        called.append(new.timeline.latest.requested_time)
        new.upsert(rows(7))

    with pytest.raises(InvalidArgumentError, match="must not write to it"):
        table.with_validators(writes).upsert(rows(8))
    assert len(called) == 1
    after = mortice.Table(table.uri)
    assert content(after) == BEFORE
    assert after.verify().findings == []
    table.upsert(rows(9))
    assert content(mortice.Table(table.uri)) == BEFORE | {"k9": 1.0}


def test_services_after_a_write_are_not_validated(tmp_path):
    """A service is a commit of its own: refusing it would report a write as refused that is part of the table."""
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", ordering="ts")
    called = []

    def refuses_services(new):
        called.append(new.timeline.latest.action)
        return new.timeline.latest.action == "deltacommit"

    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    checked = table.with_validators(refuses_services)
    for ts in (1, 2, 3):
        checked.upsert(rows(1, 2, ts=ts), options=inline)
    assert called == ["deltacommit"] * 3
    actions = [one.action for one in mortice.Table(table.uri).timeline]
    assert "commit" in actions, "no compaction has run"
