"""Input that cannot be answered is refused with a way out, before anything is charged to the account of the data set."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.errors import ReticentError

pytest.importorskip("opendp")
FRAME = pl.DataFrame({"age": [31, 33, 52, 58] * 5, "income": [20.0, 30.0, 40.0, 50.0] * 5, "sex": ["f", "m"] * 10})
MEAN = {"statistic": "mean", "column": "income"}
COUNT = {"statistic": "count", "by": ["sex"]}
BOUNDS = {"income": [0, 100]}


def changed(value: Any, dtype: Any = pl.Float64) -> pl.DataFrame:
    """The records with another third income."""
    others = pl.col("income").cast(dtype)
    return FRAME.with_columns(income=pl.when(pl.int_range(pl.len()) == 2).then(pl.lit(value)).otherwise(others))


def table(frame: pl.DataFrame = FRAME) -> rt.Table:
    return rt.Table(frame, quasi=["age", "sex"], sensitive="income", dataset="bad input")


def check_refused(message: str, method: Any, frame: pl.DataFrame = FRAME, definition: Any = None) -> None:
    """Check that a release is refused with a message, and that the account has paid for one release only."""
    definition = definition or rt.UnboundedDP(1, "1e-6")
    rt.publish(table(), rt.UnboundedDP(1), rt.Statistics([COUNT], {"sex": ["f", "m"]}), insecure_seed=1)
    spent = rt.ledger.account("bad input").spent
    assert 0 < spent.epsilon <= 1
    with pytest.raises(ReticentError, match=message):
        rt.publish(table(frame), definition, method(), insecure_seed=1)
    assert rt.ledger.account("bad input").spent == spent


@pytest.mark.parametrize(
    ("message", "given"),
    [
        (r"domain must map names .* but it is \['sex'\]", {"queries": [COUNT], "domain": ["sex"]}),
        (r"domain\['sex'\] must list", {"queries": [COUNT], "domain": {"sex": FRAME["sex"].head(2).to_numpy()}}),
        (r"bounds must map names .* but it is \[0, 100\]", {"queries": [MEAN], "bounds": [0, 100]}),
        ("bounds must map names .* but it is 3", {"queries": [MEAN], "bounds": 3}),
        ("where must be a condition, .* but it is 3", {"queries": [{**MEAN, "where": 3}], "bounds": BOUNDS}),
        ("column must be the name", {"queries": [{**MEAN, "column": ["income"]}], "bounds": BOUNDS}),
        ("Did you mean 'income'", {"queries": [MEAN], "bounds": {**BOUNDS, "incme": [0, 1]}}),
        ("Did you mean 'sex'", {"queries": [MEAN], "bounds": BOUNDS, "domain": {"sx": ["f", "m"]}}),
        (
            "budget would pay for noisy keys or bounds of 'age'",
            {"queries": [MEAN], "bounds": {**BOUNDS, "age": {"low": 0, "high": 99, "chosen": "noisy"}}},
        ),
        ("too close", {"queries": [MEAN], "bounds": {"income": [10**15 - 1, 10**15]}}),
        ("too close", {"queries": [MEAN], "bounds": {"income": [0, "1e-400"]}}),
    ],
)
def test_misdeclared_parameters_are_refused_and_cost_nothing(message: str, given: dict[str, Any]) -> None:
    check_refused(message, lambda: rt.Statistics(**given))


@pytest.mark.parametrize(
    ("message", "frame"),
    [
        ("row 3 has 'unknown'. Replace such values by missing ones", changed("unknown", pl.String)),
        ("numbers written as text", changed("7", pl.String)),
        ("has type Boolean", FRAME.with_columns(income=pl.col("income") > 30)),
        ("row 3: the value is infinite", changed(float("inf"))),
        ("row 3: the value is infinite", changed(float("-inf"))),
    ],
)
def test_values_that_are_no_numbers_are_refused_and_cost_nothing(message: str, frame: pl.DataFrame) -> None:
    check_refused(message, lambda: rt.Statistics([MEAN], bounds=BOUNDS), frame)


@pytest.mark.parametrize("kind", ["UnboundedDP", "ConcentratedDP"])
@pytest.mark.parametrize("statistic", ["count", "sum", "mean", "variance", "quantile", "linear"])
def test_noise_beyond_64_bits_is_refused_and_costs_nothing(statistic: str, kind: str) -> None:
    query: dict[str, Any] = {"statistic": statistic, "column": "income"}
    if statistic == "linear":
        query = {"statistic": "linear", "outcome": "income", "on": ["age"]}
    query |= {"at": [0.5]} if statistic == "quantile" else {}
    method = rt.Statistics([query], bounds={**BOUNDS, "age": [0, 100]})
    definition = getattr(rt, kind)(Fraction(1, 10**40))
    check_refused("Allow a larger epsilon", lambda: method, definition=definition)
    with pytest.raises(ReticentError, match="Allow a larger epsilon"):
        rt.preview(table(), definition, method)
