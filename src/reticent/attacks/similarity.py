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
        group_of_entry: NDArray[np.int64],
        rows_in_group: NDArray[np.int64],
        kinds: NDArray[np.int64],
        rows_in_whole: NDArray[np.int64],
        limit: Fraction,
    ) -> _Kinds:
        """Return the most disclosing kind (range or category of values) of each group.

        Entry ``i`` is a kind ``kinds[i]`` that occurs in group ``group_of_entry[i]``, with its rows there and in the whole
        table. First come kinds that reach the threshold ``limit`` in the group but not in the whole, then the most frequent.
        """
        rows = int(groups.reference.sum())
        reaches_threshold = rows_in_group * limit.denominator >= groups.sizes[group_of_entry] * limit.numerator
        discloses = reaches_threshold & ~(rows_in_whole * limit.denominator >= rows * limit.numerator)
        order = np.lexsort((-rows_in_group, ~discloses, group_of_entry))
        groups_present, first_entries = np.unique(group_of_entry[order], return_index=True)
        zeros = np.zeros(len(groups), dtype=np.int64)
        result = cls(zeros, zeros.copy(), zeros.copy(), zeros.astype(bool))
        for target, source in zip(
            (result.counts, result.cells, result.whole, result.telling),
            (rows_in_group, kinds, rows_in_whole, discloses),
            strict=True,
        ):
            target[groups_present] = source[order[first_entries]]
        return result


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
        """Check the parameters, and store them in their exact or normalized form."""
        object.__setattr__(self, "threshold", exact(self.threshold, "Similarity: threshold", above=0, high=1))
        if self.width is not None and self.categories is not None:
            raise PolicyError("Similarity: pass width (for numbers) or categories, not both.")
        if self.width is not None:
            object.__setattr__(self, "width", exact(self.width, "Similarity: width", low=0))

    def needs(self, view: AdversaryView) -> str | None:
        """Require groups with a sensitive column."""
        return needs_secret(view, self.column, "Similarity")

    def attack(self, view: AdversaryView) -> Findings:
        """Find the groups in which a large share of the values is similar: within one range, or of one category."""
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
        """Return the width of a range of similar numbers: as declared, or a tenth of the spread of the published values."""
        numbers = groups.domain.columns[0].numbers()
        if numbers is None:
            raise PolicyError(
                f"Similarity: {sensitive!r} has no numbers, so pass the values that are similar: categories={{'stomach': ['ulcer', ...]}}."
            )
        if self.width is not None:
            return exact(self.width, "width")
        present = numbers[~np.isnan(numbers)]
        value_range = float(present.max() - present.min()) if len(present) else 0.0
        return exact(value_range, "width") / 10

    def _categories(self, groups: Groups, limit: Fraction) -> _Kinds:
        """Return the most disclosing category of each group. A category is numbered by its first value; values in none are alone."""
        column = groups.domain.columns[0]
        category_of_value = np.arange(column.size)
        for members in (self.categories or {}).values():
            positions = [column.position(value) for value in members if str(value) in set(column.texts)]
            if positions:
                category_of_value[positions] = min(positions)
        histograms = groups.histograms
        merged = Histograms.from_cells(
            histograms.owners, category_of_value[histograms.values], histograms.counts, len(groups), column.size
        )
        category_of_entry, rows_by_category = (
            merged.values.astype(np.int64),
            sum_by(category_of_value, groups.reference, column.size),
        )
        return _Kinds.of(
            groups, merged.owners, merged.counts, category_of_entry, rows_by_category[category_of_entry], limit
        )

    def _example(
        self, groups: Groups, sensitive: str, kinds: _Kinds, affected: NDArray[np.int64], width: Fraction | None
    ) -> str:
        """Return a sentence about the affected group with the largest share of similar values."""
        shares = kinds.counts / np.maximum(groups.sizes, 1)
        if not len(affected):
            kind_in_words = f"ranges of {float(width):g}" if width is not None else "a category"
            return f"No more than {shares.max(initial=0.0):.0%} of a group have their {sensitive} in common by {kind_in_words}."
        group = int(affected[np.lexsort((kinds.whole[affected], -shares[affected]))[0]])
        column, value_code = groups.domain.columns[0], int(kinds.cells[group])
        if width is not None:
            numbers = column.numbers()
            assert numbers is not None
            kind_in_words = f"between {numbers[value_code]:g} and {numbers[value_code] + float(width):g}"
        else:
            names = {text: name for name, values in (self.categories or {}).items() for text in map(str, values)}
            kind_in_words = f"of the kind {names.get(column.texts[value_code], column.texts[value_code])!r}"
        share_of_whole = kinds.whole[group] / max(int(groups.reference.sum()), 1)
        return (
            f"In a group of {int(groups.sizes[group]):,}, {shares[group]:.0%} have a value of {sensitive} {kind_in_words}, "
            f"against {share_of_whole:.0%} of all that was published."
        )


def _ranges(groups: Groups, width: Fraction, limit: Fraction) -> _Kinds:
    """Return the most disclosing range of each group, among the ranges of ``width`` that start at one of its values."""
    column, histograms = groups.domain.columns[0], groups.histograms
    numbers = column.numbers()
    assert numbers is not None
    values_by_number = np.argsort(numbers, kind="stable")
    rank = np.empty(column.size, dtype=np.int64)
    rank[values_by_number] = np.arange(column.size)
    sorted_numbers = numbers[values_by_number]
    # The last rank within reach of each rank. A missing value (NaN, sorted last) reaches only itself.
    last_in_reach = np.searchsorted(sorted_numbers, sorted_numbers + float(width), "right") - 1
    last_in_reach = np.where(np.isnan(sorted_numbers), np.arange(column.size), last_in_reach)
    entries_by_rank = np.argsort(histograms.owners * column.size + rank[histograms.values], kind="stable")
    keys = (histograms.owners * column.size + rank[histograms.values])[entries_by_rank]
    cumulative = np.concatenate([[0], np.cumsum(histograms.counts[entries_by_rank])])
    owners, ranks = histograms.owners[entries_by_rank], rank[histograms.values[entries_by_rank]]
    range_ends = np.searchsorted(keys, owners * column.size + last_in_reach[ranks], "right")
    rows_in_range = cumulative[range_ends] - cumulative[:-1]
    whole_sums = np.concatenate([[0], np.cumsum(groups.reference[values_by_number])])
    rows_in_whole = whole_sums[last_in_reach[ranks] + 1] - whole_sums[ranks]
    return _Kinds.of(groups, owners, rows_in_range, values_by_number[ranks], rows_in_whole, limit)
