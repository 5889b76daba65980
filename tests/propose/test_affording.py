"""What a table can afford: every published column protected, the dearest left out with their price, and the method that costs least."""

import itertools
import random
import re
import tempfile
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.base.context import Context
from reticent.cli.app import app
from reticent.policy import Inspection, Policy, inspect
from reticent.propose import afford, prices, propose
from reticent.propose.column_selection import LeftOut
from reticent.propose.tradeoff import OTHER_DOORS, announced_losses, unpriced, without_computed
from reticent.registry import DEFINITIONS, METHODS
from reticent.utility import utility_of


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


def couples(rows: int = 750) -> pl.DataFrame:
    """Couples as in surveys of the labour force: two ages that are alike, schooling, work, and what they earn."""
    draw = random.Random(11)
    wives = [draw.randrange(30, 60) for _ in range(rows)]
    return pl.DataFrame(
        {
            "inlf": [draw.randrange(2) for _ in range(rows)],
            "hours": [draw.choice([0, 0, draw.randrange(100, 3000)]) for _ in range(rows)],
            "kidslt6": [min(int(draw.expovariate(3)), 3) for _ in range(rows)],
            "age": wives,
            "husage": [age + draw.randrange(-4, 9) for age in wives],
            "educ": [draw.randrange(8, 18) for _ in range(rows)],
            "huseduc": [draw.randrange(6, 18) for _ in range(rows)],
            "unem": [draw.choice([3.0, 5.0, 7.5, 9.5, 14.0]) for _ in range(rows)],
            "city": [draw.randrange(2) for _ in range(rows)],
            "exper": [draw.randrange(0, 40) for _ in range(rows)],
            "faminc": [draw.randrange(2000, 90000) for _ in range(rows)],
        }
    )


def published(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str | None], Inspection]:
    """What goes out if the proposal is published as it is."""
    found = inspect(frame)
    policy = Policy.parse(found.policy)
    table = found.table()
    with tempfile.TemporaryDirectory() as folder:
        method = policy.method(table, policy.definition)
        release = rt.publish(table, policy.definition, method=method, ledger=f"{folder}/ledger.sqlite")
        return release.frame, found.roles, found


def smallest(rows: pl.DataFrame, roles: dict[str, str | None]) -> int:
    known = [name for name in rows.columns if roles[name] != "sensitive"]
    return int(rows.group_by(known).len()["len"].min())  # type: ignore[arg-type]


def test_no_couple_is_found_by_two_ages() -> None:
    rows, roles, _ = published(couples(400))
    assert {"age", "inlf", "kidslt6"} <= set(rows.columns)
    assert roles["faminc"] == "sensitive"
    assert smallest(rows, roles) >= 5


def test_every_published_column_is_quasi_or_sensitive_and_nothing_is_declared() -> None:
    frame = people(200, **{f"gadget_{number}": lambda draw: draw.randrange(40) for number in range(12)})
    found = inspect(frame)
    assert set(found.roles.values()) <= {"quasi", "sensitive", "identifier", None}
    assert "declared" not in found.policy


def test_wide_answers_are_left_out_with_the_price_of_keeping_them() -> None:
    """Many columns of 200 people. Some cannot be kept, and the policy says what each would cost."""
    frame = people(200, **{f"gadget_{number}": lambda draw: 3 * int(draw.expovariate(1.2)) for number in range(16)})
    rows, roles, found = published(frame)
    gone = found.priced.left_out
    assert gone
    assert all(each.price is not None and each.price > -0.05 for each in gone)
    assert all(found.roles[each.column] is None for each in gone)
    assert all(f'"{each.column}": {each.words}' in found.policy for each in gone)
    assert 2 * sum(role is not None for role in found.roles.values()) >= len(found.roles)
    assert smallest(rows, roles) >= 5


