"""Intervals of counts contain the true number as often as they state, over many releases of one table; for every selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.conditions import Condition
from reticent.methods.marginals.details import MarginalsDetails
from reticent.methods.marginals.estimates import count_marginals

pytest.importorskip("opendp")
DOMAIN = {"a": ["x", "y"], "b": ["u", "v", "w"]}
RELEASES = 200


@pytest.mark.slow
@pytest.mark.parametrize("select", [[["a", "b"]], "mst", "aim"], ids=str)
@pytest.mark.parametrize("delta", ["0", "1e-6"], ids=["Laplace", "Gauss"])
def test_intervals_of_95_percent_contain_the_true_count_in_95_percent_of_releases(select: Any, delta: str) -> None:
    source = np.random.default_rng(1)
    frame = pl.DataFrame({"a": source.choice(DOMAIN["a"], 600), "b": source.choice(DOMAIN["b"], 600)})
    table = rt.Table(frame, quasi=["a", "b"])
    asked = [Condition.of("a = 'x' and b = 'u'"), Condition.of("b = 'v'"), Condition.of("a = 'y'")]
    true = [int(each.mask(frame).sum()) for each in asked]
    met = []
    for _ in range(RELEASES):
        draft = rt.Marginals(select, DOMAIN).draft(table, rt.UnboundedDP(1, delta))
        details = MarginalsDetails.from_json(draft.details)
        noisy = draft.tables["marginals"].frame()["noisy_count"].to_numpy()
        ends = np.cumsum([details.cells(step.columns) for step in details.measured])
        counts = np.split(noisy, ends[:-1])
        records = draft.tables["records"].frame()
        for condition, count in zip(asked, true, strict=True):
            interval = count_marginals(condition, details, counts, records).interval
            if interval is not None:
                met.append(interval[0] <= count <= interval[1])
    assert len(met) >= 2 * RELEASES
    assert 0.93 <= np.mean(met) <= 0.99
