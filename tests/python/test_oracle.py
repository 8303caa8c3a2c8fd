"""The oracle compared with measured results of Hudi: the worked examples of its merge semantics."""

import pytest

from support.oracle import DataBlock, DeleteBlock, Field, HudiFails, Merging, Value, merged, skip_merged
from support.oracle.model import COMMIT_TIME, CUSTOM, EVENT_TIME, FILL_UNAVAILABLE, IGNORE_DEFAULTS
from support.oracle.ordering import DEFAULT, compare, of_delete, same_class

KEY = "_hoodie_record_key"
UNORDERED = DeleteBlock((("k", Value("Integer", 0)),))


def table(mode=EVENT_TIME, ts="long", **settings):
    fields = (Field("x", "int"), Field("y", "int"), Field("ts", ts), Field("_hoodie_is_deleted", "boolean"))
    return Merging(fields, mode, ("ts",), **settings)


def row(ts, x=None, y=None, **others):
    return {KEY: "k", "x": x, "y": y, "ts": ts, **others}


def data(ts, x=None, y=None, **others):
    return DataBlock((row(ts, x, y, **others),))


def part(**columns):
    return DataBlock(({KEY: "k", **columns},), partial=True)


def delete(ts, java="Long"):
    return DeleteBlock((("k", Value(java, ts)),))


def flagged(ts):
    return data(ts, _hoodie_is_deleted=True)


def columns(rows):
    return [(one["x"], one["y"], one["ts"]) for one in rows]


def orderings(rows):
    return [one["ts"] for one in rows]


@pytest.mark.parametrize(
    ("base", "log", "expected"),
    [
        (20, [UNORDERED], []),
        (None, [data(20), UNORDERED], []),
        (None, [data(20), delete(15)], [20]),
        (None, [data(20), delete(20)], []),
        (None, [delete(20), data(15)], []),
        (None, [delete(20), data(20)], [20]),
        (None, [UNORDERED, data(1)], [1]),
        (10, [delete(5)], [10]),
    ],
)
def test_deletes_in_event_time(base, log, expected):
    assert orderings(merged([] if base is None else [row(base)], log, table())) == expected


LATEST, DEFAULT_PAYLOAD = "OverwriteWithLatestAvroPayload", "DefaultHoodieRecordPayload"


@pytest.mark.parametrize(
    ("payload", "base", "log", "of_0x", "of_1x"),
    [
        (LATEST, 10, [data(20), data(15)], [20], [15]),
        (LATEST, 10, [data(5)], [5], [5]),
        (DEFAULT_PAYLOAD, 10, [data(5)], [10], [10]),
        (DEFAULT_PAYLOAD, 10, [UNORDERED, data(15)], [15], [15]),
        (DEFAULT_PAYLOAD, 10, [delete(5)], [], [10]),
        (DEFAULT_PAYLOAD, 10, [data(20), delete(15)], [20], [20]),
        (DEFAULT_PAYLOAD, 10, [delete(20), data(15)], [15], []),
        (DEFAULT_PAYLOAD, 10, [data(20), delete(20)], [], []),
        (DEFAULT_PAYLOAD, 10, [delete(20), data(20)], [20], [20]),
        (DEFAULT_PAYLOAD, 10, [delete(0)], [], [10]),
        (LATEST, 10, [data(20), delete(15)], [20], []),
        (LATEST, 10, [data(20), delete(20)], [], []),
        (DEFAULT_PAYLOAD, 10, [UNORDERED, data(5)], [10], [10]),
    ],
)
def test_the_same_files_under_both_releases(payload, base, log, of_0x, of_1x):
    mode = COMMIT_TIME if payload == LATEST else EVENT_TIME
    for semantics, expected in (("0.x", of_0x), ("1.x", of_1x)):
        merging = table(mode, payload=payload, semantics=semantics)
        assert orderings(merged([row(base)], log, merging)) == expected, semantics


def test_zero_is_no_ordering_value_of_an_int_column():
    assert merged([row(10)], [delete(0, "Integer")], table(ts="int")) == []


@pytest.mark.parametrize(
    ("payload", "base", "log", "of_0x", "of_1x"),
    [
        (
            "OverwriteNonDefaultsWithLatestAvroPayload",
            row(10, 0, 0),
            [data(20, None, 1), data(15, 2, None)],
            [(0, 1, 20)],
            [(2, 1, 15)],
        ),
        (
            "PartialUpdateAvroPayload",
            row(10, 0, 0),
            [data(20, 1, None), data(10, None, 2)],
            [(1, 2, 20)],
            [(1, 2, 20)],
        ),
    ],
)
def test_payloads_that_fill_fields(payload, base, log, of_0x, of_1x):
    for semantics, expected in (("0.x", of_0x), ("1.x", of_1x)):
        merging = table(CUSTOM, payload=payload, semantics=semantics)
        assert columns(merged([base], log, merging)) == expected, semantics


@pytest.mark.parametrize(
    ("mode", "base", "log", "expected"),
    [
        (COMMIT_TIME, 10, [data(20), data(15)], [15]),
        (EVENT_TIME, 10, [data(20), data(15)], [20]),
        (EVENT_TIME, 10, [data(5)], [10]),
        (EVENT_TIME, 10, [UNORDERED, data(5)], [10]),
        (EVENT_TIME, 10, [delete(20), data(15)], []),
        (EVENT_TIME, None, [delete(20), data(20)], [20]),
    ],
)
def test_whole_rows(mode, base, log, expected):
    assert orderings(merged([] if base is None else [row(base)], log, table(mode))) == expected


