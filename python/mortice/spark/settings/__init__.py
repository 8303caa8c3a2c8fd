"""Options of reads, streams and writes, and the settings of the session."""
