"""Tables for other engines."""
