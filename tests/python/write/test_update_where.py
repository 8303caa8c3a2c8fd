"""`Table.update_where` and `Table.merge`: SQL's rules by expressions, on tables of every kind."""

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa
import pytest

import mortice
from mortice.errors import InvalidArgumentError, UnsupportedError, WriteConflictError

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("fare", pa.float64()),
        ("seats", pa.int32()),
        ("price", pa.decimal128(10, 2)),
        ("ts", pa.int64()),
        ("tags", pa.list_(pa.string())),
    ]
)
KINDS = {
    "mor-9": ("MERGE_ON_READ", 9, "ts", {}),
    "cow-8": ("COPY_ON_WRITE", 8, None, {}),
    "mor-6": ("MERGE_ON_READ", 6, "ts", {}),
    "bucket": ("MERGE_ON_READ", 9, None, {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}),
}
GLOBAL = {"hoodie.index.type": "GLOBAL_SIMPLE"}


def row(key, city="oslo", fare=1.0, seats=4, ts=10):
    return {
        "id": key,
        "city": city,
        "fare": fare,
        "seats": seats,
        "price": Decimal("2.50"),
        "ts": ts,
        "tags": ["x", None],
    }


def arrow(rows):
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def created(path, kind="mor-9"):
    table_type, version, ordering, options = KINDS[kind]
    given = {"record_key": "id", "partition_by": "city", "ordering": ordering, "version": version}
    return mortice.create_table(path, SCHEMA, name="t", table_type=table_type, **given), options


def rows_of(table):
    found = mortice.Table(table.uri).snapshot(columns=SCHEMA.names).to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["id"], row["city"]))


def commits(table):
    """The number of commits. A write that was begun and refused is rolled back."""
    return sum(instant.action != "rollback" for instant in mortice.Table(table.uri).timeline)


@pytest.fixture
def table(tmp_path):
    table, _ = created(tmp_path / "t")
    table.upsert(arrow([row("a"), row("b", fare=None), row("c", "rome", 3.0)]))
    return table


def merge_model(model, given, step):
    """What the merge below does, of dictionaries."""
    given_of = {one["k"]: one for one in given}
    for key, one in list(model.items()):
        new = given_of.pop(key, None)
        if new is None:
            if one["seats"] == step and (one["fare"] or 0) > 5:
                one["fare"] = -1.0
        elif new["n"] == 0:
            del model[key]
        elif one["seats"] < new["n"]:
            one["fare"], one["seats"] = (one["fare"] or 0) + new["n"], new["n"]
        elif new["n"] < 5:
            one["seats"] += 1
    for key, new in given_of.items():
        if new["n"] > 1:
            empty = {"price": None, "tags": None, "fare": None}
            model[key] = row(key, new["town"], seats=new["n"], ts=100 + step) | empty


@pytest.mark.parametrize("kind", KINDS)
def test_a_history_of_changes_is_that_of_a_dictionary(tmp_path, kind):
    table, options = created(tmp_path / "t", kind)
    dice, model = random.Random(kind), {}
    for n in range(60):
        model[f"k{n:02}"] = row(f"k{n:02}", ("oslo", "rome", "lima")[n % 3], dice.choice([None, 1.0, 2.0, 3.0]), n % 5)
    table.upsert(arrow(list(model.values())), options=options)
    for step in range(3):
        # An update of rows by a condition that is partly a filter.
        city, seats = dice.choice(["oslo", "rome"]), dice.randrange(5)
        values = {"fare": "fare * 2 + 1", "price": "price + seats * 0.25"}
        commit = table.update_where(values, f"city = '{city}' AND seats + 0 >= {seats}", options)
        chosen = [one for one in model.values() if one["city"] == city and one["seats"] >= seats]
        for one in chosen:
            one["fare"] = None if one["fare"] is None else one["fare"] * 2 + 1
            one["price"] = None if one["price"] is None else one["price"] + one["seats"] * Decimal("0.25")
        assert commit.updates == len(chosen) or kind == "bucket"
        assert rows_of(table) == sorted(model.values(), key=lambda one: one["id"])
        # A merge with a clause of each kind.
        keys = dice.sample(range(90), 25)
        given = [{"k": f"k{n:02}", "town": ("oslo", "rome", "lima")[n % 3], "n": dice.randrange(6)} for n in keys]
        builder = (
            table.merge(pa.Table.from_pylist(given), "t.id = s.k AND s.town = t.city", options)
            .when_matched_delete("s.n = 0")
            .when_matched_update({"fare": "coalesce(t.fare, 0) + s.n", "seats": "s.n"}, "t.seats < s.n")
            .when_matched_update({"seats": "t.seats + 1"}, "s.n < 5")
            .when_not_matched_insert({"id": "k", "city": "town", "seats": "n", "ts": f"{100 + step}"}, "n > 1")
            .when_not_matched_by_source_update({"fare": "-1"}, f"seats = {step} AND fare > 5")
        )
        builder.execute()
        merge_model(model, given, step)
        assert rows_of(table) == sorted(model.values(), key=lambda one: one["id"])


