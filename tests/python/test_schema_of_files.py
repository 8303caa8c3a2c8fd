"""A table whose commits hold no schema: that of its files is taken, of logs from their ends."""

import fastavro

import mortice
from support.cases import answer, assert_same_answer

NAME = "h10_bucket_log_only"


def without_schemas(path):
    """Takes the schema out of every commit and of the table's properties."""
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


def test_a_table_of_logs_alone(copy_of):
    path = copy_of(NAME)
    without_schemas(path)
    table = mortice.Table(path)
    assert table.schema.names == answer(NAME).schema.names
    assert_same_answer(answer(NAME), table.snapshot().to_arrow())


def test_a_table_with_base_files(copy_of):
    path = copy_of("h11_event_time_deletes")
    without_schemas(path)
    assert_same_answer(answer("h11_event_time_deletes"), mortice.Table(path).snapshot().to_arrow())
