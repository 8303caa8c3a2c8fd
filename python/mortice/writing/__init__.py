"""Writes of rows."""
