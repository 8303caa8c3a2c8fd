"""Filters and expressions: text, terms, and expressions of pyarrow and polars, in one form."""
