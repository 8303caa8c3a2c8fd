"""The overhead of Spark for any Python reader: tasks that do nothing, and batches that are in memory already.

The time of mortice on Spark in addition to the latter is mortice's own.
"""

from versus.contenders.contender import Contender
from versus.contenders.mortice_spark import MorticeMapInArrow

READINGS = 4
"""Runs that fill the memory of workers: tasks are assigned to different workers in each run."""


class ReadyBatches(MorticeMapInArrow):
    """The batches of mortice's tasks are in the memory of the Python workers."""

    name = "batches ready in the worker"
    kinds = ("read", "aggregate")
    is_limit = True

    def start(self, cores):
        from mortice.spark.execution import data_frame
        from versus.contenders.ready_batches import ReadyDescriptors

        data_frame.ReadDescriptors = ReadyDescriptors
        super().start(cores)

    def prepare(self, query):
        for _ in range(READINGS):
            self.run(query)

    def answer(self, query, path):
        return Contender.answer(self, query, path)


class EmptyTasks(MorticeMapInArrow):
    """The same number of tasks as mortice for the query, without work."""

    name = "empty Python tasks"
    kinds = ("read", "aggregate")
    is_limit = True

    def prepare(self, query):
        self.tasks = self.frame(query).rdd.getNumPartitions()

    def run(self, query):  # noqa: ARG002 (the query does not matter)
        from versus.contenders.ready_batches import empty

        frame = self.spark.range(0, self.tasks, 1, self.tasks).mapInArrow(empty, "id long")
        frame.write.format("noop").mode("overwrite").save()

    def answer(self, query, path):
        return Contender.answer(self, query, path)
