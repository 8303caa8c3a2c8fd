"""Pages that users rely on when something goes wrong: promises name a test that there is, findings are explained."""

import re

import pytest

import mortice
from examples import ROOT

PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
TEST = re.compile(r"`([\w/]+\.(?:py|rs))::(\w+)`")
WITHOUT_TESTS = "## What is not promised"


def promises():
    """The list items of the page, each in one line."""
    text = PAGE.split(WITHOUT_TESTS)[0]
    return [" ".join(item.split()) for item in re.findall(r"^- (.*?)(?=^- |^\s*$|\Z)", text, re.MULTILINE | re.DOTALL)]


def test_each_promise_names_a_test():
    assert len(promises()) > 50
    assert [promise for promise in promises() if not TEST.search(promise)] == []


@pytest.mark.parametrize("path", sorted({path for path, _ in TEST.findall(PAGE)}))
def test_the_named_tests_are_there(path):
    names = {name for of, name in TEST.findall(PAGE) if of == path}
    tests = r"^def (test_\w+)\(" if path.endswith(".py") else r"#\[test\]\n(?:\s*#\[[^\n]*\n)*\s*fn (\w+)\("
    (file,) = [ROOT / path] if (ROOT / path).exists() else ROOT.glob(f"rust/*/src/{path}")
    assert names - set(re.findall(tests, file.read_text(encoding="utf-8"), re.MULTILINE)) == set()


def test_each_finding_of_a_verification_is_explained():
    rust = (ROOT / "rust/services/src/verify/findings.rs").read_text(encoding="utf-8")
    kinds = re.findall(r'Self::\w+ => "(\w+)"', rust)
    guide = (ROOT / "docs" / "recovery.md").read_text(encoding="utf-8")
    table = re.search(r"\| finding \| what it means \| what to do \|\n.*?\n\n", guide, re.DOTALL)
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.group().splitlines()[2:] if row]
    explained = [kind for cells in rows for kind in re.findall(r"`(\w+)`", cells[0])]
    assert len(kinds) > 20
    assert sorted(explained) == sorted(kinds)
    assert set(re.findall(r"`(\w+_\w+)`", mortice.Finding.__doc__)) == set(kinds)
    # What to do is one of the instructions below the table.
    todo = {word.strip() for cells in rows for word in re.split(r",|;", cells[2])}
    instructions = {one.lower() for one in re.findall(r"^- \*([\w ]+)\*:", guide, re.MULTILINE)}
    assert todo - {"choose a row"} <= instructions
