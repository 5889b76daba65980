"""The worked examples that several tests share, read from the fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from reticent.methods.randomize import Plan, View, ViewDomain, ViewManifest, plan

GOLDENS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "randomize" / "goldens.json").read_text()
)
SCORES, ADULT = GOLDENS["scores"], GOLDENS["adult"]


def scores_frame(rows: str = "instance") -> pl.DataFrame:
    return pl.DataFrame(SCORES[rows], schema=SCORES["columns"], orient="row")


def scores_domain() -> ViewDomain:
    return ViewDomain.from_json(SCORES["domain"] | {"nationality": SCORES["domain"]["nationality"]})


def scores_plan() -> Plan:
    return plan(n=6, domain=scores_domain(), k=1, gamma="101/300", alpha=SCORES["alpha"], beta=SCORES["beta"])


def printed_view() -> View:
    """The view of the source's example, opened as if it had been published."""
    domain = scores_domain()
    from reticent.methods.randomize.tuple_sets import distinct

    return View(ViewManifest(scores_plan()), distinct(domain.pack(scores_frame("view"))))
