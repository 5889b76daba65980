"""The source's procedures exactly as printed, kept to be refuted (spec 003, errata 7, 8 and 12). Shares no code with reticent.methods.randomize."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


def printed_noise(source: Sequence[float], scale: float, generator: np.random.Generator) -> frozenset[int]:
    """The printed non-uniform sampler: a binomial count with the average chance, then draws from the source until that many were inserted."""
    size = len(source)
    wanted = generator.binomial(size, scale / size)
    inserted: set[int] = set()
    while len(inserted) < wanted:
        inserted.add(int(generator.choice(size, p=source)))
    return frozenset(inserted)


def printed_chances(source: Sequence[Fraction], scale: Fraction) -> list[Fraction]:
    """With which probability the printed sampler includes each tuple: every order in which new tuples can come, and every count."""
    size = len(source)
    law = [
        math.comb(size, count) * (scale / size) ** count * (1 - scale / size) ** (size - count)
        for count in range(size + 1)
    ]
    chances = [Fraction(0)] * size
    for order in itertools.permutations(range(size)):
        probability, rest = Fraction(1), Fraction(1)
        for each in order:
            probability *= source[each] / rest
            rest -= source[each]
        for count, weight in enumerate(law):
            for each in order[:count]:
                chances[each] += probability * weight
    return chances


@dataclass(frozen=True)
class Bag:
    """A node of the printed tree procedure: some columns, a predicate over them, and the nodes below."""

    columns: tuple[str, ...]
    met: Callable[..., bool]
    below: tuple[Bag, ...] = ()

    def rows(self, domain: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
        values = itertools.product(*(domain[name] for name in self.columns))
        return [dict(zip(self.columns, row, strict=True)) for row in values]


def printed_probability(root: Bag, domain: Mapping[str, Sequence[Any]]) -> Fraction:
    """The printed tree procedure: what comes from below is scaled by |Pi_diff(D)|/|D|, and the root is not normalized."""
    size = math.prod(len(values) for values in domain.values())

    def value(bag: Bag, row: Mapping[str, Any]) -> Fraction:
        out = Fraction(bag.met(*(row[name] for name in bag.columns)))
        for child in bag.below:
            different = [name for name in child.columns if name not in bag.columns]
            scale = Fraction(math.prod(len(domain[name]) for name in different), size)
            agreeing = (
                each
                for each in child.rows(domain)
                if all(each[name] == row[name] for name in child.columns if name in row)
            )
            out *= scale * sum((value(child, each) for each in agreeing), Fraction(0))
        return out

    return sum((value(root, row) for row in root.rows(domain)), Fraction(0))


def printed_union(counts: Callable[[tuple[int, ...]], int], terms: int) -> int:
    """Inclusion and exclusion as printed, over all subsets; ``counts(chosen)`` is the count of the conjunction of some terms."""
    subsets = (chosen for width in range(terms + 1) for chosen in itertools.combinations(range(terms), width))
    return sum((-1 if len(chosen) % 2 == 0 else 1) * counts(chosen) for chosen in subsets)
