"""Names that other libraries have for what mortice calls something else, and what errors suggest for them."""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from types import FunctionType
from typing import NoReturn, ParamSpec, TypeVar, cast

__all__ = ["answering", "hinted", "missing_attribute", "names_of", "unknown_argument", "with_fields", "with_hints"]

_CLOSE = 0.75
_SHORTEST_PART = 4
_FIELDS = "_taken_fields"
"""The attribute of a function with the names of the fields that it takes as arguments."""

T = TypeVar("T", bound=type)
P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])


@functools.cache
def _names() -> dict[str, dict[str, str]]:
    """Returns `other_names.tsv`, which is read when a name is not known: what is meant, by owner and name.

    Owners are `module`, `spark`, `class Table` and classes. `argument` has the arguments that mean another one,
    `advice` those for which there is something else, `advice f` the same of the function `f`; `command` and
    `option` have those of the command line, `storage option` those of boto, s3fs, pyarrow and pyiceberg;
    `missing f` what to say where an argument of `f` is not given.
    """
    text = resources.files("mortice.values").joinpath("other_names.tsv").read_text("utf-8")
    names: dict[str, dict[str, str]] = {}
    for line in text.splitlines()[1:]:
        owner, name, meant = line.split("\t")
        names.setdefault(owner, {})[name] = meant
    return names


def names_of(owner: str) -> Mapping[str, str]:
    """Returns the names of other libraries for what an owner has, and what is meant by them."""
    return _names().get(owner, {})


def missing_attribute(owner: str, name: str, others: Mapping[str, str], known: Iterable[str]) -> AttributeError:
    """Returns the error for a name that does not exist, with the name that was probably meant.

    Args:
        owner: Who does not have it.
        name: The name.
        others: What other libraries call so.
        known: The names that exist.
    """
    meant = None if name.startswith("_") else others.get(name) or _nearest(name, known)
    return AttributeError(f"{owner} has no attribute {name!r}{'' if meant is None else f'; use {meant}'}", name=name)


def unknown_argument(function: str, name: str, known: Iterable[str]) -> TypeError:
    """Returns the error for an argument that a function does not have.

    Args:
        function: The name of the function.
        name: The name of the argument.
        known: The arguments that it has.
    """
    names = [one for one in known if one != "self"]
    meant = (
        names_of(f"advice {function}").get(name)
        or next((one for one in names_of("argument").get(name, "").split(", ") if one in names), None)
        or _nearest(name, names)
        or names_of("advice").get(name)
    )
    hint = f"use {meant}" if meant is not None else f"arguments: {', '.join(names)}" if names else "it takes none"
    return TypeError(f"{function}() has no argument {name!r}; {hint}")


def with_fields(kind: type) -> Callable[[F], F]:
    """Says of a function that it takes the fields of a dataclass by their names, as its further arguments."""

    def marked(function: F) -> F:
        setattr(function, _FIELDS, tuple(getattr(kind, "__dataclass_fields__", ())))
        return function

    return marked


def with_hints(where: T) -> T:
    """Has the methods of a class name the argument that was meant when they get one that they do not have."""
    for name, method in list(vars(where).items()):
        if isinstance(method, FunctionType) and (name == "__init__" or not name.startswith("_")):
            setattr(where, name, hinted(method, where.__name__ if name == "__init__" else name))
    return where


def answering(where: T) -> T:
    """Has the objects of a class name the attribute that was meant when they do not have one."""
    fields = getattr(where, "__dataclass_fields__", ())
    article = "an" if where.__name__[0] in "AEIO" else "a"

    def missing(_: object, name: str) -> NoReturn:
        raise missing_attribute(f"{article} {where.__name__}", name, names_of(where.__name__), [*dir(where), *fields])

    # Not in the body of the class, so that type checkers go on to report unknown names.
    setattr(where, "__getattr__", missing)  # noqa: B010
    return where


def hinted(function: Callable[P, R], name: str | None = None) -> Callable[P, R]:
    """Has a function name the argument that was meant when it gets one that it does not have, and say of one that is
    missing what it is for.

    Args:
        function: The function.
        name: What errors call it.
    """
    code = cast("FunctionType", function).__code__
    fields: tuple[str, ...] = getattr(function, _FIELDS, ())
    known = (*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *fields)
    takes_any = bool(code.co_flags & 0x08) and not fields  # inspect.CO_VARKEYWORDS
    names = frozenset(known)
    called_as = name or function.__name__
    required = _required(cast("FunctionType", function))

    @functools.wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        if not (takes_any or names.issuperset(named)):
            raise unknown_argument(called_as, next(one for one in named if one not in names), known)
        for place, one in required:
            if place >= len(arguments) and one not in named:
                raise _missing_argument(called_as, one)
        return function(*arguments, **named)

    return called


def _required(function: FunctionType) -> list[tuple[int, str]]:
    """Returns the arguments without a default, and the place of each; those that are given by name have no place."""
    code = function.__code__
    by_place = code.co_varnames[: code.co_argcount - len(function.__defaults__ or ())]
    by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    needed = [one for one in by_name if one not in (function.__kwdefaults__ or {})]
    return [*enumerate(by_place), *((sys.maxsize, one) for one in needed)]


def _missing_argument(function: str, name: str) -> TypeError:
    advice = names_of(f"missing {function}").get(name)
    return TypeError(f"{function}() needs the argument {name!r}{'' if advice is None else f'; {advice}'}")


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns the public name that is spelt like a name, or has it as a part; None if none is near."""
    public = [one for one in known if not one.startswith("_")]
    small = {one.lower(): one for one in reversed(public)}
    near = difflib.get_close_matches(name.lower(), list(small), n=1, cutoff=_CLOSE)
    if near:
        return small[near[0]]
    parts = [one for one in public if min(len(one), len(name)) >= _SHORTEST_PART and (one in name or name in one)]
    return max(parts, key=lambda one: difflib.SequenceMatcher(None, one, name).ratio(), default=None)
