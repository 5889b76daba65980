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
    """The targets that are sums or products of three or more sources, except what is already ``known``: sources are added
    greedily, and unnecessary ones dropped again.
    """
    numeric = [each for each in sources if not each.is_part and _known_share(each, scale) >= _KNOWN]
    if len(numeric) < 3:
        return
    targets = [each for each in targets if _known_share(each, scale) > 0]
    held = {each.owner: each for each in (*numeric, *targets)}
    names, numbers = list(held), np.array([_on_scale(each.at(rows), scale) for each in held.values()])
    moments = _moments(numbers[:, np.isfinite(numbers).all(axis=0)])
    if moments is None:
        return
    own = [names.index(each.owner) for each in numeric]
    for target in targets:
        place = names.index(target.owner) if target.owner in held else -1
        if place < 0 or _left(moments, place, [each for each in own if each != place]) > _LEFT:
            continue
        chosen = _chosen(moments, place, [each for each in own if each != place])
        if len(chosen) < 3 or is_known(target.owner, frozenset(names[each] for each in chosen), known):
            continue
        relation = _SHOWN[scale]([held[names[each]] for each in chosen], target)
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
    """The correlations of complete rows of numbers; None if there are too few."""
    if numbers.shape[1] < 3 * (_MOST_SOURCES + 1):
        return None
    centred = numbers - numbers.mean(axis=1, keepdims=True)
    scale = centred.std(axis=1, keepdims=True)
    scaled = centred / np.where(scale > 0, scale, 1.0)
    correlations: Numbers = scaled @ scaled.T / numbers.shape[1]
    return correlations


def _left(moments: Numbers, target: int, sources: Sequence[int]) -> float:
    """The share of a target's variance left unexplained by some sources."""
    if not sources:
        return 1.0
    among, with_target = moments[np.ix_(sources, sources)], moments[sources, target]
    explained = with_target @ np.linalg.lstsq(among, with_target, rcond=1e-12)[0]
    return float(np.sqrt(max(moments[target, target] - explained, 0.0)))


def _chosen(moments: Numbers, target: int, sources: Sequence[int]) -> list[int]:
    """The sources that explain a target, added greedily by how much of the remainder each explains; empty if twelve do not suffice."""
    chosen: list[int] = []
    while _left(moments, target, chosen) > _LEFT / 4:
        if len(chosen) == _MOST_SOURCES:
            return []
        among = moments[np.ix_(chosen, chosen)]
        left = moments[target] - np.linalg.lstsq(among, moments[chosen, target], rcond=1e-12)[0] @ moments[chosen]
        rest = [each for each in sources if each not in chosen]
        if not rest:
            return []
        chosen.append(max(rest, key=lambda each: abs(float(left[each]))))
    for place in list(chosen):
        rest = [each for each in chosen if each != place]
        if _left(moments, target, rest) <= _LEFT / 4:
            chosen = rest
    return sorted(chosen)


def _shown_sum(sources: Sequence[ColumnForm], target: ColumnForm) -> ColumnRelation | None:
    assert target.numbers is not None
    columns = np.stack([*(each.numbers for each in sources if each.numbers is not None), np.ones(len(target.codes))], 1)
    scale = float(np.nanmax(np.abs(target.numbers)))
    for weights in weights_of(columns, target.numbers):
        short = [*(short_number(each, 1.0) for each in weights[:-1]), short_number(weights[-1], scale)]
        agreed = agreement(columns @ np.array(short), target)
        if agreed.shown and all(short[:-1]):
            break
    else:
        return None
    owners = tuple(each.owner for each in sources)
    if target.is_mark and all(each.is_mark for each in sources) and set(short[:-1]) == {-1.0} and short[-1] == 1:
        words = f"is 1 exactly where none of {', '.join(each.text for each in sources)} is"
    else:
        words = f"is {'' if agreed.exact else 'nearly '}{sum_words(list(zip(short[:-1], (each.text for each in sources), strict=True)), short[-1])}"
    return ColumnRelation(target.owner, owners, words, exact=agreed.exact)


def _shown_product(sources: Sequence[ColumnForm], target: ColumnForm) -> ColumnRelation | None:
    logs = [_on_scale(each, "product") for each in sources]
    columns = np.stack([*logs, np.ones(len(target.codes))], 1)
    for *powers, constant in weights_of(columns, _on_scale(target, "product")):
        short = np.array([*(short_number(each, 1.0) for each in powers), constant])
        with np.errstate(all="ignore"):
            agreed = agreement(np.exp(columns @ short), target)
        if agreed.shown and all(short[:-1]):
            break
    else:
        return None
    formula = product_words(
        [(power, each.text) for power, each in zip(short[:-1], sources, strict=True)], float(np.exp(constant))
    )
    words = f"is {'' if agreed.exact else 'nearly '}{formula}"
    return ColumnRelation(target.owner, tuple(each.owner for each in sources), words, exact=agreed.exact)


_SHOWN = {"sum": _shown_sum, "product": _shown_product}
