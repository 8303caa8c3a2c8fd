"""Tables whose schema is changed after their files were written: the files then declare other types."""

import json
from pathlib import Path

import fastavro


def avro(logical):
    """A nullable Avro type of a logical type of numbers."""
    return ["null", {"type": "long", "logicalType": logical}]


def declare(path, types):
    """Gives columns other Avro types in all commits of the table; its files stay."""

    def changed(text):
        schema = json.loads(text)
        for field in schema["fields"]:
            field["type"] = types.get(field["name"], field["type"])
        return json.dumps(schema)

    commits = [one for one in (Path(path) / ".hoodie").rglob("*commit") if one.stat().st_size and one.is_file()]
    for commit in commits:
        if commit.read_bytes()[:1] == b"{":
            content = json.loads(commit.read_bytes())
            content["extraMetadata"]["schema"] = changed(content["extraMetadata"]["schema"])
            commit.write_text(json.dumps(content), encoding="utf-8")
            continue
        with commit.open("rb") as file:
            reader = fastavro.reader(file)
            of_metadata, records = reader.writer_schema, list(reader)
        for record in records:
            record["extraMetadata"]["schema"] = changed(record["extraMetadata"]["schema"])
        with commit.open("wb") as file:
            fastavro.writer(file, of_metadata, records, codec="deflate")
    properties = Path(path) / ".hoodie" / "hoodie.properties"
    lines = properties.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("hoodie.table.create.schema")]
    properties.write_text("\n".join(kept) + "\n", encoding="utf-8")
