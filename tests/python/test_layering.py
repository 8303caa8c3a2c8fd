"""Imports go one way, down the floors of the package, including imports within functions. There are no cycles."""

import ast
import pathlib

import mortice

ROOT = pathlib.Path(mortice.__file__).parent
# A scan converts itself to a DataFrame, and collects metrics of Spark: the only module below Spark that imports it.
TO_SPARK = {("mortice.reading.scan", "mortice.spark.execution.data_frame")}
# From the lowest up.
FLOORS = [
    {"errors", "values", "display"},
    {"expressions"},
    {"reading", "queries"},
    {"writing"},
    {"insight"},
    {"catalogs"},
    {"table", "create_table", "catalog_sync"},
    {"engines"},
    {"spark"},
    {"cli"},
    {"__main__"},
]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def edges(files):
    known = {name for name, _ in files}
    return {
        name: {to for to in imported(ast.parse(path.read_text())) if to in known and to not in {name, "mortice"}}
        for name, path in files
    }


def find_cycle(graph):
    """Returns a cycle of modules, or None."""
    for start in graph:
        ways = [[start]]
        seen = set()
        while ways:
            way = ways.pop()
            for to in graph[way[-1]]:
                if to == start:
                    return [*way, to]
                if to not in seen:
                    seen.add(to)
                    ways.append([*way, to])
    return None


def test_there_is_no_import_cycle():
    graph = edges(list(modules()))
    assert len(graph) > 15
    assert find_cycle(graph) is None


def floor_of(name):
    part = name.split(".")[1]
    return next(floor for floor, parts in enumerate(FLOORS) if part in parts)


def upward(graph):
    return {(name, to) for name, targets in graph.items() for to in targets if floor_of(to) > floor_of(name)}


def test_imports_go_down_the_floors():
    graph = edges([(name, path) for name, path in modules() if name != "mortice"])
    assert upward(graph) == TO_SPARK


def test_a_planted_import_of_a_higher_floor_is_found():
    assert upward({"mortice.values.a": {"mortice.spark.b"}}) == {("mortice.values.a", "mortice.spark.b")}


def test_the_root_is_small():
    assert len(list(ROOT.glob("*.py*"))) <= 12


def test_a_planted_cycle_is_found(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("def f():\n    from two import g\n")
    two.write_text("import one\n")
    assert find_cycle(edges([("one", one), ("two", two)])) is not None
