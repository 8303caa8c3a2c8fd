"""Table services: what keeps a table small and fast, apart from writes."""
