"""Servers of object stores, and tables in them."""

from support.object_stores.fixtures import bucket, fault_proxy, gcs, moto, no_other_identity, on_gcs, on_s3

__all__ = ["bucket", "fault_proxy", "gcs", "moto", "no_other_identity", "on_gcs", "on_s3"]
