"""`python -m mortice`: the same as the command `mortice`."""

import sys

from mortice.cli import main

if __name__ == "__main__":
    sys.exit(main())
