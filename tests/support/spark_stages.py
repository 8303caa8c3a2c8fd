"""Whether tasks of Spark have written files."""

import pathlib
import re

TOKEN = re.compile(r"_(\d+)-(\d+)-(\d+)(?:_\d+\.parquet)?$")
"""Names of files end with task, stage and attempt; those of base files with an instant besides."""
MOST_TASKS = 1 << 20
"""Spark counts the attempts of a session. Writes of one process have random numbers of 31 bits."""


def is_written_by_tasks(spark, paths):
    """Returns whether attempts of tasks of this session have written all files."""
    tracker = spark.sparkContext.statusTracker()
    return all(tracker.getStageInfo(stage) is not None for stage, _ in stages_and_attempts(paths)) and has_attempts(
        paths
    )


def has_attempts(paths):
    """Returns whether the names of all files have attempts of Spark: for Spark Connect, whose stages are not known."""
    return all(attempt < MOST_TASKS for _, attempt in stages_and_attempts(paths))


def stages_and_attempts(paths):
    tokens = [TOKEN.search(pathlib.Path(path).name) for path in paths]
    assert tokens
    assert all(tokens), paths
    return [(int(token[2]), int(token[3])) for token in tokens]