def test_the_price_of_keeping_a_column_is_what_it_adds() -> None:
    frame = people(300, **{f"gadget_{number}": lambda draw: draw.randrange(30) for number in range(16)})
    found = inspect(frame)
    first = found.priced.left_out[0]
    kept = [name for name, role in found.roles.items() if role == "quasi"]
    definition = Policy.parse(found.policy).definition.parts()[0]

    def loss(names: list[str]) -> float:
        table = rt.Table(frame.select(sorted(names, key=frame.columns.index)), quasi=names)
        return float(utility_of(rt.Mondrian(values="ranges", split="loss").draft(table, definition))["loss"])

    assert first.price is not None
    assert loss([*kept, first.column]) - loss(kept) == pytest.approx(first.price, abs=0.03)


def test_what_a_study_is_about_stays_where_others_are_left_out() -> None:
    frame = people(150, **{f"gadget_{number}": lambda draw: draw.randrange(30) for number in range(12)}).with_columns(
        arm=pl.int_range(pl.len()) * 7 % 3
    )
    found = inspect(frame)
    assert found.roles["arm"] is not None
    assert found.priced.left_out


def test_an_arm_of_a_trial_is_kept_rather_than_the_dose_that_tells_it() -> None:
    frame = people(200).with_columns(
        dose_g=pl.when(pl.int_range(pl.len()) % 2 == 0).then(2).otherwise(0),
        arm=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("drug")).otherwise(pl.lit("placebo")),
    )
    roles = inspect(frame).roles
    assert roles["arm"] is not None
    assert roles["dose_g"] is None


def test_sixty_people_with_thirty_columns_are_told_the_other_ways() -> None:
    frame = people(60, **{f"x{number}": lambda draw: draw.random() for number in range(26)})
    found = inspect(frame)
    assert any("of little use" in line and "synthetic rows" in line for line in found.proposal.headline)
    assert found.policy.index("# Read first: ") < found.policy.index("dataset")


def test_a_file_without_a_sensitive_column_gets_a_question() -> None:
    found = inspect(people().drop("diagnosis"))
    assert any(line.endswith("l = 2.") and "nobody may learn" in line for line in found.proposal.headline)
    assert not inspect(people()).proposal.headline


def test_the_price_in_the_notes_is_that_of_the_proposed_method() -> None:
    found = inspect(people())
    compared = found.priced.compared
    assert compared is not None
    assert compared.best.loss is not None
    assert any(f"have a loss of {compared.best.loss:.3f} with {compared.best.name}" in note for note in found.notes)


def test_the_strictest_promise_that_is_affordable_is_proposed_with_the_price_of_the_next() -> None:
    frame = people()
    found = afford(propose(frame), frame)
    chosen = [price for price in found.prices if price.chosen]
    assert len(chosen) == 1
    assert chosen[0].loss is not None
    assert chosen[0].loss <= 0.12
    assert any("the next stricter step, " in note for note in found.proposal.notes)


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


def test_a_large_table_is_priced_on_a_sample_and_the_policy_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "MOST_ROWS", 100)
    found = inspect(people(400))
    assert "on a sample of 100 rows" in found.policy


def test_a_rare_value_that_the_sample_lacks_is_guaranteed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "MOST_ROWS", 100)
    frame = people(600).with_columns(hiv=pl.when(pl.int_range(pl.len()) == 0).then(1).otherwise(0))
    rows, roles, found = published(frame)
    assert roles["hiv"] == "sensitive"
    assert {part.get("column") for part in found.proposal.definition} >= {"hiv", "diagnosis"}
    assert smallest(rows, roles) >= 5


def test_too_few_people_have_no_price() -> None:
    frame = people(4)
    found = afford(propose(frame), frame)
    assert (found.prices, found.compared, dict(found.method)) == ((), None, {})


def test_a_column_that_is_the_same_everywhere_is_published_at_no_price() -> None:
    frame = people().with_columns(wave=pl.lit(3))
    rows, roles, _ = published(frame)
    assert roles["wave"] == "quasi"
    assert rows["wave"].unique().to_list() == ["3"]


def test_indicators_of_one_category_are_published_together_or_not_at_all() -> None:
    draw = random.Random(5)
    kinds = [draw.randrange(6) for _ in range(200)]
    frame = people(200, **{f"gadget_{number}": lambda draw: draw.randrange(30) for number in range(8)}).with_columns(
        pl.Series(f"kind{number}", [int(kind == number) for kind in kinds]) for number in range(5)
    )
    found = afford(propose(frame), frame)
    roles = {column.role for column in found.proposal.columns if column.name.startswith("kind")}
    assert len(roles) == 1


