"""Tables and log files that the tests write."""
