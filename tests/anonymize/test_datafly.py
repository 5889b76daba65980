"""Datafly goes the way of its slow twin."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from reticent.anonymize import Datafly
from reticent.definitions import DeltaDisclosure, DistinctLDiversity, EpsilonMAnonymity, KAnonymity, MUnique
from reticent.errors import Infeasible, PolicyError
from tests.anonymize.worlds import random_world
from tests.oracles import catalogue_models as models
from tests.oracles import datafly as oracle


def on_values(judge):
    return lambda group, rows: judge([row[-1] for row in group], [row[-1] for row in rows])


@pytest.mark.parametrize("seed", range(4))
def test_it_climbs_as_the_slow_twin_does(seed):
    rng = random.Random(seed)
    found = 0
    for _ in range(60):
        rows, hierarchies, table = random_world(rng)
        k, limit = rng.randint(1, 6), Fraction(rng.choice([0, 0, 1, 2, 5]), 10)
        definition, judge = rng.choice(
            [
                (KAnonymity(k), lambda group, rows, k=k: len(group) >= k),
                (
                    KAnonymity(k) & DistinctLDiversity(2),
                    lambda group, rows, k=k: len(group) >= k and len({row[-1] for row in group}) >= 2,
                ),
                (DeltaDisclosure(1), on_values(models.delta_disclosing(Fraction(1)))),
                (MUnique(2), on_values(models.m_unique(2))),
            ]
        )
        expected = oracle.climb(rows, hierarchies, judge, limit)
        if expected is None or expected[1] == len(rows):
            with pytest.raises(Infeasible):
                Datafly(suppression=limit).draft(table, definition)
            continue
        draft = Datafly(suppression=limit).draft(table, definition)
        assert (tuple(draft.recoding.levels.values()), draft.suppressed) == expected
        assert definition.holds(draft.groups)
        found += 1
    assert found > 20


def test_what_it_cannot_do_is_told():
    with pytest.raises(PolicyError, match="Datafly: suppression must be at most 1"):
        Datafly(suppression=2)
    _, _, table = random_world(random.Random(1))
    with pytest.raises(PolicyError, match="EpsilonMAnonymity measures distances between numbers"):
        Datafly().draft(table, EpsilonMAnonymity(1, 2))
