"""The loss that a whole run claims, beside an accountant that shares no code with ours (:mod:`tests.oracles.composed_losses`): never below what an adversary can meet, and hardly above it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.base.privacy_cost import Relation
from reticent.base.randomness import Randomness
from tests.oracles.composed_losses import composed, largest_rho, least_delta, least_epsilon

pytest.importorskip("opendp")
DELTA = "1e-6"
SELECTIONS: dict[str, Any] = {"aim": "aim", "mst": "mst", "list": [["a", "b"], ["b", "c"], ["c"]]}
DOMAIN = {"a": ["x", "y", "z"], "b": ["u", "v"], "c": {"low": 0, "high": 90, "bins": 4, "cuts": "noisy"}}


def draft(select: str, definition: rt.Definition, rows: int = 1) -> Any:
    source = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "a": source.choice(["x", "y", "z"], 400),
            "b": source.choice(["u", "v"], 400),
            "c": source.integers(0, 90, 400),
            "person": np.arange(400) // rows,
        }
    )
    bounded: dict[str, Any] = {} if rows == 1 else {"key": "person", "rows_per_person": rows}
    table = rt.Table(frame, quasi=["a", "b", "c"], **bounded)
    return rt.Marginals(SELECTIONS[select], DOMAIN).draft(table, definition, Context(randomness=Randomness(3)))


CASES = [
    (select, definition, relation, rows)
    for select in SELECTIONS
    for definition, relation, rows in (
        (rt.UnboundedDP(1, DELTA), "add/remove", 1),
        (rt.UnboundedDP(3, DELTA), "add/remove", 2),
        (rt.BoundedDP("1/2", DELTA), "replace", 1),
    )
]


@pytest.mark.parametrize(("select", "definition", "relation", "rows"), CASES, ids=str)
def test_gaussian_runs_claim_no_less_than_an_adversary_meets_and_hardly_more(
    select: str, definition: Any, relation: Relation, rows: int
) -> None:
    made = draft(select, definition, rows)
    plan, claimed = made.details["plan"], float(definition.amounts[0])
    least = least_epsilon(plan, relation, float(DELTA))
    assert least <= claimed
    assert least > 0.9 * claimed
    stated = made.cost.losses[relation]
    assert least <= float(stated.epsilon) <= claimed
    # The claim in delta, at the claimed epsilon.
    assert least_delta(composed(plan, relation, 0.5), claimed) <= float(DELTA)


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize(("definition", "relation"), [(rt.UnboundedDP(1), "add/remove"), (rt.BoundedDP(2), "replace")])
def test_laplace_runs_claim_the_sum_of_the_largest_losses(select: str, definition: Any, relation: Relation) -> None:
    made = draft(select, definition)
    least = least_epsilon(made.details["plan"], relation, 0.0)
    assert least <= float(definition.amounts[0]) * (1 + 1e-9)
    assert least > 0.97 * float(made.cost.losses[relation].epsilon)


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("relation", ["add/remove", "replace"])
def test_concentrated_runs_claim_the_largest_divergence(select: str, relation: Relation) -> None:
    made = draft(select, rt.ConcentratedDP("1/8", relation))
    largest = largest_rho(made.details["plan"], relation)
    assert largest <= 1 / 8
    assert largest > 0.97 * float(made.cost.losses[relation].rho)


def test_the_accountant_finds_a_plan_with_too_little_noise() -> None:
    """A control: the same plan with a tenth less noise, or with neighbours that differ more than it counts, breaks its claim."""
    plan = draft("aim", rt.UnboundedDP(1, DELTA)).details["plan"]
    quieter = [{**step, "scale": str(Fraction(step["scale"]) * Fraction(9, 10))} for step in plan["steps"]]
    assert least_epsilon({**plan, "steps": quieter}, "add/remove", float(DELTA)) > 1
    assert least_epsilon(plan, "replace", float(DELTA)) > 1.3
    assert least_epsilon({**plan, "rows": 2}, "add/remove", float(DELTA)) > 1.8
    assert largest_rho({**plan, "steps": quieter}, "add/remove") > largest_rho(plan, "add/remove") * 1.2
