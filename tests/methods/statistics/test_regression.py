"""Linear regressions from noisy sums: beside numpy's least squares, how far a record moves the sums, intervals, bad input."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.errors import PolicyError
from reticent.methods.noisy_columns import PublicColumn
from reticent.methods.statistics.details import PublicFacts
from reticent.methods.statistics.linear_regression import RADIUS
from reticent.methods.statistics.statistic_query import StatisticQuery
from reticent.noise import Bounds, WholeNoise
from reticent.table import Value, ValueType
from tests.methods.black_box import largest_violation

pytest.importorskip("opendp")
QUERY: dict[str, Any] = {"statistic": "linear", "outcome": "income", "on": ["age", "sex"]}
METHOD = rt.Statistics([QUERY], domain={"sex": ["f", "m", "x"]}, bounds={"age": [0, 100], "income": [0, 100_000]})
TERMS = ["income ~ 1", "income ~ age", "income ~ sex = m", "income ~ sex = x"]


def people(rows: int = 4000) -> pl.DataFrame:
    source = np.random.default_rng(5)
    age = source.integers(18, 90, rows)
    sex = source.choice(["f", "m", "x"], rows, p=[0.45, 0.45, 0.1])
    income = 20_000 + 400 * age + 5_000 * (sex == "m") + source.normal(0, 15_000, rows)
    return pl.DataFrame({"age": age, "sex": sex, "income": income})


def least_squares(frame: pl.DataFrame) -> list[float]:
    """By numpy, from the records with clamped values."""
    ones = np.ones(frame.height)
    sexes = [(frame["sex"] == each).cast(float).to_numpy() for each in ("m", "x")]
    design = np.column_stack([ones, frame["age"].clip(0, 100).to_numpy(), *sexes])
    found, *_ = np.linalg.lstsq(design, frame["income"].clip(0, 100_000).to_numpy(), rcond=None)
    return list(map(float, found))


def table(frame: pl.DataFrame | None = None, **more: Any) -> rt.Table:
    return rt.Table(people() if frame is None else frame, quasi=["age", "sex"], sensitive="income", **more)


def facts() -> PublicFacts:
    sex = PublicColumn("sex", ValueType.TEXT, tuple(map(Value, ("f", "m", "x"))))
    return PublicFacts(
        {"sex": sex}, {"age": Bounds.from_json(["0", "100"]), "income": Bounds.from_json(["0", "100000"])}
    )


def test_without_noise_the_coefficients_are_those_of_least_squares() -> None:
    frame = people()
    design = facts().design(StatisticQuery.of(QUERY, 1))
    sums = design.sums(frame, np.zeros(frame.height, dtype=np.int64), 1)
    found = [float(each.value[0]) for each in design.estimates(sums, WholeNoise("rho", 1))]  # type: ignore[arg-type]
    assert found == pytest.approx(least_squares(frame), rel=1e-3)
    assert [f"income ~ {term}" for term in design.terms] == TERMS


def test_no_record_moves_the_sums_further_than_is_charged() -> None:
    """All records at the corners of their ranges and in the middle, beyond the bounds, and in every cell."""
    design = facts().design(StatisticQuery.of(QUERY, 1))
    corners = product([-50.0, 0.0, 33.0, 50.0, 100.0, 1e12], ["f", "m", "x"], [-1e12, 0.0, 50_000.0, 100_000.0, 1e300])
    frame = pl.DataFrame(list(corners), schema=["age", "sex", "income"], orient="row")
    moved = design.sums(frame, np.arange(frame.height), frame.height).astype(object)
    contribution = design.contribution(single=True, optional=False)
    total, squared = contribution.moves(1, "add/remove")
    assert max(int(np.abs(row).sum()) for row in moved) <= total
    assert max(int((row**2).sum()) for row in moved) <= squared
    total, squared = contribution.moves(1, "replace")
    for one, other in product(moved, repeat=2):
        assert int(np.abs(one - other).sum()) <= total
        assert int(((one - other) ** 2).sum()) <= squared
    assert (np.abs(moved) <= RADIUS**2).all()


def test_a_release_of_coefficients_is_verified_and_its_numbers_cannot_be_changed(tmp_path: Path) -> None:
    release = rt.publish(table(), rt.UnboundedDP(2, "1e-6"), METHOD, insecure_seed=2)
    assert release.frame["column"].to_list() == TERMS
    for row, true in zip(release.frame.to_dicts(), least_squares(people()), strict=True):
        assert abs(row["value"] - true) < 5 * row["standard_error"]
    public = release.save(tmp_path / "release") / "public"
    assert rt.verify(public).holds
    lines = (public / "statistics.csv").read_text().splitlines()
    cells = lines[2].split(",")
    cells[-4] = str(float(cells[-4]) * 1.01)
    (public / "statistics.csv").write_text("\n".join([*lines[:2], ",".join(cells), *lines[3:]]) + "\n")
    assert not rt.verify(public).holds


def test_too_much_noise_gives_no_coefficients_rather_than_wrong_intervals(tmp_path: Path) -> None:
    release = rt.publish(table(people(60)), rt.UnboundedDP("1/10"), METHOD, insecure_seed=2)
    assert release.frame["value"].null_count() == release.frame.height
    assert rt.verify(release.save(tmp_path / "release")).holds


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    "epsilon", [pytest.param((2, "1e-6"), id="gaussian"), pytest.param((4, 0), id="laplace", marks=pytest.mark.slow)]
)
def test_intervals_of_coefficients_hold_those_of_least_squares(epsilon: tuple[int, Any], grouped: bool) -> None:
    """200 releases: between 93 and 99 of 100 intervals, over all coefficients and groups."""
    frame = people(6000).with_columns(region=pl.Series(["north", "south"] * 3000))
    query = {**QUERY, "by": ["region"]} if grouped else QUERY
    method = rt.Statistics(
        [query],
        domain={"sex": ["f", "m", "x"], "region": ["north", "south"]},
        bounds={"age": [0, 100], "income": [0, 100_000]},
    )
    parts = [frame.filter(region=region) for region in ("north", "south")] if grouped else [frame]
    true = np.array([least_squares(part) for part in parts]).T.ravel()
    given = rt.Table(frame, quasi=["age", "sex", "region"], sensitive="income")
    held = []
    for seed in range(200):
        draft = method.draft(given, rt.UnboundedDP(*epsilon), Context(randomness=Randomness(seed)))
        shown = draft.tables["statistics"].frame()
        held.append((shown["low"].to_numpy() <= true) & (true <= shown["high"].to_numpy()))
    assert 0.93 <= np.mean(held) <= 0.99


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"statistic": "linear", "on": ["age"]}, "needs an outcome"),
        ({"statistic": "linear", "outcome": "income"}, "needs its covariates"),
        ({"statistic": "linear", "outcome": "income", "on": "age"}, "on must be a list"),
        ({"statistic": "linear", "outcome": "income", "on": ["income"]}, "other columns than the outcome"),
        ({"statistic": "linear", "column": "income", "on": ["age"]}, "has an outcome"),
        ({"statistic": "mean", "column": "income", "on": ["age"]}, "no other statistic"),
        ({"statistic": "mean", "outcome": "income"}, "has an outcome"),
        ({"statistic": "linear", "outcome": "sex", "on": ["age"]}, "needs bounds of 'sex'"),
        ({"statistic": "linear", "outcome": "income", "on": ["height"]}, "not published"),
    ],
)
def test_a_regression_that_is_not_declared_whole_is_refused(query: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        rt.publish(table(), rt.UnboundedDP(1), rt.Statistics([query], domain=METHOD.domain, bounds=METHOD.bounds))


def test_a_covariate_without_bounds_or_cells_is_refused_with_both_ways_out() -> None:
    with pytest.raises(PolicyError, match=r"bounds of 'age'.*or else its cells"):
        rt.publish(table(), rt.UnboundedDP(1), rt.Statistics([QUERY], domain=METHOD.domain, bounds={"income": [0, 9]}))


@pytest.mark.slow
@pytest.mark.parametrize("definition", [rt.UnboundedDP(1), rt.UnboundedDP(1, "1e-6"), rt.BoundedDP(1)], ids=str)
def test_no_noisy_sum_tells_neighbours_apart_by_more_than_epsilon(definition: Any) -> None:
    """4,000 releases of each of two neighbours; the number that differs is the sum of products of the largest values."""
    rows = {"age": [0, 50, 100], "sex": ["f", "m", "m"], "income": [0.0, 50_000.0, 100_000.0]}
    first = pl.DataFrame(rows)
    other = first.with_columns(age=pl.Series([0, 50, 0])) if isinstance(definition, rt.BoundedDP) else first.head(2)
    tables = [table(frame) for frame in (first, other)]
    method = rt.Statistics([{**QUERY, "on": ["age"]}], bounds=METHOD.bounds)

    def run(which: int) -> int:
        draft = method.draft(tables[which], definition)
        number = draft.tables["measurements"].frame()["noisy_number"][-1]
        return int(np.clip(np.floor(2 * number / float(draft.evidence.plan.steps[0].scale)), -8, 8))

    assert largest_violation(run, 8000, 1.0, 1e-6) <= 0
