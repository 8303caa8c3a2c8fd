"""Reports of tasks come from other processes: what they cannot have reported is refused, and nothing is committed."""

import json

import pytest

import mortice
from hostile.payloads import write_in_stages
from mortice import InvalidArgumentError
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, content, new_table


@pytest.fixture
def table(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_SMALL_FILES)
    return table


def changing(kind, change):
    """Returns what sends reports of a kind with their values changed."""

    def send(_, payload):
        message = json.loads(payload)
        if kind not in message:
            return payload
        change(message[kind])
        return json.dumps(message).encode()

    return send


def claim_many_rows(report):
    for one in report["classes"]:
        one["rows"] = 2**40


def claim_more_than_were_sent(report):
    report["placed"]["rows"] = 2**40
    claim_many_rows({"classes": report["classes"][:1]})


def forget_a_field(report):
    del report["source"]


@pytest.mark.parametrize("change", [claim_many_rows, claim_more_than_were_sent, forget_a_field])
def test_an_impossible_report_is_refused(table, change):
    before = content(mortice.Table(table.uri))
    with pytest.raises(InvalidArgumentError, match="report of"):
        write_in_stages(table.uri, "insert", CHANGED, changing("Placed", change))
    assert content(mortice.Table(table.uri)) == before


def test_reports_as_they_are_are_accepted(table, tmp_path):
    write_in_stages(table.uri, "upsert", CHANGED)
    other = new_table(tmp_path / "other")
    other.upsert(FIRST, NO_SMALL_FILES)
    other.upsert(CHANGED, NO_SMALL_FILES)
    assert content(mortice.Table(table.uri)) == content(mortice.Table(other.uri))
