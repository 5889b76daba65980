"""Proposals and regressions: what changes is noted, and typical values that mislead are not proposed."""

from __future__ import annotations

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.propose.conclusions import with_conclusions
from tests.methods.typical.test_drawn import MIXED, people, separated_by_modes


def test_typical_values_that_separate_an_outcome_are_replaced() -> None:
    found = with_conclusions(separated_by_modes(), MIXED, {"name": "Mondrian", "values": "typical"}, Context())
    assert found.replaced
    assert found.method["values"] in ("drawn", "ranges")
    assert not found.misleads
    assert "Typical values would mislead" in found.notes()[0]


def test_typical_values_that_keep_conclusions_stay() -> None:
    age = [20 + i // 6 for i in range(300)]
    table = rt.Table(
        {"age": age, "pay": [900 + 25 * a + 13 * (i % 7) for i, a in enumerate(age)]}, quasi=["age"], sensitive="pay"
    )
    method = {"name": "Mondrian", "values": "typical"}
    found = with_conclusions(table, rt.KAnonymity(5), method, Context())
    assert (found.method, found.replaced, found.models) == (method, False, 1)
    assert found.notes() == ["1 regression of sensitive columns fitted before and after: no conclusion changes."]


@pytest.mark.parametrize("template", [None, "research"])
def test_inspect_says_what_happens_to_conclusions(template: str | None) -> None:
    frame = people().rename({"pay": "income"}).select("age", "town", "income", pl.col("ill").alias("diagnosis"))
    notes = rt.inspect(frame, template=template).notes if template else rt.inspect(frame).notes
    assert any("fitted before and after" in note for note in notes)
