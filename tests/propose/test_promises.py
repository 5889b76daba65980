"""Promises by what they cost: several sensitive columns, closeness of numbers, and larger groups where they are free."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

from reticent.definitions import Definition
from reticent.errors import Infeasible
from reticent.policy import Policy, inspect
from reticent.propose import afford, propose
from reticent.propose.promises import PromiseSearch, made

FIRST: dict[str, Any] = {"name": "KAnonymity", "k": 5}


def people(rows: int = 600, seed: int = 7) -> pl.DataFrame:
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "age": [draw.randrange(20, 70) for _ in range(rows)],
            "sex": [draw.choice("fm") for _ in range(rows)],
            "diagnosis": [draw.choice(["flu", "cold", "ulcer", "asthma"]) for _ in range(rows)],
            "religion": [draw.choice(["a", "b", "c", "d"]) for _ in range(rows)],
            "income": [1000 * draw.randrange(10, 40) for _ in range(rows)],
        }
    )


def test_several_sensitive_columns_are_each_promised_something() -> None:
    frame = people()
    found = afford(propose(frame), frame)
    promised = {(each["name"], each.get("column")) for each in found.proposal.definition}
    assert {column for _, column in promised} == {None, "diagnosis", "religion", "income"}
    chosen = next(price for price in found.prices if price.chosen)
    assert chosen.loss is not None
    assert chosen.loss <= 0.12


def test_numbers_are_kept_close_to_the_whole_table_where_that_is_affordable() -> None:
    frame = people(2000).select("age", "sex", "income")
    found = afford(propose(frame), frame)
    close = [each for each in found.proposal.definition if each["name"] == "TCloseness"]
    assert [each["distance"] for each in close] == ["ordered"]
    release = inspect(frame)
    table = release.table()
    policy = Policy.parse(release.policy)
    draft = policy.method(table, policy.definition).draft(table, policy.definition)
    assert policy.definition.holds(draft.evidence.published)


def test_closeness_is_not_promised_for_categories_or_where_values_are_missing() -> None:
    frame = people(2000).select("age", "sex", "diagnosis")
    assert not [each for each in afford(propose(frame), frame).proposal.definition if each["name"] == "TCloseness"]
    holes = people(2000).select(
        "age", "sex", pl.when(pl.col("age") == 30).then(None).otherwise("income").alias("income")
    )
    assert not [each for each in afford(propose(holes), holes).proposal.definition if each["name"] == "TCloseness"]


def test_sensitive_columns_for_which_nothing_is_promised_are_told() -> None:
    """Nearly everybody has the same diagnosis, so that diverse groups would have to be huge."""
    frame = people().with_columns(
        diagnosis=pl.when(pl.int_range(pl.len()) % 290 == 0).then(pl.lit("hiv")).otherwise(pl.lit("flu"))
    )
    found = afford(propose(frame), frame)
    assert "diagnosis" not in {each.get("column") for each in found.proposal.definition}
    assert "religion" in {each.get("column") for each in found.proposal.definition}
    assert any(note.startswith("Nothing is promised about 'diagnosis'") for note in found.proposal.notes)


class Costs:
    """What promises cost, by a rule; counts how often it is asked."""

    def __init__(self, rule: Any) -> None:
        self.rule, self.asked = rule, 0

    def __call__(self, definition: Definition) -> tuple[float, dict[str, float]]:
        self.asked += 1
        loss = self.rule(str(definition))
        if loss is None:
            raise Infeasible("not possible")
        return loss, {"age": loss}


def searched(
    rule: Any, frame: pl.DataFrame, steps: dict[str, int] | None = None
) -> tuple[Definition, list[Any], Costs]:
    costs = Costs(rule)
    search = PromiseSearch(propose(frame), costs, steps or {})
    found = search.run()
    return made(search.chosen), found, costs


def test_what_costs_nothing_is_promised_to_the_strictest() -> None:
    chosen, _, _ = searched(lambda text: 0.01, people(), {"income": 30})
    assert "k=20" in str(chosen)
    assert "TCloseness(t=1/5, distance=ordered, column=income, alone=True)" in str(chosen)
    assert str(chosen).count("RecursiveLDiversity") == 3


def test_what_is_too_dear_together_is_tried_column_by_column() -> None:
    chosen, found, costs = searched(lambda text: 0.5 if "diagnosis" in text else 0.08, people())
    assert "religion" in str(chosen)
    assert "diagnosis" not in str(chosen)
    assert [price.chosen for _, price in found].count(True) == 1
    assert costs.asked <= 12


def test_what_is_impossible_is_not_promised_and_comes_last() -> None:
    chosen, found, _ = searched(lambda text: None if "Diversity" in text else 0.02, people())
    assert [part.name for part in chosen.parts()] == ["KAnonymity"]
    assert found[-1][1].loss is None


@pytest.mark.parametrize(("dear", "k"), [(0.04, 10), (0.005, 20), (0.2, 5)])
def test_larger_groups_are_promised_only_where_they_cost_next_to_nothing(dear: float, k: int) -> None:
    def rule(text: str) -> float:
        return (
            {"k=5": 0.0, "k=10": min(dear, 0.009), "k=20": dear}.get(text.split("(")[1].split(")")[0], 0.0)
            if dear < 0.1
            else (0.0 if "k=5" in text else dear)
        )

    chosen, _, _ = searched(rule, people())
    assert f"k={k}" in str(chosen)


def test_a_template_keeps_a_larger_k_and_drops_promises_about_columns_that_it_removes() -> None:
    frame = people(3000).select("sex", "diagnosis", pl.Series("insurance_id", range(3000)).alias("n"), "income")
    found = inspect(frame.drop("n"), template="public-use")
    ks = [each["k"] for each in found.proposal.definition if each["name"] == "KAnonymity"]
    assert ks[0] >= 10
    assert Policy.parse(found.policy).definition
