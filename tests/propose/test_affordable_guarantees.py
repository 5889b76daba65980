"""Guarantees by what they cost: every sensitive column has one, stricter ones are taken where they cost hardly anything, and larger groups where they are free."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from reticent.policy import Policy, inspect
from reticent.propose import afford, propose
from reticent.propose.affordable_guarantees import PromiseSearch, next_stricter
from reticent.propose.prices import Price, Promised, definition_of
from reticent.propose.proposal import column_guarantees

SIZE: dict[str, Any] = {"name": "KAnonymity", "k": 5}


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


def guarded(frame: pl.DataFrame) -> set[str]:
    found = afford(propose(frame), frame).proposal
    return {str(part["column"]) for part in found.definition[1:]}


def test_every_sensitive_column_has_a_guarantee() -> None:
    frame = people()
    found = afford(propose(frame), frame)
    assert {part.get("column") for part in found.proposal.definition} == {None, "diagnosis", "religion", "income"}
    chosen = next(price for price in found.prices if price.chosen)
    assert chosen.loss is not None
    assert chosen.loss <= 0.12


def test_more_than_four_sensitive_columns_are_guaranteed_together() -> None:
    draw = random.Random(3)
    names = ("diagnosis", "religion", "income", "hiv", "depression", "alcohol", "party", "debt")
    frame = people(1500).with_columns(
        pl.Series(name, [draw.choice(["a", "b", "c"]) for _ in range(1500)]) for name in names
    )
    sensitive = {name for name, role in inspect(frame).roles.items() if role == "sensitive"}
    assert len(sensitive) > 4
    assert guarded(frame) == sensitive


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


def test_a_rare_delicate_value_gets_a_bound_on_its_share() -> None:
    """One in a hundred is positive: to have one of them in every group would take groups of hundreds."""
    frame = people(1000).with_columns(hiv=pl.when(pl.int_range(pl.len()) % 97 == 0).then(1).otherwise(0))
    found = afford(propose(frame), frame).proposal
    (bound,) = [part for part in found.definition if part.get("column") == "hiv"]
    assert (bound["name"], bound["values"]) == ("ConfidenceBounding", [1])
    assert definition_of([bound]) is not None


def test_what_no_guarantee_is_affordable_for_is_not_published() -> None:
    """Everybody but three has the same diagnosis, and neither value is known to be harmless."""
    frame = people().with_columns(
        diagnosis=pl.when(pl.int_range(pl.len()) % 200 == 0).then(pl.lit("rare")).otherwise(pl.lit("frequent"))
    )
    found = afford(propose(frame), frame)
    roles = {column.name: column.role for column in found.proposal.columns}
    assert roles["diagnosis"] is None
    assert {part.get("column") for part in found.proposal.definition} == {None, "religion", "income"}
    assert [each.column for each in found.left_out] == ["diagnosis"]
    assert any("'diagnosis'" in note for note in found.proposal.notes)


class Costs:
    """What promises cost, by a rule; counts how often it is asked."""

    def __init__(self, rule: Callable[[str], float | None]) -> None:
        self.rule, self.asked = rule, 0

    def __call__(self, promised: Promised) -> Price | None:
        self.asked += 1
        loss = self.rule(str(definition_of(promised)))
        return None if loss is None else Price(loss, {"age": loss})


def searched(rule: Callable[[str], float | None], frame: pl.DataFrame) -> tuple[str, list[Any], Costs]:
    costs = Costs(rule)
    guarantees = column_guarantees(propose(frame).columns, frame)
    search = PromiseSearch(costs, (SIZE, *(each.floors[0] for each in guarantees.values())), guarantees)
    tried = search.run()
    return str(definition_of(search.chosen)), tried, costs


def test_what_costs_nothing_is_promised_to_the_strictest() -> None:
    chosen, tried, _ = searched(lambda text: 0.01, people())
    assert "k=20" in chosen
    assert "TCloseness(t=1/5, distance=ordered, column=income, alone=True)" in chosen
    assert chosen.count("RecursiveLDiversity") == 3
    assert next_stricter(tried) is None


def test_what_is_too_dear_together_is_tried_for_fewer_columns() -> None:
    chosen, tried, costs = searched(
        lambda text: 0.5 if "RecursiveLDiversity(c=3, l=3, column=diagnosis" in text else 0.08, people()
    )
    assert "RecursiveLDiversity(c=3, l=3, column=religion" in chosen
    assert "DistinctLDiversity(l=2, column=diagnosis" in chosen
    assert [price.chosen for _, price in tried].count(True) == 1
    assert costs.asked <= 15
    stricter = next_stricter(tried)
    assert stricter is not None
    assert "loss 0.500" in stricter
    assert "religion" not in stricter


def test_what_is_impossible_is_not_promised_and_comes_last() -> None:
    chosen, tried, _ = searched(lambda text: None if "Recursive" in text or "Closeness" in text else 0.02, people())
    assert "Recursive" not in chosen
    assert chosen.count("DistinctLDiversity") == 3
    assert tried[-1][1].loss is None


@pytest.mark.parametrize(("dear", "k"), [(0.04, 10), (0.005, 20), (0.2, 5)])
def test_larger_groups_are_promised_only_where_they_cost_next_to_nothing(dear: float, k: int) -> None:
    def rule(text: str) -> float:
        return (
            {"k=5": 0.0, "k=10": min(dear, 0.009), "k=20": dear}.get(text.split("(")[1].split(")")[0], 0.0)
            if dear < 0.1
            else (0.0 if "k=5" in text else dear)
        )

    chosen, _, _ = searched(rule, people())
    assert f"k={k}" in chosen


def test_a_template_keeps_a_larger_k_and_drops_promises_about_columns_that_it_removes() -> None:
    frame = people(3000).select("sex", "diagnosis", "income")
    found = inspect(frame, template="public-use")
    ks = [each["k"] for each in found.proposal.definition if each["name"] == "KAnonymity"]
    assert ks[0] >= 10
    assert Policy.parse(found.policy).definition


def test_a_promise_of_smaller_groups_is_not_the_next_stricter_step() -> None:
    def rule(text: str) -> float | None:
        return 0.8 if "RecursiveLDiversity(c=3, l=3, column=diagnosis" in text else 0.01

    chosen, tried, _ = searched(rule, people())
    assert "k=20" in chosen
    assert any("k=5" in price.definition and price.loss == 0.8 for _, price in tried)
    stricter = next_stricter(tried)
    assert stricter is None or "k=5" not in stricter