def test_the_log_wins_ties():
    assert columns(merged([row(20, 1)], [data(20, 2)], table())) == [(2, None, 20)]


@pytest.mark.parametrize(("mode", "expected"), [(EVENT_TIME, (3, 2, 20)), (COMMIT_TIME, (3, 2, 15))])
def test_ignored_defaults(mode, expected):
    log = [data(20, None, 2), data(15, 3, None)]
    assert columns(merged([row(10, 1, 1)], log, table(mode, partial_update=IGNORE_DEFAULTS))) == [expected]


def test_unavailable_values():
    fields = (Field("a", "string"), Field("b", "bytes"), Field("ts", "long"))
    merging = Merging(fields, EVENT_TIME, ("ts",), partial_update=FILL_UNAVAILABLE, unavailable="?")
    base = {KEY: "k", "a": "one", "b": b"two", "ts": 1}
    log = [DataBlock(({KEY: "k", "a": "?", "b": b"?", "ts": 2},))]
    (result,) = merged([base], log, merging)
    assert (result["a"], result["b"], result["ts"]) == ("one", b"?", 2)


@pytest.mark.parametrize(
    ("base", "log", "expected"),
    [
        (row(10, 1, 1), [part(y=2, ts=20)], (1, 2, 20)),
        (row(30, 1, 1), [part(y=2, ts=20)], (1, 1, 30)),
        (row(10, 1, 1), [part(y=2, ts=20), part(x=3, ts=15)], (3, 2, 20)),
        (row(10, 1, 1), [UNORDERED, part(y=2, ts=20)], (1, 2, 20)),  # the columns it lacks are the deleted row's
        (None, [part(y=2, ts=20)], (None, 2, 20)),
    ],
)
def test_partial_blocks(base, log, expected):
    assert columns(merged([] if base is None else [base], log, table())) == [expected]


def test_partial_blocks_in_commit_time():
    assert columns(merged([row(30, 1, 1)], [part(y=2, ts=20)], table(COMMIT_TIME))) == [(1, 2, 20)]


def test_repeated_base_keys():
    rows = merged([row(1, 1), row(1, 2)], [data(2, 3)], table())
    assert columns(rows) == [(3, None, 2), (2, None, 1)]


def test_rows_that_are_deletes():
    fields = (Field("op", "string"), Field("_hoodie_operation", "string"), Field("ts", "long"))
    merging = Merging(fields, EVENT_TIME, ("ts",), delete_field="op", delete_marker="gone")
    for columns_, remains in [
        ({"op": "gone"}, False),
        ({"op": "Gone"}, True),
        ({"_hoodie_operation": "D"}, False),
        ({"_hoodie_operation": "-U"}, False),
        ({"_hoodie_operation": "U"}, True),
        ({}, True),
    ]:
        log = [DataBlock(({KEY: "k", "ts": 2, **columns_},))]
        assert bool(merged([{KEY: "k", "ts": 1}], log, merging)) is remains, columns_
    base = {KEY: "k", "ts": 1, "_hoodie_operation": "D"}
    assert merged([base], [], merging), "a base row is never a delete of itself"


def test_skip_merge():
    log = [data(20), delete(30), data(25)]
    assert orderings(skip_merged([row(10)], log, table())) == [10, 20, 25]
    of_0x = table(CUSTOM, payload=DEFAULT_PAYLOAD, semantics="0.x")
    assert orderings(skip_merged([row(10)], log, of_0x)) == [10, 25]


def test_delete_class_in_0x():
    """Measured on 0.15: an Integer deletes a row of a long column, independent of its value."""
    merging = table(CUSTOM, payload=DEFAULT_PAYLOAD, semantics="0.x")
    assert merged([], [data(5), delete(3, "Integer")], merging) == []
    assert orderings(merged([], [data(5), delete(0)], merging)) == [5]
    assert orderings(merged([], [data(5), delete(9), data(7)], merging)) == [7]


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        (Value("String", "10"), Value("String", "9"), -1),
        (Value("String", "\U00010000"), Value("String", "�"), 1),
        (Value("Double", -0.0), Value("Double", 0.0), -1),
        (Value("Double", float("nan")), Value("Double", float("inf")), 1),
        (Value("Double", float("nan")), Value("Double", float("nan")), 0),
        (Value("Boolean", False), Value("Boolean", True), -1),
        (DEFAULT, Value("Long", -5), -1),
        (DEFAULT, Value("Integer", -5), 1),
        ((Value("Long", 1), DEFAULT), (Value("Long", 1), Value("String", "")), -1),
        ((Value("Long", 2), DEFAULT), (Value("Long", 1), Value("String", "")), 1),
    ],
)
def test_order(one, other, order):
    assert (compare(one, other), compare(other, one)) == (order, -order)


def test_values_that_java_cannot_compare():
    with pytest.raises(HudiFails):
        compare(Value("Long", 1), Value("String", "1"))


def test_deletes_from_before_a_widening_have_another_class():
    assert of_delete(Value("Long", 3), table()) == Value("Long", 3)
    assert not same_class(of_delete(Value("Integer", 3), table()), Value("Long", 3))
    assert of_delete(Value("Integer", 0), table()) == DEFAULT
    assert of_delete(None, table()) == DEFAULT
