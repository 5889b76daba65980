"""Relations with one source: formulas, parts of dates, bands, monotone maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from reticent.table.relations.bands import MOST_BANDS, OrderedNumbers, band_errors, evidence, rows_of_rare_values
from reticent.table.relations.column_agreement import FEWEST_ROWS, Agreement, agreement, is_shown
from reticent.table.relations.column_forms import Codes, ColumnForm, middle
from reticent.table.relations.correlation import by_blocks, correlations
from reticent.table.relations.least_squares import weights_of
from reticent.table.relations.relation import SHAPES, ColumnRelation, Numbers, RelationFormula, short_number

NEAR = 0.995
"""Minimum correlation of a candidate pair."""

_MOST_LISTED, _SEVERAL, _EVIDENCE = 12, 5, 30.0
_MOST_WRONG, _NARROW, _VARIED = 0.05, 0.02, 0.5


def single_source_relations(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm], rows: Codes
) -> Iterator[ColumnRelation]:
    """The relations of every target to one source each. Candidates come from some ``rows``, and are verified in all."""
    few_sources, few_targets = ([each.at(rows) for each in forms] for forms in (sources, targets))
    near = _near(few_sources, few_targets)
    ordered, nowhere = OrderedNumbers(_ranks(few_sources)), np.zeros(len(sources), dtype=bool)
    for number, (target, few) in enumerate(zip(targets, few_targets, strict=True)):
        banded = nowhere
        if target.distinct <= MOST_BANDS:
            own = rows_of_rare_values(target.codes, few.codes, len(rows))
            banded = ordered.may_band(few.codes) if own is None else _orders(sources, own).may_band(target.codes[own])
        for place, source in enumerate(sources):
            if source.owner != target.owner:
                relation = _relation(source, target, bool(near[place, number]), bool(banded[place]))
                if relation is not None:
                    yield relation


def _orders(sources: Sequence[ColumnForm], rows: Codes) -> OrderedNumbers:
    """Some rows of the sources in the order of their values."""
    return OrderedNumbers(
        np.array([each.ranks[rows] if each.is_ordered else np.full(len(rows), np.nan) for each in sources])
    )


def _near(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm]
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Mask of pairs of columns that are almost perfectly correlated: as numbers, by a function of the source, or by rank."""
    nothing = np.full(len(sources[0].codes), np.nan)
    y = np.array([nothing if each.numbers is None else each.numbers for each in targets])
    best = by_blocks(_strength, _ranks(sources), _ranks(targets))
    for _, change in SHAPES.values():
        with np.errstate(all="ignore"):
            x = np.array([nothing if each.numbers is None else change(each.numbers) for each in sources])
        best = np.maximum(best, by_blocks(_strength, np.where(np.isfinite(x), x, np.nan), y))
    return best >= NEAR


def _strength(ones: Numbers, others: Numbers) -> Numbers:
    return np.abs(correlations(ones, others))


def _ranks(forms: Sequence[ColumnForm]) -> Numbers:
    """The mean ranks of the values of ordered columns."""
    return np.array([each.ranks if each.is_ordered else np.full(len(each.codes), np.nan) for each in forms])


def _relation(source: ColumnForm, target: ColumnForm, near: bool, banded: bool) -> ColumnRelation | None:
    sources, both = (source.owner,), source.distinct == target.distinct
    if source.is_part and _is_same(source.numbers, target.numbers):
        return ColumnRelation(target.owner, sources, f"is {source.text}")
    computed = formula_of(source, target) if near else None
    if computed is not None and computed[1].exact and not computed[1].rounded:
        return ColumnRelation(
            target.owner, sources, f"is {computed[0].words(source.text)}", both=both, rule=computed[0]
        )
    if banded and (words := bands(source, target)) is not None:
        return ColumnRelation(target.owner, sources, words, "band", both=both)
    if banded and (errors := band_errors(source.ranks, target.codes)) is not None and is_shown(*errors):
        return ColumnRelation(target.owner, sources, f"nearly follows from {source.text}", "band", False)
    if computed is not None and min(source.distinct, target.distinct) >= _SEVERAL:
        rule, agreed = computed
        words = (
            f"is {'' if agreed.exact else 'nearly '}{rule.words(source.text)}{', rounded' if agreed.rounded else ''}"
        )
        return ColumnRelation(target.owner, sources, words, exact=agreed.exact, rule=rule)
    if near and target.is_ordered and source.is_ordered and not source.is_part:
        if is_monotone(source.codes, target.codes):
            words = f"rises or falls with {source.text}, value by value"
            return ColumnRelation(target.owner, sources, words, "band", both=both)
        if _is_nearly_monotone(source, target):
            return ColumnRelation(
                target.owner, sources, f"nearly rises or falls with {source.text}", "band", False, both=True
            )
    return None


