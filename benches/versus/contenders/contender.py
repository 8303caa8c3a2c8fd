"""The interface of contenders. One file for each; `versus.contenders` lists them.

A contender says which kinds of query it takes part in and where it lives. In a process of its own it is started, and
then runs queries. A query is a dict:

    kind      decode: all records of log files. read, count, aggregate, as_of, incremental, lookup: rows of a table.
              plan: the files of a table. limit kinds: see contenders/limits.py
    path      the table
    columns   names, or None for all
    logs, bases           its log files and base files
    instant, begin, key   of time travel, of an incremental query (exclusive), of a look-up
    metadata  of plan: whether the metadata table is asked
    release   of Hudi that wrote the table

What cannot be done is raised as `Cannot` with a reason, which is shown in the place of a time.
"""

from abc import ABC, abstractmethod

READS = ("read", "count", "aggregate", "as_of", "incremental", "lookup")


class Cannot(Exception):  # noqa: N818
    """A contender does not do what is asked; its message says why."""


class Contender(ABC):
    """Somebody who answers queries. All below `command` happens in its own process."""

    name: str
    home = "main"
    kinds: tuple[str, ...] = ()
    is_limit = False
    """Whether it is no rival but what bounds all of them: its rows are not compared."""

    def refuses(self, query):  # noqa: ARG002
        """Why it does not do what is asked, where that is known without trying; empty: it tries."""
        return ""

    def command(self):  # noqa: B027
        """What to start in the place of the Python worker, which speaks as `versus.worker` does; None: that worker."""

    def start(self, cores):  # noqa: B027
        """Once, before any query. The process may use `cores` cores; it is bound to them already."""

    @abstractmethod
    def version(self):
        """Of the software, as text."""

    def prepare(self, query):  # noqa: B027
        """What is not timed: arguments that a rival needs and others find by themselves."""

    @abstractmethod
    def run(self, query):
        """What is timed: the answer is made and let go. Returns how many rows there were, or None where nobody says."""

    def answer(self, query, path):  # noqa: ARG002
        """Writes the rows of the answer as a Parquet file or folder of such."""
        raise Cannot("its rows are not compared")
