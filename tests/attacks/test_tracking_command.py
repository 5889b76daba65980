"""``reticent attack --history``: person by person, with the reasons, beside weaker ways to publish; and the page of figures."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.attacks.tracking import explain, republished
from reticent.attacks.tracking import world_counts as counting
from reticent.cli.app import app
from reticent.methods.series import History
from reticent.reports import measure_series, series_figures, write_series_page
from tests.methods.series.examples import DOMAIN, MONTHS, UNSAFE_GROUPS, unsafe_series


def opened(folder: Path) -> History:
    quasi = {"age": None, "zip": None}
    own = folder / "ledger.sqlite"
    return History.open(folder, m=2, key="id", sensitive="disease", quasi=quasi, domain=DOMAIN, ledger=own)


@pytest.fixture(scope="module")
def safe(tmp_path_factory) -> Path:
    history = opened(tmp_path_factory.mktemp("series") / "safe")
    for month in MONTHS:
        history.publish(month, insecure_seed=3)
    return history.path


@pytest.fixture(scope="module")
def unsafe(tmp_path_factory) -> Path:
    history = opened(tmp_path_factory.mktemp("series") / "unsafe")
    for month, groups in zip(MONTHS, UNSAFE_GROUPS, strict=True):
        history.import_release(month, groups)
    return history.path


def run(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["attack", *map(str, words)])
    if isinstance(found.exception, rt.ReticentError):
        return found.exception.exit_code, str(found.exception)
    return found.exit_code, found.output


def test_the_breach_of_the_thesis_is_told_in_words(unsafe):
    code, said = run("--history", unsafe, "--person", "p2", "--person", "p5")
    assert code == 1
    words = " ".join(said.split())
    assert "Nothing changed about p1 in between. So p1 has cataract in releases 1 to 3." in words
    assert (
        "In release 1 p2 shares a group with p1 (cataract): cataract is taken. So p2 has pneumonia in release 1."
        in words
    )
    assert "So p2 has diarrhea in releases 2 and 3." in words
    assert "p5 in this series: - No value can be ruled out. Release 1: flu 50%, gastritis 50%" in words


def test_protection_is_shown_beside_releases_made_one_by_one(safe, tmp_path):
    page = tmp_path / "series.html"
    code, said = run("--history", safe, "--beside", "separate", "--person", "p1", "--page", page, "--json")
    told = json.loads(said)
    assert code == 0
    assert told["ok"]
    assert (
        told["series"]["this series"] | {"people": 7, "disclosed": 0, "above": 0, "highest": "1/2"}
        == told["series"]["this series"]
    )
    assert told["series"]["separate"]["disclosed"] > 0
    assert {each["series"] for each in told["people"]} == {"this series", "separate"}
    assert page.stat().st_mode & 0o077 == 0
    text = page.read_text()
    # Seven pictures, the logo and the sign of the verdict.
    assert text.count("<svg") == 9
    assert f"<h1>{safe.resolve().name}</h1>" in text
    assert "<strong>Holds" in text
    assert re.search(r"Judged of all \d releases together, with who is in which group: No person&#39;s value has", text)
    assert "do not publish this page" in text


def test_the_page_of_a_series_has_a_title_and_a_verdict_wherever_it_is_called_from(unsafe, tmp_path, monkeypatch):
    """The folder `.` has no name, so the page had no title; and it had no verdict."""
    monkeypatch.chdir(unsafe)
    page = tmp_path / "series.html"
    run("--history", ".", "--page", page, "--json")
    text = page.read_text()
    assert f"<h1>{Path(unsafe).resolve().name}</h1>" in text
    assert '<div class="verdict fails">' in text
    assert "<strong>Does not hold:</strong>" in text


def test_without_a_person_those_worst_off_are_told(unsafe):
    code, said = run("--history", unsafe, "--mode", "fixpoint", "--json")
    told = json.loads(said)
    assert (code, told["ok"], told["mode"]) == (1, False, "fixpoint")
    assert [each["person"] for each in told["people"]] == ["p1", "p2", "p3"]


def test_the_fixpoint_steps_in_where_worlds_are_too_many(tmp_path, monkeypatch):
    history = opened(tmp_path / "changed")
    rows = pl.DataFrame({"id": ["x", "y"], "age": [30, 31], "zip": [1, 2], "disease": ["cataract", "pneumonia"]})
    history.import_release(rows, [0, 0])
    history.import_release(rows.with_columns(id=pl.Series(["x", "z"]), disease=pl.Series(["flu", "cataract"])), [0, 0])
    told = json.loads(run("--history", history.path, "--person", "x", "--json")[1])
    assert (told["mode"], told["worlds"]) == ("exact", 3)
    assert told["people"][0]["releases"]["2"] == {"cataract": "1/3", "flu": "2/3"}
    monkeypatch.setattr(counting, "MOST_TRANSITIONS", 0)
    assert json.loads(run("--history", history.path, "--json")[1])["mode"] == "fixpoint"
    assert "too many to count" in run("--history", history.path, "--mode", "exact")[1]
    assert "returns must be" in run("--history", history.path, "--returns", "same")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Name what to attack"),
        (("--mode", "exact"), "--mode applies to a series of releases: add --history"),
        (("release", "--history", "x"), "cannot be combined with a release"),
        (("--history", "x", "--limit", "0.5"), "cannot be combined with --limit"),
        (("--history", "x", "--relative"), "add --page and --beside"),
        (("--history", "nowhere"), "nowhere is not the folder of a history"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, message):
    code, said = run(*words)
    assert code == 2
    assert message in said


def test_unknown_people_and_comparisons_are_refused(safe):
    assert run("--history", safe, "--person", "p99") == (
        2,
        "No release contains the person 'p99'. Write the key exactly as in the key column.",
    )
    code, said = run("--history", safe, "--beside", "taw")
    assert code == 2
    assert "Did you mean 'tau'" in said


def test_a_comparison_that_cannot_be_published_says_so(tmp_path):
    history = opened(tmp_path / "pair")
    history.publish(MONTHS[0][:2])
    history.publish(MONTHS[0][:1])
    with pytest.raises(rt.Infeasible, match="Release 2 cannot be published as every release made independently"):
        republished(history, "separate")
    assert rt.attacks.series(republished(history, "tau")).highest == 1 / 2


def test_a_known_change_is_a_reason():
    """Scenario I without p1's first release: what p2 had before is ruled out afterwards."""
    found = rt.attacks.series(unsafe_series(), releases=[1, 3], returns="unchanged")
    assert [clue.person for clue in explain(found, "p2")] == ["p1", "p4", "p2", "p2"]
    assert explain(found, "p5") == []


