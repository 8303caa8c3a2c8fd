"""One Spark session for all tests, on the Python that runs them."""

import os
import sys

import pytest

pyspark = pytest.importorskip("pyspark")

from support.find_java import use_java  # noqa: E402

IS_SPARK_4 = int(pyspark.__version__.split(".")[0]) >= 4
LEAVES_SOCKETS = tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < (4, 3)


def pytest_collection_modifyitems(items):
    if not LEAVES_SOCKETS:
        return
    for item in items:
        if item.get_closest_marker("spark4") and not IS_SPARK_4:
            item.add_marker(pytest.mark.skip(reason="Spark 3.5 has no Python data source"))
        # Before 4.3 Spark leaves the sockets of collected results to the garbage collector.
        item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
        item.add_marker(pytest.mark.filterwarnings("ignore:.*socket.*:pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    use_java()
    # Workers must run the Python that has mortice, and they import what the tests define.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
