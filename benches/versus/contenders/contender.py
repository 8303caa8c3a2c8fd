"""The interface of contenders. There is one file for each; `versus.contenders` lists them.

A contender declares the kinds of queries that it supports and its environment. It is started in a separate process, and
then runs queries. A query is a dict:

    kind      decode: all records of log files. read, count, aggregate, as_of, incremental, lookup: rows of a table.
              plan: the files of a table. upsert, insert, bulk_insert: rows are written. compact: logs are merged
              into base files. limit kinds: see contenders/limits.py
    path      the table
    columns   names, or None for all
    logs, bases           its log files and base files
    instant, begin, key   for as_of, incremental (exclusive), lookup
    metadata  for plan: whether the metadata table is used
    release   the release of Hudi that wrote the table
    rows      for writes of rows: the directory of their Parquet files. For all writes, `path` is a fresh copy of the
              table, or a table that does not exist yet
    table     for writes: the parameters of the result (see tables.Table)

Unsupported queries raise `NotSupported` with a reason, which the report shows instead of a time.
"""

from abc import ABC, abstractmethod

READS = ("read", "count", "aggregate", "as_of", "incremental", "lookup")
WRITES = ("upsert", "insert", "bulk_insert", "compact")


class NotSupported(Exception):  # noqa: N818
    """A contender does not support the query; the message says why."""


class Contender(ABC):
    """A reader or writer that runs queries. All methods below `command` run in its own process."""

    name: str
    home = "main"
    kinds: tuple[str, ...] = ()
    is_limit = False
    """Whether it is a lower bound instead of a reader: its rows are not compared."""
    is_other_format = False
    """Whether it writes tables that Hudi cannot read: its rows are not compared."""

    def refuses(self, query):  # noqa: ARG002
        """Returns why it does not support the query, if that is known in advance; otherwise an empty string."""
        return ""

    def command(self):  # noqa: B027
        """Returns the command of its process, with the protocol of `versus.worker`; None for the Python worker."""

    def start(self, cores):  # noqa: B027
        """Called once, before any query. The process may use `cores` cores, and is bound to them already."""

    @abstractmethod
    def version(self):
        """Returns the version of the software."""

    def prepare(self, query):  # noqa: B027
        """Not timed: prepares arguments that other contenders find themselves, and the rows that are to be written."""

    @abstractmethod
    def run(self, query):
        """Timed: reads the rows and drops them, or writes them. Returns their number, or None if it is unknown."""

    def answer(self, query, path):  # noqa: ARG002
        """Writes the rows that were read as a Parquet file or a directory of such."""
        raise NotSupported("its rows are not compared")
