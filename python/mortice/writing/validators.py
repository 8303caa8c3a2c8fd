"""Checks of the table as a write would leave it, before the write is completed.

They are the counterpart of Hudi's `hoodie.precommit.validators`, as Python functions. A function that raises an
exception, or returns False, refuses the commit: the write is rolled back, and the exception is raised again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mortice.errors import InvalidArgumentError, MorticeError

if TYPE_CHECKING:
    from mortice import _mortice

__all__ = ["CommitCheck", "Validator", "checked_validators", "validated"]

Validator = Callable[[Any], object]
"""A function of the `Table` as the write would leave it."""


def checked_validators(validators: object) -> tuple[Validator, ...]:
    """Returns the functions. Raises `InvalidArgumentError`."""
    if not isinstance(validators, Sequence) or not all(callable(one) for one in validators):
        raise InvalidArgumentError(f"validators must be functions of a table, got {validators!r}")
    return tuple(validators)


class CommitCheck:
    """The function that the native module calls before it completes the write.

    Args:
        validators: The functions, called in this order.
        opened: Makes a `Table` of a native one.
    """

    def __init__(self, validators: Sequence[Validator], opened: Callable[[_mortice.Table], object]) -> None:
        self._validators = validators
        self._opened = opened
        self.error: BaseException | None = None

    def __call__(self, native: _mortice.Table) -> None:
        """Calls the validators. Keeps and raises the exception of the first one that refuses the commit."""
        try:
            table = self._opened(native)
            for validator in self._validators:
                _call(validator, table)
        except BaseException as error:
            self.error = error
            raise


def _call(validator: Validator, table: object) -> None:
    if validator(table) is False:
        name = getattr(validator, "__name__", repr(validator))
        raise InvalidArgumentError(f"the validator {name} refused the commit")


@contextmanager
def validated(
    validators: Sequence[Validator], opened: Callable[[_mortice.Table], object]
) -> Iterator[CommitCheck | None]:
    """Gives the function for the native module; None without validators. Raises what a validator raised.

    Args:
        validators: The functions.
        opened: As for `CommitCheck`.
    """
    if not validators:
        yield None
        return
    check = CommitCheck(validators, opened)
    try:
        yield check
    except MorticeError as error:
        if check.error is None or check.error is error:
            raise
        # The cause says so if the rollback has failed.
        raise check.error from error
