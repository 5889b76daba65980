"""Datafly the slow way: rows as tuples, one column raised at a time. Shares no code with src."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

Judge = Callable[[list[tuple], Sequence[tuple]], bool]


def climb(
    rows: Sequence[tuple], hierarchies: Sequence[Sequence[Sequence[str]]], judge: Judge, limit: Fraction
) -> tuple[tuple[int, ...], int] | None:
    """While more than the allowed rows lie in failing groups, raise the column with most distinct values that can be raised.

    The levels, and how many rows go; None where the top is reached in vain.
    """
    label = [{row[0]: row for row in column} for column in hierarchies]
    levels = [0] * len(hierarchies)
    while True:
        shown = [tuple(label[j][row[j]][level] for j, level in enumerate(levels)) for row in rows]
        groups: dict[tuple, list[tuple]] = {}
        for key, row in zip(shown, rows, strict=True):
            groups.setdefault(key, []).append(row)
        lost = sum(len(group) for group in groups.values() if not judge(group, rows))
        if lost <= limit * len(rows):
            return tuple(levels), lost
        open_columns = [j for j, column in enumerate(hierarchies) if levels[j] < len(column[0]) - 1]
        if not open_columns:
            return None
        raised = max(open_columns, key=lambda j: (len({key[j] for key in shown}), -j))
        levels[raised] += 1
