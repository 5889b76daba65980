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
    few_sources, few_targets = ([form.at(rows) for form in forms] for forms in (sources, targets))
    is_near = _near(few_sources, few_targets)
    ordered, none = OrderedNumbers(_ranks(few_sources)), np.zeros(len(sources), dtype=bool)
    for number, (target, sampled_target) in enumerate(zip(targets, few_targets, strict=True)):
        banded = none
        if target.distinct <= MOST_BANDS:
            rare_rows = rows_of_rare_values(target.codes, sampled_target.codes, len(rows))
            banded = (
                ordered.may_band(sampled_target.codes)
                if rare_rows is None
                else _orders(sources, rare_rows).may_band(target.codes[rare_rows])
            )
        for index, source in enumerate(sources):
            if source.owner != target.owner:
                relation = _relation(source, target, bool(is_near[index, number]), bool(banded[index]))
                if relation is not None:
                    yield relation


def _orders(sources: Sequence[ColumnForm], rows: Codes) -> OrderedNumbers:
    """Return the ranks of the sources in some rows, ready to be searched for intervals; NaN for sources without an
    order.
    """
    return OrderedNumbers(
        np.array([source.ranks[rows] if source.is_ordered else np.full(len(rows), np.nan) for source in sources])
    )


def _near(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm]
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Mask of pairs of columns that are almost perfectly correlated: as numbers, by a function of the source, or by rank."""
    unknown = np.full(len(sources[0].codes), np.nan)
    y = np.array([unknown if form.numbers is None else form.numbers for form in targets])
    best = by_blocks(_strength, _ranks(sources), _ranks(targets))
    for _, change in SHAPES.values():
        with np.errstate(all="ignore"):
            x = np.array([unknown if form.numbers is None else change(form.numbers) for form in sources])
        best = np.maximum(best, by_blocks(_strength, np.where(np.isfinite(x), x, np.nan), y))
    return best >= NEAR


def _strength(left: Numbers, right: Numbers) -> Numbers:
    return np.abs(correlations(left, right))


def _ranks(forms: Sequence[ColumnForm]) -> Numbers:
    """The mean ranks of the values of ordered columns."""
    return np.array([form.ranks if form.is_ordered else np.full(len(form.codes), np.nan) for form in forms])


def _relation(source: ColumnForm, target: ColumnForm, near: bool, banded: bool) -> ColumnRelation | None:
    """Return the simplest relation of a target to one source; None if there is none."""
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
        return ColumnRelation(target.owner, sources, f"nearly follows from {source.text}", "band", exact=False)
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
                target.owner, sources, f"nearly rises or falls with {source.text}", "band", exact=False, both=True
            )
    return None


def _is_same(first: Numbers | None, second: Numbers | None) -> bool:
    return first is not None and second is not None and bool(np.array_equal(first, second, equal_nan=True))


def formula_of(source: ColumnForm, target: ColumnForm) -> tuple[RelationFormula, Agreement] | None:
    """The simplest formula that computes the numbers of the target from those of the source."""
    if source.numbers is None or target.numbers is None:
        return None
    best: tuple[RelationFormula, Agreement] | None = None
    for shape, (_, change) in SHAPES.items():
        if source.is_date and shape != "line":
            break
        with np.errstate(all="ignore"):
            shaped = change(source.numbers)
        is_usable = np.isfinite(shaped) & ~np.isnan(target.numbers)
        is_known = ~(np.isnan(source.numbers) | np.isnan(target.numbers))
        if (
            int(is_usable.sum()) < max(FEWEST_ROWS, (1 - _MOST_WRONG) * int(is_known.sum()))
            or np.ptp(shaped[is_usable]) == 0
        ):
            continue
        scale = float(np.abs(target.numbers[is_usable]).max())
        for slope, intercept in weights_of(np.stack([shaped, np.ones(len(shaped))], axis=1), target.numbers):
            rule = RelationFormula(shape, short_number(slope), short_number(intercept, scale))
            agreed = agreement(rule.of(source.numbers), target)
            if agreed.shown and agreed.exact and not agreed.rounded:
                return rule, agreed
            if agreed.shown and (best is None or agreed.wrong < best[1].wrong):
                best = rule, agreed
    return best


def is_monotone(source: Codes, target: Codes) -> bool:
    """True if the target is a monotone function of the source wherever both are known."""
    is_known = (source > 0) & (target > 0)
    order = np.argsort(source[is_known], kind="stable")
    steps, equal = np.diff(target[is_known][order]), np.diff(source[is_known][order]) == 0
    if len(steps) < FEWEST_ROWS or steps[equal].any():
        return False
    return bool((steps >= 0).all()) or bool((steps <= 0).all())


def _is_nearly_monotone(source: ColumnForm, target: ColumnForm) -> bool:
    """True if the target is nearly a monotone function of the source: hardly any row has another rank in it."""
    source_ranks, target_ranks = source.ranks, target.ranks
    is_known = ~(np.isnan(source_ranks) | np.isnan(target_ranks))
    if int(is_known.sum()) < FEWEST_ROWS or target.mode_error < _VARIED:
        return False
    ranks = [pl.Series(values[is_known]).rank().to_numpy() for values in (source_ranks, target_ranks)]
    falls = float((ranks[0] - ranks[0].mean()) @ (ranks[1] - ranks[1].mean())) < 0
    differences = ranks[0] - (len(ranks[1]) + 1 - ranks[1] if falls else ranks[1])
    return middle(differences) < _NARROW * middle(ranks[1])


def bands(source: ColumnForm, target: ColumnForm) -> str | None:
    """Return a phrase, to be read after the target's name, on which of its values represents which interval of the
    source; None unless each represents one.
    """
    known_rows = np.flatnonzero(source.codes > 0)
    order = known_rows[np.argsort(source.codes[known_rows], kind="stable")]
    changes = np.flatnonzero(np.diff(target.codes[order])) + 1
    distinct = len(np.unique(target.codes[order]))
    if distinct < 2 or len(changes) != distinct - 1 or not (np.diff(source.codes[order])[changes - 1] > 0).all():
        return None
    if evidence(target.codes[order]) < _EVIDENCE:
        return None
    if distinct > _MOST_LISTED:
        return f"has one value for each stretch of {source.text}"
    firsts = order[np.concatenate([[0], changes])]
    ends = [source.values[int(row)] for row in firsts[1:]]
    names = [target.values[int(row)] for row in firsts]
    phrases = [
        f"{names[0]} below {ends[0]}",
        *(f"{name} from {end} on" for name, end in zip(names[1:], ends, strict=True)),
    ]
    return f"follows from {source.text}: {', '.join(phrases)}"
