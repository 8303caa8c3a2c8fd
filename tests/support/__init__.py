"""What the tests share; README.md lists it."""
