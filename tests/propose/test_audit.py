"""The audit of a table as it stands: homogeneity at 100 % and 95 %, and how diverse the groups are, held to the goldens of G2 and G3."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt

import polars as pl
import pytest

from reticent.demo import twelve_patients
from reticent.propose import diversity_audits
from reticent.table import Table

BLOCKS = ["130**, < 30"] * 4 + ["1485*, >= 40"] * 4 + ["130**, 3*"] * 4
THREE_DIVERSE = ["1305*"] + ["1306*"] * 2 + ["1305*"] + ["1485*"] * 4 + ["1305*"] * 2 + ["1306*"] * 2


def patients(blocks: list[str]) -> Table:
    frame = twelve_patients().select("condition").with_columns(block=pl.Series(blocks))
    return Table(frame, quasi=["block"], sensitive="condition")


def test_the_four_anonymous_patients_of_g2() -> None:
    (found,) = diversity_audits(patients(BLOCKS))
    assert (found.homogeneous_groups, found.homogeneous_rows) == (1, 4)
    assert found.effective_l == pytest.approx(1)
    assert found.table_effective_l == pytest.approx(2.9374925)
    assert found.distinct == 1
    assert found.worst_posterior[0] == 1
    assert found.as_dict()["infimum_c"]["2"] is None


def test_the_three_diverse_patients_of_g3() -> None:
    """Passes (c,2) iff c > 1 and (c,3) iff c > 2; Umeko without heart disease has cancer with 2/3."""
    (found,) = diversity_audits(patients(THREE_DIVERSE))
    assert (found.homogeneous_rows, found.nearly_homogeneous_rows) == (0, 0)
    assert found.effective_l == pytest.approx(2 * sqrt(2))
    assert (found.infimum_c[2], found.infimum_c[3]) == (1, 2)
    assert found.worst_posterior[:2] == (Fraction(1, 2), Fraction(2, 3))


def test_a_share_of_95_percent_is_reached_exactly_and_the_minority_counts_too() -> None:
    frame = pl.DataFrame({"zip": ["1"] * 20 + ["2"] * 20, "ill": ["flu"] * 19 + ["gout"] + ["flu"] * 18 + ["gout"] * 2})
    (found,) = diversity_audits(Table(frame, quasi=["zip"], sensitive="ill"))
    assert (found.homogeneous_rows, found.nearly_homogeneous_groups, found.nearly_homogeneous_rows) == (0, 1, 20)
    spread = -(0.95 * log(0.95) + 0.05 * log(0.05))
    assert found.effective_l == pytest.approx(exp(spread))


def test_each_set_and_each_secret_is_audited() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "x": ["u", "u", "v", "w"], "y": ["p", "q", "p", "q"]})
    table = Table(frame, quasi=["a", "b"], sensitive=["x", "y"], quasi_sets=[["a"], ["b"]])
    found = {(each.columns, each.sensitive): each.homogeneous_rows for each in diversity_audits(table)}
    assert found == {(("a",), "x"): 2, (("a",), "y"): 0, (("b",), "x"): 0, (("b",), "y"): 4}
    assert diversity_audits(Table(frame, quasi=["a"])) == ()