@pytest.mark.parametrize("seed", range(4))
def test_what_is_published_of_a_proposal_holds_by_own_count(seed: int) -> None:
    """Random tables with sensitive columns of all kinds: groups of k, and two values or a bounded share, counted in the published rows."""
    draw = random.Random(seed)
    rows = draw.randrange(150, 500)
    made = people(rows).with_columns(
        pl.Series("income", [draw.randrange(1000, 90000) for _ in range(rows)]),
        pl.Series("hiv", [int(draw.random() < 0.03) for _ in range(rows)]),
        pl.Series("religion", [draw.choice("abbbc") for _ in range(rows)]),
        *(pl.Series(f"x{number}", [draw.randrange(2 + 3 * number) for _ in range(rows)]) for number in range(6)),
    )
    table, roles, found = published(made)
    known = [name for name in table.columns if roles[name] != "sensitive"]
    groups = [group for _, group in table.group_by(known)]
    k = found.proposal.definition[0]["k"]
    assert all(group.height >= k for group in groups)
    claims = found.proposal.definition[1:]
    assert {part["column"] for part in claims} == {name for name, role in roles.items() if role == "sensitive"}
    for group, claim in itertools.product(groups, claims):
        values = group[claim["column"]].cast(pl.String)
        if claim["name"] == "ConfidenceBounding":
            assert values.is_in([str(value) for value in claim["values"]]).mean() <= float(Fraction(claim["h"]))
        elif claim["name"] in ("DistinctLDiversity", "RecursiveLDiversity"):
            assert values.n_unique() >= int(claim["l"])


def test_better_groups_are_searched_for_and_published_alike_every_time() -> None:
    frame = couples(200).drop("hours", "exper", "unem")
    rows, _, found = published(frame)
    again, _, repeated = published(frame)
    assert found.priced.method["effort"] == "best"
    assert "seconds" not in found.policy
    assert found.policy == repeated.policy
    assert rows.equals(again)
    cut = rt.Mondrian(values="ranges", split="loss").draft(found.table(), found.parsed().definition)
    assert found.priced.compared is not None
    assert found.priced.compared.best.loss is not None
    assert found.priced.compared.best.loss < 0.95 * utility_of(cut)["loss"]


@pytest.mark.parametrize(("rows", "columns", "effort"), [(500, 20, "best"), (20_000, 10, "good"), (10**6, 9, "quick")])
def test_the_search_is_bounded_by_the_size_of_the_table(rows: int, columns: int, effort: str) -> None:
    assert prices.searched_effort(rows, columns) == effort


def test_a_rare_truth_value_gets_a_bound_that_is_measured() -> None:
    frame = people(300, smoker=lambda draw: draw.random() < 0.2)
    found = inspect(frame)
    bounds = [part for part in found.proposal.definition if part.get("column") == "smoker"]
    assert bounds[0]["name"] == "ConfidenceBounding"
    assert bounds[0]["values"] == ["true"]
    assert found.priced.compared is not None
    assert not found.headline


def test_a_sensitive_column_that_anybody_computes_is_not_published() -> None:
    found = propose(people(300, hiv=lambda draw: draw.randrange(2)))
    ages = pl.Series([20 + number % 40 for number in range(300)])
    priced = prices.Pricing(found, people(300).with_columns(age=ages, hiv=3 * ages + 7), Context())
    promised = ({"name": "KAnonymity", "k": 5}, {"name": "DistinctLDiversity", "l": 2, "column": "hiv"})
    kept, computed = without_computed(priced, ["age", "sex"], promised)
    assert kept == promised[:1]
    assert "3 times 'age' plus 7" in computed["hiv"].how


