"""Reads: DataFrames, counts and streams."""
