"""Fixtures of object store servers, of tables in them, and of the clock by which credentials expire."""

import time
from types import SimpleNamespace

import pytest

from mortice.values import credentials
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
    "clock",
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


@pytest.fixture
def clock(monkeypatch):
    """The clock by which credentials are due: that of this machine, but for what it is `ahead`, in seconds."""
    shown = SimpleNamespace(ahead=0)
    shown.time = lambda: time.time() + shown.ahead
    monkeypatch.setattr(credentials, "time", shown)
    return shown