def test_without_rows_there_is_no_commit(table):
    before = commits(table)
    commit = table.update_where({"fare": 5}, "city = 'paris'")
    assert (commit.instant, commit.updates, repr(commit)) == ("", 0, "Commit(none, UPSERT: no rows in 0 files)")
    assert table.merge(arrow([row("a")]), "id", when_matched_delete="s.fare > 99").instant == ""
    assert table.merge(arrow([]), ["id", "city"], when_not_matched_insert="all").instant == ""
    assert commits(table) == before
    # Constants are values, too; all rows only if that is said.
    assert table.update_where({"fare": 5, "tags": None, "seats": None}, [("city", "=", "oslo")]).updates == 2
    with pytest.raises(InvalidArgumentError, match="the condition 'true' selects all"):
        table.update_where({"fare": 5}, [])
    assert table.update_where({"fare": "if(fare = 5, 6, fare)"}, "true").updates == 3
    assert [one["fare"] for one in rows_of(table)] == [6.0, 6.0, 3.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seats": "seats / 3"}, r"column 'seats' is int32, which does not hold a value.*1\.33"),
        ({"seats": "seats * 1000000000"}, "column 'seats' is int32.*4000000000"),
        ({"price": "price / 4"}, r"column 'price' is decimal128\(10, 2\), and the value double; cast"),
        ({"price": "price * 0.123"}, "column 'price' is decimal"),
        ({"city": "'x'"}, "'city' is part of the partition path"),
        ({"id": "'x'"}, "'id' is part of the record key"),
        ({"ts": "ts - 1"}, "ordering value"),
        ({"nope": "1"}, "'nope', which the table does not have"),
        ({"seats": "s.seats"}, "names 's', which is no column"),
        ({}, "values must map"),
        ({"tags": ["y"]}, "a string, or a plain value"),
    ],
)
def test_what_a_column_does_not_hold_is_refused(table, values, message):
    before = commits(table), rows_of(table)
    with pytest.raises(InvalidArgumentError, match=message):
        table.update_where(values, "id = 'a'")
    assert (commits(table), rows_of(table)) == before


def test_an_update_wins_over_ordering_values_and_moves_under_a_global_index(table):
    table.update_where({"fare": "7"}, "id = 'a'")
    table.update_where({"ts": "ts + 1"}, "id = 'a'")
    assert [(one["fare"], one["ts"]) for one in rows_of(table)[:1]] == [(7.0, 11)]
    table.update_where({"city": "'rome'"}, "id = 'a'", GLOBAL)
    assert [(one["id"], one["city"], one["fare"]) for one in rows_of(table)] == [
        ("a", "rome", 7.0),
        ("b", "oslo", None),
        ("c", "rome", 3.0),
    ]


def test_matches_by_any_condition(table):
    # A range, without any equality.
    bands = pa.table({"low": [0.5, 2.5], "high": [1.5, 9.0], "bonus": [10, 20]})
    table.merge(bands, "t.fare >= low AND t.fare < high", when_matched_update={"fare": "t.fare + bonus"})
    assert [one["fare"] for one in rows_of(table)] == [11.0, None, 23.0]
    # An equality of expressions, with types that differ.
    table.merge(pa.table({"S": ["OSLO"], "n": [11]}), "upper(t.city) = S AND t.fare = n", when_matched_delete=True)
    assert [one["id"] for one in rows_of(table)] == ["b", "c"]
    table.merge(pa.table({"id": ["c"]}), "id", when_not_matched_by_source_delete="t.city = 'oslo'")
    assert [one["id"] for one in rows_of(table)] == ["c"]


