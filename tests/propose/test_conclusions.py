"""Proposals and regressions: what changes is noted, and typical values that mislead are not proposed."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.propose.conclusions import MethodConclusions, with_conclusions
from reticent.utility import ConclusionChange, RegressionModel
from reticent.utility.regression import Coefficient
from tests.methods.typical.test_drawn import people


def changed(change: Any) -> MethodConclusions:
    before, after = Coefficient(0.41, 0.1), Coefficient(-18.0, 400.0)
    found = ConclusionChange(RegressionModel("sick", ("smokes",)), "smokes", before, after, change)
    return MethodConclusions({"name": "Mondrian", "values": "drawn"}, 1, (found,), replaced=True)


@pytest.mark.parametrize(
    ("change", "misleads"), [("sign", True), ("separated", True), ("lost", False), ("new", False), ("moved", False)]
)
def test_a_reversed_sign_or_a_separated_outcome_misleads(change: str, misleads: bool) -> None:
    found = changed(change)
    assert found.misleads == misleads
    assert found.notes()[0] == 'Typical values would mislead regressions, so values = "drawn" is proposed instead.'
    assert "sick on smokes: 0.41 (0.214 to 0.606) in the table" in found.notes()[1]


def test_typical_values_that_keep_conclusions_stay() -> None:
    age = [20 + i // 6 for i in range(300)]
    table = rt.Table(
        {"age": age, "pay": [900 + 25 * a + 13 * (i % 7) for i, a in enumerate(age)]}, quasi=["age"], sensitive="pay"
    )
    method = rt.Mondrian(values="typical")
    found = with_conclusions(table, rt.KAnonymity(5), method, Context())
    assert (found.method, found.replaced, found.models) == (method.describe(), False, 1)
    assert found.notes() == ["1 regression of sensitive columns fitted before and after: no conclusion changes."]


@pytest.mark.parametrize("template", [None, "research"])
def test_inspect_says_what_happens_to_conclusions(template: str | None) -> None:
    frame = people().rename({"pay": "income"}).select("age", "town", "income", pl.col("ill").alias("diagnosis"))
    notes = rt.inspect(frame, template=template).notes if template else rt.inspect(frame).notes
    assert any("fitted before and after" in note for note in notes)
