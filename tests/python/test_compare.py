"""Which parts count as slower than at the last commit (`benches/compare.py`)."""

import pytest

import compare

OURS, YARDSTICK = ("avro_decode", "wide", "mortice"), ("avro_decode", "wide", "arrow-avro")
BEFORE = {OURS: (100.0, 120.0), YARDSTICK: (500.0, 600.0)}


@pytest.mark.parametrize(
    ("ours", "yardstick", "is_slower"),
    [
        ((130.0, 150.0), (500.0, 600.0), True),
        ((105.0, 126.0), (500.0, 600.0), False),
        ((101.0, 200.0), (500.0, 600.0), False),
        ((200.0, 240.0), (1000.0, 1200.0), False),
        ((300.0, 360.0), (1000.0, 1200.0), True),
        ((130.0, 150.0), (250.0, 300.0), True),
    ],
    ids=["slower", "within a tenth", "one bad round", "slower machine", "slower, machine too", "quicker machine"],
)
def test_slower_is_what_neither_chance_nor_the_machine_explains(ours, yardstick, is_slower):
    now = {OURS: ours, YARDSTICK: yardstick}
    assert list(compare.slower(BEFORE, now)) == ([OURS] if is_slower else [])


def test_yardsticks_and_new_parts_are_never_slower():
    new = ("avro_decode", "narrow", "mortice")
    now = {OURS: (100.0, 120.0), YARDSTICK: (5000.0, 6000.0), new: (1.0, 1.0)}
    assert list(compare.slower(BEFORE, now)) == []


def test_a_part_without_a_yardstick_is_compared_by_itself():
    key = ("plan_table", "10 file groups a partition", "storage")
    assert list(compare.slower({key: (100.0, 100.0)}, {key: (150.0, 150.0)})) == [key]


def test_a_baseline_that_is_kept_is_what_was_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "BASELINES", tmp_path / "parts")
    compare.save(BEFORE, "abc")
    assert compare.baseline("abc") == BEFORE
