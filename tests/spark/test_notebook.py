"""The notebook, the README and the pages with Spark: examples print the output that the pages show."""

import pytest

from examples import ROOT, outputs, pages, unpack_tables
from support.notebook import cells_of, run

DOCS = ROOT / "docs"

pytestmark = [
    pytest.mark.spark4,
    # pandas-on-Spark of Spark 4 warns about newer releases of pandas, and about itself.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture
def pandas_on_spark_environment(spark):
    """The environment that Spark 4.0 recommends, and that the notebook sets."""
    if spark.version.startswith("4.0."):
        spark.conf.set("spark.sql.ansi.enabled", "false")
    yield
    spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.usefixtures("pandas_on_spark_environment")
def test_notebook():
    outcome = run(cells_of(DOCS / "quickstart.ipynb"), DOCS)
    assert len(outcome) > 10
    assert all(printed or value for printed, value in outcome[1:])


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", pages(spark=True))
def test_examples_print_what_the_page_shows(page, tmp_path):
    unpack_tables(tmp_path)
    found = outputs(ROOT / page, tmp_path)
    assert found
    for shown, printed in found:
        assert printed == shown
