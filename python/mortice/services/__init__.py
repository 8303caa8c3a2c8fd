"""Table services: actions on a table that are not writes of rows."""
