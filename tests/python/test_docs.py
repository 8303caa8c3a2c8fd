"""Examples of the documentation print the output that the page shows, and generated pages are up to date."""

import re
from pathlib import Path

import pytest

import mortice
import write_docs
from examples import ROOT, outputs, unpack_tables
from headline_plot import TARGET, drawing, newest_record
from mortice.spark.settings import option_names

PAGES = [
    "docs/index.md",
    "docs/merge-on-read.md",
    "docs/reading.md",
    "docs/engines.md",
    "docs/changes.md",
    "docs/log-files.md",
    "docs/creating-tables.md",
    "docs/writing.md",
    "docs/updating.md",
    "docs/deleting.md",
    "docs/rows.md",
    "docs/several-writers.md",
    "docs/services.md",
    "docs/metadata-table.md",
    "docs/recovery.md",
    "docs/tuning.md",
    "docs/options.md",
    "docs/errors.md",
]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_shows(page, tmp_path):
    unpack_tables(tmp_path)
    found = outputs(ROOT / page, tmp_path)
    assert found
    for shown, printed in found:
        assert printed == shown


def test_generated_pages_are_up_to_date():
    assert write_docs.outdated() == []


def test_the_plot_shows_the_newest_record():
    assert TARGET.read_text(encoding="utf-8") == drawing(newest_record())


def test_exactly_the_supported_options_are_described():
    described = {option["name"].lower() for option in write_docs.spark_options()}
    assert described == option_names.TAKEN
    assert set(option_names.SYNONYMS.values()) <= option_names.TAKEN
    assert not option_names.SYNONYMS.keys() & option_names.TAKEN


def test_every_error_code_is_described():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    classes = [
        kind for kind in vars(mortice).values() if isinstance(kind, type) and issubclass(kind, mortice.MorticeError)
    ]
    assert len(classes) > 10
    for kind in classes:
        assert kind is mortice.MorticeError or f"## {kind.default_code}\n\n`mortice.{kind.__name__}`" in page


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "SECURITY.md",
        "benches/measurements.md",
        *Path(ROOT).glob("docs/*.md"),
    ],
    ids=str,
)
def test_links_point_to_existing_files(page):
    path = ROOT / page
    missing = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / link).exists()]
    assert missing == []


def test_the_readme_is_short():
    assert 60 <= len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90


def test_the_api_reference_has_every_public_name():
    import mortice.spark
    from mortice import errors

    described = set(re.findall(r"^::: mortice\.([\w.]+)$", (ROOT / "docs/api.md").read_text(), re.MULTILINE))
    public = {*mortice.__all__, *(f"spark.{name}" for name in mortice.spark.__all__)} - {"__version__"}
    assert described == public - set(errors.__all__) | {"errors"}
