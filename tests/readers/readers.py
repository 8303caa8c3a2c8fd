"""Who reads. Each reader returns rows as Arrow, or raises an error of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import mortice
from support import hudi_rs_reader
from support.hudi.hudi_on_spark import HudiOnSpark

HERE = Path(__file__).parent
HUDI = {"0.15.0": (6,), "1.0.2": (6, 8), "1.1.1": (6, 8, 9), "1.2.0": (6, 8, 9), "1.2.1": (6, 8, 9)}
"""The releases of Hudi, and the versions of tables that each knows."""


class ReaderError(Exception):
    """A reader refused a table."""


class Mortice:
    """mortice itself, by the metadata table and by listing."""

    name = "mortice"
    versions: tuple[int, ...] = (6, 8, 9)

    def ways(self) -> dict[str, Callable[[Path, Path], pa.Table]]:
        """Returns how the reader can read."""
        return {
            "metadata table": lambda table, _: mortice.Table(table).snapshot().to_arrow(),
            "listing": lambda table, _: (
                mortice.Table(table, read_options=mortice.ReadOptions(use_metadata=False)).snapshot().to_arrow()
            ),
        }

    def close(self) -> None:
        """Ends the reader."""


class HudiRs(Mortice):
    """hudi-rs, as a command that is given a table and a file.

    Args:
        release: The release.
        command: The command.
    """

    def __init__(self, release: str, command: list[str]) -> None:
        self.name = f"hudi-rs {release}"
        self._command = command

    def ways(self) -> dict[str, Callable[[Path, Path], pa.Table]]:
        return {"snapshot": self._read}

    def _read(self, table: Path, out: Path) -> pa.Table:
        command = [*self._command, str(table), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode:
            raise ReaderError((done.stderr.strip().splitlines() or ["no message"])[-1])
        with pa.OSFile(str(out)) as source:
            return pa.ipc.open_file(source).read_all()


class Hudi(Mortice):
    """A release of Hudi on Spark.

    Args:
        release: The release.
        jar: Its bundle.
    """

    def __init__(self, release: str, jar: Path) -> None:
        self.name, self.versions = f"Hudi {release}", HUDI[release]
        self._spark = HudiOnSpark(jar)

    def ways(self) -> dict[str, Callable[[Path, Path], pa.Table]]:
        skipping = {"hoodie.enable.data.skipping": "true"}
        return {
            "metadata table": lambda table, out: self._read(table, out, "true", {}),
            "listing": lambda table, out: self._read(table, out, "false", {}),
            "key": lambda table, out: self._read(table, out, "true", skipping, "id = 'k05'"),
        }

    def _read(
        self, table: Path, out: Path, metadata: str, options: dict[str, str], where: str | None = None
    ) -> pa.Table:
        try:
            self._spark.read(table, out, where, **{"hoodie.metadata.enable": metadata, **options})
        except AssertionError as error:
            raise ReaderError(str(error)) from error
        return pq.read_table(out)

    def close(self) -> None:
        self._spark.close()


def hudi_rs(binary: Path | None) -> list[Mortice]:
    """Returns hudi-rs of PyPI, and that of crates.io if it was built."""
    found: list[Mortice] = []
    python = hudi_rs_reader.python()
    if python is not None:
        found.append(HudiRs("0.5.0", [str(python), "-I", str(HERE / "by_hudi_rs.py")]))
    if binary is not None:
        found.append(HudiRs("0.6.0-rc.1", [str(binary)]))
    return found
