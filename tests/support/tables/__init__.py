"""Writers of tables and log files for the tests."""
