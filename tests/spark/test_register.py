"""Registration on a Spark without Python data sources prints a hint and continues."""

import types

import pytest

import mortice.spark
import pyspark_mortice


def test_on_spark_3_register_names_the_alternative():
    with pytest.warns(RuntimeWarning, match=r"mortice\.spark\.read"):
        mortice.spark.register(types.SimpleNamespace(version="3.5.9"))


def test_the_discovered_module_has_a_source_only_if_spark_supports_it():
    try:
        from pyspark.sql.datasource import DataSource
    except ImportError:
        assert not hasattr(pyspark_mortice, "DefaultSource")
    else:
        assert issubclass(pyspark_mortice.DefaultSource, DataSource)
        assert pyspark_mortice.DefaultSource.name() == "mortice"
