"""The table of requests in docs/storage-requests.md, counted at the server: no operation takes more than documented.

MORTICE_WRITE_DOCS=1 writes the counts into the page.
"""

import os
import pathlib
from pathlib import Path

import pytest

import mortice
from support.object_stores.large_table import NUMBERS, write_large_table
from support.object_stores.proxy import proxy
from support.object_stores.uploads import upload

PAGE = pathlib.Path(__file__).parents[3] / "docs/storage-requests.md"
HEAD = "| operation | requests | MiB |\n|---|---|---|\n"
ROWS = 400_000
FILES = {"one row group": ROWS, "16 row groups of 3 MiB": ROWS // 16, "40 row groups of 1.2 MiB": ROWS // 40}
PROJECTIONS = {
    "all columns": None,
    "one column": ["n0"],
    "two columns apart": ["n0", NUMBERS[-1]],
    "four columns": ["id", "n0", "n3", "n7"],
}
KEYS = {"access_key_id": "A", "secret_access_key": "B"}


@pytest.fixture(scope="module")
def files(moto, bucket, tmp_path_factory):
    """Tables of one base file of 47 MiB, with row groups of several sizes."""
    made = {}
    for name, group in FILES.items():
        path = write_large_table(tmp_path_factory.mktemp("large"), ROWS, group)
        upload(moto, bucket, path, f"lake/large-{group}")
        (base,) = Path(path).rglob("*.parquet")
        made[name] = f"s3://{bucket}/lake/large-{group}", base.stat().st_size
    return made


def counted(fault_proxy, operation):
    fault_proxy.requests.clear()
    result = operation()
    requests = list(fault_proxy.requests)
    assert "HEAD" not in {request.method for request in requests}
    return result, requests


def length(request):
    first, last = request.range.removeprefix("bytes=").split("-")
    return int(last) - int(first) + 1


@pytest.fixture(scope="module")
def rows(files, moto):
    """The rows of the table in the page."""
    found = []
    with proxy(moto) as fault_proxy:
        for file, (uri, size) in files.items():
            options = {"endpoint": fault_proxy.endpoint, "region": "us-east-1", **KEYS}
            table = mortice.Table(uri, storage_options=options, read_options=mortice.ReadOptions(threads=1))
            for projection, columns in PROJECTIONS.items():
                scan = table.snapshot(columns=columns)
                scan.splits()
                read, requests = counted(fault_proxy, scan.to_arrow)
                assert read.num_rows == ROWS
                fetched = sum(length(request) for request in requests)
                assert fetched <= size + (1 << 20)
                found.append((f"{projection}, {file}", len(requests), f"{fetched / (1 << 20):.0f}"))
    return found


def test_reads_take_the_documented_requests(rows):
    table = HEAD + "".join(f"| {name} | {requests} | {size} |\n" for name, requests, size in rows)
    page = PAGE.read_text()
    start = page.index(HEAD)
    end = page.index("\n\n", start) + 1
    if os.environ.get("MORTICE_WRITE_DOCS") == "1":
        PAGE.write_text(page[:start] + table + page[end:])
    assert PAGE.read_text()[start:].startswith(table), f"the table of docs/storage-requests.md differs from\n{table}"


def test_a_narrow_projection_of_small_row_groups_takes_no_more_requests_than_all_columns(rows):
    counts = {name: requests for name, requests, _ in rows}
    for file in ("one row group", "40 row groups of 1.2 MiB"):
        narrow = [counts[f"{projection}, {file}"] for projection in PROJECTIONS]
        assert max(narrow) == counts[f"all columns, {file}"]
    # At most one for each row group, and the footer.
    assert counts["one column, 16 row groups of 3 MiB"] <= 17
