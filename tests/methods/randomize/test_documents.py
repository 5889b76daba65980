"""The page of the room runs as it is written, and its chart is there."""

from __future__ import annotations

from pathlib import Path

from reticent.methods.randomize.error_chart import errors_by_gamma, red_zone
from tests.methods.randomize.examples import ADULT

DOCS = Path(__file__).parents[3] / "docs"


def test_the_chart_is_there_and_orders_the_methods():
    assert "<svg" in (DOCS / "images" / "randomize-errors.svg").read_text(encoding="utf-8")
    frame = errors_by_gamma(ADULT["n"], ADULT["domain"], 10, gammas=["1/5"])
    errors = dict(frame.select("method", "error").iter_rows())
    assert errors["max-utility"] < errors["tight"] < errors["paper"] < errors["FRAPP"]
    assert 0.0464 < red_zone(ADULT["n"], ADULT["domain"], 1000) < 0.0466