def test_what_is_ambiguous_is_refused(table):
    before = commits(table), rows_of(table)

    def refused(message, data, on, **clauses):
        with pytest.raises(InvalidArgumentError, match=message):
            table.merge(data, on, **clauses)

    one, two = arrow([row("a")]), arrow([row("x"), row("x")])
    refused("several rows match the stored row of the key {'id': 'a'}", arrow([row("a")] * 2), "id",
            when_matched_update={"fare": "1"})  # fmt: skip
    refused(r"several rows have the key \['x', 'oslo'\]", two, "id", when_not_matched_insert="all")
    refused("is in the table, in partition .oslo., though no stored row matches it", one, "t.fare = s.fare + 100",
            when_not_matched_insert="all")  # fmt: skip
    refused("which both sides have, so write t.fare or s.fare", one, "id", when_matched_delete="fare > 1")
    refused("when_not_matched_insert: .*names 't', which is no column", one, "id",
            when_not_matched_insert={"id": "t.id"})  # fmt: skip
    refused("the condition 's.fare' is double", one, "s.fare", when_matched_delete=True)
    refused("is without effect behind when_matched_delete", one, "id", when_matched_delete=True,
            when_matched_update="all")  # fmt: skip
    with pytest.raises(TypeError, match="no argument 'when_matched'"):
        table.merge(one, "id", when_matched="all")
    with pytest.raises(InvalidArgumentError, match="needs a clause"):
        table.merge(one, "id").execute()
    assert (commits(table), rows_of(table)) == before


def test_another_commit_between_read_and_write_is_a_conflict(table):
    real = table.refresh

    def raced():
        # Rows are read in the state in which the table is opened here.
        real()
        mortice.Table(table.uri).upsert(arrow([row("b", fare=9.0, ts=11)]))

    table.refresh = raced
    with pytest.raises(WriteConflictError, match="merge again"):
        table.update_where({"fare": "fare + 1"}, "fare IS NULL OR fare < 5")
    assert [one["fare"] for one in rows_of(table)] == [1.0, 9.0, 3.0]


def test_tables_that_cannot_be_changed_so_are_refused(tmp_path):
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key=None, partition_by="city")
    table.insert(arrow([row("a")]))
    with pytest.raises(UnsupportedError, match="keys are generated"):
        table.update_where({"fare": "1"}, "true")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.date32(), " 2024-01-02 ", dt.date(2024, 1, 2)),
        (pa.date32(), "2024-01-02 00:00", dt.date(2024, 1, 2)),
        (pa.date32(), "2024-01-02 05:00", None),
        (pa.date32(), "2024-01-02T00:00:00Z", None),
        (pa.date32(), "soon", None),
        (pa.timestamp("us"), "2024-01-02 05:00", dt.datetime(2024, 1, 2, 5)),
        (pa.timestamp("us"), "2024-01-02T05:00:00+02:00", None),
        (pa.timestamp("us"), "2024-01-02 05:00:00.1234567", None),
        (pa.timestamp("us", "UTC"), "2024-01-02 05:00", dt.datetime(2024, 1, 2, 5, tzinfo=dt.timezone.utc)),
        (pa.timestamp("us", "UTC"), "2024-01-02T05:00:00+02:00", dt.datetime(2024, 1, 2, 3, tzinfo=dt.timezone.utc)),
        (pa.timestamp("us", "UTC"), "2024-01-02 05:00:00.1234567Z", None),
    ],
)
def test_text_loses_neither_time_nor_zone(tmp_path, kind, text, value):
    columns = pa.schema([("id", pa.string()), ("v", kind)])
    table = mortice.create_table(tmp_path / "t", columns, name="t", record_key="id")
    table.insert([{"id": "a", "v": None}])
    if value is None:
        with pytest.raises(InvalidArgumentError, match=r"column 'v' is .*, which does not hold '.*' exactly"):
            table.update_where({"v": f"'{text}'"}, "id = 'a'")
    else:
        table.update_where({"v": f"'{text}'"}, "id = 'a'")
    assert mortice.Table(table.uri).to_arrow()["v"].to_pylist() == [value]
