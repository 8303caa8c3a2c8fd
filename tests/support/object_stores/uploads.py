"""Uploads tables to a bucket of a server that accepts any signature."""

import http.client
import itertools
from pathlib import Path
from urllib.parse import quote, urlsplit

_numbers = itertools.count(1)
ANY_SIGNATURE = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00"
"""moto rejects unsigned requests to existing objects, and accepts any signature."""


def put(endpoint, path, body=b""):
    """Stores an object, or creates a bucket."""
    connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=60)
    try:
        connection.request("PUT", "/" + quote(path), body, {"Authorization": ANY_SIGNATURE})
        response = connection.getresponse()
        text = response.read()
        if response.status != 200:
            raise RuntimeError(f"PUT {path}: {response.status} {text[:500]!r}")
    finally:
        connection.close()


def new_bucket(endpoint):
    """Creates a bucket and returns its name."""
    name = f"bucket-{next(_numbers)}"
    put(endpoint, name)
    return name


def upload(endpoint, bucket, folder, prefix):
    """Uploads a directory. Object stores have no empty directories, and need no checksum files."""
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".crc"):
        put(endpoint, f"{bucket}/{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
