"""Tests of `benches/compare`: which parts count as slower than at the last commit."""

import pytest

from compare import builds
from compare.__main__ import ROUNDS, in_turns
from compare.verdict import slower

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
def test_slower_excludes_noise_and_slow_machines(ours, yardstick, is_slower):
    now = {OURS: ours, YARDSTICK: yardstick}
    assert list(slower(BEFORE, now)) == ([OURS] if is_slower else [])


def test_yardsticks_and_new_parts_are_never_slower():
    new = ("avro_decode", "narrow", "mortice")
    now = {OURS: (100.0, 120.0), YARDSTICK: (5000.0, 6000.0), new: (1.0, 1.0)}
    assert list(slower(BEFORE, now)) == []


def test_a_part_without_a_yardstick_is_compared_alone():
    part = ("plan_table", "10 file groups a partition", "storage")
    assert list(slower({part: (100.0, 100.0)}, {part: (150.0, 150.0)})) == [part]


@pytest.mark.parametrize(
    ("of_now", "is_slower", "runs"),
    [([100.0], False, 1), ([150.0, 100.0], False, 2), ([150.0] * ROUNDS, True, ROUNDS)],
    ids=["as before", "once disturbed", "slower"],
)
def test_parts_that_seem_slower_are_measured_again(of_now, is_slower, runs):
    times = {"base": [100.0] * ROUNDS, "now": of_now}
    calls = []

    def run(build, bench):
        calls.append((build, bench))
        time = times[build][calls.count((build, bench)) - 1] if bench == OURS[0] else 100.0
        return {(bench, "wide", "mortice"): (time, time)}

    before, now = in_turns("base", "now", [OURS[0], "key_pass"], run)
    assert list(slower(before, now)) == ([OURS] if is_slower else [])
    assert calls.count(("now", OURS[0])) == calls.count(("base", OURS[0])) == runs
    assert calls.count(("now", "key_pass")) == 1


@pytest.mark.skipif(not (builds.ROOT / ".git").exists(), reason="these files are of no commit")
def test_a_kept_build_contains_its_files(tmp_path, monkeypatch):
    """It has the files of its commit, also if the files of the working tree change afterwards."""
    monkeypatch.setattr(builds, "KEPT", tmp_path / "kept")
    source = tmp_path / "source"
    (source / builds.MODULE).parent.mkdir(parents=True)
    (source / builds.MODULE).write_bytes(b"the module")
    program = tmp_path / "key_pass-0123456789abcdef"
    program.write_bytes(b"the program")
    commit = builds.git("rev-parse", "HEAD")
    builds.keep(builds.Build(source, {"key_pass": program}), commit)
    kept = builds.kept(commit)
    assert kept.programs["key_pass"].read_bytes() == b"the program"
    assert (kept.source / builds.MODULE).read_bytes() == b"the module"
    assert kept.benches == ["key_pass", *(bench for bench in kept.benches if bench.endswith(".py"))]
    assert "benches/python/bench_decode.py" in kept.benches
