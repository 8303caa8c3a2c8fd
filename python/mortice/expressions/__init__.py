"""Filters: text, terms, and expressions of pyarrow and polars, which the native module has in one form."""
