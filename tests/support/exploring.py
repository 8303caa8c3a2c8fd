"""Property tests that draw other examples at every commit, and the same ones again on request.

Every test draws from a seed of its own, derived from the seed of the run and the name of the test. The seed of the run
is `MORTICE_TEST_SEED`, or else the commit that is checked out. `MORTICE_TEST_EXAMPLES` sets the number of examples of
every test, all its cases together; `make soak` draws 1,000.
"""

import functools
import hashlib
import os
import secrets
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, seed, settings

SEED = "MORTICE_TEST_SEED"
EXAMPLES = "MORTICE_TEST_EXAMPLES"
ROOT = Path(__file__).resolve().parents[2]

_seeded: set[str] = set()


@functools.cache
def run_seed():
    """The seed of this run: that of the environment, the commit, or a random one where there is no commit."""
    return os.environ.get(SEED) or _commit() or secrets.token_hex(4)


def _commit():
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def seed_of(test):
    """The number that a test draws from, by its pytest node id."""
    _seeded.add(test)
    return int.from_bytes(hashlib.sha256(f"{run_seed()} {test}".encode()).digest()[:8], "big")


def examples(few, cases=1):
    """How many examples a case of a test draws: `few`, or its share of what the environment asks for, rounded up."""
    wanted = os.environ.get(EXAMPLES)
    return few if wanted is None else -(-int(wanted) // cases)


def explore(few, cases=1):
    """Decorates a property test of hypothesis, above `@given`; or a function inside a test marked `property`.

    Args:
        few: the number of examples, of each case where the test is parametrized.
        cases: the number of cases.
    """

    def decorate(test):
        test = settings(
            max_examples=examples(few, cases),
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )(test)
        # A function inside a running test is seeded here; a test itself by `seed_item`, once for each of its cases.
        running = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")
        return seed(seed_of(running))(test) if running else pytest.mark.property(test)

    return decorate


def seed_item(item):
    """Seeds the hypothesis test of a pytest item, if it is one."""
    test = getattr(item, "obj", None)
    if getattr(test, "is_hypothesis_test", False):
        seed(seed_of(item.nodeid))(getattr(test, "__func__", test))


def is_explored(node_id):
    """Whether a test has drawn from a seed in this run."""
    return node_id in _seeded


def how_to_repeat(node_ids):
    """The commands that run failed tests again, with the same examples."""
    given = {SEED: run_seed()} | ({EXAMPLES: os.environ[EXAMPLES]} if EXAMPLES in os.environ else {})
    facts = " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
    return [f"{facts} .venv/bin/python -m pytest {shlex.quote(node)}" for node in node_ids]
