"""Similarity: different but semantically close values disclose what they have in common. Source: [Li2007]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, draws_of_groups, needs_secret, secrets
from reticent.base.exact import Number, exact
from reticent.base.packing import sum_by
from reticent.core import AdversaryView, Groups, Histograms
from reticent.errors import PolicyError


@dataclass(frozen=True)
class _Kinds:
    """For every group one kind of values: its rows in the group, a value of that kind, its rows in the whole, and
    whether it reaches the threshold in the group but not in the whole.
    """

    counts: NDArray[np.int64]
    cells: NDArray[np.int64]
    whole: NDArray[np.int64]
    telling: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        groups: Groups,
        owners: NDArray[np.int64],
        inside: NDArray[np.int64],
        cells: NDArray[np.int64],
        whole: NDArray[np.int64],
        limit: Fraction,
    ) -> _Kinds:
        """Return the most disclosing kind of each group: one that reaches the threshold in the group but not in the whole first, then the largest."""
        rows = int(groups.reference.sum())
        reaches = inside * limit.denominator >= groups.sizes[owners] * limit.numerator
        discloses = reaches & ~(whole * limit.denominator >= rows * limit.numerator)
        order = np.lexsort((-inside, ~discloses, owners))
        filled, firsts = np.unique(owners[order], return_index=True)
        zeros = np.zeros(len(groups), dtype=np.int64)
        kinds = cls(zeros, zeros.copy(), zeros.copy(), zeros.astype(bool))
        for target, source in zip(
            (kinds.counts, kinds.cells, kinds.whole, kinds.telling), (inside, cells, whole, discloses), strict=True
        ):
            target[filled] = source[order[firsts]]
        return kinds


@dataclass(frozen=True)
class Similarity:
    """An adversary who knows a person's group learns the kind of value that (almost) all of its members have.

    With numbers, a kind is a range of the given ``width``: a group is affected if some range holds at least the share
    ``threshold`` of it, but not of all published rows (default width: a tenth of the published range). With
    ``categories`` (name -> values) a kind is a category; a value in none is its own. All people of an affected group
    are hit. Diversity of ranges (of this width) or of categories with c = ``threshold`` prevents it, and so does
    (epsilon, m)-anonymity with epsilon = ``width`` and 1/m below ``threshold``.
    """

    width: Number | None = None
    categories: Mapping[str, Sequence[object]] | None = None
    threshold: Number = "9/10"
    column: str | None = None

    name = "similarity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", exact(self.threshold, "Similarity: threshold", above=0, high=1))
        if self.width is not None and self.categories is not None:
            raise PolicyError("Similarity: pass width (for numbers) or categories, not both.")
        if self.width is not None:
            object.__setattr__(self, "width", exact(self.width, "Similarity: width", low=0))

    def needs(self, view: AdversaryView) -> str | None:
        """Require groups with a sensitive column."""
        return needs_secret(view, self.column, "Similarity")

    def attack(self, view: AdversaryView) -> Findings:
        """Find the groups whose values are close."""
        sensitive, groups = secrets(view, self.column, "Similarity")
        width = None if self.categories is not None else self._width(groups, sensitive)
        limit = exact(self.threshold, "threshold")
        kinds = _ranges(groups, width, limit) if width is not None else self._categories(groups, limit)
        affected = np.flatnonzero(kinds.telling)
        kind = f"within a range of {float(width):g}" if width is not None else "of one category"
        return Findings(
            self.name,
            "the published labels of each person, that they are in the data, and which values are similar",
            f"are in a group whose values of {sensitive} are {'all' if limit == 1 else f'by {float(limit):.0%}'} {kind}",
            int(groups.people[affected].sum()),
            int(groups.people.sum()),
            self._example(groups, sensitive, kinds, affected, width),
            details={
                "width": None if width is None else str(width),
                "threshold": str(limit),
                "groups": len(groups),
                "affected_groups": len(affected),
            },
            draws=draws_of_groups(groups.people, affected),
        )

    def _width(self, groups: Groups, sensitive: str) -> Fraction:
        numbers = groups.domain.columns[0].numbers()
        if numbers is None:
            raise PolicyError(
                f"Similarity: {sensitive!r} has no numbers, so pass the values that are similar: categories={{'stomach': ['ulcer', ...]}}."
            )
        if self.width is not None:
            return exact(self.width, "width")
        present = numbers[~np.isnan(numbers)]
        spread = float(present.max() - present.min()) if len(present) else 0.0
        return exact(spread, "width") / 10

    def _categories(self, groups: Groups, limit: Fraction) -> _Kinds:
        column = groups.domain.columns[0]
        category = np.arange(column.size)
        for members in (self.categories or {}).values():
            positions = [column.position(value) for value in members if str(value) in set(column.texts)]
            if positions:
                category[positions] = min(positions)
        histograms = groups.histograms
        merged = Histograms.from_cells(
            histograms.owners, category[histograms.values], histograms.counts, len(groups), column.size
        )
        kinds, whole = merged.values.astype(np.int64), sum_by(category, groups.reference, column.size)
        return _Kinds.of(groups, merged.owners, merged.counts, kinds, whole[kinds], limit)

    def _example(
        self, groups: Groups, sensitive: str, kinds: _Kinds, affected: NDArray[np.int64], width: Fraction | None
    ) -> str:
        shares = kinds.counts / np.maximum(groups.sizes, 1)
        if not len(affected):
            kind = f"ranges of {float(width):g}" if width is not None else "a category"
            return f"No more than {shares.max(initial=0.0):.0%} of a group have their {sensitive} in common by {kind}."
        group = int(affected[np.lexsort((kinds.whole[affected], -shares[affected]))[0]])
        column, value = groups.domain.columns[0], int(kinds.cells[group])
        if width is not None:
            numbers = column.numbers()
            assert numbers is not None
            kind = f"between {numbers[value]:g} and {numbers[value] + float(width):g}"
        else:
            names = {text: name for name, values in (self.categories or {}).items() for text in map(str, values)}
            kind = f"of the kind {names.get(column.texts[value], column.texts[value])!r}"
        outside = kinds.whole[group] / max(int(groups.reference.sum()), 1)
        return (
            f"In a group of {int(groups.sizes[group]):,}, {shares[group]:.0%} have a value of {sensitive} {kind}, "
            f"against {outside:.0%} of all that was published."
        )


def _ranges(groups: Groups, width: Fraction, limit: Fraction) -> _Kinds:
    """Return ranges of ``width`` that start at a value of the group."""
    column, histograms = groups.domain.columns[0], groups.histograms
    numbers = column.numbers()
    assert numbers is not None
    rising = np.argsort(numbers, kind="stable")
    rank = np.empty(column.size, dtype=np.int64)
    rank[rising] = np.arange(column.size)
    ordered = numbers[rising]
    # The last rank within reach of each rank. A missing value (NaN, sorted last) reaches only itself.
    reach = np.searchsorted(ordered, ordered + float(width), "right") - 1
    reach = np.where(np.isnan(ordered), np.arange(column.size), reach)
    cells = np.argsort(histograms.owners * column.size + rank[histograms.values], kind="stable")
    keys = (histograms.owners * column.size + rank[histograms.values])[cells]
    sums = np.concatenate([[0], np.cumsum(histograms.counts[cells])])
    owners, ranks = histograms.owners[cells], rank[histograms.values[cells]]
    ends = np.searchsorted(keys, owners * column.size + reach[ranks], "right")
    inside = sums[ends] - sums[:-1]
    whole_sums = np.concatenate([[0], np.cumsum(groups.reference[rising])])
    whole = whole_sums[reach[ranks] + 1] - whole_sums[ranks]
    return _Kinds.of(groups, owners, inside, rising[ranks], whole, limit)
