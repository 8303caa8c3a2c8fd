"""Record keys and partition paths of each of Hudi's key generators, by numbers of fields, as Hudi makes them."""

import pyarrow as pa
import pytest

import mortice

ROW = {"id": "a", "sub": 1, "city": "x", "day": "d", "st": {"k": "n"}, "ts": 1}
COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("sub", pa.int64()),
        ("city", pa.string()),
        ("day", pa.string()),
        ("st", pa.struct([("k", pa.string())])),
        ("ts", pa.int64()),
    ]
)
CLASSES = {
    "SIMPLE": "SimpleKeyGenerator",
    "COMPLEX": "ComplexKeyGenerator",
    "NON_PARTITION": "NonpartitionedKeyGenerator",
    "CUSTOM": "CustomKeyGenerator",
    "GLOBAL_DELETE": "GlobalDeleteKeyGenerator",
}
# What Hudi's classes make of the row: the key of one field has its name or not, that of several has the names.
GENERATED = [
    (kind, keys, parts, key, "/".join(path for path in parts))
    for kind, numbers in {
        "SIMPLE": ([1], [1]),
        "COMPLEX": ([1, 2], [0, 1, 2]),
        "NON_PARTITION": ([1, 2], [0]),
        "CUSTOM": ([1, 2], [0, 1, 2]),
        "GLOBAL_DELETE": ([1, 2], [0]),
    }.items()
    for keys, plain, named in [
        (["id"], "a", "id:a"),
        (["sub"], "1", "sub:1"),
        (["st.k"], "n", "st.k:n"),
        (["id", "sub"], "id:a,sub:1", "id:a,sub:1"),
    ]
    for parts in ([], ["city"], ["city", "day"])
    if len(keys) in numbers[0] and len(parts) in numbers[1]
    for key in [named if kind in {"COMPLEX", "GLOBAL_DELETE"} else plain]
]


def created(path, kind, keys, parts, version):
    partition_by = [f"{name}:SIMPLE" for name in parts] if kind == "CUSTOM" else parts
    class_name = f"org.apache.hudi.keygen.{CLASSES[kind]}"
    named = {"hoodie.table.keygenerator.type": kind} if version > 7 else {"hoodie.table.keygenerator.class": class_name}
    table = mortice.create_table(
        str(path), COLUMNS, name="t", record_key=keys, partition_by=partition_by, version=version, properties=named
    )
    return table, {
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.write.keygenerator.class": class_name,
        "hoodie.datasource.write.recordkey.field": ",".join(keys),
        "hoodie.datasource.write.partitionpath.field": ",".join(partition_by),
    }


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("kind", CLASSES)
def test_each_key_generator_writes_the_keys_of_hudi(tmp_path, kind, version):
    for at, (_, keys, parts, key, _) in enumerate(one for one in GENERATED if one[0] == kind):
        table, options = created(tmp_path / str(at), kind, keys, parts, version)
        rows = pa.Table.from_pylist([ROW], schema=COLUMNS)
        for _ in range(2):
            table.upsert(rows, options)
        found = mortice.Table(table.uri).snapshot(["_hoodie_record_key", "_hoodie_partition_path"]).to_arrow()
        assert found.to_pylist() == [
            {"_hoodie_record_key": key, "_hoodie_partition_path": "/".join(ROW[name] for name in parts)}
        ], (keys, parts)


@pytest.mark.parametrize("version", [8, 6])
@pytest.mark.parametrize(("keys", "value"), [("id", "a"), ("sub", "1"), ("id", "id:a")])
@pytest.mark.parametrize("names_field", [True, False])
def test_complex_keys_of_one_field_are_as_the_stored_ones(tmp_path, keys, value, names_field, version):
    table, options = created(tmp_path / "t", "COMPLEX", [keys], ["city", "day"], version)
    rows = pa.Table.from_pylist([{**ROW, keys: int(value) if keys == "sub" else value}], schema=COLUMNS)
    encoding = "hoodie.write.complex.keygen.new.encoding"
    table.upsert(rows, {**options, encoding: str(not names_field).lower()})
    # Neither an option nor the table says how keys are written: they update the stored row.
    for _ in range(2):
        assert mortice.Table(table.uri).upsert(rows, options).inserts == 0
    found = mortice.Table(table.uri).snapshot(["_hoodie_record_key"]).to_arrow().to_pylist()
    assert found == [{"_hoodie_record_key": f"{keys}:{value}" if names_field else value}]
