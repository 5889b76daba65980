"""(n,t)-closeness as it is defined, against a row by row twin."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import polars as pl
import pytest

import reticent as rt
from reticent.definitions import NTCloseness
from reticent.errors import PolicyError
from reticent.release import natural_closeness


def twin(rows: list[dict], quasi: list[str], n: int) -> Fraction | float:
    """The largest distance of somebody's group to the nearest superset, by all sets of columns."""
    worst: Fraction | float = Fraction(0)
    for row in rows:
        own = Counter(each["ill"] for each in rows if all(each[name] == row[name] for name in quasi))
        best: Fraction | float = float("inf")
        for size in range(len(quasi) + 1):
            for known in combinations(quasi, size):
                wide = Counter(each["ill"] for each in rows if all(each[name] == row[name] for name in known))
                if wide.total() >= n:
                    apart = sum(
                        max(Fraction(own[v], own.total()) - Fraction(wide[v], wide.total()), Fraction(0)) for v in wide
                    )
                    best = min(best, apart)
        worst = max(worst, best)
    return worst


def test_the_nearest_superset_is_that_of_the_twin_and_ours_implies_it():
    rng, seen = random.Random(1), Counter()
    for _ in range(40):
        rows = [{name: rng.choice("abc"[: 2 + (name == "ill")]) for name in ("x", "y", "ill")} for _ in range(12)]
        table = rt.Table(pl.DataFrame(rows), quasi=["x", "y"], sensitive="ill")
        n, t = rng.choice([1, 3, 5, 13]), rng.choice(["0.1", "0.25", "0.4"])
        found = natural_closeness(table, n, t)
        assert found.value == twin(rows, ["x", "y"], n)
        assert found.holds is (found.value <= Fraction(t))
        assert (found.witness is None) is found.holds
        ours = rt.assess(table, NTCloseness(n, t)).holds
        assert n > 12 or found.holds or not ours
        seen[ours, found.holds] += 1
    assert seen[False, True]


def test_a_release_is_looked_at_by_its_labels_and_buckets_are_refused():
    frame = {"zip": ["1"] * 4 + ["2"] * 4, "ill": ["a", "b"] * 4}
    table = rt.Table(frame, quasi=["zip"], sensitive="ill")
    assert natural_closeness(rt.publish(table, rt.KAnonymity(4)), 4, 0).holds
    apart = rt.Table({"zip": ["1"] * 4 + ["2"] * 4, "ill": ["a"] * 4 + ["b"] * 4}, quasi=["zip"], sensitive="ill")
    buckets = rt.publish(apart, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"), insecure_seed=1)
    with pytest.raises(PolicyError, match="labels and sensitive values together"):
        natural_closeness(buckets, 4, 0)
