"""What a table can afford: promises with their price, columns by how likely others know them, and the method that costs least."""

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.policy import Policy, inspect
from reticent.propose import afford, propose
from reticent.propose import tradeoff as affording


def people(rows: int = 400, secrets: tuple[str, ...] = ("flu", "cold", "ulcer", "asthma"), **more: Any) -> pl.DataFrame:
    draw = random.Random(7)
    return pl.DataFrame(
        {
            "age": [draw.randrange(20, 70) for _ in range(rows)],
            "sex": [draw.choice("fm") for _ in range(rows)],
            "region": [draw.choice(["north", "south", "west"]) for _ in range(rows)],
            "diagnosis": [draw.choice(secrets) for _ in range(rows)],
            **{name: [make(draw) for _ in range(rows)] for name, make in more.items()},
        }
    )


def test_the_strictest_promise_that_is_affordable_is_proposed_with_the_price_of_the_next() -> None:
    frame = people()
    found = afford(propose(frame), frame)
    chosen = [price for price in found.prices if price.chosen]
    assert len(chosen) == 1
    assert chosen[0].loss is not None
    assert chosen[0].loss <= 0.12
    after = found.prices[found.prices.index(chosen[0]) + 1]
    assert any(chosen[0].definition in note and after.definition in note for note in found.proposal.notes)


def test_a_promise_that_the_table_cannot_afford_is_not_proposed() -> None:
    """Nearly everybody has the same diagnosis, so that diverse groups would have to be huge."""
    frame = people(600, ("flu",) * 60 + ("hiv",))
    strict = propose(frame).definition
    found = afford(propose(frame), frame)
    assert len(strict) == 2
    assert [each["name"] for each in found.proposal.definition] == ["KAnonymity"]
    diverse = [price for price in found.prices if "Diversity" in price.definition]
    assert diverse
    assert all(price.loss is None or price.loss > 0.1 for price in diverse)


def test_the_proposed_policy_writes_down_the_cheapest_method_and_what_the_others_cost() -> None:
    found = inspect(people())
    compared = found.priced.compared
    assert compared is not None
    assert Policy.parse(found.policy).named_method() is not None
    assert Policy.parse(found.policy).sections.method["name"] == compared.best.name
    assert all(f"#   {cost.name} (" in found.policy for cost in compared.costs)
    losses = [cost.loss for cost in compared.costs if cost.loss is not None]
    assert compared.best.loss is not None
    assert compared.best.loss <= min(losses) + 0.02


def test_what_others_hardly_know_is_dropped_before_what_they_see() -> None:
    frame = people(200, **{f"gadget_{number}": lambda draw: draw.randrange(40) for number in range(12)})
    found = afford(propose(frame), frame)
    roles = {column.name: column.role for column in found.proposal.columns}
    assert {roles[name] for name in ("age", "sex", "region")} == {"quasi"}
    assert None in {role for name, role in roles.items() if name.startswith("gadget")}
    assert any("not published" in note for note in found.proposal.notes)


@pytest.mark.parametrize("values", [lambda draw: draw.random(), lambda draw: draw.randrange(4)])
def test_nothing_is_proposed_that_nothing_protects(values: Any) -> None:
    frame = people(300, **{f"answer_{number}": values for number in range(25)})
    found = inspect(frame)
    assert set(found.roles.values()) <= {"quasi", "sensitive", "identifier", None}
    assert found.table().declared == {}
    assert "[declared]" not in found.policy


def test_a_large_table_is_priced_on_a_sample_and_the_policy_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affording, "MOST_ROWS", 100)
    found = inspect(people(400))
    assert "on a sample of 100 rows" in found.policy


def test_too_few_people_have_no_price() -> None:
    frame = people(4)
    found = afford(propose(frame), frame)
    assert (found.prices, found.compared, dict(found.method)) == ((), None, {})


def test_a_column_that_is_the_same_everywhere_is_protected_at_no_cost(tmp_path: Path) -> None:
    frame = people().with_columns(wave=pl.lit(3))
    found = inspect(frame)
    assert found.roles["wave"] == "quasi"
    release = rt.publish(found.table(), rt.KAnonymity(5), ledger=tmp_path / "ledger")
    assert release.utility.loss_by_column["wave"] == 0


def test_indicators_of_one_category_are_protected_together_or_not_at_all() -> None:
    draw = random.Random(5)
    kinds = [draw.randrange(6) for _ in range(200)]
    frame = people(200, **{f"gadget_{number}": lambda draw: draw.randrange(30) for number in range(8)}).with_columns(
        pl.Series(f"kind{number}", [int(kind == number) for kind in kinds]) for number in range(5)
    )
    found = afford(propose(frame), frame)
    roles = {column.role for column in found.proposal.columns if column.name.startswith("kind")}
    assert len(roles) == 1


def test_columns_outside_quasi_are_offered_as_sets_of_their_own_and_the_offer_holds() -> None:
    frame = people(
        400, **{f"count_{number}": lambda draw: 2 + min(int(draw.expovariate(1.2)), 5) for number in range(6)}
    )
    found = afford(propose(frame), frame)
    offer = next(note for note in found.proposal.notes if "quasi_sets = " in note)
    sets = json.loads(offer.split("quasi_sets = ")[1].split(". That covers")[0])
    quasi = [column.name for column in found.proposal.columns if column.role == "quasi"]
    assert sets[0] == quasi
    assert sorted(name for each in sets[1:] for name in each) == sorted(
        column.name for column in found.proposal.columns if column.role is None
    )
    names = [name for each in sets for name in each]
    table = rt.Table(frame.select(names), quasi=names, quasi_sets=sets)
    release = rt.publish(table, rt.KAnonymity(5), method=rt.Mondrian(values="ranges"))
    for each in sets:
        assert release.frame.group_by(each).len()["len"].min() >= 5
