"""The least loss of a release by groups, found by writing down every partition of the records. Shares no code with src."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

Record = tuple[Any, ...]


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """Every partition of some items into sets that are not empty."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for smaller in partitions(rest):
        for place in range(len(smaller)):
            yield [*smaller[:place], [first, *smaller[place]], *smaller[place + 1 :]]
        yield [[first], *smaller]


def covered(values: Sequence[Any], leaves: Sequence[Any], ranges: bool) -> int:
    """How many leaves the label of a group with these values covers at least."""
    held = set(values)
    if not ranges:
        return len(held)
    known = [value for value in held if value is not None]
    between = [leaf for leaf in leaves if leaf is not None and known and min(known) <= leaf <= max(known)]
    return len(between) + (None in held)


def group_loss(rows: Sequence[Record], leaves: Sequence[Sequence[Any]], ranges: bool) -> Fraction:
    """The loss of one record of a group, by the definition of the measure."""
    total = Fraction(0)
    for column, known in enumerate(leaves):
        if len(known) > 1:
            total += Fraction(covered([row[column] for row in rows], known, ranges) - 1, len(known) - 1)
    return total / len(leaves)


def least_loss(
    rows: Sequence[Record],
    leaves: Sequence[Sequence[Any]],
    passes: Callable[[list[int]], bool],
    ranges: bool = False,
    suppression: bool = True,
) -> Fraction | None:
    """The least loss over all partitions whose groups pass; a group that fails is suppressed, if that is allowed, at a loss of 1 a record. None where there is no release."""
    known: dict[frozenset[int], Fraction | None] = {}

    def cost(group: list[int]) -> Fraction | None:
        key = frozenset(group)
        if key not in known:
            if passes(group):
                known[key] = len(group) * group_loss([rows[place] for place in group], leaves, ranges)
            else:
                known[key] = Fraction(len(group)) if suppression else None
        return known[key]

    best: Fraction | None = None
    for partition in partitions(list(range(len(rows)))):
        costs = [cost(group) for group in partition]
        if None in costs:
            continue
        total = sum((each for each in costs if each is not None), Fraction(0))
        best = total if best is None or total < best else best
    return None if best is None else best / len(rows)
