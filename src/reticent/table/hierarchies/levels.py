"""Levels: partitions of leaves, by number, by label, all separate or all together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.table.hierarchies.hierarchy import Level
from reticent.table.meaning import SUPPRESSED, Anything, Interval, Meaning, Value, Values


def identity(leaves: pl.Series) -> Level:
    """Level 0: every leaf is a part of its own."""
    meanings = tuple(Value(value) for value in leaves.to_list())
    return Level(np.arange(len(leaves), dtype=np.int32), tuple(leaves.cast(pl.String).to_list()), meanings)


def suppressed(leaves: pl.Series) -> Level:
    """The level with a single part: suppressed."""
    return Level(np.zeros(len(leaves), dtype=np.int32), (SUPPRESSED,), (Anything(),))


def level_by_number(numbers: NDArray[Any], bounds: Any) -> Level:
    """Parts by interval number; ``bounds(number)`` returns its two ends, None for an open end."""
    present, parts = np.unique(numbers, return_inverse=True)
    meanings = tuple(Interval(*map(plain_number, bounds(int(number)))) for number in present)
    return Level(parts.astype(np.int32), tuple(meaning.text for meaning in meanings), meanings)


def level_by_label(labels: Sequence[str], leaves: pl.Series) -> Level:
    """Parts by label; a single label covers everything."""
    distinct, parts = group(labels)
    if len(distinct) == 1:
        return Level(parts, tuple(distinct), (Anything(),))
    return Level(parts, tuple(distinct), values_of(parts, len(distinct), leaves))


def values_of(parts: NDArray[np.int32], size: int, leaves: pl.Series) -> tuple[Meaning, ...]:
    """Return the meaning of each of ``size`` parts (categories of a level): the set of leaves in it; ``parts`` has the
    part of each leaf.
    """
    values: list[list[Any]] = [[] for _ in range(size)]
    for part, leaf in zip(parts.tolist(), leaves.to_list(), strict=True):
        values[part].append(leaf)
    return tuple(Values(tuple(members)) for members in values)


def group(keys: Sequence[Any]) -> tuple[list[Any], NDArray[np.int32]]:
    """Distinct keys in order of appearance, and the index of each key."""
    numbers: dict[Any, int] = {}
    parts = np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), dtype=np.int32, count=len(keys))
    return list(numbers), parts


def plain_number(number: Fraction | None) -> Any:
    """A number as JSON represents it."""
    if number is None:
        return None
    return int(number) if number.denominator == 1 else float(number)


def optional(**fields: Any) -> dict[str, Any]:
    """The fields of a description that are not None."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items() if value is not None
    }
