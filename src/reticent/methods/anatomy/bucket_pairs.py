"""All possible joins of people and sensitive values within the buckets of a bucketized release."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.errors import DataError
from reticent.table import unused


@dataclass(frozen=True)
class Pairs:
    """Types of people and types of sensitive values, bucket by bucket.

    Type ``i`` is in bucket ``bucket_of_person[i]`` and has ``people[i]`` members; likewise values and ``times``. A pair
    ``(person[p], value[p])`` shares a bucket, and ``meets[p]`` is whether the two together meet the condition. If
    labels leave that open, ``shares`` has the probability of each pair.
    """

    sizes: NDArray[np.int64]
    bucket_of_person: NDArray[np.int64]
    people: NDArray[np.int64]
    bucket_of_value: NDArray[np.int64]
    times: NDArray[np.int64]
    person: NDArray[np.int64]
    value: NDArray[np.int64]
    meets: NDArray[np.bool_]
    shares: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        people: tuple[pl.DataFrame, NDArray[np.int64]],
        values: tuple[pl.DataFrame, NDArray[np.int64]],
        bucket: str,
        evaluate: Callable[[pl.DataFrame], NDArray[np.bool_]],
    ) -> Pairs:
        """Return the pairs of types of people and of values in one bucket. ``people`` and ``values`` are the distinct rows of two
        tables with their multiplicities; ``evaluate`` masks the joined rows that meet the condition.
        """
        (person_types, members), (value_types, multiplicities) = people, values
        bucket_index, person, value = (
            unused(name, {*person_types.columns, *value_types.columns}) for name in ("place", "person", "value")
        )
        numbers = person_types[bucket].unique().sort()
        index = pl.DataFrame({bucket: numbers, bucket_index: np.arange(len(numbers))})
        person_types = person_types.join(index, on=bucket, how="left", maintain_order="left").with_row_index(person)
        value_types = value_types.join(index, on=bucket, how="left", maintain_order="left").with_row_index(value)
        if value_types[bucket_index].null_count():
            raise DataError("The sensitive table has a bucket that the quasi table does not have.")
        joined = person_types.join(value_types.drop(bucket), on=bucket_index, how="inner")
        bucket_of_person, bucket_of_value = (types[bucket_index].to_numpy() for types in (person_types, value_types))
        sizes = sum_by(bucket_of_person, members, len(numbers))
        if (sum_by(bucket_of_value, multiplicities, len(numbers)) != sizes).any():
            raise DataError("A bucket has more rows in one of its two tables than in the other.")
        return cls(
            sizes,
            bucket_of_person,
            members,
            bucket_of_value,
            multiplicities,
            joined[person].to_numpy().astype(np.int64),
            joined[value].to_numpy().astype(np.int64),
            evaluate(joined),
        )

    def moments(self) -> tuple[float, float]:
        """Return mean and variance of the number of people who meet the condition, if all assignments of values are equally likely.

        With ``R`` the values that suit a person, ``C`` the people whom a value suits and ``A`` the suitable pairs of a
        bucket of ``n``: mean ``A / n``, variance ``(A - sum R^2 / n - sum C^2 / n + A^2 / n^2) / (n - 1)``; the
        hypergeometric one if the condition is a conjunction on person and value. Pairs that meet it with a probability
        ``w`` count ``w`` in ``R``, ``C`` and ``A``, and ``w^2`` in the first ``A`` of the variance, to which ``sum w (1
        - w) / n`` is added: people are spread over their labels independently.
        """
        shares = self.meets.astype(np.float64) if self.shares is None else self.shares
        person, value, count = self.person, self.value, len(self.sizes)
        members, value_counts = self.people.astype(np.float64), self.times.astype(np.float64)
        suits_person = _sums_by(person, value_counts[value] * shares, len(members))
        suits_value = _sums_by(value, members[person] * shares, len(value_counts))
        suitable = _sums_by(self.bucket_of_person, members * suits_person, count)
        pairs, bucket = members[person] * value_counts[value], self.bucket_of_person[person]
        n = self.sizes.astype(np.float64)
        squares = _sums_by(self.bucket_of_person, members * suits_person**2, count)
        squares += _sums_by(self.bucket_of_value, value_counts * suits_value**2, count)
        spread = _sums_by(bucket, pairs * shares**2, count) - squares / n + (suitable / n) ** 2
        variances = (
            np.where(n > 1, spread / np.maximum(n - 1, 1), 0.0)
            + _sums_by(bucket, pairs * shares * (1 - shares), count) / n
        )
        return float((suitable / n).sum()), float(variances.sum())

    def meeting(self) -> int:
        """Return how many people share their bucket with a value with which they meet the condition."""
        return int(self.people[self._sums()[0] > 0].sum())

    def bounds(self) -> tuple[int, int]:
        """Return the smallest and largest possible number of people who meet the condition, exactly.

        If the suitable pairs of a bucket are some people times some values, ``a`` and ``c`` of ``n``, these are
        ``max(0, a + c - n)`` and ``min(a, c)``; if the unsuitable pairs are, likewise; otherwise a transport problem is
        solved.
        """
        suits_person, suits_value, suitable = self._sums()
        n, count = self.sizes, len(self.sizes)
        some_people = sum_by(self.bucket_of_person, self.people * (suits_person > 0), count)
        some_values = sum_by(self.bucket_of_value, self.times * (suits_value > 0), count)
        low, high = np.maximum(0, some_people + some_values - n), np.minimum(some_people, some_values)
        decided = some_people * some_values == suitable
        not_all_people = sum_by(self.bucket_of_person, self.people * (suits_person < n[self.bucket_of_person]), count)
        not_all_values = sum_by(self.bucket_of_value, self.times * (suits_value < n[self.bucket_of_value]), count)
        inverse = ~decided & (not_all_people * not_all_values == n * n - suitable)
        low = np.where(inverse, n - np.minimum(not_all_people, not_all_values), low)
        high = np.where(inverse, n - np.maximum(0, not_all_people + not_all_values - n), high)
        for number in np.flatnonzero(~decided & ~inverse).tolist():
            low[number], high[number] = self._transport(number)
        return int(low.sum()), int(high.sum())

    def _sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return, counting multiplicities, the number of values that meet the condition with each type of people, of people
        that meet it with each type of value, and of pairs that meet it in each bucket.
        """
        person, value = self.person[self.meets], self.value[self.meets]
        suits_person = sum_by(person, self.times[value], len(self.people))
        suits_value = sum_by(value, self.people[person], len(self.times))
        suitable = sum_by(self.bucket_of_person, self.people * suits_person, len(self.sizes))
        return suits_person, suits_value, suitable

    def _transport(self, number: int) -> tuple[int, int]:
        """Return the smallest and the largest number of people of a bucket who can meet the condition."""
        people = np.flatnonzero(self.bucket_of_person == number)
        values = np.flatnonzero(self.bucket_of_value == number)
        is_pair_here = (self.bucket_of_person[self.person] == number) & self.meets
        meets = np.zeros((len(people), len(values)), dtype=bool)
        meets[np.searchsorted(people, self.person[is_pair_here]), np.searchsorted(values, self.value[is_pair_here])] = (
            True
        )
        rows, row_of = np.unique(meets, axis=0, return_inverse=True)
        members = sum_by(row_of.ravel(), self.people[people], len(rows))
        return (
            fewest_pairs(members, self.times[values], rows),
            most_pairs(members, self.times[values], rows),
        )