def test_a_first_proposal_does_not_publish_what_anybody_computes() -> None:
    found = propose(people(300, hiv=lambda draw: draw.randrange(2)))
    assert {each.name: each.role for each in found.columns}["hiv"] == "sensitive"
    ages = pl.Series([20 + number % 40 for number in range(300)])
    first = unpriced(found, people(300).with_columns(age=ages, hiv=3 * ages + 7)).proposal
    hiv = next(each for each in first.columns if each.name == "hiv")
    assert hiv.role is None
    assert "3 times 'age' plus 7" in hiv.reason
    assert all(part.get("column") != "hiv" for part in first.definition)


def test_few_values_under_the_name_of_an_identifier_tell_nobody_apart() -> None:
    frame = people(400, device_protection=lambda draw: draw.choice(["Yes", "No", "No internet service"]))
    rows, roles, _ = published(frame)
    assert roles["device_protection"] == "sensitive"
    assert smallest(rows, roles) >= 5


def test_a_person_with_too_many_rows_of_a_large_table_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "MOST_ROWS", 200)
    ids = [1] * 250 + [number for number in range(2, 377) for _ in range(2)]
    found = inspect(people(1000).with_columns(pl.Series("patient_id", ids)))
    assert found.proposal.unit == "person"
    assert any("all of them cannot" in line and "rows_per_person" in line for line in found.headline)


def test_what_cannot_be_drafted_is_said_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any) -> Any:
        raise rt.PolicyError("no such thing")

    monkeypatch.setattr("reticent.propose.tradeoff.select", refused)
    assert inspect(people(60)).headline[0].endswith("no such thing")


def test_protection_from_any_two_known_columns_is_offered_with_what_it_leaves_open() -> None:
    found = inspect(couples(300))
    offers = [note for note in found.notes if "knows any" in note]
    assert len(offers) == 1
    assert "unique on random columns" in offers[0]
    assert all(part["name"] != "AnyColumns" for part in found.proposal.definition)


def test_the_other_ways_name_commands_and_methods_that_there_are() -> None:
    assert {"Synthetic", "CentralCounts"} <= {word.strip("().,") for word in OTHER_DOORS.split()} & set(METHODS)
    assert "NoisyCounts" in DEFINITIONS
    for command in re.findall(r"reticent ([a-z]+(?: serve| plan)?)", OTHER_DOORS):
        assert CliRunner().invoke(app, [*command.split(), "--help"]).exit_code == 0


def test_prices_of_alternatives_stand_beside_one_that_was_measured_alike() -> None:
    """Groups alone never seem dearer than the same groups with a guarantee about values on top."""
    found = inspect(people(300, job=lambda draw: draw.choice("abcd"), kids=lambda draw: draw.randrange(5)))
    assert found.priced.method.get("effort") == "best"
    note = found.notes[0]
    prices = re.search(
        r"have a loss of ([\d.]+) with \w+\. Alternatives .* lose ([\d.]+): groups alone.* would lose ([\d.]+);", note
    )
    assert prices is not None, note
    chosen, cut, alone = map(float, prices.groups())
    assert chosen < cut
    assert alone <= cut


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        ((0.1, 0.2), "each with the loss that it would add"),
        ((0.1, None), "each with the loss that it would add, where that was measured"),
        ((None, None), "without measuring what each would add"),
    ],
)
def test_only_losses_that_were_measured_are_announced(prices: tuple[float | None, ...], said: str) -> None:
    assert announced_losses([LeftOut(f"column {number}", price) for number, price in enumerate(prices)]) == said


def test_one_known_column_is_enough_beside_a_sensitive_one() -> None:
    """Sixteen people with fifteen rows each: their ages and sexes together leave hardly anything."""
    draw = random.Random(3)
    frame = pl.DataFrame(
        {
            "id": [n // 15 for n in range(240)],
            "sex": ["fm"[n // 15 % 2] for n in range(240)],
            "age": [20 + 5 * (n // 15) for n in range(240)],
            "diagnosis": [draw.choice(["flu", "cold", "ulcer"]) for _ in range(240)],
        }
    )
    found = inspect(frame)
    assert found.roles == {"id": "identifier", "sex": "quasi", "age": None, "diagnosis": "sensitive"}
    assert found.priced.compared is not None
    assert found.priced.compared.best.loss is not None
    assert found.priced.compared.best.loss <= 0.25
