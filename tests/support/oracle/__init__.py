"""What Hudi's merging makes of one file slice, written to be read and not to be fast: dicts, one row at a time.

    model      the table's settings, the slice: base rows and log blocks, and a record on its way through the merge
    ordering   ordering values, as the Java values that Hudi compares
    deletes    which rows of a log are deletes
    rules_1x   who wins under Hudi 1.x
    rules_0x   who wins under Hudi 0.x
    payloads   what the payload classes make of two records
    filling    rows made of several records, field by field
    merge      the walk over the slice

It shares nothing with the core but the rules. Where Hudi itself fails, `HudiFails` says so: then there is no answer to
compare with.
"""

from support.oracle.merge import deleted_keys, merged, skip_merged
from support.oracle.model import DataBlock, DeleteBlock, Field, Merging
from support.oracle.ordering import HudiFails, Value

__all__ = [
    "DataBlock",
    "DeleteBlock",
    "Field",
    "HudiFails",
    "Merging",
    "Value",
    "deleted_keys",
    "merged",
    "skip_merged",
]
