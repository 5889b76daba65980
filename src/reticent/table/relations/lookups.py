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
    """Yield the relations of targets that are a function of one source, or of a pair if ``pairs``, except for one row
    in twenty.

    Candidates come from some ``rows``; relations already ``known`` (a target and its sources) are skipped.
    """
    source_codes = [form.codes[rows] for form in sources]
    codes = np.array([form.codes[rows] for form in targets])
    single = [_shared_agreement(ids, codes) for ids in source_codes]
    chance = np.array([_chance(target_codes) for target_codes in codes])
    explained = set(known)
    for source_index, (shared, agreed) in enumerate(single):
        for number in np.flatnonzero(_is_evident(shared, agreed, chance)).tolist():
            source, target = sources[source_index], targets[number]
            if source.owner != target.owner and (target.owner, frozenset([source.owner])) not in explained:
                relation = _single(source, target)
                if relation is not None:
                    explained.add((target.owner, frozenset(relation.sources)))
                    yield relation
    for first, second in combinations(range(len(sources)) if pairs else (), 2):
        if sources[first].owner == sources[second].owner or sources[first].is_part or sources[second].is_part:
            continue
        shared, agreed = _shared_agreement(
            source_codes[first] * (int(source_codes[second].max(initial=0)) + 1) + source_codes[second], codes
        )
        if shared.max() < _FEWEST_SHARED // 2:
            continue
        single_rate = np.maximum(chance, np.maximum(*(_rates(*single[index], chance) for index in (first, second))))
        for number in np.flatnonzero(_is_evident(shared, agreed, single_rate)).tolist():
            target, owners = targets[number], {sources[first].owner, sources[second].owner}
            if target.owner in owners or any(
                name == target.owner and sources_known <= owners for name, sources_known in explained
            ):
                continue
            relation = _pair(sources[first], sources[second], target)
            if relation is not None:
                explained.add((target.owner, frozenset(owners)))
                yield relation


def _shared_agreement(ids: Codes, codes: Counts) -> tuple[Counts, Counts]:
    """For each target, the number of adjacent rows with equal sources and known values, and how many of these have equal values."""
    order = np.argsort(ids, kind="stable")
    adjacent = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    sorted_codes = codes[:, order]
    current, following = sorted_codes[:, adjacent], sorted_codes[:, adjacent + 1]
    is_known = (current > 0) & (following > 0)
    return is_known.sum(axis=1), (is_known & (current == following)).sum(axis=1)


def _chance(codes: Codes) -> float:
    """The probability that two rows with known values have the same one."""
    counts = np.bincount(codes)[1:]
    return float((counts / max(counts.sum(), 1)) @ (counts / max(counts.sum(), 1)))


def _rates(shared: Counts, agreed: Counts, chance: Numbers) -> Numbers:
    return np.where(shared >= _FEWEST_SHARED, agreed / np.maximum(shared, 1), chance)


def _is_evident(shared: Counts, agreed: Counts, expected: Numbers) -> NDArray[np.bool_]:
    """Mask: rows with equal sources agree too often for chance, by the Chernoff bound of a binomial distribution [Chernoff1952]."""
    rate = agreed / np.maximum(shared, 1)
    p = np.clip(expected, 1e-9, 1 - 1e-12)
    with np.errstate(all="ignore"):
        divergence = rate * np.log(rate / p) + np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - p)), 0.0)
    return (rate >= _OFTEN) & (rate > p) & (shared * divergence >= _EVIDENCE)


def _single(source: ColumnForm, target: ColumnForm) -> ColumnRelation | None:
    """Return the relation by which one column determines another one, nearly or always; None if there is none."""
    shared, wrong, guessed = share_to_remove(source.codes, target.codes)
    if shared < _FEWEST_SHARED or not is_shown(wrong, guessed):
        return None
    nearly, both = "" if wrong == 0 else "nearly always ", source.distinct == target.distinct and wrong == 0
    certain = None if wrong else _certain_value(source, target)
    if certain is not None:
        kind: RelationKind = "missing" if certain == "missing" else "lookup"
        return ColumnRelation(target.owner, (source.owner,), f"says whether {source.text} is {certain}", kind)
    words = f"has {nearly}one value for each value of {source.text}"
    return ColumnRelation(target.owner, (source.owner,), words, "lookup", exact=wrong == 0, both=both)


def _pair(first: ColumnForm, second: ColumnForm, target: ColumnForm) -> ColumnRelation | None:
    """Return the relation by which two columns together determine another one much better than each alone; None if there is none."""
    ids = first.codes * (int(second.codes.max(initial=0)) + 1) + second.codes
    shared, wrong, guessed = share_to_remove(ids, target.codes)
    if shared < _FEWEST_SHARED or not is_shown(wrong, guessed):
        return None
    usable = np.flatnonzero(target.codes > 0)
    usable = usable[_rows_sharing(ids[usable])]
    single_error = min(_error_by(form.codes[usable], target.codes[usable]) for form in (first, second))
    if wrong > single_error / 3:
        return None
    nearly = "" if wrong == 0 else "nearly always "
    words = f"has {nearly}one value for each pair of values of {first.text} and {second.text}"
    return ColumnRelation(target.owner, (first.owner, second.owner), words, "lookup", exact=wrong == 0)


def share_to_remove(ids: Codes, target: Codes) -> tuple[int, float, float]:
    """The number of rows with a known target that share their source id with another such row; the share of these to
    remove until the id determines the target (the g3 error); and the error of guessing the most frequent value.
    """
    filled = target > 0
    ids, target = ids[filled], target[filled]
    usable = _rows_sharing(ids)
    if not len(usable):
        return 0, 1.0, 0.0
    most_frequent = int(np.bincount(target[usable]).max())
    return len(usable), _error_by(ids[usable], target[usable]), 1 - most_frequent / len(usable)


def _rows_sharing(ids: Codes) -> NDArray[np.int64]:
    _, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[inverse] > 1)


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
