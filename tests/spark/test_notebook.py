"""The notebook and the worked example of the documentation, run as they stand there."""

import re
from pathlib import Path

import pytest

from support.notebook import cells_of, run

DOCS = Path(__file__).parents[2] / "docs"
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = [
    pytest.mark.spark4,
    # pandas-on-Spark of Spark 4 warns of pandas' newer releases, and of itself.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture
def as_pandas_on_spark_wants(spark):
    """As that of Spark 4.0 says itself, and the notebook does."""
    if spark.version.startswith("4.0."):
        spark.conf.set("spark.sql.ansi.enabled", "false")
    yield
    spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.usefixtures("as_pandas_on_spark_wants")
def test_notebook():
    outcome = run(cells_of(DOCS / "quickstart.ipynb"), DOCS)
    assert len(outcome) > 10
    assert all(printed or value for printed, value in outcome[1:])


@pytest.mark.usefixtures("spark")
def test_worked_example_of_merging(tmp_path):
    blocks = PYTHON_BLOCK.findall((DOCS / "merging.md").read_text(encoding="utf-8"))
    outcome = run(blocks, tmp_path)
    assert len(outcome) == len(blocks) > 3
    assert "lapsed" in outcome[-1][0]
