"""Columns that follow from each other, so that one of them suffices: a wage and its logarithm, a date and its year, a
code and its label, a sum and its summands, indicators of one category.

A derived column adds no information, and published together with its source would undo the recoding. From the relations
found by :func:`reticent.table.find_relations`, those are chosen that keep the most wanted columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.table import ColumnRelation, find_relations

_SEEN_OFTEN = 0.5
_NO_CHANCE = 5.0
_PLAINEST = ("square", "log", "inverse", "root", "line", "exponential")
"""If either of two columns could be derived, the square or the logarithm counts as the derived one."""


def relations(frame: pl.DataFrame, names: Sequence[str], dear: Mapping[str, int]) -> tuple[ColumnRelation, ...]:
    """Return relations among the named columns that no row contradicts. Each column is derived at most once, and never
    from a derived one.

    If either of two columns could be derived, it is the one that is less ``dear`` (a smaller number is dearer), or else
    the later one.
    """
    index_of = {name: index for index, name in enumerate(names)}
    candidates = [relation for relation in find_relations(frame.select(names), exact=True) if _says_something(relation)]
    distinct = {name: frame[name].n_unique() for name in names}

    def rank(relation: ColumnRelation) -> tuple[float, ...]:
        """Return the sort key of a relation: the ones to keep come first."""
        derived, shape = relation.derived, "" if relation.rule is None else relation.rule.shape
        complexity = _PLAINEST.index(shape) if shape else len(_PLAINEST)
        rounds = frame[derived].dtype.is_integer() and not all(
            frame[source].dtype.is_integer() for source in relation.sources
        )
        product = " times " in relation.how and len(relation.sources) == 2
        return -len(relation.sources), not product, -dear.get(derived, 1), rounds, complexity, -index_of[derived]

    relation_of: dict[str, ColumnRelation] = {}
    for relation in sorted(candidates, key=rank):
        derived, sources = relation.derived, relation.sources
        if (
            derived in relation_of
            or any(source in relation_of for source in sources)
            or distinct[derived] > _finest(distinct, sources)
        ):
            continue
        if any(derived in kept.sources and len(kept.sources) > 1 for kept in relation_of.values()):
            continue
        for dependent in [kept for kept in relation_of.values() if kept.sources == (derived,)]:
            # What follows from a derived column follows from its source, too.
            direct = next(
                (other for other in candidates if other.derived == dependent.derived and other.sources == sources), None
            )
            relation_of[dependent.derived] = direct or replace(
                dependent, sources=sources, how=f"follows from {sources[0]!r}", rule=None
            )
        relation_of[derived] = relation
    return tuple(relation_of.values())


def _says_something(relation: ColumnRelation) -> bool:
    """True if the relation determines values, not only missing ones. A lookup must be one-to-one or name a value,
    because otherwise it needs a table that is not published.
    """
    return relation.kind in ("formula", "band") or (
        relation.kind == "lookup" and (relation.both or "says whether" in relation.how)
    )


def _finest(distinct: Mapping[str, int], sources: Sequence[str]) -> float:
    """Return the maximum number of values that can follow from some sources."""
    return float(np.prod([float(distinct[source]) for source in sources]))


def families(frame: pl.DataFrame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return three or more neighbouring 0/1 columns of which at most one is 1 in every row, and one is in most: indicators of one category."""
    marks_of = {name: marks for name in names if (marks := _marks(frame[name])) is not None}
    result: list[tuple[str, ...]] = []
    start = 0
    while start < len(names):
        marks_of_row, end = np.zeros(frame.height, dtype=np.int64), start
        while (
            end < len(names)
            and (marks := marks_of.get(names[end])) is not None
            and int((marks_of_row + marks).max()) <= 1
        ):
            marks_of_row, end = marks_of_row + marks, end + 1
        if end - start >= 3 and float(marks_of_row.mean()) >= _SEEN_OFTEN:
            result.append(tuple(names[start:end]))
        start = max(end, start + 1)
    return result


def completing(frame: pl.DataFrame, names: Sequence[str], known: Sequence[str]) -> set[str]:
    """Return 0/1 columns that together with some of the ``known`` ones indicate one category: exactly one of them is 1
    in every row, as with the industries of workers.

    That columns are never 1 together must not be chance: if they were independent, at least a few rows would have both.
    """
    marks_of = {name: marks for name in names if (marks := _marks(frame[name])) is not None and marks.any()}
    members: set[str] = set()
    for start in (name for name in known if name in marks_of and name not in members):
        family, total = [start], marks_of[start].copy()
        for name in sorted(
            marks_of, key=lambda other_name: (other_name not in known, -int(marks_of[other_name].sum()))
        ):
            marks = marks_of[name]
            if name != start and not (total & marks).any() and _expected(total, marks) >= _NO_CHANCE:
                family, total = [*family, name], total + marks
        if len(family) >= 3 and bool((total == 1).all()):
            members.update(family)
    return members - set(known)


def _expected(first_marks: NDArray[np.int64], second_marks: NDArray[np.int64]) -> float:
    """Return the expected number of rows in which both are 1 if they were independent."""
    return float(first_marks.sum()) * float(second_marks.sum()) / max(len(first_marks), 1)


def _marks(values: pl.Series) -> NDArray[np.int64] | None:
    """Return a column of only 0 and 1 as numbers; None for another one."""
    if values.null_count() or not (values.dtype == pl.Boolean or values.dtype.is_numeric()):
        return None
    numbers = values.cast(pl.Float64)
    return numbers.cast(pl.Int64).to_numpy() if numbers.is_in([0.0, 1.0]).all() else None
