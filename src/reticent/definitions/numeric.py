"""Sensitive numbers: different values that are close disclose nearly as much as equal ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.base.ragged import starts_of
from reticent.core import Groups, Histograms
from reticent.definitions.bounded import LargestShare, LeastFigure
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.conjunction import Conjunction
from reticent.definitions.definition import GroupDefinition
from reticent.definitions.diversity import DistinctLDiversity
from reticent.definitions.number_text import measured, shown
from reticent.definitions.scaled_comparison import less
from reticent.definitions.shares import share
from reticent.errors import PolicyError
from reticent.table import SensitiveColumn

_SMALL = 2**61


@dataclass(frozen=True)
class Line:
    """The histogram entries of all groups on a line, ascending within each group: exact integer positions, ``unit`` of
    them per 1.

    ``places`` and ``owners`` are the positions and groups of the sorted entries, ``rows`` their cumulative counts over
    all groups with a leading zero.
    """

    places: NDArray[Any]
    owners: NDArray[np.int64]
    rows: NDArray[np.int64]
    unit: int

    @classmethod
    def of(cls, groups: Groups, lengths: tuple[Fraction, ...], name: str) -> Line:
        """Return the values of the groups on a number line of integers, in a unit in which the given ``lengths`` are
        integers, too.
        """
        numbers = groups.found("exact numbers", lambda: exact_numbers(groups.domain.columns[0], name))
        unit = math.lcm(*(number.denominator for number in (*numbers, *lengths)), 1)
        whole_numbers = [number.numerator * (unit // number.denominator) for number in numbers]
        largest_number = max((abs(number) for number in whole_numbers), default=0)
        longest = max((int(length * unit) for length in lengths), default=0)
        dtype: Any = np.int64 if largest_number + longest < _SMALL else object
        positions = np.array(whole_numbers, dtype=dtype)
        return groups.found(("line", unit, dtype), lambda: cls._through(groups.histograms, positions, unit))

    @classmethod
    def _through(cls, cells: Histograms, positions: NDArray[Any], unit: int) -> Line:
        """Return the entries of the histograms in ascending order of position within each group."""
        entry_positions, owners, counts = positions[cells.values], cells.owners, cells.counts
        if not (positions[1:] > positions[:-1]).all():
            # Entries of a group follow the order of the column's values, which a hierarchy may list arbitrarily.
            order = np.lexsort((np.argsort(np.argsort(positions))[cells.values], owners))
            entry_positions, owners, counts = entry_positions[order], owners[order], counts[order]
        return cls(entry_positions, owners, starts_of(counts), unit)

    def reach(self, offsets: NDArray[np.int64], length: Fraction, *, forwards: bool) -> NDArray[np.int64]:
        """For every entry the index after the last (before the first) entry of its group within ``length`` of it."""
        distance = int(length * self.unit)
        keys = self._keys(distance)
        if forwards:
            return np.minimum(np.searchsorted(keys, keys + distance, side="right"), offsets[1:][self.owners])
        return np.maximum(np.searchsorted(keys, keys - distance, side="left"), offsets[:-1][self.owners])

    def _keys(self, distance: int) -> NDArray[Any]:
        """Return positions that are comparable across groups: each group is shifted so far that no distance up to
        ``distance`` reaches the next.
        """
        if len(self.places) == 0:
            return self.places
        low, high = int(self.places.min()), int(self.places.max())
        shift = high - low + 2 * distance + 1
        fits = shift * (int(self.owners[-1]) + 2) < _SMALL
        base = (self.places - low).astype(np.int64 if fits else object)
        keys: NDArray[Any] = base + self.owners.astype(base.dtype) * shift
        return keys


@dataclass(frozen=True)
class RangeAtLeast(LeastFigure):
    """The numbers of every group span at least ``e``: the second half of (k,e)-anonymity. A span only grows."""

    e: Number
    column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "e", exact(self.e, "KEAnonymity: e", low=0))

    @property
    def needed(self) -> Fraction:
        return Fraction(self.e)

    def figures(self, groups: Groups) -> tuple[NDArray[Any], int]:
        """Return the range of the numbers in each group as an integer, and the integer that stands for 1."""
        line = Line.of(groups, (), "KEAnonymity")
        spans = np.zeros(len(groups), dtype=line.places.dtype)
        filled = groups.sizes > 0
        offsets = groups.histograms.offsets
        spans[filled] = line.places[offsets[1:][filled] - 1] - line.places[offsets[:-1][filled]]
        return spans, line.unit

    def promise(self, scope: ClaimScope) -> str:
        return f"cannot narrow {scope.secret(self.column)} to a range shorter than {shown(self.e)}{scope.beside(self.column)}"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return f"How the numbers of {scope.secret(self.column)} lie inside their range is not bounded: nearly all may be close together."

    def _complaint(self, narrowest: Fraction) -> str:
        return f"numbers that span less than {shown(self.e)}; the narrowest spans {measured(narrowest)}"


@dataclass(frozen=True)
class KEAnonymity(Conjunction):
    """(k,e)-anonymity: every group has at least ``k`` different numbers, which span at least ``e``.

    Guarantee: no adversary is certain of a person's number, nor of a range narrower than ``e``. Adversary: knows quasi
    values. Monotone; absorbing with one sensitive column.
    Not covered: the distribution inside the range; nearly all numbers may be close together.
    Source: [Zhang2007].

    Parameters:
        k: the smallest number of different numbers in a group.
        e: the minimum difference between its largest and smallest number.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30], "wage": [10, 50, 90]}, quasi=["age"], sensitive="wage")
        >>> rt.assess(table, rt.KEAnonymity(k=3, e=80)).holds
        True
    """

    k: int
    e: Number
    column: str | None = None

    def __post_init__(self) -> None:
        whole(self.k, "KEAnonymity: k", low=1)
        object.__setattr__(self, "e", exact(self.e, "KEAnonymity: e", low=0))
        self.adopt_traits()

    def members(self) -> Mapping[str, GroupDefinition]:
        return {"k": DistinctLDiversity(self.k, self.column), "e": RangeAtLeast(self.e, self.column)}


@dataclass(frozen=True)
class EpsilonMAnonymity(LargestShare):
    """(epsilon,m)-anonymity: at most ``1/m`` of a group's rows are within ``epsilon`` of any of its numbers.

    Guarantee: an adversary who guesses that a person's number is within ``epsilon`` of one in the group is right with a probability of at most 1/m.
    Adversary: knows quasi values, and is satisfied with an approximate number.
    Not monotone: a number of one group may fall between two numbers of another whose neighbourhoods were disjoint.
    Not covered: ranges around other numbers, and an adversary who can rule numbers out.
    Source: [Li2008].

    Parameters:
        epsilon: the tolerance of a guess.
        m: a number of at least 1, whole or not.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30], "wage": [10, 50, 90]}, quasi=["age"], sensitive="wage")
        >>> rt.assess(table, rt.EpsilonMAnonymity(epsilon=5, m=3)).holds
        True
    """

    epsilon: Number
    m: Number
    column: str | None = None

    monotone = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon, "EpsilonMAnonymity: epsilon", low=0))
        object.__setattr__(self, "m", exact(self.m, "EpsilonMAnonymity: m", low=1))

    @property
    def limit(self) -> Fraction:
        return 1 / Fraction(self.m)

    def largest(self, groups: Groups) -> NDArray[np.int64]:
        """The largest number of rows of every group within ``epsilon`` of one of its numbers."""
        epsilon, offsets = Fraction(self.epsilon), groups.histograms.offsets
        line = Line.of(groups, (epsilon,), "EpsilonMAnonymity")
        after, before = line.reach(offsets, epsilon, forwards=True), line.reach(offsets, epsilon, forwards=False)
        return groups.histograms.reduce_max(line.rows[after] - line.rows[before])

    def achieved(self, largest: Fraction) -> Fraction:
        return 1 / largest

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        return (
            f"is right for at most {shown(1 / Fraction(self.m))} of {scope.alike} to say that {scope.secret(self.column)} is within "
            f"{shown(self.epsilon)} of a number that occurs among them{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return f"Ranges of {scope.secret(self.column)} around other numbers, and an attacker who can rule numbers out, are not covered."

    def _complaint(self, largest: Fraction) -> str:
        return f"more than 1/{shown(self.m)} of their rows within {shown(self.epsilon)} of a number; the worst has {measured(largest)}"


@dataclass(frozen=True)
class RangeDiversity(LargestShare):
    """Any range ``[x - below, x + above]`` contains less than ``c`` of every group.

    Guarantee: an adversary who knows quasi values is less than ``c`` sure that a person's number is in any given range of that length.
    Adversary: knows quasi values, and is satisfied with a range. Monotone: each range's share of a mixture is at most the largest.
    Not covered: wider ranges, and an adversary who can rule numbers out.
    Strict, as c-positive disclosure is. The fullest range begins at a number of the group.
    Source: our definition, after positive disclosure in [Machanavajjhala2007].

    Parameters:
        c: the share that must not be reached.
        below, above: the extent of a range below and above x.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30], "wage": [10, 50, 90]}, quasi=["age"], sensitive="wage")
        >>> rt.assess(table, rt.RangeDiversity(c="1/2", below=5, above=5)).holds
        True
    """

    c: Number
    below: Number
    above: Number
    column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", share(self.c, "RangeDiversity: c"))
        for name in ("below", "above"):
            object.__setattr__(self, name, exact(getattr(self, name), f"RangeDiversity: {name}", low=0))

    @property
    def length(self) -> Fraction:
        """The length of the ranges."""
        return Fraction(self.below) + Fraction(self.above)

    @property
    def limit(self) -> Fraction:
        return Fraction(self.c)

    def within(self, rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        return less(rows, self.limit, sizes)

    def largest(self, groups: Groups) -> NDArray[np.int64]:
        """The largest number of rows of every group in one range."""
        line = Line.of(groups, (self.length,), "RangeDiversity")
        after = line.reach(groups.histograms.offsets, self.length, forwards=True)
        return groups.histograms.reduce_max(line.rows[after] - line.rows[:-1])

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        return (
            f"is less than {shown(self.c)} sure that {scope.secret(self.column)} lies between x - {shown(self.below)} and x + {shown(self.above)}, for any x"
            f"{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return (
            f"Wider ranges of {scope.secret(self.column)}, and an attacker who can rule numbers out, are not covered."
        )

    def _complaint(self, largest: Fraction) -> str:
        return f"{shown(self.c)} of their rows or more in a range of length {shown(self.length)}; the worst has {measured(largest)}"


def exact_numbers(column: SensitiveColumn, name: str) -> list[Fraction]:
    """The values of a column as exact numbers (dates as days). A float is read as its shortest decimal."""
    labels = column.labels
    if labels.null_count():
        raise PolicyError(
            f"{name}: the missing values of column {column.name!r} are not numbers. Drop such rows with nulls='drop'."
        )
    if labels.dtype == pl.Date:
        return [Fraction(days) for days in labels.to_physical().to_list()]
    if not labels.dtype.is_numeric():
        raise PolicyError(
            f"{name} measures distances between numbers, but the sensitive column {column.name!r} has type {labels.dtype}. "
            "Choose a numeric one with column=, or read it as numbers."
        )
    if labels.dtype.is_float() and not labels.is_finite().all():
        raise PolicyError(f"{name}: column {column.name!r} has an infinite value, so no distance can be measured.")
    return [
        Fraction(Decimal(repr(value))) if isinstance(value, float) else Fraction(value) for value in labels.to_list()
    ]
