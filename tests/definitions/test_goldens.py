"""The worked examples of spec 000b, exactly."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.core import Groups
from reticent.definitions import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
    definition_from,
    homogeneity_audit,
)
from reticent.engine import count_table
from reticent.table import Table

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "definitions"
CASES = tomllib.loads((FIXTURES / "goldens.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["golden"] for case in CASES])
def test_golden_verdicts_and_values_are_exact(case: dict[str, Any]) -> None:
    definition = definition_from(case["definition"].pop("name"), case["definition"])
    groups = Groups.from_histograms(case["groups"])
    found = definition.assess(groups)
    assert found.holds is case["holds"]
    assert definition.holds(groups) is case["holds"]
    assert (found.witness is None) is case["holds"]
    if "value" in case:
        assert found.value == Fraction(case["value"])
    if "about" in case:
        assert found.value == pytest.approx(case["about"], abs=5e-7)


@pytest.mark.parametrize("values", [2, 3, 6, 7, 10, 21, 22, 25, 29])
@pytest.mark.parametrize("count", [1, 7, 10**6])
def test_equally_frequent_values_pass_entropy_diversity_at_exactly_their_number(values: int, count: int) -> None:
    groups = Groups.from_histograms([[count] * values])
    assert EntropyLDiversity(values).holds(groups)
    assert not EntropyLDiversity(values + Fraction(1, 10**30)).holds(groups)


def patients(grouping: str) -> Groups:
    frame = pl.read_csv(FIXTURES / "patients.csv")
    table = Table(frame, quasi=[grouping], sensitive="condition")
    return count_table(table).groups()


def test_the_four_anonymous_patients_give_four_cancer_patients_away() -> None:
    audit = homogeneity_audit(patients("four_anonymous"))
    assert (audit.groups, audit.rows) == (1, 4)


def test_the_three_diverse_patients_keep_bruce_and_umeko_uncertain() -> None:
    groups = patients("three_diverse")
    assert homogeneity_audit(groups).groups == 0
    posterior = RecursiveLDiversity(3, 3).assess(groups).diagnostics["worst_posterior"]
    assert posterior == [Fraction(1, 2), Fraction(2, 3)]


def test_two_sensitive_attributes_are_not_judged_apart() -> None:
    """G9: ruling out s1 leaves v3 for sure, so the block fails for every l from 2."""
    frame = pl.DataFrame({"zip": [1] * 4, "first": ["s1", "s1", "s2", "s3"], "second": ["v1", "v2", "v3", "v3"]})
    groups = count_table(Table(frame, quasi=["zip"], sensitive=["first", "second"])).groups()
    for definition in (DistinctLDiversity(2), EntropyLDiversity("1.5"), RecursiveLDiversity(100, 2)):
        assert definition.failing(groups).tolist() == [True]
        found = definition.assess(groups)
        assert not found.holds
        assert [part.holds for part in found.parts] == [False, False]
    for column in ("first", "second"):
        alone = groups.marginal(column)
        assert RecursiveLDiversity("2.01", 3).holds(alone)
        assert not RecursiveLDiversity(2, 3).holds(alone)
