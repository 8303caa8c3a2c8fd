"""What people try first, from memory of other libraries: it works, or the error says what to write."""

import datetime as dt
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import mortice

ROWS = {"id": ["a", "b"], "city": ["oslo", "lima"], "fare": [1.0, 2.0], "ts": [1, 2]}


@pytest.fixture
def table(tmp_path):
    return mortice.create_table(tmp_path / "t", ROWS, record_key="id", ordering="ts")


@pytest.mark.parametrize(
    ("guess", "kind", "said"),
    [
        ("table.report('r.html')", ValueError, r"writes no file: Path\('r.html'\).write_text\(table.report\(\)\)"),
        ("table.health('x')", ValueError, "options must be a mapping"),
        (
            "table.rollback()",
            TypeError,
            r"^rollback\(\) needs the argument 'instant'; rollback\(table.timeline.latest\)",
        ),
        ("table.restore()", TypeError, "needs the argument 'instant'; it is a write that has a savepoint"),
        ("table.delete()", TypeError, r"^delete\(\) needs the argument 'keys_or_rows'; a list of keys"),
        ("table.diff()", TypeError, r"^diff\(\) needs the argument 'begin'; diff\(table.timeline\[-2\]\)"),
        ("table.merge(ROWS)", TypeError, r"^merge\(\) needs the argument 'on'; the columns by which rows match"),
        ("table.upsert()", TypeError, r"^upsert\(\) needs the argument 'data'$"),
        ("mortice.Table()", TypeError, r"^Table\(\) needs the argument 'uri'$"),
        ("mortice.create_table('x', ROWS)", TypeError, "needs the argument 'record_key'; the column or columns of the"),
        ("table.merge(ROWS, on='id').whenMatchedUpdateAll()", AttributeError, "use when_matched_update_all"),
        ("table.merge(ROWS, on='id').run()", AttributeError, r"use execute\(\)"),
        ("table.update_where({'city': 'rome'}, 'true')", ValueError, "the string itself is written \"'rome'\""),
        ("table.update_where({'city': 'new york'}, 'true')", ValueError, "the string itself is written \"'new york'\""),
        (
            "table.to_arrow(columns=['Fare'])",
            ValueError,
            'did you mean "fare"[?] the table has: id, city, fare, ts, and',
        ),
        ("table.to_arrow(columns=['faire'])", ValueError, 'did you mean "fare"[?]'),
        ("table.to_arrow(filters='faire > 3')", ValueError, 'unknown column "faire" in a filter; did you mean "fare"'),
        ("table.timeline()", TypeError, r"timeline is no method: table.timeline\[-1\]"),
        ("table.restore('123')", ValueError, "the active timeline has no completed write .*; the newest are 2"),
        ("table.log()", AttributeError, r"use timeline, or history\(\)"),
        ("table.to_delta('x')", AttributeError, "write_deltalake"),
        ("table.changes_since('1')", AttributeError, r"use incremental\(begin\)"),
        ("table.is_partitioned", AttributeError, "use partition_fields"),
        ("mortice.convert('x')", AttributeError, "use create_table"),
        ("mortice.spark.read(None, 'x')", ValueError, "spark must be a SparkSession, got None"),
        ("mortice.spark.count(None, 'x')", ValueError, "spark must be a SparkSession, got None"),
    ],
)
def test_a_guess_that_fails_is_answered(table, guess, kind, said):
    with pytest.raises(kind, match=said):
        eval(guess)


def test_a_path_that_is_no_table_says_what_it_is(tmp_path):
    def said(path):
        with pytest.raises(mortice.TableNotFoundError) as missing:
            mortice.Table(path)
        return missing.value.message

    for name in ("delta/_delta_log", "iceberg/metadata", "files"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "iceberg/metadata/00000.metadata.json").touch()
    parquet.write_table(pa.table(ROWS), tmp_path / "files/x.parquet")
    assert "it is a Delta table" in said(tmp_path / "delta")
    assert "it is an Iceberg table" in said(tmp_path / "iceberg")
    assert "it is a folder of Parquet files" in said(tmp_path / "files")
    assert "it is a Parquet file" in said(tmp_path / "files/x.parquet")
    assert "names are not matched with *" in said(tmp_path / "*")
    assert "open /dbfs/lake/t" in said("dbfs:/lake/t")
    assert "a path of Windows" in said("C:\\lake")
    assert "give the base path of a table" in said(tmp_path / "nothing")


@pytest.mark.parametrize(
    "rows",
    [ROWS, pa.table(ROWS), pa.table(ROWS).to_pylist(), pa.table(ROWS).to_pandas()],
    ids=["lists", "arrow", "dicts", "pandas"],
)
def test_rows_may_be_the_second_argument_of_a_new_table(tmp_path, rows):
    created = mortice.create_table(tmp_path / "new", rows, record_key="id")
    assert created.scan().to_arrow().sort_by("id").to_pydict() == ROWS


