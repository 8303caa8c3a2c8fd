"""The columns and kinds of chunks, as `rust/client/src/distributed/chunk.rs` has them."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["ORDER", "REPORT", "SCHEMA", "SPARK_SCHEMA", "WANTED"]

NUMBERS = ("slot", "target", "kind", "source", "number")
CONTENTS = ("report", "data")
SCHEMA = pa.schema(
    [*(pa.field(name, pa.int32()) for name in NUMBERS), *(pa.field(name, pa.binary()) for name in CONTENTS)]
)
SPARK_SCHEMA = ", ".join([*(f"{name} int" for name in NUMBERS), *(f"{name} binary" for name in CONTENTS)])
ORDER = ("target", "kind", "source", "number")
"""Chunks of a slot come in this order."""
REPORT, WANTED = 5, 3
"""Kinds of chunks: what a task reports, and keys whose stored rows are to be read."""
