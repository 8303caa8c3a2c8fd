"""Helpers that the tests share. README.md lists them."""
