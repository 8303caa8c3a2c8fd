"""What a table needs, what has happened to it, and how it looks. `Table` has these functions as methods."""
