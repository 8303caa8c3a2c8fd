"""Text of a table as it may be shown: names, values and errors of a storage are input of strangers.

A terminal takes some characters for commands: it changes its title or colours, clears the screen, writes from right to
left, or hides text. They are shown as escapes. Data stays as it is: rows, attributes of results and of errors, CSV that
a program reads.
"""

from __future__ import annotations

import json
import unicodedata

__all__ = ["visible_json", "visible_text"]


def visible_text(text: str, keep: str = "") -> str:
    """Returns text with escapes for control characters, for those that change the direction of text or have no width,
    and for separators of lines.

    >>> visible_text("x\\x1b[31m\\x9b\\u202ey\\n"), visible_text("大阪 é\\n", keep="\\n")
    ('x\\\\x1b[31m\\\\x9b\\\\u202ey\\\\n', '大阪 é\\n')

    Args:
        text: The text.
        keep: Characters that are not escaped: line ends, in text of several lines.
    """
    if text.isprintable():
        return text
    return "".join(one if _is_visible(one) or one in keep else one.encode("unicode_escape").decode() for one in text)


def visible_json(document: str) -> str:
    """Returns a JSON document on one line with JSON's own escapes for the same characters: its values stay the same.

    >>> visible_json('"\\x9b\\u202e"')
    '"\\\\u009b\\\\u202e"'
    """
    if document.isprintable():
        return document
    return "".join(one if _is_visible(one) else json.dumps(one)[1:-1] for one in document)


def _is_visible(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"
