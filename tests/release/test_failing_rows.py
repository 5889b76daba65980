"""The rows that do not pass, listed for the steward."""

from __future__ import annotations

import random
from collections import Counter

import polars as pl
import pytest

import reticent as rt
from reticent.errors import PolicyError


@pytest.mark.parametrize("engine", ["local", "streaming"])
@pytest.mark.parametrize("sets", [None, [["zip"], ["age"]]])
def test_the_failing_rows_are_those_of_groups_that_are_too_small(engine, sets):
    rng = random.Random(4)
    for _ in range(10):
        frame = pl.DataFrame({name: [rng.randint(0, 4) for _ in range(20)] for name in ("zip", "age")})
        table = rt.Table(frame, quasi=["zip", "age"], quasi_sets=sets, engine=engine)
        wanted = set()
        for columns in sets or [["zip", "age"]]:
            sizes = Counter(frame.select(columns).rows())
            wanted |= {place for place, row in enumerate(frame.select(columns).rows()) if sizes[row] < 4}
        found = rt.assess(table, rt.KAnonymity(4))
        assert found.failing_rows().tolist() == sorted(wanted)
        assert found.holds is not bool(wanted)


def test_a_population_counts_without_having_rows_in_the_table():
    people = pl.DataFrame({"zip": ["1", "1", "2", "3", "3"]})
    table = rt.Table({"zip": ["1", "2", "1"]}, quasi=["zip"])
    assert rt.assess(table, rt.KMap(2, people)).failing_rows().tolist() == [1]


def test_only_a_table_has_rows_to_list():
    release = rt.publish(rt.Table({"zip": ["1", "1"]}, quasi=["zip"]), rt.KAnonymity(2))
    with pytest.raises(PolicyError, match=r"rt\.assess\(table, definition\)"):
        rt.assess(release, rt.KAnonymity(2)).failing_rows()
