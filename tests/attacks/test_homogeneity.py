"""Homogeneity finds the groups that give a value away, by exact counting."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from reticent.attacks import Findings, Homogeneity, attack, wilson
from reticent.core import AdversaryView
from reticent.demo import ten_people, twelve_patients
from reticent.errors import PolicyError
from reticent.table import Table
from reticent.table.meaning import Values

FOUR_ANONYMOUS = ["130**, < 30"] * 4 + ["1485*, >= 40"] * 4 + ["130**, 3*"] * 4
THREE_DIVERSE = ["1305*"] + ["1306*"] * 2 + ["1305*"] + ["1485*"] * 4 + ["1305*"] * 2 + ["1306*"] * 2


def grouped(labels: list[str], values: list[str] | pl.Series) -> AdversaryView:
    data = pl.DataFrame({"place": labels, "condition": values})
    meanings = {"place": {label: Values((label,)) for label in set(labels)}}
    return AdversaryView.in_rows(data, None, {name: meanings[name] for name in ["place"]}, ["condition"])


def test_the_four_anonymous_patients_give_away_one_group_of_four() -> None:
    findings = attack(grouped(FOUR_ANONYMOUS, twelve_patients()["condition"]), Homogeneity())[0]
    assert (findings.hits, findings.people) == (4, 12)
    assert findings.details["affected_groups"] == 1
    assert findings.example == "4 of 4 people who look alike in the published columns have condition 'cancer'."


def test_the_three_diverse_patients_give_nobody_away() -> None:
    findings = attack(grouped(THREE_DIVERSE, twelve_patients()["condition"]), Homogeneity())[0]
    assert findings.hits == 0
    assert findings.example == "Every group has at least 3 different values of condition."


def test_a_threshold_is_reached_exactly_and_counts_the_minority_too() -> None:
    view = grouped(["a"] * 20, ["flu"] * 19 + ["gout"])
    assert attack(view, Homogeneity("0.95"))[0].hits == 20
    assert attack(view, Homogeneity("0.9500001"))[0].hits == 0


def test_people_who_stand_alone_are_all_given_away() -> None:
    table = Table(ten_people(), quasi=["zip", "age", "sex"], sensitive="disease")
    findings = attack(table, Homogeneity())[0]
    assert findings.hits == 10
    assert findings.example.startswith("Each affected person is unique")


def test_each_sensitive_column_can_be_attacked() -> None:
    frame = pl.DataFrame({"zip": ["1", "1", "2", "2"], "a": ["x", "y", "x", "x"], "b": ["u", "u", "v", "w"]})
    table = Table(frame, quasi=["zip"], sensitive=["a", "b"])
    assert attack(table, Homogeneity(column="a"))[0].hits == 2
    assert attack(table, Homogeneity(column="b"))[0].hits == 2
    assert attack(table)[0].example == "2 of 2 people who look alike in the published columns have a 'x'."


def test_without_a_sensitive_column_there_is_nothing_to_give_away() -> None:
    with pytest.raises(PolicyError, match="no sensitive column was published"):
        attack(Table({"zip": ["1"]}, quasi=["zip"]), Homogeneity())


@pytest.mark.parametrize("threshold", [0, "1.1", "most"])
def test_a_threshold_that_is_no_share_is_refused(threshold: object) -> None:
    with pytest.raises(PolicyError, match="threshold must be"):
        Homogeneity(threshold)


def test_findings_cannot_hit_more_people_than_there_are() -> None:
    with pytest.raises(PolicyError, match="hits must be between 0 and people"):
        Findings("x", "nothing", "are hit", 3, 2, "")


def test_the_confidence_interval_is_wilsons() -> None:
    low, high = wilson(10, 100)
    z = 1.959963984540054
    for bound in (low, high):
        # Both ends solve (p - 0.1)^2 = z^2 p (1 - p) / n.
        assert np.isclose((bound - 0.1) ** 2, z * z * bound * (1 - bound) / 100)
    assert low < 0.1 < high
    assert wilson(0, 50)[0] == 0.0
    assert wilson(50, 50)[1] == 1.0


def test_the_confidence_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draws = np.random.default_rng(7).binomial(200, 0.03, 4000)
    covered = np.mean([low <= 0.03 <= high for low, high in (wilson(int(hits), 200) for hits in draws)])
    assert 0.92 < covered < 0.98
