"""Checks the language of the repository: banned words, lines of Markdown, documented arguments. `make lint` runs it.

    python tools/check_language.py            # prints findings; exits with status 1 if there are any
    python tools/check_language.py --all      # prints the findings in unconverted files, too
    python tools/check_language.py --shrink   # removes files without findings from tools/unconverted.tsv

| rule | finding |
|---|---|
| words | a word of tools/banned_words.tsv in a comment, a message, a document or an identifier |
| width | a line of Markdown, or of a Rust comment but for tables and code, with more than 120 characters |
| args | a public Python function with more than three arguments whose docstring does not describe all of them |
| names | a Rust function called `of`, or a Rust type with a name of tools/generic_names.tsv: no search finds it |

tools/unconverted.tsv lists the files to which a rule does not apply yet. A file without findings must not be listed, so
the list can only shrink. tools/allowed_lines.tsv lists lines that may contain a banned word.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "tools"
WIDTH = 120
MOST_UNDOCUMENTED = 3
TEXT = (".rs", ".py", ".pyi", ".md", ".toml", "Makefile", ".ipynb")
SKIPPED = ("tools/banned_words.tsv", "tools/allowed_lines.tsv", "tests/data/")
COMMENT = re.compile(r" *//[/!]? ?(.*)")
FUNCTION_OF = re.compile(r"\bfn of\b *[(<]")
RUST_TYPE = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union|type) (\w+)")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Finding:
    """A line that violates a rule."""

    rule: str
    path: str
    line: int
    message: str


def files(root: Path = ROOT) -> list[str]:
    """Returns the paths of the files that are checked."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    names = sorted(set(listed.stdout.splitlines()))
    return [name for name in names if name.endswith(TEXT) and not name.startswith(SKIPPED) and (root / name).exists()]


def rows(name: str) -> list[list[str]]:
    """Returns the rows of a table in tools, without its heading."""
    lines = (TOOLS / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[1:] if line]


def words_of(line: str) -> str:
    """Returns the words of a line in lower case, separated by underscores.

    >>> words_of("let SkipBlock = checked_bool(one's);  // in HTTPServer")
    '_let_skip_block_checked_bool_one_s_in_http_server_'
    """
    return "_" + "_".join(word.lower() for word in WORD.findall(line)) + "_"


def banned_words(path: str, text: str) -> Iterator[Finding]:
    """Yields the banned words of a file."""
    banned = {f"_{word}_": (word, use) for word, use in rows("banned_words.tsv")}
    allowed = [(word, part) for place, word, part in rows("allowed_lines.tsv") if place == path]
    for number, line in enumerate(text.splitlines(), 1):
        words = words_of(line)
        for key, (word, use) in banned.items():
            if key in words and not any(one == word and part in line for one, part in allowed):
                yield Finding("words", path, number, f"{word.replace('_', ' ')!r} is not a term of the field: {use}")


def wide_lines(path: str, text: str) -> Iterator[Finding]:
    """Yields the lines of Markdown that are too long."""
    if path.endswith(".md"):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > WIDTH:
                yield Finding("width", path, number, f"{len(line)} characters, more than {WIDTH}")


def wide_comments(path: str, text: str) -> Iterator[Finding]:
    """Yields the lines of Rust comments that are too long: rustfmt does not wrap them."""
    if not path.endswith(".rs"):
        return
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.fullmatch(line)
        is_code = comment is not None and is_code != comment[1].startswith("```")
        if comment and not is_code and len(line) > WIDTH and not comment[1].startswith("|"):
            yield Finding("width", path, number, f"{len(line)} characters of a comment, more than {WIDTH}")


def undocumented_arguments(path: str, text: str) -> Iterator[Finding]:
    """Yields the public functions of the package whose arguments are not all described."""
    if path.startswith("python/mortice/") and path.endswith(".py"):
        yield from _undocumented(path, ast.parse(text).body, None)


def _is_overload(function: ast.FunctionDef) -> bool:
    """Returns true for a signature of a function whose implementation, which has the docstring, follows."""
    return any(isinstance(one, ast.Name) and one.id == "overload" for one in function.decorator_list)


def _is_command(function: ast.FunctionDef) -> bool:
    """Returns true for a command of the command line: its help describes each option, and its docstring is printed."""
    called = [one.func for one in function.decorator_list if isinstance(one, ast.Call)]
    return any(isinstance(one, ast.Attribute) and one.attr == "command" for one in called)


def _undocumented(path: str, body: list[ast.stmt], owner: ast.ClassDef | None) -> Iterator[Finding]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _undocumented(path, node.body, node)
        if not isinstance(node, ast.FunctionDef) or _is_overload(node) or _is_command(node):
            continue
        is_constructor = owner is not None and node.name == "__init__"
        if node.name.startswith("_") and not is_constructor:
            continue
        names = [one.arg for one in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
        names = [name for name in names if name not in {"self", "cls"}]
        documented = ast.get_docstring(owner if is_constructor and owner else node) or ""
        section = documented.partition("\nArgs:\n")[2]
        missing = [name for name in names if not re.search(rf"^    {name}: ", section, re.MULTILINE)]
        if len(names) > MOST_UNDOCUMENTED and missing:
            title = f"{owner.name}.{node.name}" if owner else node.name
            yield Finding("args", path, node.lineno, f"{title} does not describe {', '.join(missing)} in Args:")


def generic_names(path: str, text: str) -> Iterator[Finding]:
    """Yields the functions and types of Rust whose names say nothing. There are no exceptions."""
    if not path.endswith(".rs"):
        return
    generic = {name for (name,) in rows("generic_names.tsv")}
    for number, line in enumerate(text.splitlines(), 1):
        if FUNCTION_OF.search(line):
            message = "a function called of: constructors are new, from_x or with_x, others say what they return"
            yield Finding("names", path, number, message)
        declared = RUST_TYPE.match(line)
        if declared and declared[1] in generic:
            yield Finding("names", path, number, f"{declared[1]} is one generic word: add the noun that it is about")


def findings(root: Path = ROOT) -> list[Finding]:
    """Returns the findings of all rules in all files."""
    found: list[Finding] = []
    for path in files(root):
        text = (root / path).read_text(encoding="utf-8")
        for check in (banned_words, wide_lines, wide_comments, undocumented_arguments, generic_names):
            found += check(path, text)
    return found


def main(arguments: list[str]) -> int:
    """Prints the findings in converted files. Returns 1 if there are any, or if a listed file has none."""
    unconverted = {(rule, path) for rule, path in rows("unconverted.tsv")}
    found = findings()
    shown = [one for one in found if "--all" in arguments or (one.rule, one.path) not in unconverted]
    for one in shown:
        print(f"{one.path}:{one.line}: {one.message}")
    converted = sorted(unconverted - {(one.rule, one.path) for one in found})
    if "--shrink" in arguments:
        kept = sorted(unconverted - set(converted))
        lines = ["rule\tpath", *(f"{rule}\t{path}" for rule, path in kept), ""]
        (TOOLS / "unconverted.tsv").write_text("\n".join(lines), encoding="utf-8")
        converted = []
    for rule, path in converted:
        print(f"tools/unconverted.tsv: {path} has no finding of the rule {rule} any more; remove it from the list")
    return int(bool(shown or converted))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
