"""The tables of `tests/data/upgrades`, before Hudi brought them to another version."""

import pathlib
import tarfile

import mortice

HUDI = pathlib.Path(__file__).parents[2] / "data" / "upgrades"


def decompressed(name, folder):
    """Returns a table in a folder, with the times of its files."""
    with tarfile.open(HUDI / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return mortice.Table(folder)
