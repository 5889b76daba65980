"""One attack for each leaky auditor. An attacker sees answers and refusals only, and concludes from a refusal what it could not foresee."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from reticent.audit.leaky.gates import Gate


@dataclass
class Claims:
    """What an attacker asked, and the values it is certain of."""

    gate: Gate
    values: dict[int, Fraction] = field(default_factory=dict)
    asked: int = 0
    refused: int = 0

    def ask(self, members: Iterable[int], function: str) -> tuple[Fraction | None, bool]:
        """The answer, and whether a refusal says something: one that could be foreseen says nothing."""
        people = sorted(members)
        foreseen = self.gate.foreseen(people, function)
        given = self.gate.answer(people, function)
        self.asked += 1
        self.refused += given is None
        return given, given is None and foreseen is None


def drop_attack(gate: Gate, tuples: Sequence[Sequence[int]], seed: int = 0) -> Claims:
    """Against maxima (QA-G2, QA-G3): the maximum of four people, then of three of them, leaving out one at random, twice.

    If three are refused because of the true answer, then the one left out has the maximum.
    """
    claims, generator = Claims(gate), np.random.default_rng(seed)
    for people in tuples:
        top, _ = claims.ask(people, "max")
        if top is None:
            continue
        for left_out in generator.permutation(people)[:2].tolist():
            _, telling = claims.ask(set(people) - {left_out}, "max")
            if telling:
                claims.values[left_out] = top
                break
    return claims


def parity_attack(gate: Gate, n: int) -> Claims:
    """Against sums of zeros and ones (QA-G4, with E22): refusals of pairs tell who is equal, one last sum tells the values.

    Two people are refused iff they are equal. Pairs that were refused are joined in a chain, so that everybody in it is known
    relative to the first. The last query needs two more people whom no answered query holds, one of them unlike the first.
    """
    claims = Claims(gate)
    equal_pairs = [pair for pair in zip(range(0, n, 2), range(1, n, 2), strict=False) if claims.ask(pair, "sum")[1]]
    if not equal_pairs:
        return claims
    first = equal_pairs[0][0]
    unlike_first = dict.fromkeys(equal_pairs[0], False)
    untouched = set(unlike_first)
    for (_, before), (here, after) in pairwise(equal_pairs):
        given, _ = claims.ask((before, here), "sum")
        unlike_first |= dict.fromkeys((here, after), unlike_first[before] ^ (given is not None))
        untouched |= {here, after}
        if given is not None:
            untouched -= {before, here}
    others = [person for person in unlike_first if person in untouched and person != first]
    unlike = [person for person in others if unlike_first[person]]
    if len(others) < 2 or not unlike:
        return claims
    witness = unlike[-1]
    third = next(person for person in [*unlike, *others] if person != witness)
    total, _ = claims.ask({first, third, witness}, "sum")
    if total is not None:
        value = total - 1
        first_value = 1 - value if unlike_first[third] else value
        claims.values = {person: 1 - first_value if unlike else first_value for person, unlike in unlike_first.items()}
    return claims


def equality_attack(gate: Gate, groups: Sequence[Sequence[int]]) -> Claims:
    """Against sums beside maxima (QA-G1): SUM, COUNT and MAX under one condition; MAX is refused iff all are equal."""
    claims = Claims(gate)
    for people in groups:
        total, _ = claims.ask(people, "sum")
        _, telling = claims.ask(people, "max")
        if total is not None and telling:
            claims.values |= dict.fromkeys(people, total / len(people))
    return claims
