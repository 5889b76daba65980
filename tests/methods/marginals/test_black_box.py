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
NEIGHBOURS = [
    pl.DataFrame({"a": ["x", "x", "y", *last[0]], "b": ["u", "v", "v", *last[1]]})
    for last in ((["y"], ["u"]), ([], []))
]


@pytest.mark.slow
@pytest.mark.parametrize(("select", "tries"), [([["a", "b"]], 4000), ("mst", 4000), ("aim", 2000)], ids=str)
@pytest.mark.parametrize("delta", ["0", "1e-3"], ids=["Laplace", "Gauss"])
def test_a_whole_run_tells_one_record_no_better_than_promised(select: Any, tries: int, delta: str) -> None:
    """Told are the synthetic records in the changed cell, and the last noisy count, in steps."""
    method, definition = rt.Marginals(select, DOMAIN), rt.UnboundedDP(1, delta)
    tables = [rt.Table(frame, quasi=["a", "b"]) for frame in NEIGHBOURS]

    def run(which: int) -> Hashable:
        published = method.draft(tables[which], definition).tables
        records, noisy = (published[name].frame() for name in ("records", "marginals"))
        drawn = records.filter((pl.col("a") == "y") & (pl.col("b") == "u")).height
        return min(drawn, 4), int(np.clip(noisy["noisy_count"][-1], -4, 6)) // 2

    assert largest_violation(run, tries, 1.0, float(Fraction(delta))) <= 0
