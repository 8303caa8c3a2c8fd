"""Every option that Hudi reads is supported, refused or without effect; misspelled names raise an error that suggests
the right one."""

import warnings

import pytest

from mortice import InvalidArgumentError, UnsupportedError, queries
from mortice.spark.settings import options
from mortice.spark.settings.options import read_query
from support.cases import DATA

OF_HUDI = [
    (line.split("\t")[0], name)
    for line in (DATA / "options" / "hudi_1.2.0.tsv").read_text(encoding="utf-8").splitlines()
    for name in line.split("\t")[1:]
]
"""The class and the name of each option of Hudi for reading, including older names."""


@pytest.fixture(autouse=True)
def reset_warnings(monkeypatch):
    monkeypatch.setattr(options, "_warned", set())


@pytest.mark.parametrize("name", sorted({name.lower() for _, name in OF_HUDI}))
def test_no_option_that_hudi_reads_is_unknown(name):
    """It is accepted without a warning, or refused by name: never a warning, never a misspelled name."""
    message = refusal({"path": "t", name: "something"})
    assert message is None or name in message
    assert "no such option" not in (message or "")
    assert "did you mean" not in (message or "")


def refusal(given):
    """Returns why these options are refused; None if they are accepted. Warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            read_query(given)
        except (UnsupportedError, InvalidArgumentError) as refused:
            return str(refused)
    return None


REFUSED = {
    "glob.paths": "base path",
    "hoodie.datasource.read.paths": "base path",
    "hoodie.datasource.read.incr.filters": "filters",
    "hoodie.datasource.read.incr.path.glob": "filters",
    "hoodie.datasource.read.incr.something.new": "leave it out",
    "hoodie.datasource.read.extract.partition.values.from.path": "leave it out",
    "hoodie.datasource.read.partition.value.extractor.enabled": "leave it out",
    "hoodie.datasource.read.file.index.optimize.listing.using.path.filter": "hoodie.datasource.query.type",
    "hoodie.datasource.view.type": "hoodie.datasource.query.type",
    "hoodie.datasource.read.table.valued.function.timeline.relation": "mortice.Table.timeline",
    "hoodie.datasource.read.create.filesystem.relation": "mortice.Table.timeline",
    "hoodie.datasource.write.record.merger.impls": "mortice.register_merger",
    "hoodie.compaction.payload.class": "hoodie.properties",
    "hoodie.record.merge.mode": "hoodie.properties",
    "hoodie.payload.delete.field": "hoodie.properties",
    "hoodie.payload.delete.marker": "hoodie.properties",
}
"""Options that would change the rows, and a word of the alternative in the message."""


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_that_would_change_the_rows_is_refused_with_an_alternative(name):
    with pytest.raises(UnsupportedError) as refused:
        read_query({"path": "t", name: "something"})
    assert name in str(refused.value)
    assert REFUSED[name] in str(refused.value)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("hoodie.datasource.read.incr.filters", ""),
        ("hoodie.datasource.read.incr.path.glob", ""),
        ("hoodie.datasource.read.extract.partition.values.from.path", "FALSE"),
        ("hoodie.datasource.read.create.filesystem.relation", "false"),
        ("hoodie.datasource.view.type", "Realtime"),
    ],
)
def test_a_refused_option_with_its_default_is_accepted(name, default, recwarn):
    read_query({"path": "t", name: default})
    assert not recwarn.list


@pytest.mark.parametrize("name", ["hoodie.filesystem.view.type", "hoodie.metadata.index.column.stats.enable"])
def test_options_without_effect_on_rows_are_ignored_without_a_warning(name, recwarn):
    read_query({"path": "t", name: "anything"})
    assert not recwarn.list


@pytest.mark.parametrize(
    ("misspelled", "meant"),
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
def test_misspelled_options_raise_an_error_that_suggests_the_right_name(misspelled, meant):
    with pytest.raises(InvalidArgumentError, match=f"did you mean {meant}"):
        read_query({"path": "t", misspelled: "1"})


@pytest.mark.parametrize(
    "name", ["mergeSchema", "pathGlobFilter", "header", "hoodie.parquet.block.size", "inferSchema"]
)
def test_options_of_other_sources_cause_a_warning(name):
    with pytest.warns(UserWarning, match=name.lower()):
        read_query({"path": "t", name: "true"})


def test_an_unknown_option_of_mortice_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"no such option: mortice\.nothing_like_it"):
        read_query({"path": "t", "mortice.nothing_like_it": "1"})


def test_names_with_the_prefix_of_a_session():
    query = read_query({"path": "t", "spark.hoodie.datasource.query.type": "read_optimized"})
    assert isinstance(query.asked, queries.ReadOptimized)
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
def test_options_of_writers_are_accepted_by_readers(name, recwarn):
    read_query({"path": "t", name: "something"})
    assert not recwarn.list


def test_hollow_commit_policy_by_modification_time_is_refused(table_of):
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
