"""What Spark runs: tasks of splits, the code on its executors, and what they report."""
