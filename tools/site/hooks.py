"""What the site takes from the project: the version of the crates, and the notebook as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import tomllib
from mkdocs.structure.files import File


def on_config(config: Any) -> Any:
    """Adds the version to the header and the footer of each page."""
    manifest = tomllib.loads((Path(config["config_file_path"]).parent / "Cargo.toml").read_text(encoding="utf-8"))
    version = manifest["workspace"]["package"]["version"]
    config["extra"]["version_shown"] = version
    config["copyright"] = f"mortice {version} · Apache License 2.0"
    return config


RANKS = {"deleting.md": 3, "updating.md": 2, "creating-tables.md": 2}
"""Pages about what other pages have a section of, too."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Ranks pages for contributors below those for users in the search, and the reference below the guides."""
    name = page.file.src_uri
    internal = name.startswith(("write-protocol", "decisions", "development", "releasing", "scale"))
    rank = 0.1 if internal else 0.4 if name.startswith("api/") else RANKS.get(name, 1)
    page.meta.setdefault("search", {"boost": rank})
    return markdown


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Makes links of the pages that docstrings name, such as `docs/storage.md`."""
    if not page.file.src_uri.startswith("api/"):
        return html
    return re.sub(r"\bdocs/([\w-]+)\.md\b", r'<a href="../\1.html">\1</a>', html)


def on_files(files: Any, config: Any) -> Any:
    """Adds the notebook as a page, with the outputs that are stored in it."""
    notebook = Path(config["docs_dir"]) / "quickstart.ipynb"
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    files.append(File.generated(config, "notebook.md", content="\n\n".join(map(_markdown, cells)) + "\n"))
    return files


def _markdown(cell: dict[str, Any]) -> str:
    """Returns a cell of a notebook as Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *map(_output, cell["outputs"])])


def _output(output: dict[str, Any]) -> str:
    """Returns an output as a picture, as HTML, or as text, whichever there is."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img alt="{"".join(data["text/plain"])}" class="plot" src="data:image/png;base64,{data["image/png"]}">'
    if "text/html" in data:
        # Markdown would take lines without a tag for paragraphs.
        return '<div class="output">' + "".join(data["text/html"]).replace("\n\n", "\n") + "</div>"
    text = "".join(output["text"] if "text" in output else data["text/plain"])
    return f"```text\n{text.rstrip()}\n```"
