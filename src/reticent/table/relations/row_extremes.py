"""Maxima and minima of several columns: columns that never exceed a target, one of which equals it in every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.table.relations.column_agreement import agreement
from reticent.table.relations.column_forms import Codes, ColumnForm
from reticent.table.relations.pair_formulas import Known, is_known
from reticent.table.relations.relation import ColumnRelation, Numbers

_MOST_SOURCES = 12
_BEYOND, _UNCOVERED = 0.02, 0.05
_FEWEST_OWN = 3


def extreme_relations(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm], rows: Codes, known: Known, exact: bool
) -> Iterator[ColumnRelation]:
    """The targets that are the maximum or minimum of up to twelve sources, except what is already ``known``. Candidates
    come from some ``rows``, and are verified in all; with ``exact``, no row may contradict.
    """
    for dates in (False, True):
        usable = [form for form in sources if form.numbers is not None and form.is_date == dates]
        if len(usable) < 2:
            continue
        x = np.array([form.at(rows).numbers for form in usable])
        for target in targets:
            if target.numbers is None or target.is_date != dates:
                continue
            for largest in (True, False):
                relation = _extreme(usable, x if largest else -x, target, rows, largest, exact)
                if relation is not None and not is_known(target.owner, frozenset(relation.sources), known):
                    yield relation


def _extreme(
    usable: Sequence[ColumnForm], x: Numbers, target: ColumnForm, rows: Codes, largest: bool, exact: bool
) -> ColumnRelation | None:
    """Return the relation of a target to the columns of which it is the maximum or minimum; None if there is none."""
    assert target.numbers is not None
    y = target.numbers[rows] * (1 if largest else -1)
    known_rows = np.isfinite(y)
    if not known_rows.any():
        return None
    is_own = np.array([form.owner == target.owner for form in usable])
    # Missing values are ignored: the maximum of several columns is that of the known ones.
    beyond = np.where(np.isnan(x), False, x > y + target.precision)[:, known_rows]
    equal = np.where(np.isnan(x), False, np.abs(x - y) <= target.precision)[:, known_rows]
    within = np.flatnonzero((beyond.mean(axis=1) <= (0 if exact else _BEYOND)) & ~is_own)
    chosen = _cover(equal, within.tolist(), 0 if exact else _UNCOVERED)
    if len(chosen) < 2:
        return None
    forms = [usable[index] for index in sorted(chosen)]
    reduction = np.fmax if largest else np.fmin
    computed: Numbers = reduction.reduce([form.numbers for form in forms if form.numbers is not None])
    agreed = agreement(computed, target)
    if not agreed.shown or agreed.rounded:
        return None
    names = [form.text for form in forms]
    kind = {True: ("latest", "earliest"), False: ("largest", "smallest")}[target.is_date][0 if largest else 1]
    words = f"is {'' if agreed.exact else 'nearly '}the {kind} of {', '.join(names[:-1])} and {names[-1]}"
    return ColumnRelation(target.owner, tuple(form.owner for form in forms), words, exact=agreed.exact)


def _cover(equal: NDArray[np.bool_], within: list[int], uncovered: float) -> list[int]:
    """Return columns (of the indices ``within``), chosen greedily, one of which equals the target in nearly every row.

    ``equal[column, row]`` marks equality. Empty if twelve do not suffice, or one adds hardly a row.
    """
    chosen: list[int] = []
    uncovered_rows = np.ones(equal.shape[1], dtype=bool)
    while uncovered_rows.sum() > uncovered * len(uncovered_rows):
        others = [column for column in within if column not in chosen]
        gains = [int((equal[column] & uncovered_rows).sum()) for column in others]
        if len(chosen) == _MOST_SOURCES or not others or max(gains) < _FEWEST_OWN:
            return []
        chosen.append(others[int(np.argmax(gains))])
        uncovered_rows &= ~equal[chosen[-1]]
    return chosen
