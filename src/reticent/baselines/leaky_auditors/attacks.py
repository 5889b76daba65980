"""One attack for each leaky auditor. An attacker sees only answers and refusals, and draws conclusions from refusals that
were not predictable. Source: [Kenthapadi2005].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from reticent.baselines.leaky_auditors.gates import Gate


@dataclass
class Claims:
    """The attacker's queries, and the values it is certain of."""

    gate: Gate
    values: dict[int, Fraction] = field(default_factory=dict)
    asked: int = 0
    refused: int = 0

    def ask(self, members: Iterable[int], function: str) -> tuple[Fraction | None, bool]:
        """Query the ``function`` of some people; return the answer (None: refused), and whether it is an informative
        refusal, one that could not be predicted without the hidden values.
        """
        people = sorted(members)
        foreseen = self.gate.foreseen(people, function)
        answer = self.gate.answer(people, function)
        self.asked += 1
        self.refused += answer is None
        return answer, answer is None and foreseen is None


def drop_attack(gate: Gate, tuples: Sequence[Sequence[int]], seed: int = 0) -> Claims:
    """Return what an attack on auditors of maxima learns: it queries the maximum of four people, then of three of them,
    dropping one at random, twice.

    If the three are refused because of the true answer, the dropped person has the maximum.
    """
    claims, generator = Claims(gate), np.random.default_rng(seed)
    for people in tuples:
        top, _ = claims.ask(people, "max")
        if top is None:
            continue
        for dropped in generator.permutation(people)[:2].tolist():
            _, is_informative = claims.ask(set(people) - {dropped}, "max")
            if is_informative:
                claims.values[dropped] = top
                break
    return claims


def parity_attack(gate: Gate, n: int, *, skewed: bool = False) -> Claims:
    """Return what an attack on auditors of sums of zeros and ones learns: refused pairs reveal equality, one last sum the values.

    Two people are refused iff they are equal. Refused pairs are chained, each with its predecessor, so that everyone in
    the chain is known relative to the first. A person in an answered query cannot be used again. The last query needs
    two remaining people, one of them unlike the first. If one value is rare, its people would be used up: for
    ``skewed`` data pairs are therefore compared with a person of the larger side.
    """
    claims = Claims(gate)
    equal_pairs = [pair for pair in zip(range(0, n, 2), range(1, n, 2), strict=False) if claims.ask(pair, "sum")[1]]
    if not equal_pairs:
        return claims
    first, second = equal_pairs[0]
    differs = {first: False, second: False}
    usable: tuple[list[int], list[int]] = ([second], [])
    is_unlike = False
    for first_of_pair, second_of_pair in equal_pairs[1:]:
        reference = (max(usable, key=len) if skewed else usable[is_unlike]).pop()
        answer, _ = claims.ask((reference, first_of_pair), "sum")
        is_unlike = differs[reference] ^ (answer is not None)
        differs |= {first_of_pair: is_unlike, second_of_pair: is_unlike}
        usable[is_unlike].extend((reference, first_of_pair, second_of_pair) if answer is None else (second_of_pair,))
    like_first, unlike_first = usable
    if not unlike_first or len(like_first) + len(unlike_first) < 2:
        return claims
    witness, third = unlike_first[-1], (unlike_first[0] if len(unlike_first) > 1 else like_first[-1])
    total, _ = claims.ask({first, third, witness}, "sum")
    if total is not None:
        third_value = total - 1
        first_value = 1 - third_value if differs[third] else third_value
        claims.values = {person: 1 - first_value if is_unlike else first_value for person, is_unlike in differs.items()}
    return claims


def equality_attack(gate: Gate, groups: Sequence[Sequence[int]]) -> Claims:
    """Return what an attack on auditors of sums and maxima learns: it queries SUM, COUNT and MAX under one condition, and MAX
    is refused iff all values are equal.
    """
    claims = Claims(gate)
    for people in groups:
        total, _ = claims.ask(people, "sum")
        _, is_informative = claims.ask(people, "max")
        if total is not None and is_informative:
            claims.values |= dict.fromkeys(people, total / len(people))
    return claims
