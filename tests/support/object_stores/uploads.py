"""Tables copied into a bucket of a server that accepts any signature."""

import http.client
import itertools
from pathlib import Path
from urllib.parse import quote, urlsplit

_numbers = itertools.count(1)
ANY_SIGNATURE = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00"
"""moto refuses requests without a signature to objects that are there, and accepts any."""


def put(endpoint, path, body=b""):
    """Stores an object, or makes a bucket."""
    connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=60)
    try:
        connection.request("PUT", "/" + quote(path), body, {"Authorization": ANY_SIGNATURE})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"PUT {path}: {answer.status} {text[:500]!r}")
    finally:
        connection.close()


def new_bucket(endpoint):
    """Makes a bucket; its name."""
    name = f"bucket-{next(_numbers)}"
    put(endpoint, name)
    return name


def upload(endpoint, bucket, folder, prefix):
    """Copies a folder in. Object stores have no empty folders, and need no checksum files."""
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".crc"):
        put(endpoint, f"{bucket}/{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
