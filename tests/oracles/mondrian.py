"""Mondrian the slow way: one group at a time, rows as tuples. Shares no code with src."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

Row = tuple
Judge = Callable[[Counter, Counter], bool]


def partition(
    rows: Sequence[Row], order: Sequence[Sequence[str]], judges: Sequence[Judge], least: int
) -> list[list[Row]]:
    """Strict Mondrian: cut in the widest column, nearest to the median between two values, while both halves pass.

    ``order[j]`` lists the values of column ``j`` in the order of cutting; its length is the domain's size.
    """
    whole = Counter(row[-1] for row in rows)
    rank = [{value: place for place, value in enumerate(values)} for values in order]

    def passes(part: list[Row]) -> bool:
        return all(judge(Counter(row[-1] for row in part), whole) for judge in judges)

    def cut(part: list[Row], j: int) -> tuple[list[Row], list[Row]] | None:
        values = sorted({rank[j][row[j]] for row in part})
        best = None
        for value in values[:-1]:
            left = sum(rank[j][row[j]] <= value for row in part)
            if left >= least and len(part) - left >= least:
                distance = abs(2 * left - len(part))
                if best is None or distance < best[0]:
                    best = (distance, value)
        if best is None:
            return None
        halves = [r for r in part if rank[j][r[j]] <= best[1]], [r for r in part if rank[j][r[j]] > best[1]]
        return halves if passes(halves[0]) and passes(halves[1]) else None

    def span(part: list[Row], j: int) -> float:
        return (len({row[j] for row in part}) - 1) / max(len(order[j]) - 1, 1)

    def split(part: list[Row]) -> list[list[Row]]:
        if len(part) >= 2 * least:
            for j in sorted(range(len(order)), key=lambda j: (-span(part, j), j)):
                if span(part, j) > 0 and (halves := cut(part, j)):
                    return split(halves[0]) + split(halves[1])
        return [part]

    return split(list(rows))