def test_measures_are_those_of_the_tables():
    series = unsafe_series()
    measured = measure_series(series, rt.attacks.series(series, mode="fixpoint"))
    assert [round(each.cp, 5) for each in measured] == [1.92857, 4.69048, 5.78571]
    assert [each.dcp for each in measured] == [12, 12, 17]
    assert [each.least_counterfeits for each in measured] == [0, 2, 1]
    assert [(each.vulnerable, each.disclosed, each.absent) for each in measured] == [(0, 4, 0), (1, 4, 1), (1, 5, 0)]
    assert all(each.error >= 0 and 0 < each.selectivity < 1 for each in measured)
    assert [each.seconds for each in measured] == [None] * 3
    with pytest.raises(rt.PolicyError, match="queries must be at least 1"):
        measure_series(series, rt.attacks.series(series), queries=0)


def test_divergence_is_that_of_the_tables(monkeypatch):
    series = unsafe_series()
    learned = rt.attacks.series(series)
    asked = {"queries": 1, "cells": {"zip": 1000}, "seconds": [1.5, None, 2.0]}
    measured = measure_series(series, learned, **asked)
    assert measured[0].kl == pytest.approx(math.log(360) / 3)
    assert measured[0].kl_sensitive == pytest.approx(math.log(2880) / 3)
    assert [each.seconds for each in measured] == [1.5, None, 2.0]
    assert all(0 <= each.kl <= each.kl_sensitive for each in measured)
    # A group in one cell shows the people as they are.
    whole = replace(series, releases=[one_group(series[0])])
    flat = measure_series(whole, rt.attacks.series(whole, mode="fixpoint"), cells={"age": 100, "zip": 100_000})
    assert (flat[0].kl, flat[0].kl_sensitive) == pytest.approx((0, 0))
    monkeypatch.setattr("reticent.reports.series_measures._MOST_PAIRS", 9)
    drawn = measure_series(series, learned, **asked)
    each = [math.log(cells) for cells in (3, 8, 15)]
    assert any(drawn[0].kl == pytest.approx(sum(some) / 3) for some in combinations_with_replacement(each, 3))
    with pytest.raises(rt.PolicyError, match="cells must name quasi columns"):
        measure_series(series, learned, cells={"town": 1})


def test_boxes_of_one_value_count_exactly():
    """Columns of few whole numbers are asked about where values are, and a box of one value holds it whole."""
    release = unsafe_series()[0]
    people, points = len(release.people), unsafe_series().positions(release.quasi)
    alone = replace(
        release,
        group_of=np.arange(people),
        offsets=np.arange(people + 1),
        values=release.value_of,
        counterfeits=np.zeros(people, dtype=np.int64),
        low=points,
        high=points,
    )
    series = replace(unsafe_series(), releases=[alone])
    measured = measure_series(series, rt.attacks.series(series, mode="fixpoint"), selectivity=0.2)
    assert (measured[0].error, measured[0].cp) == (0, 0)
    assert measured[0].selectivity > 0


def one_group(release):
    """The same people in one group."""
    return replace(
        release,
        group_of=release.group_of * 0,
        offsets=np.array([0, len(release.values)]),
        values=np.sort(release.values),
        counterfeits=release.counterfeits[:1],
        low=release.low.min(axis=0, keepdims=True),
        high=release.high.max(axis=0, keepdims=True),
    )


def test_figures_show_one_series_or_the_ratio_of_two(tmp_path):
    series = unsafe_series()
    measured = measure_series(series, rt.attacks.series(series), queries=5)
    alone = series_figures({"thesis": measured})
    assert list(alone) == [
        "Counterfeits",
        "People who can be tracked",
        "Lost detail",
        "Rows that look alike",
        "Error of counting queries",
        "Lost information",
    ]
    both = series_figures({"one": measured, "other": measured}, relative=True)
    assert "ln ratio to other" in both["Lost detail"]
    assert write_series_page({"thesis": measured[:1]}, tmp_path / "deep" / "page.html", "One <release>").exists()
