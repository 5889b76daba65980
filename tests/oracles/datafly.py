"""Datafly the slow way: rows as they are, one column raised at a time. Shares no code with src."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tests.oracles.mondrian import Column, Demand, Part, Row


def climb(
    rows: Sequence[Row],
    columns: Sequence[Column],
    demand: Demand,
    limit: Fraction,
    *,
    sets: Sequence[Sequence[int]] | None = None,
    people: Sequence[tuple] = (),
) -> tuple[tuple[int, ...], list[Row]] | None:
    """While more than the allowed rows lie in failing groups, raise the column with most distinct values that can be raised.

    The levels, and the rows that stay; None where the top is reached in vain. What is left out on account of one set of columns is missing in the
    groups of the others. A demand on all groups together is looked at where nothing may be left out.
    """
    known = sets if sets is not None else [range(len(columns))]
    top = [len(column.parts[column.leaves[0]]) - 1 for column in columns]
    levels = [0] * len(columns)
    judges = [*demand.firm, *demand.wavering, *(judge for judge, _ in demand.softening)]

    def groups(some: Sequence[Row], names: Sequence[int]) -> list[Part]:
        def shown(quasi: tuple) -> tuple:
            return tuple(columns[j].parts[quasi[j]][levels[j]] for j in names)

        found: dict[tuple, Part] = {}
        for row in some:
            found.setdefault(shown(row.quasi), Part([])).rows.append(row)
        for person in people:
            if shown(person) in found:
                found[shown(person)].people.append(person)
        return list(found.values())

    while True:
        kept, before = list(rows), -1
        while len(kept) != before:
            before = len(kept)
            for names in known:
                fine = [part for part in groups(kept, names) if all(judge(part) for judge in judges)]
                kept = [row for part in fine for row in part.rows]
        together = all(judge(groups(kept, names)) for names in known for judge in demand.together) if kept else True
        if len(rows) - len(kept) <= limit * len(rows) and together:
            return tuple(levels), kept
        opened = [j for j in range(len(columns)) if levels[j] < top[j]]
        if not opened:
            return None
        values = {j: len({columns[j].parts[row.quasi[j]][levels[j]] for row in rows}) for j in opened}
        levels[max(opened, key=lambda j: (values[j], -j))] += 1
