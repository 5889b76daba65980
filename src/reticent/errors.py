"""The errors Reticent raises on purpose: one small tree, so that a caller can catch what it means to handle.

Every message says what was wrong, where, and what to do about it. Nothing here carries a traceback to a
command-line user: the command line prints the message and leaves with :attr:`ReticentError.exit_code`.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Self


class ReticentError(Exception):
    """Anything that Reticent refuses, with a message for the person in front of it, and what it concerns.

    ``setting`` names the parameter that is wrong, outermost part first (``("quasi_sets", 1)``); ``column`` the column of the table;
    ``value`` what was given. A policy turns these into a line and a column of its file, the ``position``.
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
        """The same error, of the same type and with the same fields, with ``place`` before its message and ``shown`` below it.

        It then has a ``position``: what passes it on adds no second one.
        """
        copied = type(self).__new__(type(self))
        copied.__dict__ |= self.__dict__ | {"position": place}
        copied.args = (f"{place}: {self}" + (f"\n{shown}" if shown else ""), *self.args[1:])
        return copied

    @property
    def placed(self) -> bool:
        """Whether the message begins with a position in a file."""
        return bool(self.position)

    def __reduce__(self) -> tuple[Any, ...]:
        """Fields survive the way between processes."""
        return _restored, (type(self), self.args, self.__dict__)


class PolicyError(ReticentError):
    """What was asked for makes no sense: a policy file, a parameter, or a method that does not fit."""


class ParameterError(PolicyError, ValueError):
    """A parameter of a definition, a method or a call has a value that it cannot have; ``setting`` names it."""


class DataError(ReticentError):
    """The data do not fit what was said about them."""


class MissingPackage(DataError):
    """An optional package is not installed; the message has the command that installs it."""


class Infeasible(ReticentError):
    """What was asked for cannot be had from these data, and the message says how far one can get."""

    exit_code = 1


class Denied(ReticentError):
    """A question that will not be answered; the reason can be computed without the data."""

    exit_code = 1


class Cancelled(ReticentError):
    """A run that was stopped on request, in the stage ``stage``; the message says what was and what was not done."""

    exit_code = 130

    def __init__(self, message: str = "", stage: str = "") -> None:
        super().__init__(message)
        self.stage = stage


class LedgerError(ReticentError):
    """The record of what was given out already forbids this, or cannot be written."""


class BudgetExhausted(LedgerError):
    """A budget or an account has less left than was asked for; nothing was spent."""


def _restored(kind: type[ReticentError], arguments: tuple[Any, ...], fields: dict[str, Any]) -> ReticentError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__ |= fields
    return error


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """A closing hint for an unknown name: ``" Did you mean 'age'?"``, or nothing when nothing is near."""
    near = difflib.get_close_matches(str(word), [str(name) for name in known], n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


class _Door(ModuleType):
    """A package that corrects a misspelt name."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}.{did_you_mean(name, self.__all__)}")


def correct_names(package: str) -> None:
    """Let a package that users open by ``rt.`` say which of its names was meant where it does not have one.

    Its class is changed, so that type checkers still see the names that it has and no others.
    """
    sys.modules[package].__class__ = _Door


def first_line(error: BaseException) -> str:
    """What an error of another library says in its first line, or its kind where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
