"""A plan states what a series costs before anything is published: what is published then keeps to it."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import PolicyError
from reticent.methods.series.group_formation import assign_steps
from reticent.methods.series.plan import PROTECTIONS
from tests.methods.series.drafts import DraftedSeries, random_months
from tests.methods.series.test_commands import FRAMES, reticent  # noqa: F401

DOMAIN = [f"v{number}" for number in range(14)]
RATES = rt.republish.UpdateRates(leave=0.05, arrive=0.08, change=0.07, back=0.02)


def people(seed: int, count: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    weights = 1 / np.sqrt(np.arange(1, len(DOMAIN) + 1))
    return pl.DataFrame(
        {
            "id": np.arange(count) + 100_000 * seed,
            "age": rng.integers(18, 90, count),
            "town": rng.integers(0, 20, count),
            "job": rng.choice(DOMAIN, count, p=weights / weights.sum()),
        }
    )


def months(frame: pl.DataFrame, releases: int, seed: int) -> list[pl.DataFrame]:
    """A table that changes at the rates, by other means than the plan's: row by row, newcomers and values from the law behind the table."""
    rng = np.random.default_rng(seed)
    found, away, rows = [frame], [], frame.rows(named=True)
    for number in range(1, releases):
        rng.shuffle(rows)
        leave, arrive, change, back = (round(len(rows) * each) for each in RATES.__dict__.values())
        left, rows = rows[:leave], [dict(each) for each in rows[leave:]]
        fresh = people(1_000 + seed + number, arrive + change).rows(named=True)
        for row, like in zip(rows[:change], fresh, strict=False):
            row["job"] = like["job"]
        returned, away = away[:back], [*away[back:], *left]
        rows = [*rows, *returned, *fresh[change:]]
        found.append(pl.DataFrame(rows))
    return found


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return people(3, 800)


@pytest.fixture(scope="module")
def planned(frame) -> rt.republish.SeriesPlan:
    table = rt.Table(frame, quasi=["age", "town"], sensitive="job", identifiers=["id"], key="id")
    return rt.republish.plan(table, rt.TauSafety(4), rt.Republish(DOMAIN), RATES, releases=4, rehearsals=2)


@pytest.mark.parametrize(("choice", "balance"), PROTECTIONS)
def test_what_is_published_then_keeps_to_the_plan(planned, frame, choice, balance):
    price = planned[balance]
    assert price.refused == ""
    for seed in (11, 12):
        series = DraftedSeries(4, DOMAIN, {"choice": choice, "balance": balance})
        for number, month in enumerate(months(frame, 4, seed)):
            series.publish(month, seed)
            made = series.changes[-1].counterfeits
            assert abs(month.height - planned.people[number]) <= 2
            assert made <= price.worst[number]
            assert abs(made - price.expected[number]) <= max(0.3 * price.expected[number], 0.05 * month.height)


def test_the_first_release_in_blocks_is_planned_exactly(planned, frame):
    count = Counter(frame["job"].to_list())
    blocks = [DOMAIN[:5], DOMAIN[5:10], DOMAIN[10:]]
    priced = sum(len(block) * max(count[value] for value in block) - sum(count[value] for value in block) for block in blocks)  # fmt: skip
    price = planned["blocks"]
    assert (price.expected[0], price.least[0], price.most[0]) == (priced, priced, priced)
    assert f"minus 800 people = {priced:,}" in price.arithmetic[0]
    assert planned["blind"].expected[0] == planned["filled"].expected[0] == 0
    assert planned["blind"].worst == (0, *(6 * each for each in planned.people[1:]))
    assert planned["blocks"].worst == tuple(4 * each for each in planned.people)


def test_a_plan_is_the_same_each_time(planned, frame):
    table = rt.Table(frame, quasi=["age", "town"], sensitive="job", identifiers=["id"], key="id")
    again = rt.republish.plan(
        table, rt.TauSafety(4), rt.Republish(DOMAIN), RATES, 4, 2, protections=[("random", "blind")]
    )
    assert again["blind"] == planned["blind"]
    assert planned["blind"].expected[3] > planned["blind"].expected[1] > 0


