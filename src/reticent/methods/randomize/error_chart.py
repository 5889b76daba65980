"""Chart of error against gamma: the presets, the FRAPP baseline, and the infeasible zone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from reticent.base.charts import ChartAxis, ChartLine, line_chart
from reticent.base.exact import Number, exact
from reticent.base.files import write_whole
from reticent.errors import Infeasible
from reticent.methods.randomize.attainable import is_above_wall, prior_of
from reticent.methods.randomize.error_bounds import MEAN_DISTANCE, variance
from reticent.methods.randomize.frapp import frapp_plan
from reticent.methods.randomize.plans import plan
from reticent.methods.randomize.view_domain import ViewDomain

_GAMMAS = tuple(f"{value}/100" for value in range(1, 100))
_PRESETS = ("paper", "tight", "max-utility")


def errors_by_gamma(
    n: int,
    domain: ViewDomain | Mapping[str, Any],
    k: Number,
    *,
    share: Number = "1/2",
    gammas: Sequence[Number] = _GAMMAS,
) -> pl.DataFrame:
    """Return the predicted mean absolute error of a query that ``share`` of the domain and of the table meet, for every method and gamma.

    ``impossible`` marks the infeasible zone: d is not below gamma, or exceeds the bound of
    :func:`~reticent.methods.randomize.attainable.is_above_wall`.
    """
    space, query_share = ViewDomain.of(domain), exact(share, "share")
    d = prior_of(n, space.size, k, None)
    true, cells = int(n * query_share), int(space.size * query_share)
    rows = []
    for gamma_given in gammas:
        gamma = exact(gamma_given, "gamma")
        impossible = d >= gamma or is_above_wall(n, space.size, d, gamma)
        for preset in _PRESETS:
            try:
                rates = plan(n, space, k, gamma, preset).rates
            except Infeasible:
                continue
            spread = math.sqrt(variance(rates, Fraction(true), cells))
            rows.append((float(gamma), preset, MEAN_DISTANCE * spread, impossible))
        if d < gamma:
            spread = math.sqrt(frapp_plan(n, space, k, gamma).variance(Fraction(true), n, cells))
            rows.append((float(gamma), "FRAPP", MEAN_DISTANCE * spread, impossible))
    return pl.DataFrame(rows, schema=["gamma", "method", "error", "impossible"], orient="row")


def red_zone(n: int, domain: ViewDomain | Mapping[str, Any], k: Number) -> float:
    """Return the gamma below which no view is feasible: d itself, or the impossibility bound solved for gamma (a
    heuristic, its constant taken as 1).
    """
    size = ViewDomain.of(domain).size
    d = prior_of(n, size, k, None)
    wall = float(d) * math.sqrt(size) / n
    return max(float(d), wall / (1 + wall))


def draw_chart(frame: pl.DataFrame, path: str | Path, *, n: int, impossible_below: float = 0.0) -> Path:
    """Write the chart as SVG: one line per method on a logarithmic scale, the infeasible zone, and n/2, where counts become useless."""
    lines = [
        ChartLine(method, list(zip(rows["gamma"], rows["error"], strict=True)))
        for method in ("FRAPP", *_PRESETS)
        if (rows := frame.filter(pl.col("method") == method).sort("gamma")).height
    ]
    errors = [n / 2, *frame["error"]]
    low, high = (10.0 ** math.floor(math.log10(min(errors))), 10.0 ** math.ceil(math.log10(max(errors)) + 1e-9))
    chart = line_chart(
        lines,
        ChartAxis("gamma, the allowed posterior", 0, 1),
        ChartAxis("mean absolute error of a count", low, max(high, 10 * low), log=True),
        title="Cost of privacy: error against gamma",
        level=(n / 2, "n/2: above, a count is useless"),
        zone=(impossible_below, "infeasible"),
        markers=False,
    )
    write_whole(path, chart.encode())
    return Path(path)
