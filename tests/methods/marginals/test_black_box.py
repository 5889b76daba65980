"""A whole run of marginals as a black box: what is published of two tables that differ by one record is told apart no better than epsilon and delta allow."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from tests.methods.black_box import largest_violation

pytest.importorskip("opendp")

DOMAIN = {"a": ["x", "y"], "b": ["u", "v"]}


def of(*last: tuple[str, str]) -> pl.DataFrame:
    """Three records, and some more."""
    return pl.DataFrame([("x", "u"), ("x", "v"), ("y", "v"), *last], schema=["a", "b"], orient="row")


ADDED, REPLACED = [of(("y", "u")), of()], [of(("y", "u")), of(("x", "v"))]
PERSON = [
    frame.with_columns(person=pl.Series(["1", "2", "3", "4", "4"][: frame.height]))
    for frame in (of(("y", "u"), ("y", "u")), of())
]


def violation(tables: list[rt.Table], definition: rt.Definition, select: Any, tries: int, delta: str) -> float:
    """Seen are the synthetic records in the changed cell, and the last noisy count, in steps."""
    method = rt.Marginals(select, DOMAIN)

    def run(which: int) -> Hashable:
        published = method.draft(tables[which], definition).tables
        records, noisy = (published[name].frame() for name in ("records", "marginals"))
        drawn = records.filter((pl.col("a") == "y") & (pl.col("b") == "u")).height
        return min(drawn, 4), int(np.clip(noisy["noisy_count"][-1], -4, 6)) // 2

    return largest_violation(run, tries, 1.0, float(Fraction(delta)))


@pytest.mark.slow
@pytest.mark.parametrize(("select", "tries"), [([["a", "b"]], 4000), ("mst", 4000), ("aim", 2000)], ids=str)
@pytest.mark.parametrize("delta", ["0", "1e-3"], ids=["Laplace", "Gauss"])
@pytest.mark.parametrize("replaced", [False, True], ids=["add or remove", "replace"])
def test_a_whole_run_tells_one_record_no_better_than_promised(
    select: Any, tries: int, delta: str, replaced: bool
) -> None:
    definition = rt.BoundedDP(1, delta) if replaced else rt.UnboundedDP(1, delta)
    tables = [rt.Table(frame, quasi=["a", "b"]) for frame in (REPLACED if replaced else ADDED)]
    assert violation(tables, definition, select, tries, delta) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0", "1e-3"], ids=["Laplace", "Gauss"])
def test_a_whole_run_tells_both_records_of_a_person_no_better_than_promised(delta: str) -> None:
    tables = [rt.Table(frame, quasi=["a", "b"], key="person", rows_per_person=2) for frame in PERSON]
    assert violation(tables, rt.UnboundedDP(1, delta), [["a", "b"]], 4000, delta) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0", "1e-3"], ids=["Laplace", "Gauss"])
def test_a_run_that_merges_rare_values_by_chance_tells_one_record_no_better_than_promised(delta: str) -> None:
    """Counts of two values are near the bound below which values are merged: which cells the pair counts depends on the noise. Seen are the merged cells too."""
    rows = [("x", "u")] * 40 + [("x", "v")] * 60 + [("y", "u")] * 25 + [("z", "v")] * 24
    frames = [pl.DataFrame(more + rows, schema=["a", "b"], orient="row") for more in ([("z", "v")], [])]
    tables = [rt.Table(frame, quasi=["a", "b"]) for frame in frames]
    method = rt.Marginals("mst", {"a": ["x", "y", "z"], "b": ["u", "v"]})

    def run(which: int) -> Hashable:
        published = method.draft(tables[which], rt.UnboundedDP(1, delta))
        records, noisy = (published.tables[name].frame() for name in ("records", "marginals"))
        last = int(np.clip(noisy["noisy_count"][-1] - 24, -20, 20)) // 10
        return "merged" in published.details, records.filter(pl.col("a") == "z").height // 8, last

    assert largest_violation(run, 2000, 1.0, float(Fraction(delta))) <= 0