def _is_same(one: Numbers | None, other: Numbers | None) -> bool:
    return one is not None and other is not None and bool(np.array_equal(one, other, equal_nan=True))


def formula_of(source: ColumnForm, target: ColumnForm) -> tuple[RelationFormula, Agreement] | None:
    """The simplest formula that computes the numbers of the target from those of the source."""
    if source.numbers is None or target.numbers is None:
        return None
    best: tuple[RelationFormula, Agreement] | None = None
    for shape, (_, change) in SHAPES.items():
        if source.is_date and shape != "line":
            break
        with np.errstate(all="ignore"):
            bent = change(source.numbers)
        known = np.isfinite(bent) & ~np.isnan(target.numbers)
        asked = ~(np.isnan(source.numbers) | np.isnan(target.numbers))
        if int(known.sum()) < max(FEWEST_ROWS, (1 - _MOST_WRONG) * int(asked.sum())) or np.ptp(bent[known]) == 0:
            continue
        scale = float(np.abs(target.numbers[known]).max())
        for slope, intercept in weights_of(np.stack([bent, np.ones(len(bent))], axis=1), target.numbers):
            rule = RelationFormula(shape, short_number(slope), short_number(intercept, scale))
            agreed = agreement(rule.of(source.numbers), target)
            if agreed.shown and agreed.exact and not agreed.rounded:
                return rule, agreed
            if agreed.shown and (best is None or agreed.wrong < best[1].wrong):
                best = rule, agreed
    return best


def is_monotone(source: Codes, target: Codes) -> bool:
    """True if the target is a monotone function of the source wherever both are known."""
    known = (source > 0) & (target > 0)
    order = np.argsort(source[known], kind="stable")
    steps, equal = np.diff(target[known][order]), np.diff(source[known][order]) == 0
    if len(steps) < FEWEST_ROWS or steps[equal].any():
        return False
    return bool((steps >= 0).all()) or bool((steps <= 0).all())


def _is_nearly_monotone(source: ColumnForm, target: ColumnForm) -> bool:
    """True if hardly any row changes its rank."""
    one, other = source.ranks, target.ranks
    known = ~(np.isnan(one) | np.isnan(other))
    if int(known.sum()) < FEWEST_ROWS or target.mode_error < _VARIED:
        return False
    ranks = [pl.Series(each[known]).rank().to_numpy() for each in (one, other)]
    falls = float((ranks[0] - ranks[0].mean()) @ (ranks[1] - ranks[1].mean())) < 0
    apart = ranks[0] - (len(ranks[1]) + 1 - ranks[1] if falls else ranks[1])
    return middle(apart) < _NARROW * middle(ranks[1])


def bands(source: ColumnForm, target: ColumnForm) -> str | None:
    """Which values represent which interval of the source, if each represents one; to be read after the name of the column."""
    filled = np.flatnonzero(source.codes > 0)
    order = filled[np.argsort(source.codes[filled], kind="stable")]
    changes = np.flatnonzero(np.diff(target.codes[order])) + 1
    distinct = len(np.unique(target.codes[order]))
    if distinct < 2 or len(changes) != distinct - 1 or not (np.diff(source.codes[order])[changes - 1] > 0).all():
        return None
    if evidence(target.codes[order]) < _EVIDENCE:
        return None
    if distinct > _MOST_LISTED:
        return f"has one value for each stretch of {source.text}"
    firsts = order[np.concatenate([[0], changes])]
    ends = [source.values[int(place)] for place in firsts[1:]]
    names = [target.values[int(place)] for place in firsts]
    phrases = [
        f"{names[0]} below {ends[0]}",
        *(f"{name} from {end} on" for name, end in zip(names[1:], ends, strict=True)),
    ]
    return f"follows from {source.text}: {', '.join(phrases)}"
