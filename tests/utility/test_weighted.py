"""Weighted measures: those of the table in which every row stands there as often as its weight says."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.definitions import KAnonymity
from reticent.engine import count_table
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import publish
from reticent.table import Table
from reticent.utility import Workload, measure_all, workload_error
from tests.engine.making import QUASI, frame_of
from tests.oracles.weights_repeated import repeated
from tests.sampling import examples
from tests.utility.making import summary_of

NAMES = ("loss", "loss_geometric", "ncp")


@given(seed=st.integers(0, 10**6), exact=st.booleans(), unit=st.sampled_from([1, 2, 4]))
@examples(25)
def test_weighted_measures_are_those_of_repeated_rows(seed, exact, unit):
    chance = np.random.default_rng(seed)
    weights = chance.integers(0, 6, 60) / unit
    weights[0] = 1
    frame = frame_of(60, seed).with_columns(pl.Series("w", weights))
    # Domains are declared, so that a row of weight zero leaves its values behind.
    quasi = {"age": QUASI["age"], "city": QUASI["city"]}
    plain = count_table(Table(frame, quasi=quasi, sensitive="illness", weight="w"))
    many = count_table(Table(repeated(frame, "w", unit), quasi=quasi, sensitive="illness"))
    levels = tuple(int(chance.integers(0, h.height + 1)) for h in plain.hierarchies)
    small = plain.generalize(levels).sizes < 1 + chance.integers(0, 8)
    picture = summary_of(plain, levels, small, exact)
    expected = summary_of(many, levels, _same_groups(plain, many, levels, small), exact)
    found = measure_all(picture)
    for name in NAMES:
        assert found[f"weighted_{name}"] == pytest.approx(measure_all(expected)[name], abs=1e-12)
    ours = picture.weighted()
    assert ours.rows * unit == many.rows * (10 ** Table(frame, quasi=quasi, weight="w").weights.decimals)
    queries = Workload.drawn(plain.hierarchies, queries=20, seed=seed)
    scale = ours.rows / expected.rows
    mine = workload_error(plain.weighted(), ours, queries, floor=1)
    assert mine.actual == pytest.approx(workload_error(many, expected, queries).actual * scale)
    assert mine.estimates == pytest.approx(workload_error(many, expected, queries).estimates * scale)


def _same_groups(plain, many, levels, small):
    """Which groups of the repeated table are the ones under ``small``: groups are known by their parts."""
    left_out = {codes for codes, gone in zip(_keys(plain.generalize(levels)), small, strict=True) if gone}
    return np.array([codes in left_out for codes in _keys(many.generalize(levels))], dtype=bool)


def _keys(points):
    return list(zip(*(codes.tolist() for codes in points.codes), strict=True))


@pytest.mark.parametrize("method", [Lattice(suppression="0.1"), Mondrian(values="sets")])
def test_a_release_of_weighted_rows_reports_both(method, tmp_path):
    frame = frame_of(400, 5).with_columns(pl.Series("w", np.random.default_rng(5).integers(1, 50, 400)))
    table = Table(frame, quasi={"age": QUASI["age"], "zip": QUASI["zip"]}, sensitive="illness", weight="w")
    utility = publish(table, KAnonymity(4), method).utility
    assert {f"weighted_{name}" for name in NAMES} < set(utility)
    assert utility["weighted_loss"] != utility["loss"]
    assert 0 <= utility["weighted_loss"] <= 1
    plain = Table(frame, quasi={"age": QUASI["age"], "zip": QUASI["zip"]}, sensitive="illness")
    assert not [name for name in publish(plain, KAnonymity(4), method).utility if name.startswith("weighted")]


def test_equal_weights_change_nothing():
    frame = frame_of(300, 6).with_columns(w=pl.lit(2.5))
    table = Table(frame, quasi={"age": QUASI["age"]}, sensitive="illness", weight="w")
    utility = publish(table, KAnonymity(9), Lattice(suppression="0.2", node={"age": 0})).utility
    for name in NAMES:
        assert utility[f"weighted_{name}"] == pytest.approx(utility[name], abs=1e-12)
