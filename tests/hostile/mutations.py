"""Changes of the metadata of a table, drawn at random."""

from __future__ import annotations

import copy
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import fastavro

from hostile.copies import TableCopy, entries_below, files_among
from hostile.native_logs import change_native_log, is_native_log

FOLDERS = [
    ".hoodie",
    ".hoodie/timeline",
    ".hoodie/timeline/history",
    ".hoodie/archived",
    ".hoodie/.temp",
    ".hoodie/.heartbeat",
    ".hoodie/.aux",
    ".hoodie/.locks",
    ".hoodie/.index_defs",
    ".hoodie/.schema",
    ".hoodie/metadata",
    ".hoodie/metadata/.hoodie",
    ".hoodie/metadata/.hoodie/timeline",
    ".hoodie/metadata/.hoodie/.temp",
    ".hoodie/metadata/.hoodie/.heartbeat",
    ".hoodie/metadata/files",
    ".hoodie/metadata/column_stats",
    "x",
    "y",
]
NUMBERS = [0, 1, -1, 2**31 - 1, 2**31, 2**32, 2**63 - 1, -(2**63), 10**6]
TEXTS = ["", "/", "..", ".", "../..", "a\0b", "\u202e", "x" * 70_000, "99999999999999999", "-1", "null", "x/../y", "//"]


