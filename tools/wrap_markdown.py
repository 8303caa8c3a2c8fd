"""Wraps paragraphs and list items of Markdown that have lines of more than 120 characters. `make format` runs it.

    python tools/wrap_markdown.py README.md docs/reading.md

Tables, headings, code and HTML are not changed: a table row that is too long needs an author.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

WIDTH = 120
FIXED = re.compile(r"\s*(\||#|<|!\[|>|\[[^\]]+\]:|    )")
ITEM = re.compile(r"(\s*(?:[-*]|\d+\.)\s+)(.*)")


def wrapped(text: str) -> str:
    """Returns Markdown with its long paragraphs wrapped.

    >>> print(wrapped("- " + "word " * 25 + "end"))
    - word word word word word word word word word word word word word word word word word word word word word word word
      word word end
    """
    out: list[str] = []
    block: list[str] = []
    in_code = False
    for line in [*text.split("\n"), ""]:
        is_fence = line.lstrip().startswith("```")
        if in_code or is_fence:
            in_code = in_code != is_fence
            out += [*_block(block), line]
            block = []
        elif not line.strip() or (FIXED.match(line) and not block) or line.startswith(("|", "#")):
            out += [*_block(block), line]
            block = []
        elif ITEM.match(line):
            out += _block(block)
            block = [line]
        else:
            block.append(line)
    return "\n".join([*out, *_block(block)][:-1])


def _block(lines: list[str]) -> list[str]:
    if not lines or max(map(len, lines)) <= WIDTH:
        return lines
    item = ITEM.match(lines[0])
    if item:
        first, rest, start = item[1], " " * len(item[1]), item[2]
    else:
        indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        first, rest, start = indent, indent, lines[0].strip()
    joined = " ".join([start, *(line.strip() for line in lines[1:])])
    return textwrap.wrap(
        joined, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        page = Path(argument)
        before = page.read_text(encoding="utf-8")
        if (after := wrapped(before)) != before:
            page.write_text(after, encoding="utf-8")
