"""Writes: the steps of a write, streams, inserts of the data source, compactions."""
