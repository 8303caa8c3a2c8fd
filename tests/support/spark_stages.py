"""Whether tasks of Spark have written files."""

import pathlib
import re

TOKEN = re.compile(r"_(\d+)-(\d+)-(\d+)(?:_\d+\.parquet)?$")
"""Names of files end with task, stage and attempt; those of base files with an instant besides."""
MOST_TASKS = 1 << 20
"""Spark counts the attempts of a session. Writes of one process have random numbers of 31 bits."""


def is_written_by_tasks(spark, paths):
    """Returns whether attempts of tasks of this session have written all files."""
    tokens = [TOKEN.search(pathlib.Path(path).name) for path in paths]
    assert tokens
    assert all(tokens), paths
    tracker = spark.sparkContext.statusTracker()
    return all(int(token[3]) < MOST_TASKS and tracker.getStageInfo(int(token[2])) is not None for token in tokens)
