"""The tables of the benchmarks: identified by their parameters, written by Hudi at first use, then kept.

A table is a bulk insert of all rows, then `commits` upserts, which together update `fraction` of the rows, each once.
Its name contains all parameters, so that a kept table is never confused with another. The input of write benchmarks is
kept as well: Parquet files of the rows of the last of these commits.
"""

import json
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from versus.homes import CACHE, bundle, environment, local_files, python_of

FOLDER = "tables"
"""Change this when `writing` generates different rows: kept tables are then written again."""
LATE = {"commits": 0, "fraction": 0.0, "only_rows": False}
"""The parameters of a table before its upserts."""


@dataclass(frozen=True)
class Table:
    """The parameters of a table. `shape` is one of `writing.SHAPES`; `partitions` 0: none; each has `groups` files.
    `metadata`: whether there is a metadata table, which contains the list of files only; `statistics`: column
    statistics, too. `only_rows`: the rows of the last commit in `groups` Parquet files, instead of a table."""

    rows: int
    shape: str = "wide"
    groups: int = 1
    partitions: int = 0
    commits: int = 0
    fraction: float = 0.0
    metadata: bool = False
    statistics: bool = False
    only_rows: bool = False
    release: str = "1.2.0"

    @property
    def name(self):
        """The name of the directory, with all parameters."""
        parts = [self.shape, f"{self.rows}r", f"{max(self.partitions, 1) * self.groups}f"]
        parts += [f"{self.partitions}p"] if self.partitions else []
        parts += [f"{self.fraction * 100:g}pc{self.commits}"] if self.commits else []
        parts += ["list"] if self.metadata else []
        parts += ["stats"] if self.statistics else []
        parts += ["rows"] if self.only_rows else []
        return "-".join([*parts, self.release])

    @property
    def base(self):
        """The same table before its upserts."""
        return replace(self, **LATE)

    @property
    def rows_alone(self):
        """The rows of its last commit: the input of the write that makes this table of the one before."""
        return replace(self, only_rows=True)

    @property
    def path(self):
        """The directory of the table."""
        return CACHE / FOLDER / self.name


class Written:
    """A written table: its files and instants, from its directory."""

    def __init__(self, table, path=None):
        self.table = table
        self.path = Path(path or table.path)

    @cached_property
    def files(self):
        """Data files with their sizes: {path: bytes}."""
        found = {}
        for folder, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if name != ".hoodie"]
            data = [name for name in names if name.endswith(".parquet") or _is_log(name)]
            found.update((path, path.stat().st_size) for path in (Path(folder, name) for name in data))
        return {str(path): size for path, size in sorted(found.items())}

    @property
    def logs(self):
        """Log files, sorted."""
        return [path for path in self.files if _is_log(Path(path).name)]

    @property
    def bases(self):
        """Base files, sorted."""
        return [path for path in self.files if not _is_log(Path(path).name)]

    @property
    def log_bytes(self):
        return sum(self.files[path] for path in self.logs)

    @property
    def base_bytes(self):
        return sum(self.files[path] for path in self.bases)

    @cached_property
    def instants(self):
        """Completed commits in order: (requested, completed), which are equal up to table version 7."""
        folder = self.path / ".hoodie" / "timeline"
        folder = folder if folder.is_dir() else self.path / ".hoodie"
        names = [path.name.split(".") for path in folder.iterdir()]
        times = [name[0] for name in names if name[1:] in (["deltacommit"], ["commit"])]
        return sorted((time.split("_")[0], time.split("_")[-1]) for time in times if time[:1].isdigit())


def copy_table(table, path):
    """Copies the table in one directory to another. Data files are linked, because no writer changes one."""
    shutil.copytree(table, path, copy_function=_copy)


def _copy(one, other):
    if "/.hoodie/" in str(one):
        return shutil.copy2(one, other)
    os.link(one, other)
    return other


def _is_log(name):
    return ".log." in name and not name.endswith(".crc")


def prepared(tables, say=print):
    """Returns the tables; writes missing ones with one Spark for each release of Hudi."""
    tables = list(dict.fromkeys(tables))
    missing = [table for table in tables if not table.path.is_dir()]
    for release in dict.fromkeys(table.release for table in missing):
        of_release = [asdict(table) for table in missing if table.release == release]
        say(f"Hudi {release} writes {len(of_release)} tables into {CACHE / FOLDER}")
        written = subprocess.run(
            [python_of("spark35"), "-m", "versus.writing", str(bundle(release)), str(local_files())],
            input=json.dumps(of_release),
            text=True,
            env=environment(),
            check=False,
        )
        if written.returncode:
            raise RuntimeError(f"Hudi {release} could not write the tables: see above")
    return {table: Written(table) for table in tables}
