"""Error against gamma: the presets, the baseline, and the zone where nothing can be had (spec section 10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from reticent.errors import Infeasible
from reticent.exact import Number, exact
from reticent.files import write_whole
from reticent.randomize.bounds import MEAN_DISTANCE, variance
from reticent.randomize.domain import ViewDomain
from reticent.randomize.feasibility import is_above_wall, prior_of
from reticent.randomize.frapp import frapp_plan
from reticent.randomize.plans import plan

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
    """The predicted mean absolute error of a query that ``share`` of the domain and of the table meet, for every method and gamma.

    ``impossible`` marks the red zone: d is not below gamma, or above the wall of 3.8.
    """
    space, part = ViewDomain.of(domain), exact(share, "share")
    d = prior_of(n, space.size, k, None)
    true, cells = int(n * part), int(space.size * part)
    rows = []
    for given in gammas:
        gamma = exact(given, "gamma")
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
    """The gamma below which nothing can be had: d itself, or the wall of 3.8 solved for gamma (a heuristic, its constant taken as 1)."""
    size = ViewDomain.of(domain).size
    d = prior_of(n, size, k, None)
    wall = float(d) * math.sqrt(size) / n
    return max(float(d), wall / (1 + wall))


def draw_chart(frame: pl.DataFrame, path: str | Path, *, n: int, impossible_below: float = 0.0) -> Path:
    """Write the chart as SVG: one line a method on a logarithmic scale, the red zone behind them, and n/2, where counts become useless."""
    import vl_convert

    methods = ["FRAPP", *_PRESETS]
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": frame.to_dicts()},
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {
                "x": {
                    "field": "gamma",
                    "type": "quantitative",
                    "title": "gamma, the belief allowed after",
                    "scale": {"domain": [0, 1]},
                },
                "y": {
                    "field": "error",
                    "type": "quantitative",
                    "title": "mean absolute error of a count",
                    "scale": {"type": "log"},
                    "axis": {"values": [10**power for power in range(12)], "format": ",d"},
                },
                "color": {"field": "method", "type": "nominal", "title": "method", "scale": {"domain": methods}},
            },
        },
        *_labelled_line(n / 2, "n/2: above, a count says nothing"),
    ]
    if impossible_below > 0:
        layers = [*_labelled_zone(impossible_below, "nothing can be had"), *layers]
    title = "What privacy costs: error against gamma"
    picture = {"width": 560, "height": 340, "title": title, "layer": layers, "background": "white"}
    write_whole(path, vl_convert.vegalite_to_svg(picture).encode())
    return Path(path)


def _labelled_line(error: float, words: str) -> list[dict[str, Any]]:
    """A dashed line across the chart, with what it means."""
    place = {"y": {"field": "error", "type": "quantitative"}}
    text = {"type": "text", "dy": -7, "color": "#666666", "text": words}
    return [
        {
            "data": {"values": [{"error": error}]},
            "mark": {"type": "rule", "strokeDash": [4, 4], "color": "#666666"},
            "encoding": place,
        },
        {"data": {"values": [{"error": error}]}, "mark": text, "encoding": {**place, "x": {"value": 310}}},
    ]


def _labelled_zone(end: float, words: str) -> list[dict[str, Any]]:
    """A red zone from 0 to ``end``, with what it means written along its edge."""
    text = {"type": "text", "angle": 270, "align": "left", "dy": 10, "color": "#a02020", "text": words}
    edge = {"x": {"field": "to", "type": "quantitative"}, "y": {"value": 334}}
    values = {"values": [{"from": 0.0, "to": end}]}
    return [
        {
            "data": values,
            "mark": {"type": "rect", "color": "#d62728", "opacity": 0.15},
            "encoding": {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}},
        },
        {"data": values, "mark": text, "encoding": edge},
    ]
