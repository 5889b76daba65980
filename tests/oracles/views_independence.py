"""Perfect privacy by its probabilistic definition, in exact fractions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction

from tests.oracles.views_critical import Keys, respects
from tests.oracles.views_queries import Row

Answer = Callable[[frozenset[Row]], Hashable]


def independent(
    secret: Answer,
    views: Sequence[Answer],
    rows: Sequence[Row],
    *,
    keys: Keys | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    possible: Callable[[frozenset[Row]], bool] | None = None,
) -> bool:
    """Whether P(S=s, V=v) Z = P(S=s) P(V=v) for all answers, under random tuple-independent priors.

    Given keys (or any ``possible`` test) the prior is conditioned on the instances that respect them; Z is their weight.
    """
    assert len(rows) <= 16
    for seed in seeds:
        rng = random.Random(seed)
        chances = [Fraction(rng.randint(1, 96), 97) for _ in rows]
        joint: Counter[tuple[Hashable, Hashable]] = Counter()
        for mask in range(1 << len(rows)):
            instance = frozenset(row for index, row in enumerate(rows) if mask >> index & 1)
            if (keys and not respects(instance, keys)) or (possible and not possible(instance)):
                continue
            weight = Fraction(1)
            for index, chance in enumerate(chances):
                weight *= chance if mask >> index & 1 else 1 - chance
            joint[secret(instance), tuple(view(instance) for view in views)] += weight  # type: ignore[assignment]
        left: Counter[Hashable] = Counter()
        right: Counter[Hashable] = Counter()
        for (s, v), weight in joint.items():
            left[s] += weight  # type: ignore[assignment]
            right[v] += weight  # type: ignore[assignment]
        total = sum(joint.values())
        if any(joint[s, v] * total != left[s] * right[v] for s in left for v in right):
            return False
    return True