def _sums_by(ids: NDArray[np.int64], weights: NDArray[np.float64], groups: int) -> NDArray[np.float64]:
    return np.bincount(ids, weights=weights, minlength=groups).astype(np.float64)


def most_pairs(people: NDArray[np.int64], value_counts: NDArray[np.int64], may_pair: NDArray[np.bool_]) -> int:
    """Return the largest number of people who can be assigned values that meet the condition.

    ``people[i]`` is the number of people of a type, ``value_counts[j]`` the number of rows of a value, and ``may_pair[i,
    j]`` is True if they meet the condition together. A maximum flow, by shortest augmenting paths in the residual network.
    """
    flow = np.zeros(may_pair.shape, dtype=np.int64)
    unassigned_people, remaining_values = people.copy(), value_counts.copy()
    while True:
        path = _augmenting_path(unassigned_people, remaining_values, may_pair, flow)
        if path is None:
            return int(flow.sum())
        backward_flow = [flow[i, j] for j, i in zip(path[1::2], path[2::2], strict=False)]
        amount = min(unassigned_people[path[0]], remaining_values[path[-1]], *backward_flow)
        for step, (a, b) in enumerate(pairwise(path)):
            if step % 2 == 0:
                flow[a, b] += amount
            else:
                flow[b, a] -= amount
        unassigned_people[path[0]] -= amount
        remaining_values[path[-1]] -= amount


def fewest_pairs(people: NDArray[np.int64], value_counts: NDArray[np.int64], may_pair: NDArray[np.bool_]) -> int:
    """Return the smallest number of people who must be assigned values that meet the condition, if every value is assigned."""
    return int(people.sum()) - most_pairs(people, value_counts, ~may_pair)


def _augmenting_path(
    unassigned_people: NDArray[np.int64],
    remaining_values: NDArray[np.int64],
    may_pair: NDArray[np.bool_],
    flow: NDArray[np.int64],
) -> list[int] | None:
    """Return a shortest augmenting path from a type with unassigned people to a value with remaining multiplicity: person,
    value, person, ..., value.
    """
    reached_from: dict[tuple[bool, int], tuple[bool, int] | None] = {
        (True, int(i)): None for i in np.flatnonzero(unassigned_people > 0)
    }
    waiting = deque(reached_from)
    while waiting:
        node = waiting.popleft()
        is_person, number = node
        if not is_person and remaining_values[number] > 0:
            path = [node]
            while (previous := reached_from[path[-1]]) is not None:
                path.append(previous)
            return [node_number for _, node_number in reversed(path)]
        next_numbers = np.flatnonzero(may_pair[number] if is_person else flow[:, number] > 0)
        for other in next_numbers.tolist():
            if (not is_person, other) not in reached_from:
                reached_from[not is_person, other] = node
                waiting.append((not is_person, other))
    return None
