"""Updates of some columns, in every query of a range of commits: rows are whole, wherever their other columns are.

The histories put the base file and earlier partial records before the range, in it, and nowhere; the snapshot as of the
end of each range says which rows there are.
"""

import itertools
import json

import pyarrow as pa
import pytest

import mortice

SCHEMA = pa.schema(
    [("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("note", pa.string()), ("ts", pa.int64())]
)
PARTIAL = {"hoodie.spark.sql.merge.into.partial.updates": "true"}
BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
KEYS = "abcd"
COMMIT = "_hoodie_commit_time"


def rows(keys, commit):
    return pa.Table.from_pylist(
        [
            {"id": key, "city": "oslo", "fare": commit + 0.5, "note": f"{key}{commit}", "ts": 100 + commit}
            for key in keys
        ],
        schema=SCHEMA,
    )


class History:
    """A table to which each letter of a word adds a commit."""

    def __init__(self, path, word, ordering, options, cdc=None):
        properties = (
            {}
            if cdc is None
            else {
                "hoodie.table.cdc.enabled": "true",
                "hoodie.table.cdc.supplemental.logging.mode": cdc,
            }
        )
        self.table = mortice.create_table(
            path,
            SCHEMA,
            name="t",
            record_key="id",
            partition_by="city",
            ordering=ordering,
            table_type="MERGE_ON_READ",
            properties=properties,
        )
        self.word, self.ordering, self.options = (
            word,
            ordering,
            {**options, **PARTIAL, "hoodie.clean.automatic": "false"},
        )
        for commit, letter in enumerate(word):
            getattr(
                self, {"I": "insert", "F": "fare", "N": "note", "U": "upsert", "D": "delete", "C": "compact"}[letter]
            )(commit)
        self.table = mortice.Table(path)
        self.commits = [one for one in self.table.timeline.active if one.is_completed]

    def insert(self, commit):
        self.table.upsert(rows(KEYS, commit), self.options)

    def upsert(self, commit):
        self.table.upsert(rows("b", commit), self.options)

    def delete(self, commit):
        self.table.delete(rows("d", commit).select(["id", "city"]), self.options)

    def fare(self, commit):
        self.update(commit, {"fare": "fare * 2"}, "id in ('a', 'b')")

    def note(self, commit):
        self.update(commit, {"note": f"'n{commit}'"}, "id in ('a', 'c')")

    def update(self, commit, values, condition):
        later = {"ts": str(100 + commit)} if self.ordering else {}
        self.table.update_where({**values, **later}, condition, self.options)

    def compact(self, commit):
        assert mortice.Table(self.table.uri).compact().commits

    def ranges(self):
        """Returns pairs of commits: ranges begin after the first and end with the second."""
        return itertools.combinations([None, *self.commits], 2)

    def has_partial_records(self):
        slices = self.table.file_slices()
        files = [log.path for one in slices for log in one.log_files]
        blocks = (block for path in files for block in mortice.LogFile(f"{self.table.uri}/{path}").blocks())
        return any(block.header.get("IS_PARTIAL") == "true" for block in blocks)

    def expected(self, begin, end, columns=SCHEMA.names):
        """Returns the rows of a snapshot as of the end of a range whose last commit is in the range."""
        inside = {
            one.requested_time
            for one in self.commits
            if (begin is None or one.completion_time > begin.completion_time)
            and one.completion_time <= end.completion_time
        }
        found = self.table.snapshot(as_of=end.requested_time, meta=True).to_arrow().to_pylist()
        return listed([{name: row[name] for name in columns} for row in found if row[COMMIT] in inside])


def listed(found):
    return sorted(found, key=lambda row: row.get("id") or json.dumps(row))


def since(commit):
    return "earliest" if commit is None else commit.completion_time


WORDS = ["IFUDN", "IFCFCN"]
TABLES = {
    "by commit time": (None, {}),
    "by event time": ("ts", {}),
    "without base files": (None, BUCKET),
    "without base files by event time": ("ts", BUCKET),
}


HISTORIES = [(word, "by commit time") for word in WORDS] + [("IFNUDCF", kind) for kind in list(TABLES)[1:]]


@pytest.fixture(scope="module", params=HISTORIES, ids=" ".join)
def history(request, tmp_path_factory):
    word, kind = request.param
    return History(str(tmp_path_factory.mktemp("t") / "t"), word, *TABLES[kind])


def test_rows_of_a_range_are_whole(history):
    for begin, end in history.ranges():
        expected = history.expected(begin, end)
        for more in ({}, {"skip_compact": True}, {"fall_back_to_full_scan": True}):
            got = (
                history.table.incremental(since(begin), end.completion_time, SCHEMA.names, **more)
                .to_arrow()
                .to_pylist()
            )
            assert listed(got) == expected, (begin, end, more)


def test_columns_filters_and_meta_columns_are_those_of_whole_rows(history):
    begin, end = history.commits[0], history.commits[-1]
    expected = history.expected(begin, end)
    query = (since(begin), end.completion_time)
    for columns in (["note"], ["id", "fare"], ["ts"]):
        got = history.table.incremental(*query, columns=columns).to_arrow().to_pylist()
        assert sorted(map(str, got)) == sorted(str({name: row[name] for name in columns}) for row in expected)
    for condition, passes in [
        ("id = 'a'", lambda row: row["id"] == "a"),
        ("note is null", lambda _: False),
        ("fare > 0.9", lambda row: row["fare"] > 0.9),
        ("note = 'c0' or note = 'a0'", lambda row: row["note"] in {"c0", "a0"}),
        ("city = 'oslo' and ts >= 0", lambda _: True),
        ("city = 'lima'", lambda _: False),
    ]:
        got = history.table.incremental(*query, SCHEMA.names, filters=condition).to_arrow().to_pylist()
        assert listed(got) == [row for row in expected if passes(row)], condition
    names = ["_hoodie_record_key", "_hoodie_partition_path", COMMIT, "_hoodie_commit_seqno", "fare"]
    got = history.table.incremental(*query, columns=names).to_arrow().to_pylist()
    assert sorted(map(str, got)) == sorted(map(str, history.expected(begin, end, names)))


def test_followers_and_deletes(history):
    services = {one.requested_time for one in history.commits if one.action in {"commit", "compaction"}}
    expected = [
        (end.completion_time, history.expected(begin, end))
        for begin, end in itertools.pairwise([None, *history.commits])
        if end.requested_time not in services
    ]
    found = [
        (at, listed(scan.to_arrow().to_pylist())) for at, scan in history.table.follow("earliest", None, SCHEMA.names)
    ]
    assert [rows for _, rows in found] == [rows for _, rows in expected]
    first = history.commits[0]
    with_deletes = history.table.incremental(since(first), emit_deletes=True).to_arrow().to_pylist()
    kept = [{name: row[name] for name in SCHEMA.names} for row in with_deletes if row["_hoodie_operation"] != "D"]
    assert listed(kept) == history.expected(first, history.commits[-1])
    deleted = {row["id"] for row in with_deletes if row["_hoodie_operation"] == "D"}
    # A compaction leaves deletes out of the base file.
    assert deleted == ({"d"} if history.word == "IFUDN" else set())


def test_a_changelog_has_the_rows_of_each_commit(history):
    expected = []
    for begin, end in itertools.pairwise(history.commits):
        if end.action != "commit":
            expected += history.expected(begin, end)
    got = history.table.incremental(since(history.commits[0]), changelog=True).to_arrow().to_pylist()
    kept = [{name: row[name] for name in SCHEMA.names} for row in got if row["_hoodie_operation"] != "D"]
    assert sorted(map(str, kept)) == sorted(map(str, expected))


def test_parts_of_a_file_slice_return_each_row_once(history):
    begin, end = history.commits[0], history.commits[-1]
    scan = history.table.incremental(since(begin), end.completion_time, SCHEMA.names)
    parts = [row for split in scan.splits(max_split_bytes=64) for row in split.to_reader().read_all().to_pylist()]
    assert listed(parts) == history.expected(begin, end)


def test_the_logs_have_partial_records(history):
    assert "C" in history.word or history.has_partial_records()


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("by commit time", "op_key_only"),
        ("by commit time", "data_before_after"),
        ("by event time", "data_before"),
        ("without base files by event time", "data_before_after"),
    ],
)
def test_images_of_changes_are_whole(tmp_path, kind, mode):
    history = History(str(tmp_path / "t"), "IFNUDCF", *TABLES[kind], cdc=mode)
    for begin, end in itertools.pairwise(history.commits):
        found = history.table.changes(since(begin), end.completion_time).to_arrow().to_pylist()
        before, after = (
            {
                row["id"]: row
                for row in history.table.snapshot(SCHEMA.names, as_of=at.requested_time).to_arrow().to_pylist()
            }
            for at in (begin, end)
        )
        changed = {key for key in KEYS if before.get(key) != after.get(key)}

        def image(text):
            return text and {name: json.loads(text)[name] for name in SCHEMA.names}

        got = {(one["op"], json.dumps(image(one["before"])), json.dumps(image(one["after"]))) for one in found}
        assert got == {
            ("u" if key in after else "d", json.dumps(before[key]), json.dumps(after.get(key))) for key in changed
        }, (begin, end)
