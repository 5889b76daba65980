"""Methods of noise beside one another: expected errors draw nothing, fall with epsilon, and measured ones are marked as the steward's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import PolicyError

pytest.importorskip("opendp")
DOMAIN = {"sex": ["f", "m"], "ill": ["no", "yes"]}


def table() -> rt.Table:
    source = np.random.default_rng(4)
    frame = pl.DataFrame({name: source.choice(cells, 500) for name, cells in DOMAIN.items()})
    return rt.Table(frame, quasi=["sex"], sensitive="ill", dataset="compared")


METHODS: dict[str, Any] = {
    "pair": rt.Marginals([["sex", "ill"]], DOMAIN),
    "counts": rt.Statistics([{"statistic": "count", "by": ["sex"]}], domain={"sex": DOMAIN["sex"]}),
}


def test_expected_errors_fall_with_epsilon_and_spend_nothing() -> None:
    compared = rt.synthesize.compare(table(), ["1/2", 2], {"pair": METHODS["pair"]})
    low, high = (each.expected.figures["error of ill"] for each in compared.draws)
    assert low > 2 * high > 0
    assert all(each.measured is None for each in compared.draws)
    assert not compared.card().notes
    # The whole account is still there.
    rt.publish(
        table(),
        rt.UnboundedDP(2, "1e-6"),
        rt.Marginals([["sex", "ill"]], DOMAIN, budget={"epsilon": 2, "delta": "1e-6"}),
    )


def test_every_column_has_its_expected_error_by_method_and_epsilon() -> None:
    card = rt.synthesize.compare(table(), ["1/2", 2], {"pair": METHODS["pair"]}).card()
    columns = card.tables[1]
    assert columns.heads == ("column", "pair, 1/2", "pair, 2")
    assert [row[0] for row in columns.rows] == ["sex", "ill"]
    compared = rt.synthesize.compare(table(), [2], {"pair": METHODS["pair"]}).draws[0]
    assert columns.rows[1][2] == f"{compared.expected.figures['error of ill']:.2%}"


def test_measured_errors_are_the_stewards_own() -> None:
    compared = rt.synthesize.compare(table(), [2], METHODS, measure=True)
    assert [each.method for each in compared.draws] == ["pair", "counts"]
    assert 0 <= dict(compared.draws[0].measured or {})["two_way_error"] < 0.2
    assert any("for the steward alone" in note for note in compared.card().notes)


def test_errors_have_one_unit_on_a_card() -> None:
    compared = rt.synthesize.compare(table(), [2], {"pair": METHODS["pair"]}, measure=True)
    (row,) = compared.card().tables[0].rows
    measured = compared.draws[0].measured or {}
    figures = [max(compared.draws[0].expected.figures[f"error of {name}"] for name in DOMAIN), *measured.values()]
    assert list(row[2:]) == [f"{figure:.2%}" for figure in figures]


def test_a_method_without_noise_is_refused_by_name() -> None:
    with pytest.raises(PolicyError, match="levels: "):
        rt.synthesize.compare(table(), [1], {"levels": rt.Lattice()})
    with pytest.raises(PolicyError, match="at least one epsilon"):
        rt.synthesize.compare(table(), [], METHODS)
