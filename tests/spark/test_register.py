"""Registering on a Spark that has no Python data sources says so and goes on."""

import types

import pytest

import mortice.spark
import pyspark_mortice


def test_spark_3_is_told_what_to_use():
    with pytest.warns(RuntimeWarning, match=r"mortice\.spark\.read"):
        mortice.spark.register(types.SimpleNamespace(version="3.5.9"))


def test_the_module_that_spark_looks_up_has_a_source_only_where_spark_has():
    try:
        from pyspark.sql.datasource import DataSource
    except ImportError:
        assert not hasattr(pyspark_mortice, "DefaultSource")
    else:
        assert issubclass(pyspark_mortice.DefaultSource, DataSource)
        assert pyspark_mortice.DefaultSource.name() == "mortice"
