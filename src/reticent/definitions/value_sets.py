"""Sets of sensitive values that a definition treats differently: don't-care values, values that must remain possible."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups
from reticent.errors import DataError, PolicyError

Values = Iterable[str | int | float | Decimal | date | datetime | time | None] | str


def value_set(values: Values, name: str) -> tuple[str | None, ...]:
    """The values as text without duplicates, in the given order (sorted for a set); ``None`` is the missing value."""
    if isinstance(values, str):
        return (values,)
    if not isinstance(values, Iterable):
        raise PolicyError(f"{name} must be a list of sensitive values, but it is {values!r}.")
    texts = dict.fromkeys(_text(value) for value in values)
    if isinstance(values, set | frozenset):
        return tuple(sorted(texts, key=lambda text: (text is None, text or "")))
    return tuple(texts)


def membership(groups: Groups, values: tuple[str | None, ...]) -> NDArray[np.bool_]:
    """Mask of the values of the only sensitive column that are in ``values``. Raises for an unknown value."""
    column = groups.domain.columns[0]
    member = np.zeros(column.size, dtype=bool)
    try:
        member[[column.position(value) for value in values]] = True
    except DataError as error:
        raise DataError(
            f"{error} If no record has it, declare the column's domain: sensitive={{{column.name!r}: [...]}}."
        ) from None
    return member


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def named_columns(columns: object, name: str) -> tuple[str, ...]:
    """Return the names of distinct quasi columns, given as a parameter (``name``) of a definition."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise PolicyError(f"{name} must be a list of quasi columns, but it is {columns!r}.")
    names = tuple(columns)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise PolicyError(f"{name} must name different quasi columns, but it is {list(names)!r}.")
    return names
