"""Hudi itself for the tests: fetched, driven, and asked for what it ships."""
