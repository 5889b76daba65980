"""The exceptions of Reticent: one small tree, so a caller can catch what it means to handle.

Every message states what was wrong, where, and what to do about it. The command line prints the message without a
traceback and exits with :attr:`ReticentError.exit_code`.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Self


class ReticentError(Exception):
    """The base class of all errors: a message for the user, and what it concerns.

    ``setting`` names the invalid parameter, outermost part first (``("quasi_sets", 1)``); ``column`` the column of the
    table; ``value`` the given value. A policy turns these into the ``position``: line and column of its file.
    """

    exit_code = 2

    def __init__(
        self,
        message: str = "",
        *,
        setting: tuple[str | int, ...] = (),
        column: str | None = None,
        value: object = None,
    ) -> None:
        super().__init__(message)
        self.setting = setting
        self.column = column
        self.value = value
        self.position = ""

    def at(self, place: str, shown: str = "") -> Self:
        """The same error, of the same type and with the same fields, with ``place`` before its message and ``shown`` below
        it.

        It then has a ``position``, so callers do not add a second one.
        """
        copied = type(self).__new__(type(self))
        copied.__dict__ |= self.__dict__ | {"position": place}
        copied.args = (f"{place}: {self}" + (f"\n{shown}" if shown else ""), *self.args[1:])
        return copied

    @property
    def placed(self) -> bool:
        """True if the message begins with a position in a file."""
        return bool(self.position)

    def __reduce__(self) -> tuple[Any, ...]:
        """Preserve the fields when pickled between processes."""
        return _restored, (type(self), self.args, self.__dict__)


class PolicyError(ReticentError):
    """An invalid request: a policy file, a parameter, or an unsuitable method."""


class ParameterError(PolicyError, ValueError):
    """An invalid value of a parameter of a definition, a method or a call; ``setting`` names it."""


class DataError(ReticentError):
    """The data contradict what was declared about them."""


class MissingPackage(DataError):
    """An optional package is not installed; the message has the command that installs it."""


class Infeasible(ReticentError):
    """The request cannot be satisfied with these data; the message states what can be achieved."""

    exit_code = 1


class Denied(ReticentError):
    """A query that will not be answered; the reason can be computed without the data."""

    exit_code = 1


class Cancelled(ReticentError):
    """A run that was stopped on request, in the stage ``stage``; the message states what was done and what was not."""

    exit_code = 130

    def __init__(self, message: str = "", stage: str = "") -> None:
        super().__init__(message)
        self.stage = stage


class LedgerError(ReticentError):
    """The record of prior disclosures forbids this, or cannot be written."""


class BudgetExhausted(LedgerError):
    """A budget or an account has less left than requested; nothing was spent."""


def _restored(kind: type[ReticentError], arguments: tuple[Any, ...], fields: dict[str, Any]) -> ReticentError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__ |= fields
    return error


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """A closing hint for an unknown name: ``" Did you mean 'age'?"``, or empty if no known name is similar."""
    near = difflib.get_close_matches(str(word), [str(name) for name in known], n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


class _Door(ModuleType):
    """A module type whose attribute errors suggest the intended name."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}.{did_you_mean(name, self.__all__)}")


def correct_names(package: str) -> None:
    """Make a public package suggest the intended name when an attribute is missing.

    The module's class is changed, so type checkers still see exactly its names.
    """
    sys.modules[package].__class__ = _Door


def first_line(error: BaseException) -> str:
    """The first line of another library's error message, or its class name if the message is empty."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
