"""Beliefs by counting worlds: every assignment of values to a population, every sample of it. Shares no code with src."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction


def assignments(values: Sequence) -> list[tuple]:
    return sorted(set(itertools.permutations(values)))


def posterior(
    population: Mapping[object, Mapping[object, int]],
    block_of: Mapping[object, object],
    released: Mapping[object, Mapping[object, int]],
    target: object,
) -> dict[object, Fraction]:
    """The share of worlds (assignment, sample with the target in it) showing the release, by the target's value."""
    people = [quasi for quasi, row in population.items() for _ in range(sum(row.values()))]
    chosen = people.index(target)
    by_quasi = [assignments([s for s, n in row.items() for _ in range(n)]) for row in population.values()]
    size = sum(sum(row.values()) for row in released.values())
    worlds: Counter = Counter()
    for parts in itertools.product(*by_quasi):
        value = [s for part in parts for s in part]
        for sample in itertools.combinations(range(len(people)), size):
            if chosen not in sample:
                continue
            shown: dict[object, Counter] = {}
            for person in sample:
                shown.setdefault(block_of[people[person]], Counter())[value[person]] += 1
            if shown == {block: Counter({s: n for s, n in row.items() if n}) for block, row in released.items()}:
                worlds[value[chosen]] += 1
    total = sum(worlds.values())
    return {s: Fraction(n, total) for s, n in worlds.items()}


def knowing(
    histogram: Mapping[str, int], excluded: Sequence[str], others: Sequence[str], sharing: int
) -> dict[str, Fraction]:
    """The same inside one group: person 0 is asked about, the next have the values ``others``, the next share person 0's."""
    rows = [value for value, count in histogram.items() for _ in range(count)]
    worlds: Counter = Counter()
    for world in itertools.permutations(rows):
        known = world[1 : 1 + len(others)] == tuple(others)
        alike = world[1 + len(others) : 1 + len(others) + sharing]
        if known and len(alike) == sharing and all(value == world[0] for value in alike) and world[0] not in excluded:
            worlds[world[0]] += 1
    total = sum(worlds.values())
    return {value: Fraction(count, total) for value, count in worlds.items()} if total else {}


def surest(histogram: Mapping[str, int], exclusions: int, others: int, sharing: int) -> Fraction | None:
    """The largest chance over all knowledge of that size, by trying all."""
    rows = sorted(value for value, count in histogram.items() for _ in range(count))
    best = None
    for known in sorted(set(itertools.combinations(rows, others))):
        for excluded in itertools.combinations(sorted(histogram), min(exclusions, len(histogram) - 1)):
            chances = knowing(histogram, excluded, known, sharing)
            if chances and (best is None or max(chances.values()) > best):
                best = max(chances.values())
    return best


def posterior_in_buckets(
    population: Mapping[object, Mapping[object, int]],
    bucket_of: Mapping[object, object],
    people: Mapping[object, int],
    released: Mapping[object, Mapping[object, int]],
    target: object,
) -> dict[object, Fraction]:
    """The same where the sample's quasi values are published too (``people``: how many of each), beside the values of every bucket."""
    everybody = [quasi for quasi, row in population.items() for _ in range(sum(row.values()))]
    chosen = everybody.index(target)
    by_quasi = [assignments([s for s, n in row.items() for _ in range(n)]) for row in population.values()]
    worlds: Counter = Counter()
    for parts in itertools.product(*by_quasi):
        value = [s for part in parts for s in part]
        for sample in itertools.combinations(range(len(everybody)), sum(people.values())):
            if chosen not in sample or Counter(everybody[person] for person in sample) != Counter(people):
                continue
            shown: dict[object, Counter] = {}
            for person in sample:
                shown.setdefault(bucket_of[everybody[person]], Counter())[value[person]] += 1
            if shown == {bucket: Counter(row) for bucket, row in released.items()}:
                worlds[value[chosen]] += 1
    total = sum(worlds.values())
    return {s: Fraction(n, total) for s, n in worlds.items()}
