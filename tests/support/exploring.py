"""Property tests that draw the same examples at every run, and others on request.

The seed of each test is derived from the seed of the run and the name of the test. The seed of the run is
`MORTICE_TEST_SEED`, or else a fixed one. `MORTICE_TEST_EXAMPLES` sets the number of examples of every test, all of its
cases together; `make soak` draws 1,000, from a new seed.
"""

import hashlib
import os
import shlex

import pytest
from hypothesis import HealthCheck, seed, settings

SEED = "MORTICE_TEST_SEED"
EXAMPLES = "MORTICE_TEST_EXAMPLES"


def run_seed():
    """Returns the seed of this run, a string."""
    return os.environ.get(SEED, "1")


def seed_of(test):
    """Returns the seed of a test, given its pytest node id."""
    return int.from_bytes(hashlib.sha256(f"{run_seed()} {test}".encode()).digest()[:8], "big")


def examples(few, cases=1):
    """Returns the number of examples of a case: `few`, or its share of `MORTICE_TEST_EXAMPLES`, rounded up."""
    wanted = os.environ.get(EXAMPLES)
    return few if wanted is None else -(-int(wanted) // cases)


def explore(few, cases=1):
    """Decorates a hypothesis property test, above `@given`; or a function inside a test marked `property`.

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
        # A function inside a running test is seeded here; a test by `seed_item`, once for each of its cases.
        running = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")
        return seed(seed_of(running))(test) if running else pytest.mark.property(test)

    return decorate


def seed_item(item):
    """Seeds a pytest item if it is a hypothesis test."""
    test = getattr(item, "obj", None)
    if getattr(test, "is_hypothesis_test", False):
        seed(seed_of(item.nodeid))(getattr(test, "__func__", test))


def repeat_commands(node_ids):
    """Returns the commands that run failed tests again with the same examples."""
    given = {SEED: run_seed()} | ({EXAMPLES: os.environ[EXAMPLES]} if EXAMPLES in os.environ else {})
    facts = " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
    return [f"{facts} .venv/bin/python -m pytest {shlex.quote(node)}" for node in node_ids]
