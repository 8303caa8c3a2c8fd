"""The recipe that writes events of Kafka to a table, with a broker: `make test-kafka`."""

import pathlib

import pyspark
import pytest

from support import kafka
from support.session_steps import steps_of

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not pyspark.__version__.startswith("3.5."), reason="Spark's source is fetched for Spark 3.5"),
    pytest.mark.skipif(kafka.why_missing() is not None, reason=str(kafka.why_missing())),
]
SCRIPT = pathlib.Path(__file__).with_name("kafka_session.py")


def test_events_are_in_the_table_once(tmp_path):
    topics = tmp_path / "kafka"
    topics.mkdir()
    with kafka.broker(topics) as address:
        found = steps_of(SCRIPT, address, tmp_path, timeout=500)
    assert found["first"]["rows"] == [["a", 1, 1.0], ["b", 1, 2.0], ["c", 1, 3.0]]
    later = [["a", 2, 9.0], ["b", 1, 2.0], ["c", 1, 3.0], ["d", 2, 4.0]]
    assert found["later"]["rows"] == later
    # A query with a checkpoint goes on where it was.
    assert found["nothing new"] == {"rows": later, "commits": found["later"]["commits"]}
