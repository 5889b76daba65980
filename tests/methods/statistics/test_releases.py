"""Releases of statistics: published, saved, verified, counted and charged as every other kind; intervals hold; forged ones fail; nothing of the table is told beside them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.errors import BudgetExhausted, PolicyError
from reticent.methods.statistics.noisy_answers import NoisyAnswers
from tests.methods.black_box import largest_violation

pytest.importorskip("opendp")
ROWS = 3719
QUERIES: list[dict[str, Any]] = [
    {"statistic": "count"},
    {"statistic": "count", "by": ["region"]},
    {"statistic": "sum", "column": "income", "where": "age >= 50"},
    {"statistic": "mean", "column": "income", "by": ["region"]},
    {"statistic": "variance", "column": "age"},
    {"statistic": "quantile", "column": "age", "at": [0.25, 0.5]},
    {"statistic": "mean", "column": "income", "by": ["city"], "weight": 2},
]
DOMAIN: dict[str, Any] = {"region": ["north", "south", "west"], "city": "noisy"}
BOUNDS: dict[str, Any] = {"age": [0, 128], "income": {"low": 0, "high": 1_000_000, "chosen": "noisy"}}


def people(rows: int = ROWS) -> pl.DataFrame:
    source = np.random.default_rng(1)
    cities = [f"city {number}" for number in range(8)]
    return pl.DataFrame(
        {
            "region": source.choice(["north", "south", "west"], rows),
            "city": [*source.choice(cities, rows - 1), "the only one of Elm"],
            "age": source.integers(18, 90, rows),
            "income": source.lognormal(10, 0.5, rows),
        }
    )


def table(frame: pl.DataFrame | None = None, **more: Any) -> rt.Table:
    roles = {"quasi": ["region", "city", "age"], "sensitive": "income", **more}
    return rt.Table(people() if frame is None else frame, **roles)


@pytest.fixture(scope="module")
def release() -> rt.Release:
    return rt.publish(table(), rt.UnboundedDP(3, "1e-6"), rt.Statistics(QUERIES, DOMAIN, BOUNDS), insecure_seed=3)


def value(release: rt.Release, query: int, **more: Any) -> dict[str, Any]:
    (row,) = release.frame.filter(query=query, **more).to_dicts()
    return row


def test_statistics_are_near_those_of_the_records(release: rt.Release) -> None:
    frame = people()
    north = frame.filter(region="north")
    clamped = frame["income"].clip(*map(float, map(Fraction, release.manifest.details["bounds"]["income"])))
    expected = {
        (1, ""): ROWS,
        (2, "region = north"): north.height,
        (3, ""): clamped.filter(frame["age"] >= 50).sum(),
        (4, "region = north"): clamped.filter(frame["region"] == "north").mean(),
        (5, ""): frame["age"].var(ddof=0),
    }
    for (query, group), true in expected.items():
        found = value(release, query, group=group)
        assert abs(found["value"] - true) < 5 * found["standard_error"]
    assert abs(value(release, 6, at=0.5)["value"] - frame["age"].median()) < 4
    assert release.frame.filter(query=7).height == 8


def test_chosen_bounds_hold_nearly_all_values_and_cut_the_rest(release: rt.Release) -> None:
    low, high = map(float, map(Fraction, release.manifest.details["bounds"]["income"]))
    assert 0 <= low < high < 200_000
    assert people()["income"].is_between(low, high).sum() > 0.97 * ROWS


def test_a_key_that_one_record_has_is_not_told(release: rt.Release, tmp_path: Path) -> None:
    public = release.save(tmp_path / "release") / "public"
    assert not any("Elm" in path.read_text() for path in public.iterdir() if path.is_file())


def test_no_file_tells_the_number_of_records(release: rt.Release, tmp_path: Path) -> None:
    public = release.save(tmp_path / "release") / "public"
    told = " ".join(path.read_text() for path in sorted(public.rglob("*")) if path.is_file())
    assert str(ROWS) not in told
    assert f"{ROWS:,}" not in told


def test_a_saved_release_is_verified_and_counted_from_its_files(release: rt.Release, tmp_path: Path) -> None:
    folder = release.save(tmp_path / "release")
    checked = rt.verify(folder)
    assert checked.holds
    assert any("publisher's word" in each.detail for each in checked.checks)
    answer = release.count("region in ('north', 'west')")
    true = people().filter(pl.col("region") != "south").height
    assert answer.bounds[0] <= true <= answer.bounds[1]
    assert answer.bounds[1] - answer.bounds[0] < 100
    with pytest.raises(PolicyError, match="No published count answers"):
        release.count("age >= 50")


FORGED = {
    "scale": lambda details: details["noise"][2].update(scale="1/1024"),
    "bounds": lambda details: details["bounds"].update(income=["0", "500000"]),
    "threshold": lambda details: details["noise"][0].update(threshold=10**6),
    "contribution": lambda details: details.update(rows=9),
}


@pytest.mark.parametrize("forged", [*FORGED, "value", "number", "interval"])
def test_a_changed_release_fails(release: rt.Release, tmp_path: Path, forged: str) -> None:
    public = release.save(tmp_path / "release") / "public"
    if forged in FORGED:
        manifest = json.loads((public / "manifest.json").read_text())
        FORGED[forged](manifest["details"])
        (public / "manifest.json").write_text(json.dumps(manifest))
    else:
        name = "measurements.csv" if forged == "number" else "statistics.csv"
        lines = (public / name).read_text().splitlines(keepends=True)
        cells = lines[-1].rstrip("\n").split(",")
        place = {"value": -4, "number": -1, "interval": -1}[forged]
        cells[place] = str(float(cells[place]) * 2 + 1) if forged != "number" else str(int(cells[place]) + 1)
        (public / name).write_text("".join([*lines[:-1], ",".join(cells) + "\n"]))
    assert not rt.verify(public).holds


SMALL = table(people(900))


def drafted(queries: list[dict[str, Any]], seed: int, definition: Any) -> pl.DataFrame:
    method = rt.Statistics(
        queries, domain={"region": DOMAIN["region"]}, bounds={"age": [0, 128], "income": [0, 100_000]}
    )
    context = Context(randomness=Randomness(seed))
    frame: pl.DataFrame = method.draft(SMALL, definition, context).tables["statistics"].frame()
    return frame


COVERED: dict[str, tuple[dict[str, Any], Any]] = {
    "count": ({"statistic": "count", "by": ["region"]}, lambda frame: frame.height),
    "sum": (
        {"statistic": "sum", "column": "income", "by": ["region"]},
        lambda frame: frame["income"].clip(0, 100_000).sum(),
    ),
    "mean": ({"statistic": "mean", "column": "age", "by": ["region"]}, lambda frame: frame["age"].mean()),
    "variance": ({"statistic": "variance", "column": "age", "by": ["region"]}, lambda frame: frame["age"].var(ddof=0)),
    "quantile": (
        {"statistic": "quantile", "column": "income", "at": [0.5], "by": ["region"]},
        lambda frame: frame["income"].sort()[-(-frame.height // 2) - 1],
    ),
}
COVERED |= {
    "count of a column": (
        {"statistic": "count", "column": "age", "by": ["region"], "where": "age >= 40"},
        lambda frame: frame.filter(pl.col("age") >= 40).height,
    ),
    "weighted mean": (
        {"statistic": "mean", "column": "income", "by": ["region"], "weight": 3},
        lambda frame: frame["income"].clip(0, 100_000).mean(),
    ),
}


@pytest.mark.parametrize(
    "epsilon", [pytest.param((1, "1e-6"), id="gaussian"), pytest.param((1, 0), id="laplace", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("statistic", COVERED)
def test_intervals_hold_the_truth_as_often_as_they_say(statistic: str, epsilon: tuple[int, Any]) -> None:
    """200 releases: between 93 and 99 of 100 intervals over the three regions hold the statistic of the records."""
    query, truth = COVERED[statistic]
    frame = people(900)
    held = []
    true = [truth(frame.filter(region=region)) for region in DOMAIN["region"]]
    for seed in range(200):
        shown = drafted([query], seed, rt.UnboundedDP(*epsilon))
        held += [low <= each <= high for low, each, high in zip(shown["low"], true, shown["high"], strict=True)]
    assert 0.93 <= np.mean(held) <= 0.99


def test_where_one_record_is_replaced_the_number_is_public_and_means_need_no_count() -> None:
    shown = drafted([{"statistic": "mean", "column": "age"}], 1, rt.BoundedDP(1))
    assert shown["standard_error"][0] < 2
    with pytest.raises(PolicyError, match="number of records is public"):
        drafted([{"statistic": "count"}], 1, rt.BoundedDP(1))


@pytest.mark.parametrize("several", [False, True])
def test_noise_grows_with_the_declared_rows_whether_or_not_somebody_has_several(several: bool) -> None:
    frame = people(900).with_columns(person=pl.int_range(900) // (3 if several else 1))
    method = rt.Statistics([{"statistic": "count"}])
    kept = table(frame, key="person", rows_per_person=4)
    draft = method.draft(kept, rt.UnboundedDP(1), Context(randomness=Randomness(1)))
    assert draft.details["unit"] == "person"
    assert draft.details["rows"] == 4
    assert Fraction(draft.details["noise"][0]["scale"]) >= 4


def test_where_people_have_several_rows_their_number_is_no_public_fact() -> None:
    frame = people(900).with_columns(person=pl.int_range(900) // 2)
    draft = rt.Statistics([{"statistic": "count"}]).draft(
        table(frame, key="person", rows_per_person=2), rt.BoundedDP(1), Context(randomness=Randomness(1))
    )
    assert draft.details["total"] is None


def test_the_account_is_charged_what_all_steps_cost(release: rt.Release) -> None:
    method = rt.Statistics([{"statistic": "count"}], budget={"epsilon": 1})
    first = rt.publish(table(dataset="charged"), rt.UnboundedDP("3/4"), method)
    assert first.frame.height == 1
    with pytest.raises(BudgetExhausted):
        rt.publish(table(dataset="charged"), rt.UnboundedDP("1/2"), method, again=True)


@pytest.mark.parametrize(
    ("queries", "more", "said"),
    [
        ([{"statistic": "median", "column": "age"}], {}, "statistic"),
        ([{"statistic": "mean"}], {}, "needs a column"),
        ([{"statistic": "mean", "column": "age"}], {}, "needs bounds"),
        ([{"statistic": "count", "by": ["region"]}], {}, "cells are not declared"),
        ([{"statistic": "count", "by": "region"}], {}, "list of columns"),
        ([{"statistic": "count", "colunm": "age"}], {}, "column"),
        ([{"statistic": "quantile", "column": "age"}], {"bounds": {"age": [0, 9]}}, "needs at="),
        ([{"statistic": "mean", "column": "age"}], {"bounds": {"age": [9, 0]}}, "increasing"),
        ([{"statistic": "mean", "column": "shoe"}], {"bounds": {"shoe": [0, 9]}}, "not published"),
        ([{"statistic": "count", "by": ["city"]}], {"domain": {"city": "noisy"}}, "delta"),
        ([], {}, "1 to"),
    ],
)
def test_what_cannot_be_answered_is_said_before_anything_is_drawn(
    queries: list[dict[str, Any]], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(PolicyError, match=said):
        rt.publish(table(), rt.UnboundedDP(1), rt.Statistics(queries, **more))


def test_previews_show_the_error_and_draw_nothing() -> None:
    shown = rt.preview(table(), rt.UnboundedDP(3, "1e-6"), rt.Statistics(QUERIES, DOMAIN, BOUNDS))
    assert "standard deviation" in str(shown.card())


STEPS: dict[str, Any] = {
    "count": {"statistic": "count", "by": ["town"]},
    "sum": {"statistic": "sum", "column": "number"},
    "mean": {"statistic": "mean", "column": "number"},
    "variance": {"statistic": "variance", "column": "number"},
    "quantile": {"statistic": "quantile", "column": "number", "at": [0.5]},
}


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, "1e-6"], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("step", STEPS)
def test_no_output_tells_neighbours_apart_by_more_than_epsilon(step: str, delta: Any) -> None:
    """4,000 releases of each of two neighbours, of which one has a record more with the largest value."""
    pair = [pl.DataFrame({"town": ["a", "b", "a"][:size], "number": [1, 2, 8][:size]}) for size in (2, 3)]
    tables = [rt.Table(frame, quasi=["town"], sensitive="number") for frame in pair]
    method = rt.Statistics([STEPS[step]], domain={"town": ["a", "b"]}, bounds={"number": [0, 8]})

    def run(which: int) -> int:
        draft = method.draft(tables[which], rt.UnboundedDP(1, delta))
        numbers = draft.tables["measurements"].frame()["noisy_number"].to_numpy()
        scales = [float(Fraction(each["scale"])) for each in draft.details["noise"]]
        # What noise hides is seen best at the number that the record moves most, in steps of the noise.
        return int(np.clip(np.floor(2 * numbers[-1] / scales[-1]), -8, 8))

    assert largest_violation(run, 8000, 1.0, float(Fraction(delta))) <= 0


@pytest.mark.slow
def test_a_key_that_one_record_has_is_told_as_seldom_as_delta_allows() -> None:
    failure, told = Fraction(1, 20), 0
    for _ in range(2000):
        noisy = NoisyAnswers(pl.DataFrame({"town": ["a"]}), "rho", Fraction(1), 1, "add/remove", Context())
        told += bool(noisy.keys("town", Fraction(1, 2), failure))
    assert 0 < told / 2000 < float(failure) + 0.015


@pytest.mark.slow
def test_the_black_box_finds_noise_that_is_too_small() -> None:
    source = np.random.default_rng(2)

    def run(which: int) -> int:
        return int(np.clip(which + source.laplace(0, 0.5), -3, 4))

    assert largest_violation(run, 20_000, 1.0, 0.0) > 0


def test_the_report_shows_how_wide_intervals_are_beside_the_values(release: rt.Release, tmp_path: Path) -> None:
    shown = release.frame
    widths = release.public.form.interval_widths(release.public)
    assert sum(each.figures for each in widths) == shown.filter(pl.col("low").is_finite(), pl.col("high").is_finite()).height  # fmt: skip
    for number, of_query in enumerate(widths):
        part = shown.filter(pl.col("query") == shown["query"].unique(maintain_order=True)[number])
        expected = pl.max_horizontal(part["high"] - part["value"], part["value"] - part["low"])
        assert of_query.half_width == pytest.approx(part.select(expected).to_series().median())
        assert of_query.magnitude == pytest.approx(part["value"].abs().median())
    page = rt.report(release, tmp_path / "public.html", public=True).read_text()
    assert "How precise the noisy figures are" in page
