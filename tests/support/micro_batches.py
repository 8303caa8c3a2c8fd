"""Drives a stream reader as Spark does, without Spark, so that a query can be killed at any point.

The end of a batch is recorded before the batch runs, and its completion after its rows have been returned. A restarted
query repeats the batch that was recorded and not completed. Offsets are passed as JSON, the reader is pickled for the
tasks.
"""

import json
import pickle

import pyarrow as pa
from pyspark import cloudpickle

from pyspark_mortice import DefaultSource

POINTS = ("before offset", "after offset", "half read", "before commit", None)
"""Points at which a query can be killed; at None it is not."""


class Killed(Exception):  # noqa: N818
    """The query was killed."""


class MicroBatches:
    """A query with its checkpoint.

    `schema`: the schema that the user passes to Spark, if any. `is_old`: behaves like Spark 4.0 and 4.1, which pass
    neither start nor limit.
    """

    def __init__(self, path, is_old=False, schema=None, **options):
        self.options = {"path": str(path)} | {name.lower(): str(value) for name, value in options.items()}
        self.is_old, self.given = is_old, schema
        self.starts, self.ends, self.batches = [], [], []
        """The checkpoint: start and end of each batch, and the rows of completed batches."""
        self.reader = None

    def start(self, available_now=False):
        """Starts or restarts the query."""
        source = DefaultSource(self.options)
        self.schema = self.given or source.schema()
        self.reader = source.streamReader(self.schema)
        self.is_bounded = available_now
        if self.is_old and self.ends:
            assert self.reader.partitions(self._json(self.ends[-1]), self._json(self.ends[-1])) == []
        if available_now and not self.is_old:
            self.reader.prepareForTriggerAvailableNow()
        return self

    def trigger(self, kill_at=None):
        """Runs one trigger. Returns true if there was a batch."""
        if len(self.ends) == len(self.batches):
            end = self._latest()
            self._die(kill_at, "before offset")
            if self.ends and json.dumps(end) == json.dumps(self.ends[-1]):
                return False
            self.ends.append(end)
        self._die(kill_at, "after offset")
        self._run(kill_at)
        return True

    def run(self):
        """Runs triggers until there is no batch."""
        while self.trigger():
            pass
        return self

    def _latest(self):
        if self.is_old:
            return self._json(self.reader.latestOffset())
        start = self._json(self.ends[-1] if self.ends else self.reader.initialOffset())
        return self._json(self.reader.latestOffset(start, self.reader.getDefaultReadLimit()))

    def _run(self, kill_at):
        number = len(self.batches)
        start = self.ends[number - 1] if number else self.reader.initialOffset()
        partitions = self.reader.partitions(self._json(start), self._json(self.ends[number]))
        task = pickle.loads(cloudpickle.dumps(self.reader))
        batches = []
        for at, partition in enumerate(partitions):
            batches += task.read(pickle.loads(pickle.dumps(partition)))
            if at >= len(partitions) // 2:
                self._die(kill_at, "half read")
        self._die(kill_at, "before commit")
        self.batches.append(pa.Table.from_batches(batches, schema=task._target))
        self.reader.commit(self._json(self.ends[number]))

    def _die(self, kill_at, point):
        if kill_at == point:
            self.reader.stop()
            self.reader = None
            raise Killed

    @property
    def ranges(self):
        """The ranges (after, until] of the completed batches, according to their offsets."""
        facts = [(end.get("after"), end["instant"]) for end in self.ends[: len(self.batches)]]
        return [(after, until) for after, until in facts if after is not None]

    @property
    def rows(self):
        """The rows of all completed batches."""
        return pa.concat_tables(self.batches)

    @staticmethod
    def _json(offset):
        return json.loads(json.dumps(offset))
