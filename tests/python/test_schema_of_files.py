"""Tables without a schema in their commits: the schema of the last files is used, read backwards from logs."""

import fastavro

import mortice
from support.cases import assert_same_result, hudi_result

NAME = "h10_bucket_log_only"


def without_schemas(path):
    """Removes the schema from every commit and from the table's properties."""
    for commit in (path / ".hoodie" / "timeline").glob("*_*.deltacommit"):
        with commit.open("rb") as file:
            reader = fastavro.reader(file)
            schema, records = reader.writer_schema, list(reader)
        for record in records:
            del record["extraMetadata"]["schema"]
        with commit.open("wb") as file:
            fastavro.writer(file, schema, records, codec="deflate")
    properties = path / ".hoodie" / "hoodie.properties"
    lines = properties.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("hoodie.table.create.schema")]
    properties.write_text("\n".join(kept) + "\n", encoding="utf-8")


def test_a_table_of_log_files_only(copy_of):
    path = copy_of(NAME)
    without_schemas(path)
    table = mortice.Table(path)
    assert table.schema.names == hudi_result(NAME).schema.names
    assert_same_result(hudi_result(NAME), table.snapshot().to_arrow())


def test_a_table_with_base_files(copy_of):
    path = copy_of("h11_event_time_deletes")
    without_schemas(path)
    assert_same_result(hudi_result("h11_event_time_deletes"), mortice.Table(path).snapshot().to_arrow())
