"""Diversity figures for the steward, independent of the definition requested. Never published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups
from reticent.definitions.definition import Witness
from reticent.definitions.scaled_comparison import largest_ratio, less
from reticent.definitions.spread import spread_of
from reticent.definitions.tails import leading, tails
from reticent.errors import DataError

_DEEPEST = 50


def occupied(groups: Groups) -> NDArray[np.int64]:
    """The indices of non-empty groups. Raises if there are none."""
    if len(groups.filled) == 0:
        raise DataError("There are no groups with rows, so there is nothing to assess: nothing would be published.")
    return groups.filled


def failures(groups: Groups, failing: NDArray[np.bool_]) -> dict[str, Any]:
    """The number of failing groups and of their rows."""
    return {
        "groups": len(groups),
        "failing_groups": int(np.count_nonzero(failing)),
        "failing_rows": int((groups.sizes * failing).sum()),
    }


def witness_of(groups: Groups, failing: NDArray[np.bool_], worst: int, text: str) -> Witness | None:
    """A witness for the worst group, or None if no group fails."""
    number = int(np.count_nonzero(failing))
    if number == 0:
        return None
    column = groups.domain.columns[0].name
    qualifier = ", split by the other sensitive columns," if groups.is_refined else ""
    return Witness(
        int(groups.parents()[worst]),
        f"In column {column!r}, {number} of {len(groups)} groups{qualifier} {'has' if number == 1 else 'have'} {text}.",
        {"column": column, "size": int(groups.sizes[worst]), "histogram": groups.histogram(worst)},
    )


class LazyDiagnostics(Mapping[str, Any]):
    """A mapping whose statistics are computed on first access. Definitions that judge very many cells read few of them."""

    def __init__(self, compute: Callable[[], Mapping[str, Any]]) -> None:
        self._compute = compute

    @cached_property
    def _computed(self) -> Mapping[str, Any]:
        return self._compute()

    def __getitem__(self, name: str) -> Any:
        return self._computed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._computed)

    def __len__(self) -> int:
        return len(self._computed)

    def __repr__(self) -> str:
        return repr(self._computed)


def diversity_diagnostics(
    groups: Groups,
    failing: NDArray[np.bool_],
    depth: int,
    *,
    c: Fraction | None = None,
    dont_care: NDArray[np.bool_] | None = None,
) -> Mapping[str, Any]:
    """Diversity figures of all groups, computed on first access.

    ``distinct`` and ``effective_l`` (exp of the entropy) of the least diverse group; ``infimum_c[l]``, the value that c
    must exceed for recursive (c,l)-diversity, for l up to ``depth``; ``worst_posterior[j]``, the highest certainty
    after ruling out j values; and, if ``c`` is given, ``largest_l`` for it.
    """
    return LazyDiagnostics(partial(_diversity, groups, failing, depth, c, dont_care))


def _diversity(
    groups: Groups,
    failing: NDArray[np.bool_],
    depth: int,
    c: Fraction | None,
    dont_care: NDArray[np.bool_] | None,
) -> dict[str, Any]:
    """Return the diagnostics of l-diversity: distinct values, effective l, and the infimum of c and the highest belief by excluded values."""
    filled = occupied(groups)
    ratios = {
        exclusions + 2: worst_tail(groups, exclusions, dont_care)[1]
        for exclusions in range(max(2, min(depth, _DEEPEST)) - 1)
    }
    figures = {
        **failures(groups, failing),
        "distinct": int(groups.histograms.distinct[filled].min()),
        "effective_l": float(spread_of(groups, dont_care).effective[filled].min()),
        "infimum_c": ratios,
        "worst_posterior": [_posterior(ratio) for ratio in ratios.values()],
    }
    if c is not None:
        figures["largest_l"] = largest_l(groups, c, dont_care)
    return figures


def largest_l(groups: Groups, c: Fraction, dont_care: NDArray[np.bool_] | None = None) -> int | None:
    """The largest l for which all groups are recursively (c,l)-diverse; None if all l are (no record has a value that matters)."""
    lead = leading(groups.histograms, dont_care)
    matters = lead > 0
    if not matters.any():
        return None
    exclusions = 0
    while less(lead, c, tails(groups.histograms, groups.sizes, lead, exclusions))[matters].all():
        exclusions += 1
    return exclusions + 1


def worst_tail(groups: Groups, exclusions: int, dont_care: NDArray[np.bool_] | None) -> tuple[int, Fraction | float]:
    """The group with the largest ratio of leading value to tail, and that ratio (infinite if the tail is empty)."""
    # Without don't-care values the figure depends on the groups only and is cached there.
    if dont_care is None:
        return groups.found(("worst tail", exclusions), lambda: _worst_tail(groups, exclusions, None))
    return _worst_tail(groups, exclusions, dont_care)


def _worst_tail(groups: Groups, exclusions: int, dont_care: NDArray[np.bool_] | None) -> tuple[int, Fraction | float]:
    """Return the group with the largest ratio of its most frequent value to the rows that remain without it and the
    ``exclusions`` next ones, and that ratio.
    """
    filled, lead = occupied(groups), leading(groups.histograms, dont_care)
    tail = tails(groups.histograms, groups.sizes, lead, exclusions)
    index, ratio = largest_ratio(lead[filled], tail[filled])
    return int(filled[index]), ratio


def _posterior(ratio: Fraction | float) -> Fraction:
    """The probability of a value that is ``ratio`` times as frequent as the rest."""
    return ratio / (1 + ratio) if isinstance(ratio, Fraction) else Fraction(1)
