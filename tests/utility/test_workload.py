"""Counting-query workloads: drawn as asked, stored, and answered as going through the rows would."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.engine import count_table
from reticent.errors import DataError, PolicyError
from reticent.table import Hierarchy, Table
from reticent.utility import Workload, log_ratio, workload_error
from tests.oracles import utility_rows as oracle
from tests.sampling import examples
from tests.utility.making import World, summary_of, worlds


@examples(40)
@given(worlds(), st.integers(1, 4), st.sampled_from(["0.01", "0.2", "1"]), st.integers(0, 5))
def test_answers_are_what_going_through_the_rows_gives(world: World, dimensions: int, aim: str, seed: int) -> None:
    workload = Workload.drawn(world.table.hierarchies, queries=6, dimensions=dimensions, selectivity=aim, seed=seed)
    rows = world.as_rows()
    picture = summary_of(world.frequencies, world.levels, world.suppressed)
    ranges = [
        {
            int(j): frozenset(rows.leaves[j][workload.lows[i, j] : workload.highs[i, j] + 1])
            for j in np.flatnonzero(workload.asked[i])
        }
        for i in range(len(workload))
    ]
    for estimator in ("uniform", "intersect"):
        found = workload_error(world.frequencies, picture, workload, estimator, floor=2)
        actual = [oracle.query_count(rows, wanted) for wanted in ranges]
        estimates = [oracle.query_estimate(rows, wanted, estimator == "uniform") for wanted in ranges]
        errors = [abs(e - a) / max(a, 2) for a, e in zip(actual, estimates, strict=True)]
        assert found.actual.tolist() == actual
        assert found.estimates.tolist() == pytest.approx(estimates)
        assert found.mean == pytest.approx(sum(errors) / len(errors))
        assert found.median == pytest.approx(float(np.median(errors)))
        assert found.selectivity == pytest.approx(sum(actual) / len(actual) / len(rows.rows))


@examples(30)
@given(worlds(suppression=False), st.integers(0, 5))
def test_without_suppression_intersect_never_counts_too_few(world: World, seed: int) -> None:
    workload = Workload.drawn(world.table.hierarchies, queries=8, dimensions=2, selectivity="0.1", seed=seed)
    picture = summary_of(world.frequencies, world.levels)
    found = workload_error(world.frequencies, picture, workload, "intersect")
    assert (found.estimates >= found.actual).all()


@examples(30)
@given(worlds(), st.integers(0, 5))
def test_a_query_in_words_selects_the_rows_that_it_counts(world: World, seed: int) -> None:
    workload = Workload.drawn(world.table.hierarchies, queries=4, dimensions=3, selectivity="0.3", seed=seed)
    actual = workload_error(world.frequencies, summary_of(world.frequencies, world.levels), workload).actual
    for query in range(len(workload)):
        condition = workload.condition(query, world.table.hierarchies)
        assert condition.mask(world.table.frame).sum() == actual[query]


@examples(20)
@given(worlds(), st.integers(0, 5))
def test_the_table_itself_answers_without_error_also_in_buckets(world: World, seed: int) -> None:
    workload = Workload.drawn(world.table.hierarchies, queries=5, dimensions=2, seed=seed)
    bottom = (0,) * len(world.levels)
    for picture in (
        summary_of(world.frequencies, bottom),
        summary_of(world.frequencies, world.levels, exact=True),
    ):
        assert workload_error(world.frequencies, picture, workload).mean == pytest.approx(0)


def big_table(rows: int) -> Table:
    random = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "age": random.integers(0, 100, rows),
            "zip": random.integers(0, 1000, rows),
            "sex": random.integers(0, 2, rows),
        }
    )
    quasi = {
        "age": Hierarchy.intervals(widths=[5, 20], domain=(0, 99)),
        "zip": Hierarchy.intervals(widths=[10, 100], domain=(0, 999)),
        "sex": Hierarchy.suppression(domain=["0", "1"]),
    }
    return Table(frame, quasi=quasi)


def test_ranges_have_the_width_that_the_selectivity_asks_for() -> None:
    table = big_table(20_000)
    workload = Workload.drawn(table.hierarchies[:2], queries=500, dimensions=2, selectivity="0.04", seed=3)
    assert ((workload.highs - workload.lows + 1) == np.array([20, 200])).all()
    frequencies = count_table(Table(table.frame, quasi={name: table.quasi[name] for name in ("age", "zip")}))
    found = workload_error(frequencies, summary_of(frequencies, (1, 1)), workload)
    # Uniform data: the share measured again is the share aimed at, within five standard errors of the mean.
    assert found.selectivity == pytest.approx(0.04, abs=5 * 0.04 / math.sqrt(500))


def test_a_workload_depends_on_its_seed_alone_and_survives_storing(tmp_path: Path) -> None:
    hierarchies = big_table(10).hierarchies
    first = Workload.drawn(hierarchies, queries=50, seed=1)
    assert Workload.drawn(hierarchies, queries=50, seed=1).describe() == first.describe()
    assert Workload.drawn(hierarchies, queries=50, seed=2).describe() != first.describe()
    stored = tmp_path / "workload.json"
    stored.write_text(json.dumps(first.describe()))
    assert Workload.read(json.loads(stored.read_text())).describe() == first.describe()


@pytest.mark.slow
def test_thousands_of_queries_take_seconds_on_thirty_thousand_rows() -> None:
    table = big_table(30_000)
    frequencies = count_table(table)
    workload = Workload.drawn(table.hierarchies, queries=2000, dimensions=2, seed=1)
    picture = summary_of(frequencies, (1, 1, 0))
    start = time.process_time()
    workload_error(frequencies, picture, workload)
    assert time.process_time() - start < 5


def test_what_makes_no_sense_is_refused() -> None:
    table = big_table(10)
    frequencies = count_table(table)
    picture = summary_of(frequencies, (1, 1, 0))
    workload = Workload.drawn(table.hierarchies, queries=2)
    with pytest.raises(PolicyError, match="only 3 quasi columns"):
        Workload.drawn(table.hierarchies, dimensions=4)
    with pytest.raises(PolicyError, match="selectivity must be above 0"):
        Workload.drawn(table.hierarchies, selectivity=0)
    with pytest.raises(PolicyError, match="floor must be above 0"):
        workload_error(frequencies, picture, workload, floor=0)
    with pytest.raises(PolicyError, match="estimator must be"):
        workload_error(frequencies, picture, workload, "guess")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="other columns"):
        workload_error(frequencies, picture, Workload.drawn(table.hierarchies[:2], queries=2))
    with pytest.raises(PolicyError, match="coarser level"):
        workload_error(count_table(table, floor=(1, 0, 0)), picture, workload)
    with pytest.raises(DataError, match="cannot be read"):
        Workload.read({"columns": ["age"]})
    with pytest.raises(DataError, match="outside the leaves"):
        Workload.read({**workload.describe(), "queries": [{"age": [0, 100]}]})


def test_figures_are_set_beside_a_baseline_on_a_logarithmic_scale() -> None:
    assert log_ratio(2.0, 1.0) == pytest.approx(math.log(2))
    with pytest.raises(PolicyError, match="positive"):
        log_ratio(0.0, 1.0)
