"""Sets of leaves as runs: what measures read of them, against the plain listing of every leaf."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import LeafSets
from reticent.definitions import KAnonymity
from reticent.methods.mondrian import Mondrian
from reticent.table import Hierarchy, Table
from reticent.utility import utility_of

SETS = st.lists(st.sets(st.integers(0, 11), min_size=1), min_size=1, max_size=6)


@given(
    SETS, st.lists(st.integers(0, 9), min_size=12, max_size=12), st.booleans(), st.integers(0, 11), st.integers(0, 11)
)
def test_runs_say_what_a_listing_says(
    sets: list[set[int]], counts: list[int], numeric: bool, one: int, other: int
) -> None:
    values = [7.5, None, 3.0, 9.0, 1.0, 4.0, 8.0, 2.0, 6.0, 0.5, 5.0, 10.0]
    series = pl.Series("x", values) if numeric else pl.Series("x", [None if v is None else f"v{v}" for v in values])
    bound = Hierarchy.suppression(series.drop_nulls().to_list()).bind(series, "x").with_null_leaf()
    leaves = np.array([leaf for each in sets for leaf in each], dtype=np.int64)
    owners = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    found = LeafSets.of_pairs(bound, leaves, owners, len(sets), np.arange(len(sets)))
    histogram, (low, high) = np.array(counts), sorted((one, other))
    assert found.covered().tolist() == [len(each) for each in sets]
    assert found.mass(histogram).tolist() == [sum(counts[leaf] for leaf in each) for each in sets]
    assert found.between(low, high).tolist() == [sum(low <= leaf <= high for leaf in each) for each in sets]
    assert [set(np.flatnonzero(column).tolist()) for column in found.matrix().T] == sets
    if numeric:
        numbers = bound.numbers()
        for each, least, most in zip(sets, *found.ends(numbers), strict=True):
            known = [numbers[leaf] for leaf in each if not np.isnan(numbers[leaf])]
            assert (least, most) == (min(known, default=np.inf), max(known, default=-np.inf))


def test_a_range_of_many_numbers_is_one_run() -> None:
    """Listing them took 169 s on 20,000 rows: every leaf of every range."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({name: rng.lognormal(8, 1, 5000) for name in "abc"})
    draft = Mondrian(values="ranges").draft(Table(frame, quasi=list("abc")), KAnonymity(5))
    for cells in utility_of(draft).summary.cells:
        assert len(cells.sets.starts) <= len(cells.covered)
        assert cells.covered.max() > 100
