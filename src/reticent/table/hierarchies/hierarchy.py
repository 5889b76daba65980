"""Hierarchies: chains of increasingly coarse partitions of a column's domain.

A :class:`Hierarchy` is a recipe that can be written before any data are seen. Fitted to a column it becomes a
:class:`BoundHierarchy`: the leaves, and for each level an array from leaf to part with a label and a meaning for every
part. Binding checks that each level is total and disjoint and that levels nest; nesting makes roll-up and pruning
correct.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.encoding import encode
from reticent.base.packing import Codes
from reticent.errors import DataError
from reticent.table.meaning import NULL_LABEL, Anything, Meaning, Missing, Values


@dataclass(frozen=True)
class Level:
    """One partition of the leaves: ``parts[leaf]`` is the code of the part, ``labels`` and ``meanings`` describe parts."""

    parts: NDArray[np.int32]
    labels: tuple[str, ...]
    meanings: tuple[Meaning, ...]

    @property
    def size(self) -> int:
        """The number of parts."""
        return len(self.labels)


@dataclass(frozen=True)
class BoundHierarchy:
    """A hierarchy fitted to a column: level 0 is the value itself, the last level the coarsest.

    No level below ``lowest`` is published. ``capped``: the last level is the coarsest that may be published, so nothing
    may be published that covers more than one of its parts.
    """

    column: str
    leaves: pl.Series
    levels: tuple[Level, ...]
    data_dependent: bool
    null_leaf: int | None = None
    lowest: int = 0
    capped: bool = False
    _cover: tuple[NDArray[np.int64], ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_nesting(self.column, self.leaves, self.levels)
        cover = tuple(np.bincount(level.parts, minlength=level.size).astype(np.int64) for level in self.levels)
        object.__setattr__(self, "_cover", cover)

    @property
    def height(self) -> int:
        """The number of steps from the value itself to the coarsest level."""
        return len(self.levels) - 1

    @property
    def size(self) -> int:
        """The number of leaves, a null leaf included."""
        return len(self.leaves)

    @property
    def is_limited(self) -> bool:
        """True if some levels must not be published."""
        return self.lowest > 0 or self.capped

    @property
    def is_numeric(self) -> bool:
        """True if leaves are numbers or dates, so distances between them are meaningful."""
        return self.leaves.dtype.is_numeric() or self.leaves.dtype.is_temporal()

    def only(self, mask: NDArray[np.bool_]) -> BoundHierarchy:
        """Return the hierarchy restricted to the leaves in ``mask``, with the same levels."""
        levels = tuple(replace(level, parts=level.parts[mask]) for level in self.levels)
        null = None if self.null_leaf is None or not mask[self.null_leaf] else int(mask[: self.null_leaf].sum())
        return replace(self, leaves=self.leaves.filter(pl.Series(mask)), levels=levels, null_leaf=null)

    def cover(self, level: int) -> NDArray[np.int64]:
        """The number of leaves of each part of ``level``."""
        return self._cover[level]

    def between(self, low: int, high: int) -> NDArray[np.int32]:
        """The map from parts of level ``low`` to parts of level ``high`` (``low <= high``)."""
        if low == 0:
            return self.levels[high].parts
        mapped = np.empty(self.levels[low].size, dtype=np.int32)
        mapped[self.levels[low].parts] = self.levels[high].parts
        return mapped

    def same_parts(self, other: BoundHierarchy) -> bool:
        """True if both have the same leaves and parts in the same order, so codes mean the same in both."""
        if self is other:
            return True
        return (
            self.leaves.equals(other.leaves)
            and len(self.levels) == len(other.levels)
            and all(np.array_equal(a.parts, b.parts) for a, b in zip(self.levels, other.levels, strict=True))
        )

    def codes(self, series: pl.Series, looked_up: pl.Series | None = None, first_row: int | None = 0) -> Codes:
        """The leaf code of every value. Raises :class:`DataError` naming a value that is not a leaf.

        ``looked_up`` is the result of :func:`reticent.base.encoding.looked_up` for the column, if already computed;
        messages count rows from ``first_row``.
        """
        return encode(series, self.leaves, self.column, self.null_leaf, looked_up, first_row)

    def numbers(self) -> NDArray[np.float64]:
        """Leaves as numbers (days for dates), NaN for the null leaf; only if :attr:`is_numeric`."""
        series = self.leaves
        if series.dtype == pl.Date:
            series = series.to_physical()
        elif series.dtype.is_temporal():
            series = series.cast(pl.Int64)
        return series.cast(pl.Float64).to_numpy()

    def with_null_leaf(self) -> BoundHierarchy:
        """The same hierarchy with null as an additional leaf: separate at every level except a top that covers everything."""
        if self.null_leaf is not None:
            return self
        leaves = pl.concat([self.leaves, pl.Series([None], dtype=self.leaves.dtype)])
        levels = []
        for number, level in enumerate(self.levels):
            top = number == self.height and self.height > 0 and isinstance(level.meanings[0], Anything)
            if top:
                levels.append(replace(level, parts=np.append(level.parts, np.int32(0))))
            else:
                parts = np.append(level.parts, np.int32(level.size))
                # A part that covered all values does not cover missing ones.
                listed = Values(tuple(self.leaves.to_list()))
                meanings = [listed if isinstance(meaning, Anything) else meaning for meaning in level.meanings]
                labels = (*level.labels, unused(NULL_LABEL, level.labels))
                levels.append(Level(parts, labels, (*meanings, Missing())))
        return replace(self, leaves=leaves, levels=tuple(levels), null_leaf=len(self.leaves))


class Hierarchy(ABC):
    """A chain of increasingly coarse partitions of a column's values; level 0 is the value itself, the last level is suppressed.

    The class methods construct the available kinds: :meth:`intervals`, :meth:`cuts`, :meth:`masking`, :meth:`dates`, :meth:`taxonomy`, :meth:`order`, :meth:`priority`,
    :meth:`suppression`, :meth:`public` (publicly known domains), :meth:`from_csv` and :meth:`listed` (the files of ARX). It is bound to a column's values by the table.

    Example:
        >>> import reticent as rt
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> rt.Hierarchy.masking(digits=5).describe()["kind"]
        'masking'
    """

    @abstractmethod
    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Fit to the values of a column (ignoring nulls), or to the declared domain if there is one."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The recipe as plain data, as in a policy."""

    @property
    def unlimited(self) -> Hierarchy:
        """The same hierarchy without limits to its levels."""
        return self

    def limited(self, min_level: int = 0, max_level: int | None = None) -> Hierarchy:
        """The same hierarchy with only the levels from ``min_level`` to ``max_level`` (default: the last) published."""
        from reticent.table.hierarchies.level_limits import LimitedLevels

        return LimitedLevels(self, min_level, max_level)

    @staticmethod
    def from_csv(path: str | Path, separator: str = ";") -> Hierarchy:
        """Read a hierarchy file of ARX: one row per leaf, level 0 first, no header; leaf text is read as the column's type."""
        from reticent.table.hierarchies.recipes import Listed

        return Listed.read(Path(path), separator)

    @staticmethod
    def listed(rows: Sequence[Sequence[str]]) -> Hierarchy:
        """Return the hierarchy that lists every value: each row is a leaf followed by its label at every level."""
        from reticent.table.hierarchies.recipes import Listed

        return Listed(tuple(tuple(str(cell) for cell in row) for row in rows))

    @staticmethod
    def intervals(
        widths: Sequence[float | str], origin: float | str = 0, domain: tuple[Any, Any] | None = None
    ) -> Hierarchy:
        """Half-open intervals of growing width, aligned to ``origin``; the last level is suppressed.

        Each width is a multiple of the previous one, so levels nest. ``domain=(low, high)`` declares the possible values, inclusive; without it the leaves come from the data and stay private.
        """
        from reticent.table.hierarchies.recipes import Intervals

        return Intervals(tuple(widths), origin, domain)

    @staticmethod
    def cuts(levels: Sequence[Sequence[float | str]], domain: tuple[Any, Any] | None = None) -> Hierarchy:
        """Intervals between explicit cut points, one list per level, each a subset of the previous list."""
        from reticent.table.hierarchies.recipes import Cuts

        return Cuts(tuple(tuple(level) for level in levels), domain)

    @staticmethod
    def masking(digits: int, keep: Sequence[int] | None = None, domain: Sequence[str] | None = None) -> Hierarchy:
        """Codes of ``digits`` characters, masked from the right: ``14853``, ``1485*``, ... ; ``keep`` lists the number of
        characters kept per level.
        """
        from reticent.table.hierarchies.recipes import Masking

        return Masking(digits, tuple(keep) if keep is not None else None, tuple(domain) if domain is not None else None)

    @staticmethod
    def dates(
        levels: Sequence[str] = ("month", "quarter", "year"),
        domain: tuple[Any, Any] | None = None,
        timezone: str | None = None,
    ) -> Hierarchy:
        """Days, then the named coarser units, then suppressed. A timestamp column needs ``timezone``.

        The units are ``hour`` and ``day`` (of timestamps), ``week``, ``month``, ``quarter``, ``half``, ``year`` and ``decade``; or, combined only
        with hours and days, ``weekday`` or ``hour_of_day``, which do not determine the date. Weeks and months do not nest, so a hierarchy has one of them.
        """
        from reticent.table.hierarchies.calendars import Dates

        return Dates(tuple(levels), domain, timezone)

    @staticmethod
    def taxonomy(tree: Mapping[str, Any] | str | Path, from_data: bool = False) -> Hierarchy:
        """A tree of categories: nested mappings with lists of leaves, or a ``.toml`` or ``.json`` file of that shape.

        ``from_data``: its values come from the data, so the domain stays private.
        """
        from reticent.table.hierarchies.recipes import Taxonomy

        return Taxonomy.read(tree, from_data)

    @staticmethod
    def order(
        sizes: Sequence[int],
        values: Sequence[Any] | None = None,
        labels: Sequence[Sequence[str]] | None = None,
        from_data: bool = False,
    ) -> Hierarchy:
        """Merge neighbours in an order, ``sizes[i]`` values at level i + 1, then suppressed: ``primary`` with
        ``secondary``, ``college`` with ``doctorate``.

        ``values`` are all values in order; by default the values that occur, sorted, with a private domain.
        ``from_data``: the listed values come from the data, so the domain stays private. ``labels`` names the groups of
        each level.
        """
        from reticent.table.hierarchies.builders import OrderGroups

        named = None if labels is None else tuple(tuple(level) for level in labels)
        return OrderGroups(tuple(sizes), None if values is None else tuple(values), named, from_data)

    @staticmethod
    def priority(
        keep: Sequence[int], values: Sequence[Any], other: str = "Other", from_data: bool = False
    ) -> Hierarchy:
        """Keep the first ``keep[i]`` of the ``values`` at level i + 1 and merge the rest into ``other``; then suppressed.

        ``from_data``: the values, or their order, come from the data, so the domain stays private.
        """
        from reticent.table.hierarchies.builders import PriorityList

        return PriorityList(tuple(keep), tuple(values), other, from_data)

    @staticmethod
    def public(name: str) -> Hierarchy:
        """A publicly known domain, such as ``us-states``, ``iso-3166-2``, ``icd-10`` (:mod:`reticent.table.hierarchies.public_values`)."""
        from reticent.table.hierarchies.recipes import PublicDomain

        return PublicDomain(name)

    @staticmethod
    def suppression(domain: Sequence[Any] | None = None) -> Hierarchy:
        """The value itself, or suppressed."""
        from reticent.table.hierarchies.recipes import Suppression

        return Suppression(tuple(domain) if domain is not None else None)


def unused(label: str, taken: Container[str]) -> str:
    """``label``, extended until it is unique: a column may contain the text that is reserved for something else."""
    while label in taken:
        label += "'"
    return label


def _check_nesting(column: str, leaves: pl.Series, levels: Sequence[Level]) -> None:
    """Raise unless each level is a coarsening of the one below; the message names the first leaf that violates it."""
    for number in range(1, len(levels)):
        low, high = levels[number - 1], levels[number]
        mapped = np.full(low.size, -1, dtype=np.int32)
        mapped[low.parts[::-1]] = high.parts[::-1]
        wrong = np.flatnonzero(mapped[low.parts] != high.parts)
        if len(wrong):
            leaf = int(wrong[0])
            raise DataError(
                f"The hierarchy of column {column!r} does not nest: at level {number}, value {leaves[leaf]!r} falls into "
                f"{high.labels[high.parts[leaf]]!r}, but others that share {low.labels[low.parts[leaf]]!r} with it at level "
                f"{number - 1} fall into {high.labels[mapped[low.parts[leaf]]]!r}. Put the whole of "
                f"{low.labels[low.parts[leaf]]!r} into one part of level {number}.",
                column=column,
                value=leaves[leaf],
            )
