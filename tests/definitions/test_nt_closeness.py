"""(n,t)-closeness against its authors' reading with every natural superset: ours is sound, and exact where groups alone show them all."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import polars as pl
import pytest

from reticent.definitions import NTCloseness
from reticent.engine import count_table
from reticent.table import Table
from tests.methods.grouping.worlds import random_world
from tests.oracles import catalogue_models as oracle
from tests.sampling import seeds


@pytest.mark.parametrize("seed", seeds(4))
def test_what_passes_is_close_to_some_natural_superset(seed):
    rng = random.Random(seed)
    stricter = 0
    for _ in range(15):
        rows, hierarchies, table = random_world(rng)
        n, t = rng.randint(1, 20), Fraction(rng.randint(0, 6), 12)
        definition = NTCloseness(n, t)
        points = count_table(table)
        for levels in itertools.product(*(range(len(column[0])) for column in hierarchies)):
            groups = points.generalize(levels).groups()
            close = oracle.n_t_close_to_some_superset(n, t, rows, hierarchies, levels)
            passes = definition.holds(groups)
            if passes and len(rows) >= n:
                assert all(close.values())
            stricter += all(close.values()) and not passes
    assert stricter > 0


@pytest.mark.parametrize("seed", seeds(4))
def test_with_one_column_that_is_kept_or_suppressed_it_is_the_definition_itself(seed):
    rng = random.Random(100 + seed)
    verdicts = set()
    while len(verdicts) < 2 or rng.random() > 0.02:
        rows, hierarchies, table = random_world(rng)
        if len(hierarchies) != 1 or len(hierarchies[0][0]) != 2:
            continue
        n, t = rng.randint(1, len(rows)), Fraction(rng.randint(0, 8), 12)
        for level in (0, 1):
            groups = count_table(table).generalize((level,)).groups()
            close = oracle.n_t_close_to_some_superset(n, t, rows, hierarchies, (level,))
            assert NTCloseness(n, t).holds(groups) is all(close.values())
            verdicts.add(all(close.values()))


def test_with_every_superset_a_coarser_release_could_lose_what_a_finer_one_had():
    """Why supersets in between do not count here: a person who is close to the people of the same town is not close to all, so that leaving
    the towns out, which joins no group of that person's, would break the promise. Ours is monotone."""
    rows = [("north", "old", "flu"), ("south", "old", "flu"), ("north", "young", "hiv")]
    hierarchies = [[["north", "*"], ["south", "*"]], [["old", "*"], ["young", "*"]]]
    exact, suppressed = (
        oracle.n_t_close_to_some_superset(2, Fraction(1, 2), rows, hierarchies, levels) for levels in ((0, 0), (1, 0))
    )
    assert all(exact.values())
    assert suppressed == {("*", "old"): True, ("*", "young"): False}
    table = Table(pl.DataFrame(rows, schema=["town", "age", "s"], orient="row"), quasi=["town", "age"], sensitive="s")
    points = count_table(table)
    assert not NTCloseness(2, "1/2").holds(points.groups())
    assert not NTCloseness(2, "1/2").holds(points.generalize((1, 0)).groups())
    assert NTCloseness(2, "1/2").holds(points.generalize((1, 1)).groups())
