"""The analysis before and after: against scipy and by hand, for every way of writing a cell."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import reticent as rt
from reticent.errors import PolicyError
from reticent.reports import analyse, write_stewards_report


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(20, 70, 400)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], 400),
            "town": rng.choice(["Aix", "Apt", "Arles"], 400),
            "born": [datetime.date(2024, 1, 1) - datetime.timedelta(days=int(each) * 365) for each in age],
            "pay": (1000 + 30 * age + rng.normal(0, 200, 400)).round(),
        }
    )


@pytest.fixture(scope="module")
def table(frame: pl.DataFrame) -> rt.Table:
    return rt.Table(frame, quasi=["age", "sex", "town", "born"], sensitive="pay")


def test_figures_of_the_table_are_those_of_scipy(table: rt.Table, frame: pl.DataFrame) -> None:
    found = analyse(table, rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="sets")), "pay ~ age + sex")
    means = {each.column: each for each in found.summaries}
    assert set(means) == {"age", "sex", "born", "pay"}  # three towns are not a number
    assert means["age"].mean[0] == pytest.approx(frame["age"].mean())
    assert means["age"].spread[0] == pytest.approx(frame["age"].std())
    assert means["sex"].mean[0] == pytest.approx((frame["sex"] == "m").mean())
    pairs = {each.columns: each.values for each in found.correlations}
    assert pairs["age", "pay"][0] == pytest.approx(stats.pearsonr(frame["age"], frame["pay"]).statistic)
    alone = analyse(table, rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="sets")), "pay ~ age").coefficients
    line = stats.linregress(frame["age"], frame["pay"])
    assert [each.values[0] for each in alone] == pytest.approx([line.intercept, line.slope])
    assert [each.errors[0] for each in alone] == pytest.approx([line.intercept_stderr, line.stderr])


@pytest.mark.parametrize("values", ["sets", "ranges"])
def test_a_table_that_is_published_as_it_is_has_the_same_figures(values: str) -> None:
    rows = {
        "x": [1, 1, 2, 2, 4, 4],
        "day": [datetime.date(2024, 5, day) for day in (1, 1, 3, 3, 9, 9)],
        "y": [1.0, 2, 3, 4, 5, 7],
    }
    alike = rt.Table(rows, quasi=["x", "day"], sensitive="y")
    found = analyse(alike, rt.publish(alike, rt.KAnonymity(2), rt.Mondrian(values=values)), "y ~ x")
    for each in found.summaries:
        assert each.mean[0] == pytest.approx(each.mean[1])
        assert each.spread[0] == pytest.approx(each.spread[1])
    for term in found.coefficients:
        assert term.values[0] == pytest.approx(term.values[1])


def test_ranges_are_read_by_their_middle_and_sets_by_their_mean() -> None:
    rows = {"x": [10, 20, 30, 60], "y": [1, 2, 3, 4]}
    pair = rt.Table(rows, quasi=["x"], sensitive="y")
    for values, mean in (("sets", (10 + 20 + 30 + 60) / 4), ("ranges", (15 + 15 + 45 + 45) / 4)):
        found = analyse(pair, rt.publish(pair, rt.KAnonymity(2), rt.Mondrian(values=values)))
        assert found.summaries[0].mean[1] == pytest.approx(mean)


def test_typical_values_are_read_as_they_are(table: rt.Table, frame: pl.DataFrame) -> None:
    """Whoever opens the file in a statistics program finds the same figures."""
    release = rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="typical"))
    found = {each.column: each for each in analyse(table, release, "pay ~ age + sex").summaries}
    for name in ("age", "pay"):
        assert found[name].mean == pytest.approx((frame[name].mean(), release.frame[name].mean()))
        assert found[name].spread[1] == pytest.approx(release.frame[name].std())
    assert found["sex"].mean[1] == pytest.approx((release.frame["sex"] == "m").mean())
    assert abs(found["age"].mean[0] - found["age"].mean[1]) < 1
    slope = analyse(table, release, "pay ~ age").coefficients[1].values
    assert slope[1] == pytest.approx(stats.linregress(release.frame["age"], release.frame["pay"]).slope)
    assert slope[1] == pytest.approx(slope[0], rel=0.1)


def test_what_was_suppressed_is_unknown() -> None:
    pair = rt.Table({"x": [1, 2], "y": [1, 2]}, quasi={"x": rt.Hierarchy.suppression([1, 2])}, sensitive="y")
    found = analyse(pair, rt.publish(pair, rt.KAnonymity(2), rt.Lattice()))
    assert np.isnan(found.summaries[0].mean[1])
    assert found.summaries[1].mean == (1.5, 1.5)


@pytest.mark.parametrize("formula", ["pay", "pay ~", "~ age", "pay ~ age +", "pay ~ pay", "pay ~ nothing"])
def test_a_formula_that_cannot_be_run_is_refused_by_name(table: rt.Table, formula: str) -> None:
    with pytest.raises(PolicyError, match="regression"):
        analyse(table, rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="sets")), formula)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=30))
def test_any_numbers_are_summarised(rows: list[tuple[int, int]]) -> None:
    frame = pl.DataFrame(rows, schema=["x", "y"], orient="row")
    numbers = rt.Table(frame, quasi=["x"], sensitive="y")
    found = analyse(numbers, rt.publish(numbers, rt.KAnonymity(2), rt.Mondrian(values="sets")), "y ~ x")
    mean = found.summaries[0].mean[1]
    assert np.isnan(mean) or frame["x"].min() <= mean <= frame["x"].max()
    assert found.summaries[1].mean[0] == pytest.approx(found.summaries[1].mean[1])


def test_the_report_shows_the_analysis_and_the_card_does(table: rt.Table, tmp_path) -> None:
    release = rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="sets"))
    page = write_stewards_report(release, tmp_path / "report.html", table, regression="pay ~ age").read_text()
    assert 'id="what-an-analyst-finds"' in page
    assert "Regression pay ~ age" in page
    found = analyse(table, release, "pay ~ age")
    assert repr(found).startswith("<Analysis before and after: columns 4; correlations move by at most 0.")
    assert found.as_dict()["regression"]["terms"]["age"]["values"][0] == found.coefficients[1].values[0]


def test_a_category_of_few_values_is_regressed_on_by_indicators(table: rt.Table) -> None:
    found = analyse(
        table, rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="sets")), "pay ~ age + town"
    ).coefficients
    assert [each.term for each in found][:2] == ["(constant)", "age"]
    assert all(each.term.startswith("town=") for each in found[2:])


def test_changed_conclusions_are_said_in_preview_and_report(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    x = draw.normal(0, 1, 300)
    rows = pl.DataFrame(
        {"x": x.round(2), "z": draw.normal(0, 1, 300).round(2), "y": (2 * x + draw.normal(0, 1, 300)).round(3)}
    )
    told = rt.Table(rows, quasi=["x", "z"], sensitive="y")
    kept = rt.preview(told, rt.KAnonymity(5), rt.Mondrian(values="ranges")).analysis
    assert kept is not None
    assert [str(each) for each in kept.models] == ["y ~ x + z"]
    assert "x" not in [each.term for each in kept.conclusions]
    gone = rt.preview(told, rt.KAnonymity(300), rt.Mondrian(values="ranges"), models=["y ~ x"]).analysis
    assert gone is not None
    assert [(each.term, each.change) for each in gone.conclusions] == [("x", "undetermined")]
    assert gone.verdict == "1 regression fitted before and after: 1 conclusion changes."
    page = rt.report(rt.publish(told, rt.KAnonymity(300)), tmp_path / "page.html", raw=told).read_text()
    assert "These conclusions change" in page
    assert "y on x" in page


def test_means_of_dates_are_days_and_not_numbers_of_days():
    """They were shown as 7.253e+05."""
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=3 * each) for each in range(40)]
    times = [datetime.datetime(2024, 5, 1, 12) + datetime.timedelta(days=each * 17 % 40) for each in range(40)]
    frame = pl.DataFrame({"day": days, "time": times, "age": [20 + each % 4 for each in range(40)]})
    dated = rt.Table(frame, quasi=["day", "age"], declared={"time": "nobody knows it"})
    found = {
        each.column: each.texts
        for each in analyse(dated, rt.publish(dated, rt.KAnonymity(2), rt.Mondrian(values="sets"))).summaries
    }
    assert found["day"][0] == "2024-02-28"
    assert found["day"][2] == "35 days"
    assert found["age"][0] == "21.5"
    assert found.get("time", ("2024-05-21",))[0] == "2024-05-21"
