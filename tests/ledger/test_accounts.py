"""One account for each data set: every noisy release is charged to it, by whatever method and under whatever name."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import reticent as rt
from reticent.base.disclosures import Spending
from reticent.base.privacy_cost import Amounts, DeclaredBudget, LossBound, PrivacyCost
from reticent.cli.app import app
from reticent.errors import LedgerError, PolicyError
from reticent.ledger import Account, AccountCharge, Ledger
from tests.methods.mechanisms import CASES, CELLS, FRAME, RANDOM
from tests.oracles.privacy_losses import DELTA, FIGURES, STEP
from tests.sampling import examples

EVERYTHING = {"epsilon": 100, "delta": "0.5"}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def cost(epsilon: str, delta: str = "0", **more: object) -> PrivacyCost:
    return PrivacyCost("counts", {"replace": LossBound(Fraction(epsilon), Fraction(delta))}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", RANDOM)
def test_every_noisy_release_states_its_cost_in_the_account(name: str, book: Path) -> None:
    case = CASES[name].with_budget(**EVERYTHING)
    rt.publish(case.table(dataset="wards"), case.definition, case.method, ledger=book)
    account = rt.ledger.account("wards", ledger=book)
    assert account.unit == "row"
    assert account.relation == ("add/remove" if isinstance(case.definition, rt.UnboundedDP) else "replace")
    assert 0 < account.spent.epsilon < 10
    assert account.left.epsilon == 100 - account.spent.epsilon
    assert len(account.charges) == 1


def test_all_kinds_draw_on_one_account(book: Path) -> None:
    """Releases, joint noise and local noise used to keep a book each."""
    for name in RANDOM:
        case = CASES[name].with_budget(**EVERYTHING, relation="replace")
        rt.publish(case.table(dataset="wards"), case.definition, case.method, ledger=book, again=True)
    account = rt.ledger.account("wards", ledger=book)
    assert len(account.charges) == len(RANDOM)
    assert account.sum.epsilon == sum(each.loss.epsilon for each in account.charges)


def test_neighbours_of_two_relations_are_not_added_as_if_they_were_one(book: Path) -> None:
    """Replacing a row costs counts of a grid twice what adding one does: 1 + 1 is 3 of 2."""
    table = CASES["CentralCounts"].table(dataset="wards")
    rt.publish(table, rt.NoisyCounts(1), rt.CentralCounts(domain=CELLS, budget={"epsilon": 2}), ledger=book)
    grid = rt.GridCounts(grid=CELLS, depth=2)
    with pytest.raises(LedgerError, match="costs epsilon 2 and delta 0"):
        rt.publish(table, rt.UnboundedDP(1), grid, ledger=book, again=True)
    rt.publish(table, rt.UnboundedDP("1/2"), grid, ledger=book, again=True)
    assert rt.ledger.account("wards", ledger=book).left.epsilon == 0


def test_counts_cost_half_where_a_row_is_added_and_groups_with_public_sizes_are_refused(book: Path) -> None:
    central, synthetic = CASES["CentralCounts"], CASES["Synthetic"]
    with Ledger(book) as ledger:
        ledger.accounts.declare("wards", DeclaredBudget(Amounts(Fraction(3), Fraction(1, 10)), None, "add/remove"))
    rt.publish(central.table(dataset="wards"), central.definition, central.method, ledger=book)
    assert rt.ledger.account("wards", ledger=book).spent.epsilon == Fraction(1, 2)
    with pytest.raises(PolicyError, match="reveals the number of rows"):
        rt.publish(synthetic.table(dataset="wards"), synthetic.definition, synthetic.method, ledger=book, again=True)


def test_an_account_of_people_refuses_what_protects_rows(book: Path) -> None:
    with Ledger(book) as ledger:
        ledger.accounts.declare("wards", DeclaredBudget(Amounts(Fraction(3)), "person"))
    case = CASES["CentralCounts"]
    with pytest.raises(PolicyError, match="protects one row, but the account protects one person"):
        rt.publish(case.table(dataset="wards"), case.definition, case.method, ledger=book)
    rt.publish(case.table(dataset="wards", key="person", unit="person"), case.definition, case.method, ledger=book)
    assert rt.ledger.account("wards", ledger=book).unit == "person"


def test_another_name_of_the_same_people_draws_on_the_same_account(book: Path) -> None:
    case = CASES["CentralCounts"].with_budget(epsilon=2)
    for name in ("wards", "hospital"):
        table = case.table(dataset=name, identifiers=["person"])
        rt.publish(table, case.definition, case.method, ledger=book, again=True)
    assert rt.ledger.account("wards", ledger=book).left.epsilon == 0
    with pytest.raises(LedgerError, match="under whatever name") as told:
        rt.publish(
            case.table(dataset="third", identifiers=["person"]), case.definition, case.method, ledger=book, again=True
        )
    assert "another name" not in str(told.value)
    assert "dataset=" not in str(told.value)


def test_releases_without_a_name_are_charged_to_the_account_of_their_people(book: Path) -> None:
    case = CASES["CentralCounts"]
    unnamed = case.table(identifiers=["person"])
    rt.publish(unnamed, case.definition, case.method, ledger=book)
    for table in (unnamed, case.table(identifiers=["person"], dataset="wards")):
        with pytest.raises(LedgerError, match="cannot pay for noisy counts: its epsilon runs out"):
            rt.publish(table, case.definition, case.method, ledger=book, again=True)
    # Draws from a seed protect nobody, and their certificate says so.
    assert rt.publish(unnamed, case.definition, case.method, ledger=book, insecure_seed=1).entry is None


@pytest.mark.parametrize("dataset", [None, "wards"])
@pytest.mark.parametrize(
    "frame",
    [FRAME.head(12), FRAME.head(2), FRAME.filter(pl.col("town") == "Aix").select("town", illness=pl.lit("flu"))],
)
def test_few_rows_without_identifiers_are_accounted_too(frame: pl.DataFrame, dataset: str | None, book: Path) -> None:
    case = CASES["CentralCounts"]
    rt.publish(case.table(frame, dataset=dataset), case.definition, case.method, ledger=book)
    for name in (None, "another name"):
        with pytest.raises(LedgerError, match="epsilon runs out"):
            rt.publish(case.table(frame, dataset=name), case.definition, case.method, ledger=book, again=True)
    # Other rows are other people.
    rt.publish(case.table(FRAME.slice(50, 17), dataset="others"), case.definition, case.method, ledger=book)


def test_many_small_releases_cost_less_together_than_their_sum(book: Path) -> None:
    with Ledger(book) as ledger:
        ledger.accounts.declare("wards", DeclaredBudget(Amounts(Fraction(5), Fraction(1, 10**6))))
        for _ in range(60):
            ledger.charge("wards", cost("1/10"))
        account = ledger.accounts.of("wards")
        assert account.sum == Amounts(Fraction(6), Fraction(0))
        assert account.concentrated is not None
        assert account.spent == account.concentrated
        rho = 60 * 0.1**2 / 2
        assert 2 < account.spent.epsilon < rho + 2 * math.sqrt(rho * math.log(1e6))
        assert account.spent.delta == Fraction(1, 10**6)
        with pytest.raises(LedgerError, match="epsilon runs out"):
            ledger.charge("wards", cost("2"))


LOSSES = st.tuples(st.fractions(Fraction(1, 50), 2, max_denominator=50), st.sampled_from(["0", "1e-7", "1e-6"]))


def least_delta(losses: Sequence[tuple[Fraction, Fraction]], epsilon: float) -> float:
    """The delta that the worst mechanisms of these losses have together at an epsilon: each tells a bit outright with probability delta, and by randomized response otherwise.

    Whatever is (epsilon, delta)-indistinguishable is made from such a bit (Kairouz, Oh and Viswanath 2015), so no bound below this one is true; all answers are enumerated.
    """
    one, other = np.ones(1), np.ones(1)
    hidden = 1.0
    for cost_of_one, delta in losses:
        told = math.exp(float(cost_of_one)) / (1 + math.exp(float(cost_of_one)))
        one = np.concatenate([one * told, one * (1 - told)])
        other = np.concatenate([other * (1 - told), other * told])
        hidden *= 1 - float(delta)
    return 1 - hidden + hidden * float(np.maximum(one - math.exp(epsilon) * other, 0).sum())


@examples(60, few=15)
@given(st.lists(LOSSES, min_size=1, max_size=12))
def test_what_was_spent_is_never_below_the_worst_mechanisms_together(charges: list[tuple[Fraction, str]]) -> None:
    losses = [(epsilon, Fraction(delta)) for epsilon, delta in charges]
    listed = tuple(AccountCharge("counts", LossBound(*each), "") for each in losses)
    account = Account("wards", "row", "replace", Amounts(Fraction(40), Fraction(1, 10**5)), listed)
    figures = [account.sum, account.concentrated]
    assert account.concentrated is not None
    assert account.spent == min(figures, key=lambda each: each.epsilon)
    for figure in figures:
        assert least_delta(losses, float(figure.epsilon)) <= float(figure.delta) * (1 + 1e-9) + 1e-12
    # The sum is exact for what tells outright: a little less epsilon would not be enough.
    assert least_delta(losses, float(account.sum.epsilon) * 0.999) > sum(delta for _, delta in losses) * (1 - 1e-9)


def test_what_was_spent_is_never_below_and_hardly_above_what_dp_accounting_finds() -> None:
    """Eighty accounts of up to eighty releases: the optimum over all mechanisms of these losses, by privacy loss distributions (``tests/oracles/privacy_losses.py``)."""
    ratios = []
    for each in json.loads(FIGURES.read_text("utf-8")):
        charges = [(Fraction(epsilon), Fraction(delta)) for epsilon, delta in each["charges"]]
        losses = tuple(AccountCharge("counts", LossBound(*charge), "") for charge in charges)
        spent = Account("wards", "row", "replace", Amounts(Fraction(200), Fraction(DELTA)), losses).spent
        least = each["least"][str(spent.delta)]
        if least is None:
            assert spent.delta == 0
            continue
        # Its figure is rounded up by a step for each charge.
        assert float(spent.epsilon) >= least - STEP * len(charges)
        ratios.append(float(spent.epsilon) / least)
    assert len(ratios) == 79
    assert max(ratios) < 1.18
    assert np.quantile(ratios, 0.9) < 1.02


def test_without_a_delta_only_the_sum_counts(book: Path) -> None:
    with Ledger(book) as ledger:
        ledger.charge("wards", cost("1/10"), DeclaredBudget(Amounts(Fraction(1, 5))))
        ledger.charge("wards", cost("1/10"))
        assert ledger.accounts.of("wards").concentrated is None
        with pytest.raises(LedgerError, match="runs out"):
            ledger.charge("wards", cost("1/1000"))
        assert ledger.accounts.of("wards").spent.epsilon == Fraction(1, 5)


def test_a_cost_of_kept_draws_is_charged_once(book: Path) -> None:
    with Ledger(book) as ledger:
        for _ in range(3):
            ledger.charge("wards", cost("1", once="memory a"))
        assert ledger.accounts.of("wards").spent.epsilon == 1


def test_perturbation_with_a_memory_is_paid_for_once(book: Path, tmp_path: Path) -> None:
    case = CASES["Perturbation"]
    method = rt.Perturbation(memory=tmp_path / "memory")
    for _ in range(2):
        rt.publish(case.table(dataset="wards", key="person"), case.definition, method, ledger=book, again=True)
    assert float(rt.ledger.account("wards", ledger=book).spent.epsilon) == pytest.approx(1, abs=1e-6)


def test_totals_are_fixed_but_for_a_reason_that_stays_on_record(book: Path) -> None:
    with Ledger(book) as ledger:
        ledger.charge("wards", cost("1"), DeclaredBudget(Amounts(Fraction(1))))
        with pytest.raises(LedgerError, match="cannot change to epsilon 2"):
            ledger.charge("wards", cost("1"), DeclaredBudget(Amounts(Fraction(2))))
        with pytest.raises(LedgerError, match="pass a reason"):
            ledger.accounts.declare("wards", DeclaredBudget(Amounts(Fraction(2))))
        with pytest.raises(
            LedgerError, match="has the relation 'replace', which a release cannot change to 'add/remove'"
        ):
            ledger.accounts.declare("wards", DeclaredBudget(Amounts(Fraction(2)), None, "add/remove"), "why not")
        ledger.accounts.declare("wards", DeclaredBudget(Amounts(Fraction(2))), "the board decided so")
        ledger.charge("wards", cost("1"))
    with Ledger(book) as ledger:
        assert ledger.accounts.of("wards").left.epsilon == 0


def test_what_an_earlier_version_spent_counts(book: Path) -> None:
    """Its budgets added both relations up: what a grid cost counts twice where rows are replaced."""
    with Ledger(book) as ledger:
        for content, amount, purpose in (("a", "1", "noisy counts"), ("b", "1/2", "a sample on a grid")):
            spend = [Spending("epsilon", amount, purpose, total=4)]
            ledger.record(
                "wards", content, lambda entry: "c", beside=lambda given: rt.base.disclosures.allow(), spend=spend
            )
        account = ledger.accounts.of("wards")
        assert (account.relation, account.total.epsilon, account.spent.epsilon) == ("replace", 4, 2)
        ledger.charge("wards", cost("2"))
        assert ledger.accounts.of("wards").left.epsilon == 0
        with pytest.raises(LedgerError, match="runs out"):
            ledger.charge("wards", cost("1/100"))


def test_what_is_withdrawn_because_it_was_never_written_costs_nothing(book: Path) -> None:
    case = CASES["CentralCounts"]
    release = rt.publish(case.table(dataset="wards"), case.definition, case.method, ledger=book)
    assert release.entry is not None
    with Ledger(book) as ledger:
        assert ledger.accounts.of("wards").left.epsilon == 0
        ledger.withdraw(release.entry, "the disk was full")
        assert ledger.accounts.of("wards").left.epsilon == 1
    rt.publish(case.table(dataset="wards"), case.definition, case.method, ledger=book).save(book.parent / "release")
    assert rt.ledger.account("wards", ledger=book).left.epsilon == 0


def test_there_is_no_account_before_the_first_release(book: Path) -> None:
    with pytest.raises(LedgerError, match="There is no ledger at"):
        rt.ledger.account("wards", ledger=book)
    with Ledger(book) as ledger:
        ledger.charge("wards", cost("1"))
    with pytest.raises(LedgerError, match=r"no account of a data set 'ward'\. Did you mean 'wards'"):
        rt.ledger.account("ward", ledger=book)


def test_the_command_line_shows_and_opens_accounts(book: Path) -> None:
    def call(*arguments: str, code: int = 0) -> dict[str, object]:
        done = CliRunner().invoke(app, ["ledger", "budget", *arguments, "--ledger", str(book), "--json"])
        assert done.exit_code == code, done.output
        return dict(json.loads(done.stdout)) if code == 0 else {}

    opened = call("wards", "--epsilon", "3", "--delta", "1e-6", "--unit", "row", "--relation", "replace")
    assert opened["total"] == {"epsilon": "3", "delta": "1/1000000"}
    case = CASES["CentralCounts"]
    rt.publish(case.table(dataset="wards"), case.definition, case.method, ledger=book)
    shown = call("wards")
    assert (shown["ok"], shown["unit"], shown["relation"]) == (True, "row", "replace")
    assert shown["spent"] == {"epsilon": "1", "delta": "0"}
    assert shown["left"] == {"epsilon": "2", "delta": "1/1000000"}
    assert [each["dataset"] for each in call()["accounts"]] == ["wards"]  # type: ignore[attr-defined]
    plain = CliRunner().invoke(app, ["ledger", "budget", "wards", "--ledger", str(book)])
    assert "1 of 3 spent" in plain.stdout
    assert "noisy counts" in plain.stdout
    call("wards", "--epsilon", "4", code=1)
    assert call("wards", "--epsilon", "4", "--reason", "the board decided so")["total"]["epsilon"] == "4"  # type: ignore[index]
    call("--epsilon", "4", code=1)
    call("wards", "--unit", "person", code=1)


def test_a_policy_and_the_api_spell_budgets_alike(book: Path, tmp_path: Path) -> None:
    for name in RANDOM:
        case = CASES[name].with_budget(epsilon="1/7")
        assert "budget" not in case.method.describe()
        with pytest.raises(PolicyError, match=f"{name}: budget must name the totals of epsilon and delta"):
            CASES[name].with_budget(eps=1)


def test_a_frame_is_charged_as_a_table_is(book: Path) -> None:
    frame = pl.DataFrame({"town": ["Aix", "Apt"], "age": [1, 2]})
    plan = rt.randomize.plan(n=2, domain={"town": 3, "age": 9}, k=3, gamma="1/2")
    domain = {"town": ["Aix", "Apt", "Arles"], "age": list(range(9))}
    rt.randomize.publish(frame, plan, domain, dataset="few", ledger=book, budget={"epsilon": 20})
    assert float(rt.ledger.account("few", ledger=book).spent.epsilon) == pytest.approx(plan.dp_epsilon)
