"""Queries and their results."""
