"""Values and errors: what has no table."""
