"""Every payload class and record merger of Hudi 0.15.0 and 1.2.0 is either supported, or refused by name.

`tests/support/hudi/payload_classes.py` reads the lists in `data/payload_classes` from the jars, and
`tests/spark/test_shipped_classes.py` compares them with the jars.
"""

import re

import pytest

import mortice
from support.cases import with_properties
from support.hudi.payload_classes import RELEASES, listed_classes
from support.oracle import DataBlock, Field, Merging
from support.oracle.model import CUSTOM
from support.tables.table_writer import Slice, with_meta, write_table

MODEL, METADATA = "org.apache.hudi.common.model.", "org.apache.hudi.metadata."
COMMAND = "org.apache.spark.sql.hudi.command."
MERGED = {
    "org.apache.hudi.payload.AWSDmsAvroPayload",
    f"{MODEL}AWSDmsAvroPayload",
    f"{MODEL}DefaultHoodieRecordPayload",
    f"{MODEL}EmptyHoodieRecordPayload",
    f"{MODEL}EventTimeAvroPayload",
    f"{MODEL}OverwriteNonDefaultsWithLatestAvroPayload",
    f"{MODEL}OverwriteWithLatestAvroPayload",
    f"{MODEL}PartialUpdateAvroPayload",
    f"{MODEL}debezium.MySqlDebeziumAvroPayload",
    f"{MODEL}debezium.PostgresDebeziumAvroPayload",
}
MERGED_UNDER_0_X = {f"{MODEL}FirstValueAvroPayload"}
MERGED_IN_METADATA_TABLES = {f"{METADATA}HoodieMetadataPayload"}
REFUSED = {
    "org.apache.hudi.client.bootstrap.BootstrapRecordPayload",
    "org.apache.hudi.common.HoodieJsonPayload",
    f"{MODEL}HoodieAvroPayload",
    f"{MODEL}ReverseOrderHoodieRecordPayload",
    f"{MODEL}RewriteAvroPayload",
    f"{METADATA}EmptyHoodieRecordPayloadWithPartition",
    f"{COMMAND}ValidateDuplicateKeyPayload",
    f"{COMMAND}payload.ExpressionPayload",
}
# Values of `getMergingStrategy`: the merge modes, and `HoodieSparkValidateDuplicateKeyRecordMerger` of SQL inserts.
EVENT_TIME_ID, COMMIT_TIME_ID = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5", "ce9acb64-bde0-424c-9b91-f6ebba25356d"
PAYLOAD_BASED_ID, NO_DUPLICATES_ID = "00000000-0000-0000-0000-000000000000", "fb092649-0fdc-4c14-9113-acde3034a6c4"

SHIPPED = {release: listed_classes(release) for release in RELEASES}
PAYLOADS = sorted({row[1] for rows in SHIPPED.values() for row in rows if row[0] == "payload"})
STRATEGIES = sorted({row[2] for rows in SHIPPED.values() for row in rows if row[0] == "merger"})

FIELDS = (Field("id", "string"), Field("x", "string"), Field("ts", "long"))
LATEST = "OverwriteWithLatestAvroPayload"


def table(folder, version, properties):
    """Writes a base row, and a log row with a greater ordering value."""
    base = (with_meta({"id": "k", "x": "base", "ts": 1}, "k", 0, 0),)
    log = DataBlock((with_meta({"id": "k", "x": "log", "ts": 2}, "k", 1, 0),))
    merging = Merging(FIELDS, CUSTOM, ("ts",), LATEST)
    path = write_table(folder / "table", merging, version, Slice(base, ((log,),)))
    with_properties(folder / "table", properties)
    return path


def rows(path, semantics):
    return [
        row["x"]
        for row in mortice.Table(path, read_options=mortice.ReadOptions(semantics=semantics))
        .snapshot()
        .to_arrow()
        .to_pylist()
    ]


def test_every_class_is_listed_here():
    assert set(PAYLOADS) == MERGED | MERGED_UNDER_0_X | MERGED_IN_METADATA_TABLES | REFUSED


@pytest.mark.parametrize(("version", "semantics"), [(6, "0.x"), (6, "1.x"), (8, "1.x"), (9, "1.x")])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_class_is_merged_or_refused_by_name(tmp_path, payload, version, semantics):
    path = table(tmp_path, version, {"hoodie.compaction.payload.class": payload})
    if payload in MERGED or (payload in MERGED_UNDER_0_X and semantics == "0.x"):
        assert rows(path, semantics) == ([] if payload.endswith("EmptyHoodieRecordPayload") else ["log"])
        return
    with pytest.raises(mortice.UnsupportedError, match=rf"{re.escape(payload)}.*register_merger.*read_optimized"):
        rows(path, semantics)
    taken = (
        mortice.Table(path, read_options=mortice.ReadOptions(semantics=semantics))
        .read_optimized()
        .to_arrow()["x"]
        .to_pylist()
    )
    assert taken == ["base"]
    mortice.register_merger(payload, lambda older, newer: (older, [True] * len(older)))
    try:
        assert rows(path, semantics) == ["base"]
    finally:
        mortice.register_merger(payload, None)


@pytest.mark.parametrize("mode", ["CUSTOM", None])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_record_merger_is_a_merge_mode_or_refused_by_id(tmp_path, strategy, mode):
    """Tables store the id of a merger, not its class."""
    stored = {"hoodie.record.merge.strategy.id": strategy, "hoodie.record.merge.mode": mode}
    payloads = {EVENT_TIME_ID: f"{MODEL}DefaultHoodieRecordPayload"}
    path = table(tmp_path, 8, stored | {"hoodie.compaction.payload.class": payloads.get(strategy, MODEL + LATEST)})
    if strategy != NO_DUPLICATES_ID:
        assert strategy in {EVENT_TIME_ID, COMMIT_TIME_ID, PAYLOAD_BASED_ID}
        assert rows(path, "1.x") == ["log"]
        return
    with pytest.raises(mortice.UnsupportedError, match=rf"{strategy}.*register_merger.*read_optimized"):
        rows(path, "1.x")
    mortice.register_merger(strategy, lambda older, newer: (older, [True] * len(older)))
    try:
        assert rows(path, "1.x") == ["base"]
    finally:
        mortice.register_merger(strategy, None)
