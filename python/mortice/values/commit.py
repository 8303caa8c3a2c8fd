"""What a write did."""

from mortice._mortice import Commit, FileGroupStats, RowError, SchemaChange
from mortice.values.other_names import answering

__all__ = ["Commit", "FileGroupStats", "RowError", "SchemaChange"]

answering(Commit)
