"""Cuts the seeds of targets that take what a table consists of, or what its processes send: metadata, schemas, splits,
options. `make_seeds.py` calls it.
"""

import json
import pathlib
import struct
import sys
import tempfile
import zipfile
from collections.abc import Iterator

import mortice
from mortice import _mortice

TESTS = pathlib.Path(__file__).parent.parent
SEEDS = TESTS / "fuzz" / "seeds"
# What files of the timeline end with, and the number that the target has for their kind.
METADATA = {
    "commit": 0,
    "replacecommit": 1,
    "replacecommit.requested": 2,
    "compaction.requested": 3,
    "clean.requested": 4,
    "clean": 5,
    "rollback.requested": 6,
    "rollback": 7,
    "restore.requested": 8,
    "restore": 9,
    "savepoint": 10,
}


def keep(target: str, name: str, data: bytes, most: int = 7000) -> None:
    if len(data) <= most:
        folder = SEEDS / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def with_length(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()


def archived_files() -> Iterator[tuple[str, bytes]]:
    for path in sorted((TESTS / "data").glob("**/table.zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if ".hoodie/" in name and "/metadata/" not in name:
                    yield pathlib.PurePath(name).name, archive.read(name)


def keep_metadata_and_properties() -> None:
    """The smallest file of each kind of metadata in each format, and the smallest properties of each table version."""
    smallest: dict[tuple[str, str, int], bytes] = {}
    for name, content in archived_files():
        kind = name.partition(".")[2]
        if kind in METADATA and content:
            form = "json" if content[:1] == b"{" else "avro"
            found = ("metadata", f"{kind}.{form}", METADATA[kind])
        elif name == "hoodie.properties":
            version = content.partition(b"hoodie.table.version=")[2].partition(b"\n")[0].decode() or "0"
            found = ("properties", f"version-{version}", -1)
        else:
            continue
        if found not in smallest or len(content) < len(smallest[found]):
            smallest[found] = content
    for (target, name, number), content in smallest.items():
        keep(target, name, (b"" if number < 0 else bytes([number])) + content)
    keep(
        "metadata",
        "indexing.requested.json",
        b'\x0b{"version":1,"indexPartitionInfos":[{"version":1,"metadataPartitionPath":"files","indexUptoInstant":"1"}]}',
    )
    keep("metadata", "indexing.json", b'\x0c{"version":1,"operationType":"INDEX","indexPartitionInfos":[]}')


ALL_TYPES = {
    "type": "record",
    "name": "h.t.t_record",
    "fields": [
        {"name": "i", "type": "int", "default": 3},
        {"name": "l", "type": ["null", "long"], "default": None},
        {"name": "f", "type": "float"},
        {"name": "d", "type": "double"},
        {"name": "b", "type": "boolean"},
        {"name": "s", "type": ["string", "null"], "default": "x"},
        {"name": "y", "type": "bytes", "default": "\u00ff"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "us", "type": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]},
        {"name": "time", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"], "default": "A"}},
        {"name": "x", "type": {"type": "fixed", "name": "x", "size": 3}},
        {
            "name": "n",
            "type": {"type": "fixed", "name": "n", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2},
        },
        {"name": "m", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4}},
        {"name": "list", "type": {"type": "array", "items": ["null", "string"]}},
        {
            "name": "map",
            "type": {
                "type": "map",
                "values": {"type": "record", "name": "v", "fields": [{"name": "n", "type": ["null", "h.t.n"]}]},
            },
        },
        {"name": "u", "type": ["null", "int", "long"]},
        {"name": "w", "type": ["null", "string", "boolean"]},
        {
            "name": "vector",
            "type": {
                "type": "fixed",
                "name": "vector",
                "size": 8,
                "logicalType": "vector",
                "dimension": 2,
                "elementType": "FLOAT",
                "storageBacking": "FIXED_BYTES",
            },
        },
    ],
}


def ids(fields: list[tuple[int, str, object]], version: int = 7) -> str:
    """A schema with ids, as schema on read stores it."""
    members = [{"id": at, "name": name, "optional": at > 0, "type": kind} for at, name, kind in fields]
    return json.dumps({"max_column_id": 99, "version_id": version, "type": "record", "fields": members})


def keep_schemas() -> None:
    whole = json.dumps(ALL_TYPES, separators=(",", ":"))
    fewer = {**ALL_TYPES, "fields": [*ALL_TYPES["fields"][10::-2], {"name": "added", "type": "int", "default": 1}]}
    wider = whole.replace('"float"', '"double"').replace('"int","default":3', '"string","default":"3"')
    for name, reader in [("same", whole), ("fewer", json.dumps(fewer, separators=(",", ":"))), ("wider", wider)]:
        keep("schemas", name, with_length(whole) + reader.encode())
    inner = {"type": "record", "fields": [{"id": 9, "name": "in", "optional": True, "type": "int"}]}
    items = {"type": "array", "element_id": 8, "element": inner, "element_optional": True}
    values = {
        "type": "map",
        "key_id": 6,
        "key": "string",
        "value_id": 7,
        "value": "decimal(10, 2)",
        "value_optional": False,
    }
    file = ids(
        [
            (0, "k", "string"),
            (1, "a", "int"),
            (2, "b", items),
            (3, "m", values),
            (4, "v", "vector[2, FLOAT, FIXED_BYTES]"),
        ]
    )
    renamed = json.loads(json.dumps(items).replace('"in"', '"out"'))
    table = ids(
        [(0, "k", "string"), (2, "a", renamed), (3, "m", values), (5, "c", "timestamp"), (10, "x", "fixed[4]")], 8
    )
    field = {
        "name": "b",
        "type": {"type": "array", "items": {"type": "record", "name": "r", "fields": [{"name": "in", "type": "int"}]}},
    }
    writer = {
        "type": "record",
        "name": "w",
        "fields": [{"name": "k", "type": "string"}, {"name": "a", "type": "int"}, field],
    }
    keep("evolution", "renamed", with_length(table) + with_length(file) + json.dumps(writer).encode())
    keep("evolution", "history", with_length(table) + with_length(file) + b'{"schemas":[' + file.encode() + b"]}")


def keep_filters() -> None:
    def term(column: str, operator: str, *literals: object, fields: tuple[str, ...] = ()) -> dict:
        return {"column": column, "fields": list(fields), "operator": operator, "literals": list(literals)}

    filters = {
        "numbers": [
            [term("int", "Gt", {"Int": 0}), term("long", "LtEq", {"Decimal": {"unscaled": 10, "scale": 1}})],
            [term("double", "NotEq", {"Float": 9221120237041090560}), term("float", "Eq", {"Int": 3})],
            [term("number", "GtEq", {"Decimal": {"unscaled": 150, "scale": 2}}), term("bool", "Eq", {"Bool": True})],
        ],
        "texts": [
            [term("text", "In", {"Text": "a"}, {"Text": "b"}), term("bytes", "Lt", {"Bytes": [97, 255]})],
            [term("text", "Like", {"Text": "a\\_%b_"}), term("text", "NotLike", {"Text": "%"})],
            [term("nested", "IsNull", fields=("name",)), term("nested", "Eq", {"Text": "a"}, fields=("name",))],
        ],
        "times": [
            [term("day", "Eq", {"Date": 3}), term("time", "Lt", {"Timestamp": {"micros": 1, "utc": False}})],
            [term("utc", "Gt", {"Text": "2024-01-01T01:00:00+01:00"}), term("day", "NotIn", {"Text": "1970-01-02"})],
            [term("int", "IsNotNull"), term("long", "IsNull"), term("nested", "IsNull")],
        ],
    }  # fmt: skip
    for name, lists in filters.items():
        text = json.dumps({"any": lists}, separators=(",", ":"))
        keep("filter", name, with_length(text) + bytes(range(0, 120, 3)))


def keep_options() -> None:
    options = {
        "usual": "hoodie.table.name=t\nhoodie.datasource.write.recordkey.field=id, sub\nhoodie.index.type=BLOOM\n"
        "hoodie.index.bloom.fpp=1e-9\nhoodie.parquet.max.file.size=125829120\nhoodie.metadata.enable=true\n_mine=1\n",
        "names": "hoodie.datasource.clustering.inline.enable=false\nhoodie.datasource.write.precombine.field=ts\n"
        "hoodie.datasource.write.payload.class=org.apache.hudi.common.model.DefaultHoodieRecordPayload\n",
        "patterns": "hoodie.compaction.partition.path.regex=a/.*|b\\\\d{1,3}\nhoodie.write.lock.provider= \n"
        "hoodie.compaction.strategy=a.b.UnBoundedCompactionStrategy\nhoodie.layout.optimize.strategy=z-order\n",
        "warned": "hoodie.partition.ttl.inline=true\nhoodie.datasource.hive_sync.enable=false\nhoodie.metrics.x=y\n"
        "hoodie.datasource.write.commitmeta.key.prefix=my.\nmy.checkpoint=1\n",
    }
    for number, (name, text) in enumerate(options.items()):
        keep("options", name, bytes([number]) + text.encode())


def tables() -> Iterator[tuple[str, mortice.Table]]:
    names = [
        "h10_types",
        "h12_bootstrap_mor",
        "h12_cdc_bucket_data_before",
        "h12_moved_partitions",
        "h009_upsert_delete",
    ]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(next((TESTS / "data" / name).glob("**/table.zip"))).extractall(folder)
            roots = [path.parent for path in pathlib.Path(folder).rglob(".hoodie")]
            yield name, mortice.Table(min(roots, key=lambda path: len(path.parts)))


def keep_splits() -> None:
    """Snapshots, changes and incremental queries, at an address that is the same wherever the seeds are made."""
    for name, table in tables():
        scans = {"snapshot": table.snapshot(), "incremental": table.incremental("000")}
        if "cdc" in name:
            scans["changes"] = table.changes("000")
        for kind, scan in scans.items():
            split = min((one.to_bytes() for one in scan.splits()), key=len)
            parts = json.loads(split.replace(str(table.uri).encode(), b"/t"))
            query, alone = (json.dumps({"form": parts["form"], one: parts[one]}) for one in ("query", "split"))
            if name in ("h10_types", "h12_cdc_bucket_data_before"):
                keep("split", f"{name}-{kind}", b"\1" + json.dumps(parts).encode())
            elif kind == "snapshot":
                keep("split", f"{name}-{kind}", b"\2" + with_length(query) + alone.encode())
    keep("split", "query", b"\0" + query.encode())


def keep_payloads() -> None:
    """What driver and tasks of a write send each other, and the plan of a merge."""
    sys.path.insert(0, str(TESTS))
    from hostile.payloads import write_in_stages
    from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, new_table

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "t"
        new_table(root, 9, "MERGE_ON_READ").upsert(FIRST, NO_SMALL_FILES)

        def send(name: str, payload: bytes) -> bytes:
            seed = payload.replace(str(root).encode(), b"/t")
            if name == "report":
                keep("write_state", f"report-{next(iter(json.loads(seed)))}", b"\1" + seed)
            elif name.endswith(("tag", "read_keys", "route", "write")):
                keep("write_state", name.replace(" ", "-"), b"\0" + seed)
            return payload

        write_in_stages(root, "upsert", CHANGED, send)
        given = ["id", "city", "ts", "fare"]
        plan = _mortice.MergePlan(str(root), {}, given, (None, ["fare"], "insert"), {}, False)
        keep("split", "merge", b"\3" + plan.to_bytes().replace(str(root).encode(), b"/t"))


def keep_all() -> None:
    keep_metadata_and_properties()
    keep_schemas()
    keep_filters()
    keep_options()
    keep_splits()
    keep_payloads()
