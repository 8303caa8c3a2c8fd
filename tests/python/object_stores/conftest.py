"""Servers of object stores, and tables in them."""

import os

import pytest

from object_stores.fixtures import (
    azurite,
    bucket,
    container,
    fault_proxy,
    gcs,
    hdfs,
    moto,
    no_other_identity,
    on_azure,
    on_gcs,
    on_hdfs,
    on_s3,
    seaweed,
)

__all__ = [
    "azurite",
    "bucket",
    "container",
    "fault_proxy",
    "gcs",
    "hdfs",
    "moto",
    "no_other_identity",
    "on_azure",
    "on_gcs",
    "on_hdfs",
    "on_s3",
    "seaweed",
]


def pytest_collection_modifyitems(items):
    """Servers that are not in the environment of the tests, and many cells of a matrix, are for who asks for them."""
    if os.environ.get("OBJECT_STORES"):
        return
    for item in items:
        if item.get_closest_marker("object_stores"):
            item.add_marker(pytest.mark.skip(reason="`make test-object-stores` runs it"))
