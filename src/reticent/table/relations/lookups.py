"""Lookups (approximate functional dependencies): columns determined by the values of one or two others, whatever the rule
is.

Only rows count that share the values of the sources with another row: nearly unique sources determine everything, which
is no evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reticent.table.relations.column_agreement import is_shown
from reticent.table.relations.column_forms import Codes, ColumnForm
from reticent.table.relations.relation import ColumnRelation, Numbers, RelationKind

Counts = NDArray[np.int64]

_FEWEST_SHARED = 30
_OFTEN = 0.9
_EVIDENCE = 30.0
"""Minimum evidence (in nats) beyond chance: many pairs of columns are tested."""


def lookup_relations(
    sources: Sequence[ColumnForm],
    targets: Sequence[ColumnForm],
    rows: Codes,
    known: set[tuple[str, frozenset[str]]],
    pairs: bool,
) -> Iterator[ColumnRelation]:
    """Targets that are a function of one source, or of a pair if ``pairs``, except for one row in twenty. Candidates come
    from some ``rows``; what is already ``known`` is skipped.
    """
    few = [each.codes[rows] for each in sources]
    codes = np.array([each.codes[rows] for each in targets])
    single = [_shared_agreement(each, codes) for each in few]
    chance = np.array([_chance(each) for each in codes])
    shown = set(known)
    for place, (many, agreed) in enumerate(single):
        for number in np.flatnonzero(_is_evident(many, agreed, chance)).tolist():
            source, target = sources[place], targets[number]
            if source.owner != target.owner and (target.owner, frozenset([source.owner])) not in shown:
                relation = _single(source, target)
                if relation is not None:
                    shown.add((target.owner, frozenset(relation.sources)))
                    yield relation
    for one, other in combinations(range(len(sources)) if pairs else (), 2):
        if sources[one].owner == sources[other].owner or sources[one].is_part or sources[other].is_part:
            continue
        many, agreed = _shared_agreement(few[one] * (int(few[other].max(initial=0)) + 1) + few[other], codes)
        if many.max() < _FEWEST_SHARED // 2:
            continue
        alone = np.maximum(chance, np.maximum(*(_rates(*single[each], chance) for each in (one, other))))
        for number in np.flatnonzero(_is_evident(many, agreed, alone)).tolist():
            target, owners = targets[number], {sources[one].owner, sources[other].owner}
            if target.owner in owners or any(name == target.owner and each <= owners for name, each in shown):
                continue
            relation = _pair(sources[one], sources[other], target)
            if relation is not None:
                shown.add((target.owner, frozenset(owners)))
                yield relation


def _shared_agreement(ids: Codes, codes: Counts) -> tuple[Counts, Counts]:
    """For each target, the number of adjacent rows with equal sources and known values, and how many of these have equal values."""
    order = np.argsort(ids, kind="stable")
    same = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    placed = codes[:, order]
    one, other = placed[:, same], placed[:, same + 1]
    known = (one > 0) & (other > 0)
    return known.sum(axis=1), (known & (one == other)).sum(axis=1)


def _chance(codes: Codes) -> float:
    """The probability that two rows with known values have the same one."""
    counts = np.bincount(codes)[1:]
    return float((counts / max(counts.sum(), 1)) @ (counts / max(counts.sum(), 1)))


def _rates(many: Counts, agreed: Counts, chance: Numbers) -> Numbers:
    return np.where(many >= _FEWEST_SHARED, agreed / np.maximum(many, 1), chance)


def _is_evident(many: Counts, agreed: Counts, expected: Numbers) -> NDArray[np.bool_]:
    """Mask: rows with equal sources agree too often for chance, by the Chernoff bound of a binomial distribution [Chernoff1952]."""
    rate = agreed / np.maximum(many, 1)
    p = np.clip(expected, 1e-9, 1 - 1e-12)
    with np.errstate(all="ignore"):
        gap = rate * np.log(rate / p) + np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - p)), 0.0)
    return (rate >= _OFTEN) & (rate > p) & (many * gap >= _EVIDENCE)


def _single(source: ColumnForm, target: ColumnForm) -> ColumnRelation | None:
    shared, wrong, guessed = share_to_remove(source.codes, target.codes)
    if shared < _FEWEST_SHARED or not is_shown(wrong, guessed):
        return None
    nearly, both = "" if wrong == 0 else "nearly always ", source.distinct == target.distinct and wrong == 0
    certain = None if wrong else _certain_value(source, target)
    if certain is not None:
        kind: RelationKind = "missing" if certain == "missing" else "lookup"
        return ColumnRelation(target.owner, (source.owner,), f"says whether {source.text} is {certain}", kind)
    words = f"has {nearly}one value for each value of {source.text}"
    return ColumnRelation(target.owner, (source.owner,), words, "lookup", wrong == 0, both)


def _pair(one: ColumnForm, other: ColumnForm, target: ColumnForm) -> ColumnRelation | None:
    ids = one.codes * (int(other.codes.max(initial=0)) + 1) + other.codes
    shared, wrong, guessed = share_to_remove(ids, target.codes)
    if shared < _FEWEST_SHARED or not is_shown(wrong, guessed):
        return None
    kept = np.flatnonzero(target.codes > 0)
    kept = kept[_rows_sharing(ids[kept])]
    alone = min(_error_by(each.codes[kept], target.codes[kept]) for each in (one, other))
    if wrong > alone / 3:
        return None
    nearly = "" if wrong == 0 else "nearly always "
    words = f"has {nearly}one value for each pair of values of {one.text} and {other.text}"
    return ColumnRelation(target.owner, (one.owner, other.owner), words, "lookup", wrong == 0)


def share_to_remove(ids: Codes, target: Codes) -> tuple[int, float, float]:
    """The number of rows with a known target that share their source id with another such row; the share of these to
    remove until the id determines the target (the g3 error); and the error of guessing the most frequent value.
    """
    filled = target > 0
    ids, target = ids[filled], target[filled]
    kept = _rows_sharing(ids)
    if not len(kept):
        return 0, 1.0, 0.0
    most = int(np.bincount(target[kept]).max())
    return len(kept), _error_by(ids[kept], target[kept]), 1 - most / len(kept)


def _rows_sharing(ids: Codes) -> NDArray[np.int64]:
    _, places, counts = np.unique(ids, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[places] > 1)


def _error_by(ids: Codes, target: Codes) -> float:
    """The share of rows that do not have the most frequent target of their id."""
    pairs, counts = np.unique(ids * (int(target.max(initial=0)) + 1) + target, return_counts=True)
    owners = pairs // (int(target.max(initial=0)) + 1)
    starts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))
    return 1 - int(np.maximum.reduceat(counts, starts).sum()) / len(ids)


def _certain_value(source: ColumnForm, target: ColumnForm) -> str | None:
    """The one value of the source that corresponds to one side of a two-valued column."""
    if target.distinct != 2:
        return None
    low = target.codes == target.codes.min()
    for side in (~low, low):
        if len(np.unique(source.codes[side])) == 1:
            value = source.values[int(np.flatnonzero(side)[0])]
            return "missing" if value is None else repr(value)
    return None
