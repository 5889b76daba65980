"""Column names as arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reticent.errors import PolicyError


def column_names(argument: Any, setting: str) -> tuple[str, ...]:
    """The names given by an argument; a single name counts as a list of one. Raises naming the argument otherwise."""
    if isinstance(argument, str):
        return (argument,)
    names = tuple(argument) if isinstance(argument, Iterable) and not isinstance(argument, bytes) else None
    if names is not None and all(isinstance(name, str) for name in names):
        return names
    raise PolicyError(
        f"{setting} must list columns by their names, such as {setting}=['age', 'town'], but it is {argument!r}.",
        setting=(setting,),
        value=argument,
    )


def column_name_sets(argument: Any, setting: str) -> tuple[tuple[str, ...], ...]:
    """The sets of names given by an argument."""
    if isinstance(argument, str) or not isinstance(argument, Iterable):
        raise PolicyError(
            f"{setting} must list sets of columns, such as {setting}=[['age', 'town'], ['town', 'job']], but it is {argument!r}.",
            setting=(setting,),
            value=argument,
        )
    return tuple(column_names(names, setting) for names in argument)
