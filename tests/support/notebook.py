"""Runs the code cells of a notebook in one namespace and captures their output.

    python -m support.notebook docs/quickstart.ipynb

writes the output into the notebook. The tests run the cells and write nothing.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
from pathlib import Path

import pyarrow as pa

from mortice.display.rows import rows_html
from support.find_java import use_java


def cells_of(path):
    """Returns the sources of the code cells."""
    cells = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run(sources, folder, show=repr):
    """Returns the printed output and the last expression of each cell, run in a directory. The latter is shown by a
    function, right after its cell, and None if there is no value."""
    namespace = {"__name__": "__main__"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        return [_run(source, namespace, number, show) for number, source in enumerate(sources, start=1)]
    finally:
        os.chdir(before)


def _run(source, namespace, number, show):
    tree = ast.parse(source, f"<cell {number}>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {number}>", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), namespace)
    return printed.getvalue(), None if value is None else show(value)


def shown(value):
    """Returns a value as a notebook stores it: as text, and as HTML or a picture if it has one."""
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if isinstance(value, pa.Table):
        data["text/html"] = rows_html(value).splitlines(keepends=True)
    elif hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    if hasattr(value, "figure"):
        picture = io.BytesIO()
        value.figure.savefig(picture, format="png", dpi=72, bbox_inches="tight")
        data["image/png"] = base64.b64encode(picture.getvalue()).decode()
    return data


def write(path):
    """Runs a notebook in its directory and writes the output into it."""
    use_java()
    path = Path(path).resolve()
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, (printed, value)) in enumerate(
        zip(cells, run(cells_of(path), path.parent, shown), strict=True), 1
    ):
        outputs = []
        if printed:
            outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
        if value is not None:
            kind = {"execution_count": number, "metadata": {}, "output_type": "execute_result"}
            outputs.append({"data": value, **kind})
        cell.update(execution_count=number, outputs=outputs)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