@pytest.mark.parametrize("m", [2, 3, 4])
def test_no_signature_has_more_than_2m_minus_1_values(m):
    """What the worst case rests on, for every eligible vector of up to 7 counts."""
    seen = 0
    for size in range(m, 8):
        for counts in itertools.combinations_with_replacement(range(1, 5 if size < 7 else 4), size):
            if m * max(counts) <= sum(counts):
                steps = assign_steps(np.array(counts), m, np.arange)
                assert all(m <= len(each.values) <= 2 * m - 1 for each in steps), counts
                seen += 1
    assert seen > 100


@pytest.mark.parametrize("balance", ["filled", "blind", "blocks"])
def test_no_release_of_random_tables_is_above_the_worst_case(balance):
    for seed in range(5):
        domain, frames = random_months(seed, 14, 4, 7)
        series = DraftedSeries(2, domain, {"choice": "random", "balance": balance})
        width = 3
        for place, month in enumerate(frames):
            try:
                series.publish(month, seed)
            except rt.Infeasible:
                break
            worst = 0 if place == 0 and balance != "blocks" else month.height * (width - 1)
            assert series.changes[-1].counterfeits <= worst


def test_a_way_that_cannot_begin_says_why():
    frame = pl.DataFrame({"age": range(8), "job": ["v0"] * 6 + ["v1", "v2"]})
    table = rt.Table(frame, quasi=["age"], sensitive="job")
    found = rt.republish.plan(table, rt.TauSafety(2), rt.Republish(DOMAIN), releases=2)
    assert "cannot be partitioned into groups of 2" in found["blind"].refused
    assert found["blocks"].expected[0] == (2 * 6 - 7) + (2 * 1 - 1)
    assert any("cannot be partitioned" in note for note in found.card().notes)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"leave": 1.5}, r"leave must be a share of people, from 0 to 1, but it is 1.5"),
        ({"back": -0.1}, "back must be a share"),
        ({"leave": 0.6, "change": 0.5}, "at most 1, but"),
    ],
)
def test_rates_that_make_no_sense_are_refused(change, problem):
    with pytest.raises(PolicyError, match=problem):
        rt.republish.UpdateRates(**change)


def test_baselines_and_other_definitions_are_not_planned(frame):
    table = rt.Table(frame, quasi=["age", "town"], sensitive="job", identifiers=["id"], key="id")
    with pytest.raises(PolicyError, match="without a baseline"):
        rt.republish.plan(table, rt.MInvariance(2), rt.Republish(DOMAIN, baseline="m-invariance"))
    with pytest.raises(PolicyError, match="one series definition"):
        rt.republish.plan(table, rt.KAnonymity(2), rt.Republish(DOMAIN))


def test_the_command_shows_prices_and_writes_nothing(reticent, tmp_path):  # noqa: F811
    before = {each.name for each in tmp_path.iterdir()}
    given = ("republish", "plan", "policy.toml", "--releases", "2", "--rehearsals", "1")
    code, _, said = reticent(*given)
    assert code == 0
    assert 'choice="random", balance="blocks"' in said
    assert "Nothing was written" in " ".join(said.split())
    code, found, _ = reticent(*given, "--json")
    blocks = next(each for each in found["prices"] if each["balance"] == "blocks")
    assert (code, found["people"][0], len(blocks["expected"])) == (0, FRAMES[0].height, 2)
    assert {each.name for each in tmp_path.iterdir()} == before
    code, _, said = reticent(*given, "--leave", "2")
    assert code == 2
    assert "leave must be a share" in said


def test_columns_with_declared_domains_are_planned() -> None:
    table = rt.Table(
        {
            "id": [f"p{n}" for n in range(40)],
            "age": [20 + n * 7 % 40 for n in range(40)],
            "height": [150 + n * 11 % 40 for n in range(40)],
            "ill": ["flu", "cold", "gout", "none"] * 10,
        },
        quasi={
            "age": rt.Hierarchy.intervals([10, 40], domain=(0, 120)),
            "height": rt.Hierarchy.intervals([10, 40], domain=(120, 220)),
        },
        sensitive="ill",
        key="id",
    )
    republish = rt.Republish(domain=["flu", "cold", "gout", "none", "mumps"])
    rates = rt.republish.UpdateRates(0.05, 0.05, 0.05, 0.0)
    assert rt.republish.plan(table, rt.TauSafety(2), republish, rates, 2, 1).card().title == "Counterfeits planned"
