"""Fixtures of object store servers and of tables in them."""

from support.object_stores.fixtures import (
    azurite,
    bucket,
    container,
    fault_proxy,
    gcs,
    hdfs,
    moto,
    no_ambient_credentials,
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
    "no_ambient_credentials",
    "on_azure",
    "on_gcs",
    "on_hdfs",
    "on_s3",
    "seaweed",
]
