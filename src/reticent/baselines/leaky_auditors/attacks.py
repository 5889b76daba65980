"""One attack for each leaky auditor. An attacker sees answers and refusals only, and concludes from a refusal what it could not foresee."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from reticent.baselines.leaky_auditors.gates import Gate


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


def parity_attack(gate: Gate, n: int, *, skewed: bool = False) -> Claims:
    """Against sums of zeros and ones (QA-G4, with E22): refusals of pairs tell who is equal, one last sum tells the values.

    Two people are refused iff they are equal. Refused pairs are joined in a chain, each with the one before, so that everybody in
    them is known relative to the first. Whoever is in an answered query is of no more use. The last query needs two people left
    over, one of them unlike the first. If one value is rare, its people would be used up: for ``skewed`` data pairs are therefore
    compared with somebody of the larger side.
    """
    claims = Claims(gate)
    equal_pairs = [pair for pair in zip(range(0, n, 2), range(1, n, 2), strict=False) if claims.ask(pair, "sum")[1]]
    if not equal_pairs:
        return claims
    first, second = equal_pairs[0]
    differs = {first: False, second: False}
    left_over: tuple[list[int], list[int]] = ([second], [])
    unlike = False
    for here, after in equal_pairs[1:]:
        known = (max(left_over, key=len) if skewed else left_over[unlike]).pop()
        given, _ = claims.ask((known, here), "sum")
        unlike = differs[known] ^ (given is not None)
        differs |= {here: unlike, after: unlike}
        left_over[unlike].extend((known, here, after) if given is None else (after,))
    alike, unlikes = left_over
    if not unlikes or len(alike) + len(unlikes) < 2:
        return claims
    witness, third = unlikes[-1], (unlikes[0] if len(unlikes) > 1 else alike[-1])
    total, _ = claims.ask({first, third, witness}, "sum")
    if total is not None:
        third_value = total - 1
        first_value = 1 - third_value if differs[third] else third_value
        claims.values = {person: 1 - first_value if unlike else first_value for person, unlike in differs.items()}
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
