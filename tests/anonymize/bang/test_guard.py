"""What sensitive values decide in the default mode: one number, and nothing else of what is published (13.2). All ways to give the same values to the same people are gone through."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import reticent as rt
from tests.sampling import seeds


@pytest.mark.parametrize("seed", seeds(9))
def test_regions_depend_on_sensitive_values_through_one_number_only(seed):
    draw = np.random.default_rng(seed)
    people = pl.DataFrame(draw.integers(0, 8, (6, 2)), schema=["x", "y"])
    values = draw.choice(["a", "a", "b", "c"], 6).tolist()
    shown, numbers = defaultdict(set), set()
    for world in sorted(set(permutations(values)))[:: 1 if len(set(values)) < 3 else 3]:
        table = rt.Table(people.with_columns(s=pl.Series(world)), quasi=["x", "y"], sensitive="s")
        try:
            draft = rt.Bang(minimum=2).draft(table, rt.DistinctLDiversity(2))
        except rt.Infeasible:
            continue
        placed = draft.recoding.place(people, "error")[0]["group"].to_list()  # type: ignore[union-attr]
        numbers.add(draft.details["k"])
        shown[draft.details["k"]].add((tuple(placed), tuple(draft.tables["regions"].frame().rows())))
    assert all(len(each) == 1 for each in shown.values())
    # The number is that of the finest cut that passes: larger ones only where a finer cut fails.
    assert len(numbers) <= len(shown) <= 6