def test_rows_are_no_schema_beside_other_rows(tmp_path):
    with pytest.raises(mortice.InvalidArgumentError, match="for rows use data=rows"):
        mortice.create_table(tmp_path / "new", pa.table(ROWS), data=ROWS, record_key="id")


def test_a_lazy_frame_may_be_the_second_argument_of_a_new_table(tmp_path):
    polars = pytest.importorskip("polars")
    created = mortice.create_table(tmp_path / "new", polars.LazyFrame(ROWS), record_key="id")
    assert created.count() == 2


def test_names_of_other_libraries_that_exist(table, tmp_path):
    assert table.path == table.uri
    assert table.num_rows == 2
    assert table.select("id", "fare").columns == table.select(["id", "fare"]).columns == ["id", "fare"]
    assert table.filter("fare > 1").to_arrow()["id"].to_pylist() == ["b"]
    assert table.limit(1).to_arrow().num_rows == 1
    table.to_parquet(tmp_path / "x.parquet", ["id"], "city = 'oslo'")
    assert parquet.read_table(tmp_path / "x.parquet").to_pydict() == {"id": ["a"]}
    table.scan().to_parquet(tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet").sort_by("id").to_pydict() == ROWS
    assert table.append([{"id": "c", "city": "rome", "fare": 3.0, "ts": 3}]).inserts == 1
    merged = table.merge([{"id": "c", "fare": 4.0, "ts": 4}, {"id": "d", "fare": 5.0, "ts": 5}], on="id")
    commit = merged.when_matched_update_all("s.fare > 3").when_not_matched_insert_all().execute()
    assert (commit.updates, commit.inserts) == (1, 1)


def test_a_scalar_is_the_string_itself(table):
    table.update_where({"city": pa.scalar("fare"), "ts": pa.scalar(9)}, "id = 'a'")
    assert table.to_arrow(["city", "ts"], "id = 'a'").to_pylist() == [{"city": "fare", "ts": 9}]


@pytest.mark.parametrize(("kind", "updates"), [("COW", 0), ("MOR", 1)])
def test_a_late_row_that_loses_is_not_counted_where_stored_rows_are_read(tmp_path, kind, updates):
    table = mortice.create_table(tmp_path / "late", ROWS, record_key="id", ordering="ts", table_type=kind)
    table.upsert([{"id": "a", "city": "oslo", "fare": 9.0, "ts": 99}])
    late = table.upsert([{"id": "a", "city": "oslo", "fare": 0.0, "ts": 1}])
    assert late.updates == updates
    assert table.to_arrow(["fare"], "id = 'a'").to_pydict() == {"fare": [9.0]}


def test_a_time_before_the_first_commit_has_the_columns(table):
    with pytest.warns(mortice.TimeTravelWarning, match="no rows as of"):
        early = table.to_pandas(as_of="2020-01-01")
    assert list(early.columns) == ["id", "city", "fare", "ts"]
    assert early["fare"].tolist() == []
    with pytest.warns(mortice.TimeTravelWarning):
        assert table.to_arrow(["fare"], "ts > 1", "2020-01-01").schema == table.to_arrow(["fare"]).schema


def test_a_time_in_the_future_is_warned_of(table):
    with pytest.warns(mortice.TimeTravelWarning, match="is in the future: these are the newest rows"):
        assert table.count(as_of=dt.datetime.now() + dt.timedelta(days=2)) == 2
    assert table.count(as_of=dt.datetime.now()) == 2
    assert table.count(as_of=table.timeline.latest) == 2


def test_plot_is_the_layout(table):
    pytest.importorskip("matplotlib")
    assert table.plot().get_title() == table.plot.layout().get_title()


def test_type_checkers_do_not_see_what_answers_unknown_names():
    """They accept every name of a module that has `__getattr__`."""
    import mortice.spark as on_spark

    for module in (mortice, on_spark):
        before = inspect.getsource(module).partition("def __getattr__")[0].splitlines()
        assert any(line.startswith("if not TYPE_CHECKING:") for line in before[-3:]), module
        assert before[-1].startswith("    ")


@pytest.mark.slow
def test_a_type_checker_finds_misspelt_names(tmp_path):
    pytest.importorskip("mypy")
    guess = tmp_path / "guess.py"
    guess.write_text(
        "import mortice\nmortice.creat_table\nmortice.spark.raed\nmortice.spark.read\nmortice.Table('x').vacuum()\n"
        "mortice.Table('x').timeline.commits\nmortice.create_table('x', {'id': ['a']}, record_key='id').count()\n"
    )
    root = str(Path(mortice.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--ignore-missing-imports", guess],
        env=os.environ | {"MYPYPATH": root},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    assert [int(line.split(":")[1]) for line in lines] == [2, 3, 5, 6], done.stdout
