"""Cases whose payloads are changed: splits, merge plans, and what driver and tasks of a write send each other."""

from __future__ import annotations

import json
from random import Random

import mortice
from hostile.mutations import Mutator
from hostile.payloads import write_in_stages
from mortice import _mortice
from support.tables.written import CHANGED, rows

OPERATIONS = ["upsert", "insert", "delete", "bulk_insert", "insert_overwrite"]
LARGE = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -1, 1e308]
FIRST_PAYLOADS = 12
"""A write sends about as many."""


def changed(mutator: Mutator, sent: bytes) -> bytes:
    """Returns a payload with values, numbers or bytes changed. The location of the table stays: it is the table."""
    random = mutator.random
    if random.random() < 0.3:
        content = bytearray(sent)
        mutator.change_content(content)
        return bytes(content)
    tree = mutator.changed_tree(json.loads(sent))
    if random.random() < 0.3:
        _enlarge(random, tree)
    return json.dumps(tree).encode()


def _uri_in(tree: object) -> dict | None:
    """Returns the object that has the location of the table, if any."""
    if isinstance(tree, dict):
        if isinstance(tree.get("uri"), str):
            return tree
        return next((found for value in tree.values() if (found := _uri_in(value)) is not None), None)
    if isinstance(tree, list):
        return next((found for value in tree if (found := _uri_in(value)) is not None), None)
    return None


def _enlarge(random: Random, tree: object) -> None:
    """Makes one number of a payload large."""
    places = []
    stack = [tree]
    while stack:
        holder = stack.pop()
        entries = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, value in entries:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                places.append((holder, key))
            else:
                stack.append(value)
    if places:
        holder, key = random.choice(places)
        holder[key] = random.choice(LARGE)  # type: ignore[index]


class Sender:
    """Sends payloads, and changes one of them.

    Args:
        mutator: The source of changes.
        uri: The location of the table, which stays.
        at: The number of the payload that is changed.
    """

    def __init__(self, mutator: Mutator, uri: str, at: int) -> None:
        self.mutator, self.uri, self.at = mutator, uri, at
        self.sent = 0
        self.changed: str | None = None

    def __call__(self, name: str, payload: bytes) -> bytes:
        self.sent += 1
        if self.sent - 1 != self.at:
            return payload
        self.changed = name
        other = changed(self.mutator, payload)
        try:
            tree = json.loads(other)
        except ValueError:
            return other
        holder = _uri_in(tree)
        if holder is not None and holder["uri"] != self.uri:
            holder["uri"] = self.uri
            return json.dumps(tree).encode()
        return other


def write_changed(mutator: Mutator, steps: list[str]) -> None:
    """Writes in stages, with one payload changed."""
    operation = mutator.random.choice(OPERATIONS)
    steps.append(operation)
    sender = Sender(mutator, str(mutator.root), mutator.random.randrange(FIRST_PAYLOADS))
    try:
        write_in_stages(mutator.root, operation, CHANGED, sender)
    finally:
        steps.append(f"payload {sender.at}: {sender.changed}")


def read_changed(mutator: Mutator, steps: list[str]) -> None:
    """Reads a changed split."""
    table = mortice.Table(mutator.root)
    scan = mutator.random.choice([table.snapshot, table.read_optimized, lambda: table.incremental("000")])()
    splits = scan.splits()
    if not splits:
        return
    sender = Sender(mutator, str(mutator.root), 0)
    steps.append("split")
    mortice.Split.from_bytes(sender("split", mutator.random.choice(splits).to_bytes())).to_reader().read_all()


def merge_changed(mutator: Mutator, steps: list[str]) -> None:
    """Makes rows by a changed merge plan."""
    steps.append("merge plan")
    given = ["id", "city", "ts", "fare"]
    clauses = (None, mutator.random.choice([None, ["fare"], given]), "insert")
    plan = _mortice.MergePlan(str(mutator.root), {}, given, clauses, {}, False)
    sender = Sender(mutator, str(mutator.root), 0)
    other = _mortice.MergePlan.from_bytes(sender("merge plan", plan.to_bytes()))
    _ = (other.columns, other.given, other.used, other.on, other.partitions, other.actions, other.by_path)
    batch = rows(("a", "x", 1, 1.0), ("n", "y", 2, 2.0)).to_batches()[0]
    getattr(other, mutator.random.choice(["with_keys", "with_paths", "merge"]))(batch)


PAYLOADS = {"write": write_changed, "split": read_changed, "merge": merge_changed}
