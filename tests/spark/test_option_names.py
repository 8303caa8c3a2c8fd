"""Every option that Hudi reads is decided on purpose; names with a slip in them are told."""

import pytest

from cases import DATA
from mortice import InvalidArgumentError, UnsupportedError
from mortice.spark import option_names, options
from mortice.spark.option_names import Decision, decision, near
from mortice.spark.options import read_query

OF_HUDI = [
    (line.split("\t")[0], name)
    for line in (DATA / "options" / "hudi_1.2.0.tsv").read_text(encoding="utf-8").splitlines()
    for name in line.split("\t")[1:]
]
"""The class and the name of each option of Hudi that has to do with reading, older names too."""
READ_OPTIONS = {name.lower() for place, name in OF_HUDI if place == "DataSourceReadOptions"}


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    monkeypatch.setattr(options, "_warned", set())


@pytest.mark.parametrize("name", sorted({name.lower() for _, name in OF_HUDI}))
def test_every_option_that_hudi_reads_is_decided(name):
    assert decision(name) is not Decision.UNKNOWN


def test_the_options_of_hudis_source_are_decided_by_name():
    by_name = option_names.TAKEN | option_names._REFUSED.keys() | option_names._WITHOUT_EFFECT
    families = (
        "hoodie.datasource.read.file.index.",
        "hoodie.datasource.streaming.",
        "hoodie.datasource.read.streaming.",
    )
    of_writers = {"hoodie.datasource.write.precombine.field"}
    assert {name for name in READ_OPTIONS - by_name if not name.startswith(families)} == of_writers


def test_every_option_has_one_decision():
    assert not option_names.TAKEN & option_names._REFUSED.keys()
    assert not option_names.TAKEN & option_names._WITHOUT_EFFECT
    assert not option_names._REFUSED.keys() & option_names._WITHOUT_EFFECT
    assert option_names._HARMLESS.keys() <= option_names._REFUSED.keys()


@pytest.mark.parametrize("name", sorted(option_names._REFUSED))
def test_what_is_refused_is_refused_by_name(name):
    with pytest.raises(UnsupportedError, match=name.replace(".", r"\.")):
        read_query({"path": "t", name: "something"})


@pytest.mark.parametrize(("name", "value"), option_names._HARMLESS.items())
def test_a_value_that_does_nothing_is_let_through(name, value, recwarn):
    read_query({"path": "t", name: value.upper()})
    assert not recwarn.list


@pytest.mark.parametrize("name", ["hoodie.filesystem.view.type", "hoodie.metadata.index.column.stats.enable"])
def test_what_changes_no_row_is_left_aside_in_silence(name, recwarn):
    read_query({"path": "t", name: "anything"})
    assert not recwarn.list


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("columms", "columns"),
        ("Filter", "filters"),
        ("as.of.instnt", "as.of.instant"),
        ("asOfInstant", "as.of.instant"),
        ("mortice.splitbytes", "mortice.split.bytes"),
        ("hoodie.datasource.query.typ", "hoodie.datasource.query.type"),
        ("hoodie.datasource.read.begin.instantime", "hoodie.datasource.read.begin.instanttime"),
        ("hoodie.datasource.query.incremental.fomat", "hoodie.datasource.query.incremental.format"),
    ],
)
def test_a_name_with_a_slip_is_refused_and_the_right_one_told(slip, meant):
    with pytest.raises(InvalidArgumentError, match=f"did you mean {meant}"):
        read_query({"path": "t", slip: "1"})


def test_no_option_of_hudi_is_taken_for_a_slip():
    unknown = [name for _, name in OF_HUDI if decision(name.lower()) is Decision.UNKNOWN]
    assert [name for name in unknown if near(name.lower())] == []


@pytest.mark.parametrize(
    "name", ["mergeSchema", "pathGlobFilter", "header", "hoodie.parquet.block.size", "inferSchema"]
)
def test_options_of_others_are_warned_of(name):
    with pytest.warns(UserWarning, match=name.lower()):
        read_query({"path": "t", name: "true"})


def test_an_unknown_option_of_ours_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"no such option: mortice\.nothing_like_it"):
        read_query({"path": "t", "mortice.nothing_like_it": "1"})


def test_names_as_a_session_has_them():
    assert read_query({"path": "t", "spark.hoodie.datasource.query.type": "read_optimized"}).read_optimized
    both = {"spark.hoodie.datasource.query.type": "read_optimized", "hoodie.datasource.query.type": "snapshot"}
    with pytest.raises(InvalidArgumentError, match="given twice"):
        read_query({"path": "t", **both})


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.datasource.write.payload.class",
        "hoodie.datasource.write.precombine.field",
        "hoodie.datasource.write.recordkey.field",
        "hoodie.write.record.merge.mode",
        "hoodie.record.merge.property.hoodie.payload.delete.field",
        "hoodie.table.ordering.fields",
        "hoodie.table.name",
    ],
)
def test_options_of_writers_may_be_given_to_readers_as_well(name, recwarn):
    read_query({"path": "t", name: "something"})
    assert not recwarn.list


def test_holes_by_modification_times_are_refused_by_name(table_of):
    query = read_query(
        {
            "path": str(table_of("h11_v6_uncommitted")),
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": "000",
            "hoodie.read.timeline.holes.resolution.policy": "USE_TRANSITION_TIME",
        }
    )
    with pytest.raises(UnsupportedError, match="USE_TRANSITION_TIME"):
        query.prepare(query.table(), None).scan()
