"""A reference implementation of Hudi's merge of one file slice, one row at a time, readable rather than fast.

    model      the table's settings, the slice: base rows and log blocks, and a record during the merge
    ordering   ordering values as the Java values that Hudi compares
    deletes    delete detection in log records
    rules_1x   merge rules of Hudi 1.x
    rules_0x   merge rules of Hudi 0.x
    payloads   how payload classes combine two records
    filling    rows combined from several records, field by field
    merge      the merge of the slice

It shares no code with the core. If Hudi itself fails, `HudiFails` is raised: there is no result to compare with.
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
