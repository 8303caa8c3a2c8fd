"""What Spark itself takes to read anything through Python: tasks that do nothing, and batches that need not be read.

What mortice takes on Spark beyond the second is mortice's own.
"""

from versus.contenders.contender import Contender
from versus.contenders.mortice_spark import MorticeMapInArrow

READINGS = 4
"""Runs that fill the memory of workers: which of them gets which task changes from run to run."""


class ReadyBatches(MorticeMapInArrow):
    """The batches of mortice's tasks are in the memory of the Python workers."""

    name = "batches ready in the worker"
    kinds = ("read", "aggregate")
    is_limit = True

    def start(self, cores):
        from mortice.spark import data_frame
        from versus.contenders.ready_batches import ReadyDescriptors

        data_frame.ReadDescriptors = ReadyDescriptors
        super().start(cores)

    def prepare(self, query):
        for _ in range(READINGS):
            self.run(query)

    def answer(self, query, path):
        return Contender.answer(self, query, path)


class EmptyTasks(MorticeMapInArrow):
    """As many tasks as mortice has for the query, and nothing in them."""

    name = "empty Python tasks"
    kinds = ("read", "aggregate")
    is_limit = True

    def prepare(self, query):
        self.tasks = self.frame(query).rdd.getNumPartitions()

    def run(self, query):  # noqa: ARG002 (all queries of so many tasks are the same)
        from versus.contenders.ready_batches import empty

        frame = self.spark.range(0, self.tasks, 1, self.tasks).mapInArrow(empty, "id long")
        frame.write.format("noop").mode("overwrite").save()

    def answer(self, query, path):
        return Contender.answer(self, query, path)
