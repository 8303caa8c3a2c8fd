"""Examples of the documentation print what the page shows, pages are short, and generated pages are up to date."""

import ast
import re

import pytest

import headline_plot
import mortice
import write_docs
from examples import ROOT, outputs, pages, unpack_tables
from mortice.spark.settings import option_names

LINK = re.compile(r"(?:\]\(|^\[[\w-]+\]: )([^)#:\n]+)(?:#[^)\n]*)?(?:\)|$)", re.MULTILINE)
REPOSITORY = re.compile("https://(?:github.com/mortice/mortice/blob|raw.githubusercontent.com/mortice/mortice)/main/")
"""Links of the README are absolute: it is the page of the wheel on an index, too."""
MARKDOWN = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
MARKDOWN += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
MOST_WORDS = {"ARCHITECTURE.md": 3500, "CHANGELOG.md": 1500, "README.md": 800, "docs/procedures.md": 3500}
"""That of the procedures is a list to search in."""
PUBLIC_MODULES = {"errors", "queries", "spark"}
INNER_METHODS = {"by_tasks", "erase_by", "position_here", "preview", "service_progress"}
"""Methods of tables that other modules of mortice call."""


@pytest.mark.parametrize("page", pages(spark=False))
def test_examples_print_what_the_page_shows(page, tmp_path):
    unpack_tables(tmp_path)
    found = outputs(ROOT / page, tmp_path)
    assert found
    for shown, printed in found:
        assert printed == shown


@pytest.mark.parametrize("page", MARKDOWN, ids=str)
def test_examples_that_are_not_run_are_python(page):
    for block in re.findall(r"^```py\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        ast.parse(block)


@pytest.mark.parametrize("page", MARKDOWN, ids=str)
def test_pages_import_public_modules_only(page):
    imported = re.findall(r"(?:from|import) mortice\.([\w.]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert set(imported) <= PUBLIC_MODULES


@pytest.mark.parametrize("page", MARKDOWN, ids=str)
def test_pages_are_short_enough_to_be_read(page):
    words = len((ROOT / page).read_text(encoding="utf-8").split())
    assert words <= MOST_WORDS.get(page, 2500), "split the page, or leave out what another page says"


def test_generated_pages_are_up_to_date():
    assert write_docs.outdated() == []


def test_the_figure_and_its_numbers_are_those_of_the_newest_record():
    for path, text in headline_plot.pages(headline_plot.newest_record()).items():
        assert path.read_text(encoding="utf-8") == text
        assert path.suffix == ".svg" or headline_plot.FIGURE.search(text)


def test_exactly_the_followed_options_of_writes_are_described():
    described = [option["name"] for option in write_docs.described_write_options()]
    assert sorted(described) == sorted(write_docs.followed_write_options()), (
        "tools/write_options.tsv has a line of each"
    )


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


@pytest.mark.parametrize("page", [*MARKDOWN, "benches/measurements.md"])
def test_links_point_to_existing_files(page):
    path = ROOT / page
    text = REPOSITORY.sub("", path.read_text(encoding="utf-8"))
    missing = [link for link in LINK.findall(text) if not (path.parent / link).exists()]
    assert missing == []


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert 60 <= sum(not line.startswith("[") or "]: " not in line for line in lines) <= 90


def test_the_api_reference_has_every_public_name():
    import mortice.spark
    from mortice import errors

    pages = "\n".join(path.read_text("utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    described = re.findall(r"^::: mortice\.([\w.]+)$", pages, re.MULTILINE)
    assert len(described) == len(set(described))
    public = {*mortice.__all__, *(f"spark.{name}" for name in mortice.spark.__all__)} - {"__version__"}
    names = {name for name in described if not name.startswith("Table.")}
    assert names == public - set(errors.__all__) | {"errors"}
    members = {name.removeprefix("Table.") for name in described if name.startswith("Table.")}
    members |= set(re.findall(r"^        - (\w+)$", pages, re.MULTILINE))
    assert members == {name for name in dir(mortice.Table) if not name.startswith("_")} - INNER_METHODS
