"""Azure Blob Storage for the tests: copies tables into a container of Azurite, with signed requests."""

import base64
import datetime as dt
import hashlib
import hmac
import http.client
import itertools
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

ACCOUNT = "mortice"
KEY = base64.b64encode(b"a key of the tests, 32 bytes long").decode()
VERSION = "2021-12-02"
_numbers = itertools.count(1)


def _signed(text, key=KEY):
    return base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()


def put(endpoint, path, body=b"", query="", headers=None):
    """Stores a blob at `path` (container and name), or creates a container with `query` restype=container."""
    now = dt.datetime.now(dt.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
    ours = {"x-ms-date": now, "x-ms-version": VERSION, **(headers or {})}
    resource = f"/{ACCOUNT}/{ACCOUNT}/{quote(path)}"
    resource += "".join(f"\n{pair.replace('=', ':')}" for pair in sorted(filter(None, query.split("&"))))
    named = "".join(f"{name}:{value}\n" for name, value in sorted(ours.items()))
    length = str(len(body)) if body else ""
    text = "\n".join(["PUT", "", "", length, *[""] * 8]) + "\n" + named + resource
    connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=60)
    try:
        ours |= {"Authorization": f"SharedKey {ACCOUNT}:{_signed(text)}", "Content-Length": str(len(body))}
        connection.request("PUT", f"/{ACCOUNT}/{quote(path)}" + ("?" + query if query else ""), body, ours)
        response = connection.getresponse()
        content = response.read()
        if response.status != 201:
            raise RuntimeError(f"PUT {path}: {response.status} {content[:500]!r}")
    finally:
        connection.close()


def new_container(endpoint):
    """Creates a container and returns its name."""
    name = f"container-{next(_numbers)}"
    put(endpoint, name, query="restype=container")
    return name


def upload(endpoint, container, folder, prefix):
    """Uploads a directory."""
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".crc"):
        name = f"{container}/{prefix}/{path.relative_to(folder).as_posix()}"
        put(endpoint, name, path.read_bytes(), headers={"x-ms-blob-type": "BlockBlob"})


def sas_token(permissions="rl", minutes=30):
    """Returns a shared access signature of the account, which has expired if `minutes` is negative."""
    expiry = dt.datetime.now(dt.timezone.utc) + dt.timedelta(minutes=minutes)
    end = expiry.strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = {"sp": permissions, "ss": "b", "srt": "sco", "se": end, "spr": "https,http", "sv": VERSION}
    text = f"{ACCOUNT}\n{permissions}\nb\nsco\n\n{end}\n\nhttps,http\n{VERSION}\n\n"
    return urlencode({**fields, "sig": _signed(text)})
