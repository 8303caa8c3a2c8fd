"""The table of requests of writes in docs/storage-requests.md, counted at the server.

Openings are exact; what is read ahead makes a few other requests more or less.

MORTICE_WRITE_DOCS=1 writes the counts into the page.
"""

import os
import pathlib
from collections import Counter

import pyarrow as pa
import pytest

import mortice
from support.object_stores.fixtures import KEYS

PAGE = pathlib.Path(__file__).parents[3] / "docs/storage-requests.md"
HEAD = "| write | openings before | openings | GET | LIST | PUT | DELETE |\n|---|---|---|---|---|---|---|\n"
SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
# What runs after a write by default, and is not due.
METHODS = ("GET", "LIST", "PUT", "DELETE")


def rows(first, ts):
    ids = [f"k{number}" for number in range(first, first + 4)]
    return pa.table({"id": ids, "city": ["oslo"] * 4, "ts": [ts] * 4}, schema=SCHEMA)


BEFORE = {
    "bulk insert": 11,
    "upsert": 11,
    "compaction": 14,
    "clean": 5,
    "clean that deletes": 7,
    "upsert with a metadata table": 11,
}
"""The openings when each step opened the table by itself."""


def kind_of(request):
    if "list-type=2" in request.path:
        return "LIST"
    return "DELETE" if request.path.endswith("?delete") else request.method


def opens(request):
    return request.method == "GET" and request.path.split("?")[0].endswith("counted/.hoodie/hoodie.properties")


@pytest.fixture
def counts(bucket, fault_proxy):
    """The rows of the table in the page: openings, then requests by method."""
    options = {"endpoint": fault_proxy.endpoint, "region": "us-east-1", **KEYS}
    names = {"name": "trips", "record_key": "id", "partition_by": "city", "ordering": "ts"}
    table = mortice.create_table(f"s3://{bucket}/counted", SCHEMA, **names, storage_options=options)
    plain = {"hoodie.metadata.enable": "false"}
    found = []

    def count(name, run):
        fault_proxy.requests.clear()
        result = run()
        seen = list(fault_proxy.requests)
        by_method = Counter(map(kind_of, seen))
        found.append((name, BEFORE[name], sum(map(opens, seen)), *(by_method[method] for method in METHODS)))
        return result

    count("bulk insert", lambda: table.bulk_insert(rows(0, 1), plain))
    count("upsert", lambda: table.upsert(rows(0, 2), plain))
    compacted = count("compaction", lambda: table.compact(plain))
    assert len(compacted.commits) == 1
    cleaned = count("clean", lambda: table.clean({**plain, "hoodie.clean.commits.retained": "1"}))
    assert cleaned.cleans == [], "there is nothing to delete"
    table.upsert(rows(0, 3), plain)
    table.compact(plain)
    table.upsert(rows(0, 4), plain)
    cleaned = count("clean that deletes", lambda: table.clean({**plain, "hoodie.clean.commits.retained": "1"}))
    assert cleaned.cleans
    table.upsert(rows(0, 5))
    count("upsert with a metadata table", lambda: table.upsert(rows(0, 6)))
    return found


def test_writes_take_about_the_documented_requests(counts):
    assert all(openings <= 3 for _, _, openings, *_ in counts), counts
    page = PAGE.read_text()
    start = page.index(HEAD) + len(HEAD)
    end = page.index("\n\n", start) + 1
    known = {row[0]: tuple(map(int, row[1:])) for row in map(cells, page[start:end].splitlines())}
    if os.environ.get("MORTICE_WRITE_DOCS") == "1":
        # What is read ahead makes a request more or less: the page has the most of several runs.
        most = [(name, *map(max, row, known.get(name, row))) for name, *row in counts]
        PAGE.write_text(page[:start] + "".join(map(line, most)) + page[end:])
        return
    assert known.keys() == {name for name, *_ in counts}
    assert {row[0]: row[2] for row in counts} == {name: openings for name, (_, openings, *_) in known.items()}
    for name, *row in counts:
        for found, documented in zip(row, known[name], strict=True):
            assert abs(found - documented) <= 4, f"{line((name, *row))}differs from {known[name]}"


def cells(text):
    return [cell.strip() for cell in text.strip().strip("|").split("|")]


def line(row):
    return f"| {' | '.join(map(str, row))} |\n"
