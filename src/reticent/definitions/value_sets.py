"""Sets of sensitive values that a definition treats differently: don't-care values, values that must stay possible."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups
from reticent.errors import DataError, PolicyError

Values = Iterable[str | int | float | Decimal | date | datetime | time | None] | str


def value_set(given: Values, name: str) -> tuple[str | None, ...]:
    """The values as text without repeats, in the order given (sorted for a set); ``None`` is the missing value."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise PolicyError(f"{name} must be a list of sensitive values, but it is {given!r}.")
    texts = dict.fromkeys(_text(value) for value in given)
    if isinstance(given, set | frozenset):
        return tuple(sorted(texts, key=lambda text: (text is None, text or "")))
    return tuple(texts)


def membership(groups: Groups, values: tuple[str | None, ...]) -> NDArray[np.bool_]:
    """For each value of the groups' only sensitive column whether it is among ``values``; an unknown one is an error."""
    column = groups.domain.columns[0]
    member = np.zeros(column.size, dtype=bool)
    try:
        member[[column.position(value) for value in values]] = True
    except DataError as error:
        raise DataError(
            f"{error} If it is one that nobody has, declare the values that there are: sensitive={{{column.name!r}: [...]}}."
        ) from None
    return member


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def named_columns(given: object, name: str) -> tuple[str, ...]:
    """Different names of quasi columns, for a definition that names those which its adversary holds."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise PolicyError(f"{name} must be a list of quasi columns, but it is {given!r}.")
    names = tuple(given)
    if not names or not all(isinstance(each, str) for each in names) or len(set(names)) != len(names):
        raise PolicyError(f"{name} must name different quasi columns, but it is {list(names)!r}.")
    return names
