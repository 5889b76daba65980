"""Totals: columns that are a weighted sum of three or more others, such as a sum of parts or the last indicator of a
category; and products of powers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from reticent.table.relations.column_agreement import agreement
from reticent.table.relations.column_forms import Codes, ColumnForm
from reticent.table.relations.least_squares import product_words, sum_words, weights_of
from reticent.table.relations.pair_formulas import Known, is_known
from reticent.table.relations.relation import ColumnRelation, Numbers, short_number

TotalScale = Literal["sum", "product"]

_MOST_SOURCES = 12
_LEFT = 0.02
_KNOWN = 0.8


def total_relations(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm], rows: Codes, known: Known, scale: TotalScale = "sum"
) -> Iterator[ColumnRelation]:
    """Yield the relations of targets that are sums or products of three or more sources, except what is already
    ``known``.

    Sources are added greedily, and unnecessary ones dropped again; candidates come from some ``rows``.
    """
    numeric = [form for form in sources if not form.is_part and _known_share(form, scale) >= _KNOWN]
    if len(numeric) < 3:
        return
    targets = [form for form in targets if _known_share(form, scale) > 0]
    form_of = {form.owner: form for form in (*numeric, *targets)}
    names, numbers = list(form_of), np.array([_on_scale(form.at(rows), scale) for form in form_of.values()])
    moments = _moments(numbers[:, np.isfinite(numbers).all(axis=0)])
    if moments is None:
        return
    source_indices = [names.index(form.owner) for form in numeric]
    for target in targets:
        target_index = names.index(target.owner) if target.owner in form_of else -1
        if (
            target_index < 0
            or _unexplained(moments, target_index, [index for index in source_indices if index != target_index]) > _LEFT
        ):
            continue
        chosen = _chosen(moments, target_index, [index for index in source_indices if index != target_index])
        if len(chosen) < 3 or is_known(target.owner, frozenset(names[index] for index in chosen), known):
            continue
        relation = _SHOWN[scale]([form_of[names[index]] for index in chosen], target)
        if relation is not None:
            yield relation


def _on_scale(form: ColumnForm, scale: TotalScale) -> Numbers:
    """The numbers of a column, or their logarithms; NaN if undefined."""
    if form.numbers is None:
        return np.full(len(form.codes), np.nan)
    if scale == "sum":
        return form.numbers
    logs: Numbers = np.log(np.where(form.numbers > 0, form.numbers, np.nan))
    return logs


def _known_share(form: ColumnForm, scale: TotalScale) -> float:
    return float(np.mean(np.isfinite(_on_scale(form, scale))))


def _moments(numbers: Numbers) -> Numbers | None:
    """Return the correlation matrix of rows of numbers without missing values; None if there are too few columns."""
    if numbers.shape[1] < 3 * (_MOST_SOURCES + 1):
        return None
    centred = numbers - numbers.mean(axis=1, keepdims=True)
    scale = centred.std(axis=1, keepdims=True)
    scaled = centred / np.where(scale > 0, scale, 1.0)
    correlations: Numbers = scaled @ scaled.T / numbers.shape[1]
    return correlations


def _unexplained(moments: Numbers, target: int, sources: Sequence[int]) -> float:
    """The share of a target's variance left unexplained by some sources."""
    if not sources:
        return 1.0
    covariance, target_covariance = moments[np.ix_(sources, sources)], moments[sources, target]
    explained = target_covariance @ np.linalg.lstsq(covariance, target_covariance, rcond=1e-12)[0]
    return float(np.sqrt(max(moments[target, target] - explained, 0.0)))


def _chosen(moments: Numbers, target: int, sources: Sequence[int]) -> list[int]:
    """The sources that explain a target, added greedily by how much of the remainder each explains; empty if twelve do not suffice."""
    chosen: list[int] = []
    while _unexplained(moments, target, chosen) > _LEFT / 4:
        if len(chosen) == _MOST_SOURCES:
            return []
        covariance = moments[np.ix_(chosen, chosen)]
        remaining_covariance = (
            moments[target] - np.linalg.lstsq(covariance, moments[chosen, target], rcond=1e-12)[0] @ moments[chosen]
        )
        others = [index for index in sources if index not in chosen]
        if not others:
            return []
        chosen.append(max(others, key=lambda index: abs(float(remaining_covariance[index]))))
    for source in list(chosen):
        others = [index for index in chosen if index != source]
        if _unexplained(moments, target, others) <= _LEFT / 4:
            chosen = others
    return sorted(chosen)


def _shown_sum(sources: Sequence[ColumnForm], target: ColumnForm) -> ColumnRelation | None:
    """Return the relation of a target to the rounded weighted sum of some columns, if all rows support it."""
    assert target.numbers is not None
    columns = np.stack([*(form.numbers for form in sources if form.numbers is not None), np.ones(len(target.codes))], 1)
    scale = float(np.nanmax(np.abs(target.numbers)))
    for weights in weights_of(columns, target.numbers):
        rounded_weights = [*(short_number(weight, 1.0) for weight in weights[:-1]), short_number(weights[-1], scale)]
        agreed = agreement(columns @ np.array(rounded_weights), target)
        if agreed.shown and all(rounded_weights[:-1]):
            owners, texts = tuple(form.owner for form in sources), [form.text for form in sources]
            is_none_of = set(rounded_weights[:-1]) == {-1.0} and rounded_weights[-1] == 1
            if target.is_mark and all(form.is_mark for form in sources) and is_none_of:
                words = f"is 1 exactly where none of {', '.join(texts)} is"
            else:
                terms = list(zip(rounded_weights[:-1], texts, strict=True))
                words = f"is {'' if agreed.exact else 'nearly '}{sum_words(terms, rounded_weights[-1])}"
            return ColumnRelation(target.owner, owners, words, exact=agreed.exact)
    return None


def _shown_product(sources: Sequence[ColumnForm], target: ColumnForm) -> ColumnRelation | None:
    """Return the relation of a target to the rounded product of powers of some columns, if all rows support it."""
    logs = [_on_scale(form, "product") for form in sources]
    columns = np.stack([*logs, np.ones(len(target.codes))], 1)
    for *powers, constant in weights_of(columns, _on_scale(target, "product")):
        rounded_powers = np.array([*(short_number(power, 1.0) for power in powers), constant])
        with np.errstate(all="ignore"):
            agreed = agreement(np.exp(columns @ rounded_powers), target)
        if agreed.shown and all(rounded_powers[:-1]):
            terms = [(power, form.text) for power, form in zip(rounded_powers[:-1], sources, strict=True)]
            words = f"is {'' if agreed.exact else 'nearly '}{product_words(terms, float(np.exp(constant)))}"
            return ColumnRelation(target.owner, tuple(form.owner for form in sources), words, exact=agreed.exact)
    return None


_SHOWN = {"sum": _shown_sum, "product": _shown_product}
