"""The Bayes-optimal belief from a bucket: its quasi-identifiers and its sensitive values are known, but not their
assignment.

Possible worlds are all assignments of the bucket's sensitive values to its people, given that the sample has these
quasi-identifiers in the bucket. In a contingency table with the bucket's margins, a cell with m of the N(q,s) existing
people can be filled in C(N(q,s), m) ways; all ways are equally likely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod

import numpy as np

from reticent.belief.bayes import PopulationModel, Quasi, Value
from reticent.errors import DataError

_MOST_STEPS = 200_000
_ROUNDS, _CLOSE = 5_000, 1e-12

Counts = tuple[int, ...]
Ways = dict[Counts, int]


@dataclass(frozen=True)
class BucketBelief:
    """The beliefs about the people of a bucket by quasi-identifiers; ``exact`` unless it was too large to count all worlds."""

    chances: Mapping[Quasi, Mapping[Value, Fraction]]
    exact: bool


def bucket_posterior(
    model: PopulationModel, people: Mapping[Quasi, int], released: Mapping[Value, int]
) -> BucketBelief:
    """Return the beliefs about the people of a bucket with these quasi-identifiers (``people``: how many of each) and
    sensitive values.

    Counted exactly if that takes an acceptable number of steps. Otherwise values are treated as independent, with odds
    scaled until the expected margins match the bucket: the limit for large buckets.
    """
    values = [value for value, count in released.items() if count]
    value_counts = tuple(released[value] for value in values)
    if sum(people.values()) != sum(value_counts):
        raise DataError(f"The bucket has {sum(people.values())} people but {sum(value_counts)} sensitive values.")
    points = list(people)
    weights = {quasi: [model.counts.get(quasi, {}).get(value, Fraction(0)) for value in values] for quasi in points}
    is_integral = all(weight.denominator == 1 for row in weights.values() for weight in row)
    steps = prod(count + 1 for count in value_counts) * sum(
        comb(people[q] + len(values) - 1, people[q]) for q in points
    )
    if is_integral and steps <= _MOST_STEPS:
        cells = [[int(weight) for weight in weights[quasi]] for quasi in points]
        shares = _counted(cells, [people[quasi] for quasi in points], value_counts)
        is_exact = True
    else:
        odds = np.array([[float(weight) for weight in weights[quasi]] for quasi in points])
        shares = _tilted(
            odds, np.array([people[quasi] for quasi in points], dtype=float), np.array(value_counts, dtype=float)
        )
        is_exact = False
    if shares is None:
        raise DataError(
            "No possible world fits a bucket of the release: the stated population lacks people with its quasi and sensitive values."
        )
    chances = {quasi: dict(zip(values, row, strict=True)) for quasi, row in zip(points, shares, strict=True)}
    return BucketBelief(chances, is_exact)


def _counted(cells: Sequence[Sequence[int]], people: Sequence[int], shown: Counts) -> list[list[Fraction]] | None:
    """Return for each row of ``cells`` the expected share of each value, over all ways to fill the table; None if there
    is none.

    Row ``i`` of a table stands for ``people[i]`` people with equal quasi-identifiers, a column for a value with the
    total in ``shown``; ``cells`` are the people of the population. The ways to fill the rows before and after each row
    are counted and combined.
    """
    fillings = [_fillings(row, count, shown) for row, count in zip(cells, people, strict=True)]
    start: Ways = {tuple(0 for _ in shown): 1}
    before = [start]
    for filling in fillings:
        before.append(_joined(before[-1], filling, shown))
    total = before[-1].get(shown, 0)
    if total == 0:
        return None
    shares: list[list[Fraction]] = []
    after = start
    for number in range(len(fillings) - 1, -1, -1):
        sums = [0] * len(shown)
        for filling_row, count in fillings[number].items():
            other_ways = sum(
                ways * after.get(tuple(n - m - u for n, m, u in zip(shown, filling_row, used, strict=True)), 0)
                for used, ways in before[number].items()
            )
            for value_index, amount in enumerate(filling_row):
                sums[value_index] += amount * count * other_ways
        shares.append([Fraction(total_amount, total * people[number]) for total_amount in sums])
        after = _joined(after, fillings[number], shown)
    return shares[::-1]


def _fillings(cells: Sequence[int], people: int, shown: Counts) -> Ways:
    """Return the ways in which ``people`` with the same quasi-identifiers can take values, by how many get each.

    ``cells`` are the people of the population with each value, ``shown`` the released counts, which limit the amounts.
    """
    fillings: Ways = {(): 1}
    for available, limit in zip(cells, shown, strict=True):
        extended: Ways = {}
        for amounts, ways in fillings.items():
            for amount in range(min(available, limit, people - sum(amounts)) + 1):
                key = (*amounts, amount)
                extended[key] = extended.get(key, 0) + ways * comb(available, amount)
        fillings = extended
    return {amounts: ways for amounts, ways in fillings.items() if sum(amounts) == people}


def _joined(first: Ways, second: Ways, shown: Counts) -> Ways:
    """Return the ways to combine two partial fillings that stay within the counts ``shown``."""
    joined: Ways = {}
    for first_amounts, ways in first.items():
        for second_amounts, second_ways in second.items():
            key = tuple(a + b for a, b in zip(first_amounts, second_amounts, strict=True))
            if all(a <= limit for a, limit in zip(key, shown, strict=True)):
                joined[key] = joined.get(key, 0) + ways * second_ways
    return joined


def _tilted(
    odds: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    people: np.ndarray[tuple[int], np.dtype[np.float64]],
    shown: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> list[list[Fraction]] | None:
    """Return for each row of ``odds`` the expected share of each value, by iterative proportional fitting; None if it
    does not converge.

    Rows (``people``) and columns (``shown``) are scaled in turn until both margins match.
    """
    if (odds.sum(axis=1) == 0).any() or (odds.sum(axis=0) == 0).any():
        return None
    table = odds / odds.sum(axis=1, keepdims=True) * people[:, None]
    for _ in range(_ROUNDS):
        table = table * (shown / np.maximum(table.sum(axis=0), 1e-300))
        rows = table.sum(axis=1)
        if (rows == 0).any():
            return None
        table = table * (people / rows)[:, None]
        if np.abs(table.sum(axis=0) - shown).max() <= _CLOSE * shown.sum():
            break
    if np.abs(table.sum(axis=0) - shown).max() > 1e-6 * shown.sum():
        return None
    return [[Fraction(share).limit_denominator(10**9) for share in row] for row in (table / people[:, None]).tolist()]
