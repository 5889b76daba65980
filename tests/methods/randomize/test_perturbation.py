"""Perturbation: one column kept or drawn, its epsilon, estimates without bias, and draws that are kept for later releases."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from multiprocessing import get_context

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.conditions import Condition
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.frapp import FrappPlan
from reticent.methods.randomize.kept_draws import DrawnValues
from reticent.methods.randomize.perturbation import PerturbedManifest, drawn, fingerprint
from reticent.methods.randomize.perturbation_format import _estimate, _strata
from reticent.methods.randomize.view_domain import ViewDomain
from reticent.table import FrameRows

VALUES = ("flu", "cold", "gout", "ulcer")


def ward(rows: int = 200, **more: object) -> rt.Table:
    frame = pl.DataFrame(
        {
            "person": [f"p{i}" for i in range(rows)],
            "age": [20 + i % 50 for i in range(rows)],
            "disease": [VALUES[(i * i) % 3] for i in range(rows)],
        }
    )
    return rt.Table(frame, quasi=["age"], sensitive="disease", identifiers=["person"], **more)  # type: ignore[arg-type]


# The law.


def test_epsilon_is_that_of_the_formula():
    """13.3: epsilon = ln(1 + p d / (1 - p)); with p = 1/2 and four values ln 5 = 1.609."""
    plan = rt.Perturbation("1/2", VALUES).plan(ward(), rt.LocalDP("1.61"))
    assert plan.ratios("record").highest == 5
    assert (plan.kept, plan.replaced) == (Fraction(5, 8), Fraction(1, 8))
    assert rt.LocalDP("1.61").assess(plan).holds
    found = rt.LocalDP("1.609").assess(plan)
    assert not found.holds
    assert found.value == pytest.approx(math.log(5))
    assert "5 times as likely" in found.witness.text


def test_more_is_kept_than_the_definition_allows_and_nothing_is_published():
    with pytest.raises(rt.PolicyError, match=r"keep = 1/2 is more than LocalDP\(epsilon=1\) allows: about 0\.3005"):
        rt.publish(ward(), rt.LocalDP(1), rt.Perturbation("1/2", VALUES))


@pytest.mark.parametrize(
    ("definition", "ratio"), [(rt.LocalDP(2), math.exp(2)), (rt.BoundedBelief("1/4", "3/4", "record"), 9)]
)
def test_as_much_is_kept_as_the_definition_allows(definition, ratio):
    plan = rt.Perturbation(values=VALUES).plan(ward(), definition)
    assert definition.assess(plan).holds
    assert float(plan.ratios("record").highest) == pytest.approx(ratio, rel=1e-9)


def test_values_are_drawn_by_the_stated_law():
    plan = FrappPlan(60_000, ViewDomain.of({"disease": VALUES}), Fraction(5, 8))
    shown = drawn(plan, Draws(5), np.zeros(60_000, dtype=np.int64))
    counts = np.bincount(shown, minlength=4)
    for count, chance in zip(counts.tolist(), (5 / 8, 1 / 8, 1 / 8, 1 / 8), strict=True):
        assert abs(count - 60_000 * chance) <= 5 * math.sqrt(60_000 * chance * (1 - chance))


# Estimates.


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("disease = 'flu'", 2),
        ("disease = 'flu' and age > 1", 1),
        ("disease = 'flu' or age = 3", 3),
        ("age < 3", 2),
        ("disease = 'ulcer'", 0),
    ],
)
def test_an_estimate_is_right_on_average_over_all_outcomes(condition, truth):
    """Three people with flu, flu and cold: every outcome of the draws, weighed by its probability. So is its variance, but for the truth that it plugs in."""
    values, true = ("flu", "cold", "ulcer"), (0, 0, 1)
    plan = FrappPlan(3, ViewDomain.of({"disease": values}), Fraction(3, 5))
    manifest, asked = PerturbedManifest(plan), Condition.parse(condition)
    mean, square = Fraction(0), Fraction(0)
    for outcome in product(range(3), repeat=3):
        chance = math.prod(
            (plan.kept if shown == own else plan.replaced for shown, own in zip(outcome, true, strict=True)),
            start=Fraction(1),
        )
        frame = pl.DataFrame({"age": [1, 2, 3], "disease": [values[code] for code in outcome]})
        found = _estimate(condition, _strata(FrameRows(frame), asked, manifest), plan)
        mean, square = mean + chance * found.value, square + chance * found.value**2
        assert found.interval[0] <= found.interval[1] <= 3
    assert mean == truth
    if condition == "age < 3":
        assert square == truth**2


def test_an_estimate_is_that_of_the_formula_with_error_bars():
    made = rt.publish(ward(2000), rt.LocalDP(2), rt.Perturbation("1/2", VALUES), insecure_seed=2)
    shown = made.frame.filter(pl.col("disease") == "flu").height
    answer = made.count("disease = 'flu'")
    assert answer.value == (shown - Fraction(2000) * Fraction(1, 2) / 4) / Fraction(1, 2)
    truth = ward(2000).frame.filter(pl.col("disease") == "flu").height
    assert answer.standard_error > 0
    assert abs(float(answer.value) - truth) <= 5 * answer.standard_error
    assert answer.interval[0] <= truth <= answer.interval[1]
    assert made.count("age < 30").interval == (400, 400)
    assert made.count("age < 30").standard_error == 0
    with pytest.raises(rt.PolicyError, match="a single estimator"):
        made.count("age < 30", "intersect")


def test_columns_may_have_any_names():
    frame = (
        ward(60).frame.rename({"age": "times", "disease": "cells"}).with_columns(met=pl.lit(1), shown=pl.col("times"))
    )
    table = rt.Table(frame, quasi=["times", "met", "shown"], sensitive="cells")
    made = rt.publish(table, rt.LocalDP(3), rt.Perturbation(values=VALUES))
    low, high = made.count("cells = 'flu' and times < 40 and met = 1 or shown = 41").interval
    assert low <= frame.filter(pl.sql_expr("cells = 'flu' and times < 40 and met = 1 or shown = 41")).height <= high


def test_quasi_columns_stay_as_they_are(tmp_path):
    made = rt.publish(ward(), rt.LocalDP(2), rt.Perturbation(values=VALUES))
    assert made.frame.columns == ["age", "disease"]
    assert made.frame["age"].sort().to_list() == ward().frame["age"].sort().to_list()
    assert {column.name: column.role for column in made.manifest.columns} == {"age": "quasi", "disease": "drawn"}
    assert any("published as they are, so that anybody can see" in risk for risk in made.certificate["residual_risks"])
    folder = made.save(tmp_path / "release")
    assert rt.verify(folder).holds
    data = folder / "public" / "data.csv"
    data.write_text(data.read_text().replace("cold", "plague", 1))
    assert not rt.verify(folder).holds


# Draws that are kept.


def test_a_later_release_shows_the_same_for_whoever_did_not_change(tmp_path):
    memory, book = tmp_path / "draws.parquet", tmp_path / "ledger.sqlite"
    method = rt.Perturbation(values=VALUES, memory=memory)
    first = rt.publish(ward(key="person", dataset="ward"), rt.LocalDP(1), method, ledger=book)
    first.save(tmp_path / "first")
    more = ward(220, key="person", dataset="ward")
    second = rt.publish(more, rt.LocalDP(1), method, ledger=book)
    assert "Draws are kept" in str(second.certificate)
    known = pl.read_parquet(memory)
    assert known.height == 220
    assert memory.stat().st_mode & 0o777 == 0o600
    assert (first.entry.number, second.entry.number) == (1, 2)
    # What was drawn for the first 200 people is what both releases show of them.
    again = method.draft(ward(key="person"), rt.LocalDP(1)).tables["data"].frame()
    assert sorted(again.rows()) == sorted(first.frame.rows())
    assert first.manifest.details["memory"] == second.manifest.details["memory"]


def test_without_a_memory_a_second_release_is_refused(tmp_path):
    book = tmp_path / "ledger.sqlite"
    table = ward(key="person", dataset="ward")
    rt.publish(table, rt.LocalDP(1), rt.Perturbation(values=VALUES), ledger=book)
    for method in (rt.Perturbation(values=VALUES), rt.Perturbation(values=VALUES, memory=tmp_path / "draws.parquet")):
        with pytest.raises(rt.LedgerError, match="was released already"):
            rt.publish(table, rt.LocalDP(1), method, ledger=book)


def test_a_changed_value_is_drawn_anew_and_an_old_one_is_remembered(tmp_path):
    plan = FrappPlan(3, ViewDomain.of({"disease": VALUES}), Fraction(5, 8))
    memory = DrawnValues(tmp_path / "draws.parquet", fingerprint(plan))
    people, calls = pl.Series(["a", "b", "c"]), []

    def draw(values):
        calls.append(values.tolist())
        return np.full(len(values), 3)

    for values in ([0, 1, 2], [0, 2, 2], [0, 1, 2]):
        memory.recalled(people, np.array(values), draw)
    assert calls == [[0, 1, 2], [2]]


def test_a_memory_of_another_plan_or_a_damaged_one_is_refused(tmp_path):
    memory = tmp_path / "draws.parquet"
    table = ward(key="person")
    rt.Perturbation("1/4", VALUES, memory).draft(table, rt.LocalDP(3))
    with pytest.raises(rt.PolicyError, match="made with another probability or other values"):
        rt.Perturbation("1/3", VALUES, memory).draft(table, rt.LocalDP(3))
    whole = pl.read_parquet(memory)
    for damaged in (whole.drop("shown"), pl.concat([whole, whole]), whole.head(0)):
        damaged.write_parquet(memory)
        with pytest.raises(rt.DataError, match=r"is damaged\. Restore it from a backup"):
            rt.Perturbation("1/4", VALUES, memory).draft(table, rt.LocalDP(3))
    memory.write_bytes(b"no parquet")
    with pytest.raises(rt.DataError, match="cannot be read"):
        rt.Perturbation("1/4", VALUES, memory).draft(table, rt.LocalDP(3))
    with pytest.raises(rt.DataError, match="cannot be opened"):
        rt.Perturbation("1/4", VALUES, tmp_path / "no folder" / "draws.parquet").draft(table, rt.LocalDP(3))


def _drafted(memory):
    shown = rt.Perturbation("1/4", VALUES, memory).draft(ward(key="person"), rt.LocalDP(3)).tables["data"].frame()
    return sorted(shown.rows())


@pytest.mark.slow
def test_processes_that_draw_at_the_same_time_show_the_same(tmp_path):
    with get_context("spawn").Pool(4) as pool:
        found = pool.map(_drafted, [str(tmp_path / "draws.parquet")] * 4)
    assert all(each == found[0] for each in found)


# What is refused.


@pytest.mark.parametrize(
    ("table", "definition", "method", "words"),
    [
        (ward, rt.KAnonymity(2), rt.Perturbation(values=VALUES), "Perturbation cannot satisfy it"),
        (
            ward,
            rt.BoundedBelief("1/4", "1/2"),
            rt.Perturbation(values=VALUES),
            "BoundedBelief(d, gamma, 'record'), not",
        ),
        (ward, rt.LocalDP(1), rt.Perturbation(), "Declare the values that the sensitive column 'disease' can take"),
        (ward, rt.LocalDP(1), rt.Perturbation(values=VALUES, memory="draws"), "memory= must identify people"),
        (ward, rt.LocalDP(1), rt.Perturbation(values=["flu"]), "can take only 1 value"),
        (lambda: ward(engine="streaming"), rt.LocalDP(1), rt.Perturbation(values=VALUES), "needs all rows in memory"),
        (
            lambda: ward(pseudonyms=["person"]),
            rt.LocalDP(1),
            rt.Perturbation(values=VALUES),
            "does not publish pseudonyms",
        ),
        (
            lambda: ward(key="age", unit="person"),
            rt.LocalDP(1),
            rt.Perturbation(values=VALUES),
            "one row per person",
        ),
        (
            lambda: rt.Table(ward().frame, quasi=["age"], sensitive=["disease", "person"]),
            rt.LocalDP(1),
            rt.Perturbation(values=VALUES),
            "one sensitive column, and this table has 2",
        ),
    ],
)
def test_what_cannot_be_published_is_refused_by_name(table, definition, method, words):
    with pytest.raises(rt.PolicyError) as found:
        rt.publish(table(), definition, method)
    assert words in str(found.value)


def test_a_value_that_was_not_declared_is_named():
    with pytest.raises(rt.DataError, match=r"flu|cold|gout"):
        rt.publish(ward(), rt.LocalDP(1), rt.Perturbation(values=["ulcer", "plague"]))


def test_declared_values_of_the_column_need_not_be_repeated():
    frame = ward().frame
    table = rt.Table(frame, quasi=["age"], sensitive={"disease": list(VALUES)})
    assert rt.publish(table, rt.LocalDP(1), rt.Perturbation()).manifest.details["domain"]
    with pytest.raises(rt.PolicyError, match="Perturbation: keep"):
        rt.Perturbation(1)
    with pytest.raises(rt.PolicyError, match="values must be a list of values"):
        rt.Perturbation(values="flu")


def test_a_rounded_column_is_not_called_published_as_it_is(tmp_path):
    frame = pl.DataFrame({"age": [20, 30] * 10, "pay": [1234.5 + i for i in range(20)], "ill": ["flu", "hiv"] * 10})
    table = rt.Table(
        frame,
        quasi=["age"],
        sensitive={"ill": ["flu", "hiv"]},
        declared={"pay": "nobody knows it"},
        coarsen={"pay": rt.Rounding(100)},
    )
    made = rt.publish(table, rt.LocalDP(1), rt.Perturbation())
    told = " ".join(made.certificate["residual_risks"])
    assert "All other columns are true (pay rounded), so that anybody can see" in told
    assert "as they are" not in told
