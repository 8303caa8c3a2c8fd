"""Writes python/mortice/THIRD_PARTY_LICENSES.txt, which wheels have: the crates in the native module, their licences.

    python tools/third_party_licenses.py [FILE]

Crates are those of `cargo metadata` for the bindings, without development and build dependencies. Equal texts are
printed once. A crate that has no text of its own is listed with its licence expression.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "python" / "mortice" / "THIRD_PARTY_LICENSES.txt"
TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "license*", "UNLICENSE*")
PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")


def shipped_crates() -> list[dict[str, Any]]:
    """Returns the packages that are linked into the native module on any platform, by name and version."""
    found: dict[str, dict[str, Any]] = {}
    for platform in PLATFORMS:
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", platform]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        metadata = json.loads(done.stdout)
        packages = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        waiting = [name for name, package in packages.items() if package["name"] == "mortice-python"]
        seen = set(waiting)
        while waiting:
            for dependency in nodes[waiting.pop()]["deps"]:
                linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
                if linked and dependency["pkg"] not in seen:
                    seen.add(dependency["pkg"])
                    waiting.append(dependency["pkg"])
        found |= {name: packages[name] for name in seen if packages[name]["source"] is not None}
    return sorted(found.values(), key=lambda package: (package["name"], package["version"]))


def texts_of(package: dict[str, Any]) -> list[str]:
    """Returns the licence texts in the source of a crate."""
    folder = Path(package["manifest_path"]).parent
    files = sorted({path for pattern in TEXTS for path in folder.glob(pattern) if path.is_file()})
    return [path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip() for path in files]


def document() -> str:
    """Returns the contents of the file."""
    by_text: dict[str, list[str]] = defaultdict(list)
    lines = ["The native module of mortice contains these Rust libraries.", ""]
    for package in shipped_crates():
        title = f"{package['name']} {package['version']}"
        lines.append(f"{title}: {package['license'] or 'see its licence text'}")
        for text in texts_of(package):
            by_text[text].append(title)
    for text, titles in by_text.items():
        lines += ["", "-" * 80, ", ".join(titles), "-" * 80, "", text]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(*sys.argv[1:2] or [TARGET]).write_text(document(), encoding="utf-8")
