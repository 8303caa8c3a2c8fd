"""Google Cloud Storage over an S3 server: its XML API is that of S3 except for a few headers."""

from urllib.parse import quote, unquote

from support.object_stores.proxy import proxy
from support.object_stores.uploads import ANY_SIGNATURE

_GENERATION = "x-goog-if-generation-match"


def gcs(upstream):
    """Returns a proxy with the API of GCS for the S3 server at the URL `upstream`."""
    return proxy(upstream, _to_s3, _from_s3, _path)


def _path(path):
    """Decodes slashes and dots, which moto would treat as other names."""
    before, question, query = path.partition("?")
    return quote(unquote(before)) + question + query


def _to_s3(headers):
    generation = headers.pop(_GENERATION, None)
    if generation == "0":
        headers["if-none-match"] = "*"
    elif generation is not None:
        headers["if-match"] = generation
    # Google's tokens are not valid S3 signatures.
    headers["authorization"] = ANY_SIGNATURE


def _from_s3(headers):
    if "etag" in headers:
        headers["x-goog-generation"] = headers["etag"].strip('"')
