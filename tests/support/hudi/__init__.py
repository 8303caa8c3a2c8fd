"""Hudi's jars, readers, writers and payload classes for the tests."""
