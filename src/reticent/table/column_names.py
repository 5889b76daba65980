"""Column names as arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reticent.errors import PolicyError


def column_names(given: Any, setting: str) -> tuple[str, ...]:
    """The names given by an argument; a single name counts as a list of one. Raises naming the argument otherwise."""
    if isinstance(given, str):
        return (given,)
    listed = tuple(given) if isinstance(given, Iterable) and not isinstance(given, bytes) else None
    if listed is not None and all(isinstance(name, str) for name in listed):
        return listed
    raise PolicyError(
        f"{setting} must list columns by their names, such as {setting}=['age', 'town'], but it is {given!r}.",
        setting=(setting,),
        value=given,
    )


def column_name_sets(given: Any, setting: str) -> tuple[tuple[str, ...], ...]:
    """The sets of names given by an argument."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise PolicyError(
            f"{setting} must list sets of columns, such as {setting}=[['age', 'town'], ['town', 'job']], but it is {given!r}.",
            setting=(setting,),
            value=given,
        )
    return tuple(column_names(each, setting) for each in given)