class Mutator:
    """Changes the metadata of a table.

    Args:
        random: What draws the changes.
        table: The table.
        outside: A folder with files of the same names, which must stay as they are.
    """

    def __init__(self, random: Random, table: TableCopy, outside: Path) -> None:
        self.random, self.root, self.outside = random, table.root, outside
        self.files: list[str] | None = table.files

    def mutate(self) -> str:
        """Makes one change and returns what it was."""
        kinds: list[tuple[int, Callable[[], str]]] = [
            (6, self.change_values),
            (4, self.change_bytes),
            (2, self.change_properties),
            (2, self.link_folder),
            (2, self.link_file),
            (1, self.rename_file),
            (1, self.remove_file),
            (1, self.exchange_files),
            (1, self.replace_file),
            (4, self.change_native_log),
        ]
        if not any(map(is_native_log, self._files())):
            kinds.pop()
        weights, changes = [weight for weight, _ in kinds], [change for _, change in kinds]
        try:
            return self.random.choices(changes, weights)[0]()
        except OSError as error:
            # Such as a name that is too long, or a file below what is no folder any more.
            return f"not possible: {error}"
        finally:
            self.files = None

    def _files(self) -> list[str]:
        if self.files is None:
            self.files = files_among(self.root, entries_below(self.root))
        return self.files

    def _a_file(self) -> Path:
        metadata = [path for path in self._files() if ".hoodie" in path]
        drawn = metadata if metadata and self.random.random() < 0.9 else self._files() or ["f"]
        return self.root / self.random.choice(drawn)

    def _content(self, path: Path) -> bytes:
        return path.read_bytes() if path.is_file() else b""

    def _write(self, path: Path, content: bytes) -> None:
        # A link is replaced: what it stands for is not the table's.
        path.unlink(missing_ok=True)
        path.write_bytes(content)

    def hostile_text(self, text: str) -> str:
        """Returns a string that is to take the place of `text`."""
        relative = text.split(str(self.root), 1)[-1].removeprefix("file:").lstrip("/")
        up = "../" * self.random.randrange(1, 4)
        outside = f"{self.outside}/{relative}"
        drawn = [
            outside,
            f"file://{outside}",
            f"{up}{self.outside.name}/{relative}",
            f"x/../../{self.outside.name}/{relative}",
            f"{self.root}/../{self.outside.name}/{relative}",
            f"../{self.outside.name}",
            str(self.outside),
            relative[: self.random.randrange(len(relative) + 1)],
            *TEXTS,
        ]
        return self.random.choice(drawn)

    def change_values(self) -> str:
        """Changes values of a file of JSON or Avro, so that it can still be parsed."""
        for _ in range(20):
            path = self._a_file()
            content = self._content(path)
            with_values = self._changed_json(content) or self._changed_avro(content)
            if with_values is not None:
                self._write(path, with_values)
                return f"values of {path.relative_to(self.root)}"
        return "no values"

    def _changed_json(self, content: bytes) -> bytes | None:
        try:
            tree = json.loads(content)
        except ValueError:
            return None
        if not isinstance(tree, (dict, list)):
            return None
        return json.dumps(self.changed_tree(tree)).encode()

    def _changed_avro(self, content: bytes) -> bytes | None:
        if not content.startswith(b"Obj\x01"):
            return None
        try:
            reader = fastavro.reader(io.BytesIO(content))
            records: list[Any] = list(reader)
            into = io.BytesIO()
            fastavro.writer(into, reader.writer_schema, self.changed_tree(records), codec=reader.codec)
        except Exception:  # noqa: BLE001 - what the schema cannot hold is drawn again
            return None
        return into.getvalue()

    def changed_tree(self, tree: Any) -> Any:
        for _ in range(self.random.choice([1, 1, 1, 2, 5])):
            places: list[tuple[Any, Any]] = []
            self._places(tree, places)
            if not places:
                break
            holder, key = self.random.choice(places)
            self._change_place(holder, key, places)
        return tree

    def _places(self, tree: Any, found: list[tuple[Any, Any]]) -> None:
        entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
        for key, value in list(entries):
            found.append((tree, key))
            self._places(value, found)

    def _change_place(self, holder: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
        value = holder[key]
        if isinstance(holder, dict) and isinstance(key, str) and self.random.random() < 0.15:
            holder[self.hostile_text(key)] = holder.pop(key)
        elif isinstance(value, bool):
            holder[key] = not value
        elif isinstance(value, str):
            holder[key] = self.hostile_text(value)
        elif isinstance(value, (int, float)):
            holder[key] = self.random.choice([*NUMBERS, int(value) + 1, int(value) - 1, int(value) * 1000])
        elif isinstance(value, list):
            times = self.random.choice([0, 2, 1000])
            holder[key] = value * times
        else:
            other, at = self.random.choice(places)
            # A copy: the other place may be around this one.
            copied = copy.deepcopy(other.get(at) if isinstance(other, dict) else other[at])
            holder[key] = self.random.choice([None, {}, copied])

    def change_bytes(self) -> str:
        path = self._a_file()
        content = bytearray(self._content(path))
        self.change_content(content)
        self._write(path, bytes(content))
        return f"bytes of {path.relative_to(self.root)}"

    def change_content(self, content: bytearray) -> None:
        """Overwrites, inserts and removes some bytes."""
        for _ in range(self.random.choice([1, 1, 2, 8])):
            at, length = self.random.randrange(len(content) + 1), self.random.choice([1, 1, 4, 64, 1000])
            match self.random.randrange(5):
                case 0:
                    content[at : at + length] = self.random.randbytes(len(content[at : at + length]))
                case 1:
                    del content[at : at + length]
                case 2:
                    content[at:at] = self.random.randbytes(length)
                case 3:
                    del content[at:]
                case _:
                    content[at : at + length] = bytes([self.random.choice([0, 0x7F, 0xFF])]) * len(
                        content[at : at + length]
                    )

    def change_native_log(self) -> str:
        """Changes what the footer of a native log says, its columns or its name."""
        logs = [self.root / path for path in self._files() if is_native_log(path)]
        return change_native_log(self.random, self.random.choice(logs), self.random.choice(logs), self.changed_tree)

    def change_properties(self) -> str:
        folder = self.random.choice([".hoodie", ".hoodie/metadata/.hoodie"])
        path = self.root / folder / "hoodie.properties"
        if not path.is_file() or any(parent.is_symlink() for parent in path.parents if self.root in parent.parents):
            return "no properties"
        lines = path.read_text(errors="replace").splitlines()
        at = self.random.randrange(len(lines)) if lines else 0
        name, _, value = lines[at].partition("=") if lines else ("", "", "")
        lines[at : at + 1] = self.random.choice(
            [
                [],
                [f"{name}={self.hostile_text(value)}"],
                [f"{name}={self.random.choice(NUMBERS)}"],
                [lines[at] if lines else "", f"{name}={self.hostile_text(value)}"],
            ]
        )
        kept = [line for line in lines if not line.startswith("hoodie.table.checksum")]
        self._write(path, "\n".join(kept if self.random.random() < 0.8 else lines).encode())
        return f"property {name} of {folder}"

    def link_folder(self) -> str:
        folder = self.random.choice(FOLDERS)
        path = self.root / folder
        if any(parent.is_symlink() for parent in path.parents if self.root in parent.parents):
            return f"{folder} is below a link"
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        target = self.random.choice([self.outside / folder, self.outside, self.root, Path("..")])
        if path.parent.is_dir():
            path.symlink_to(target)
        return f"{folder} is a link to {target}"

    def link_file(self) -> str:
        path = self._a_file()
        path.unlink(missing_ok=True)
        relative = path.relative_to(self.root)
        target = self.random.choice([self.outside / relative, path, self.outside / "new"])
        if path.parent.is_dir():
            path.symlink_to(target)
        return f"{relative} is a link to {target}"

    def rename_file(self) -> str:
        path = self._a_file()
        name = path.name
        parts = name.replace("_", ".").split(".")
        old = self.random.choice(parts)
        new = self.random.choice(
            ["requested", "inflight", "commit", "deltacommit", "clean", "rollback", "0" * 17, "9" * 17, "0", "x" * 200]
        )
        to = path.with_name((name.replace(old, new, 1) if old else new)[:250] or "x")
        if path.exists() and to != path and not to.is_dir() and not to.is_symlink() and not path.is_dir():
            (shutil.copy if self.random.random() < 0.5 else os.rename)(path, to)
        return f"{name} is {to.name}"

    def remove_file(self) -> str:
        path = self._a_file()
        path.unlink(missing_ok=True)
        return f"no {path.relative_to(self.root)}"

    def exchange_files(self) -> str:
        one, other = self._a_file(), self._a_file()
        contents = self._content(one), self._content(other)
        self._write(one, contents[1])
        self._write(other, contents[0])
        return f"{one.name} and {other.name} exchanged"

    def replace_file(self) -> str:
        path = self._a_file()
        path.unlink(missing_ok=True)
        if self.random.random() < 0.5:
            path.mkdir(parents=True, exist_ok=True)
        else:
            os.mkfifo(path)
        return f"{path.relative_to(self.root)} is no file"
