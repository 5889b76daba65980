"""Parties as processes over sockets: answers, faults that only a real network has, budgets, figures."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.errors import Cancelled, DataError, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.noise import Identity, LifetimeBudget, NoiseAborted, PartyAddress, PartySettings, run_local, run_party
from reticent.noise import local_run as running
from reticent.noise.local_run import run_task
from reticent.noise.party import _stoppable, bound
from tests.noise.worlds import small_task

ROWS = [[1], [0], [1], [1]]


def without_noise(rows, behaviours=None, faults=1, patience=20.0, **given):
    """A run of processes whose task has no noise: the hook exists in tests alone."""
    planned = rt.noise.plan(
        1, "1e-3", len(rows), faults, given.get("query", "count"), level=given.get("level", "byzantine")
    )
    task = small_task(len(rows), faults, **given)
    return run_task(planned, task, rows, behaviours or {}, {}, patience, Context(), time.monotonic())


def test_a_histogram_has_the_coins_of_its_plan_and_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = run_local([[0, 1, 1], [2], [], [1, 0]], epsilon=1, delta="1e-6", faults=1, query="histogram", cells=3)
    assert answer.coins == 4 * rt.noise.plan(1, "1e-6", 4, 1, "histogram").quota == 200
    assert len(answer.total) == 3
    assert sum(abs(value) for value in answer.total) < 3 * 100
    assert (answer.level, answer.faults, answer.blamed, answer.included) == ("byzantine", 1, {}, (1, 2, 3, 4))
    assert all(each.numbers == tuple(answer.total) for each in answer.results)
    assert all(each.figures["connecting"] < 30 for each in answer.results)
    assert [entry["step"] for entry in answer.transcript] == [
        "declare",
        "rows/complain",
        "counts",
        "coins",
        "digest",
        "answer",
    ]
    assert "Joint histogram of 4 parties" in repr(answer)
    assert list(tmp_path.iterdir()) == []
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    left = (
        [Path(f"/proc/{child}/cmdline").read_text() for child in children.read_text().split()]
        if children.exists()
        else []
    )
    assert not [each for each in left if "reticent.noise.party" in each]


def slow(*given):
    return pytest.param(*given, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "patience"),
    [
        ("disconnect", 20.0),
        ("late", 1.0),
        slow("crash@digest", 20.0),
        slow("replay", 20.0),
        slow("stall some", 1.0),
    ],
)
def test_faults_of_a_real_network_leave_the_right_answer_and_the_culprit_named(name, patience):
    answer = without_noise(ROWS, {2: name}, patience=patience, quota=0)
    assert answer.total == 3
    honest = [each for each in answer.results if each.party != 2]
    assert [each.numbers for each in honest] == [(3,)] * 3
    assert set(answer.blamed) == {2}


def test_more_faults_than_promised_end_in_an_abort_that_names_them_and_costs_nothing(tmp_path):
    budgets = {1: LifetimeBudget(tmp_path / "one.sqlite", "hospital", "2")}
    with pytest.raises(NoiseAborted, match="The parties have no answer") as caught:
        run_local(ROWS, budgets=budgets, behaviours={2: "crash@coins", 3: "crash@coins"})
    assert set(caught.value.blamed) == {2, 3}
    assert not caught.value.opened
    with Ledger(tmp_path / "one.sqlite") as ledger:
        assert ledger.accounts.all() == []


@pytest.mark.slow
def test_one_who_lies_at_the_semi_honest_level_spoils_the_run_and_no_wrong_answer_comes_out():
    with pytest.raises(NoiseAborted, match="use level 'byzantine'"):
        without_noise([[1], [1], [0]], {2: "lie in openings"}, level="semi-honest")


def test_clients_share_with_servers_and_leave():
    answer = run_local([[1], [0]], servers=4, epsilon=8)
    assert answer.included == tuple(range(1, 7))
    assert len(answer.results) == 4


def test_every_party_charges_its_own_budget_and_the_others_go_on_without_one_that_cannot_pay(tmp_path):
    """Who cannot pay does not begin, and counts against the faults."""
    budgets = {
        1: LifetimeBudget(tmp_path / "one.sqlite", "hospital", "3/2"),
        2: LifetimeBudget(tmp_path / "two.sqlite", "hospital", "1/2"),
    }
    answer = run_local(ROWS, budgets=budgets)
    assert answer.included == (1, 3, 4)
    # 28 coins of each of three parties are in it, not those of the fourth.
    assert answer.coins == 84
    assert answer.describe()["standard_error"] == pytest.approx(84**0.5 / 2)
    assert answer.results[1].numbers is None
    assert "its epsilon runs out. It has epsilon 0.5 of 0.5" in str(answer.results[1].aborted)
    with Ledger(tmp_path / "one.sqlite") as ledger:
        assert ledger.accounts.of("hospital").left.epsilon == Fraction(1, 2)
    with Ledger(tmp_path / "two.sqlite") as ledger:
        assert ledger.accounts.all() == []


def test_a_run_can_be_stopped_while_the_parties_compute_and_none_is_left(monkeypatch):
    started, true = [], subprocess.Popen
    monkeypatch.setattr(
        running.subprocess, "Popen", lambda *given, **named: started.append(true(*given, **named)) or started[-1]
    )
    stages = []
    context = Context(listen=lambda event: stages.append(event.stage), stop=lambda: "computing jointly" in stages)
    with pytest.raises(Cancelled, match="while computing jointly"):
        run_local(ROWS, context=context)
    assert len(started) == 4
    assert all(process.poll() is not None for process in started)


def test_one_party_runs_from_settings_of_its_own(tmp_path):
    """What a deployment does: keys from files, places known before, one call a party; here in threads."""
    identities = []
    for party in range(4):
        Identity.new().save(tmp_path / f"{party}.pem")
        identities.append(Identity.load(tmp_path / f"{party}.pem"))
    sockets = [bound("127.0.0.1", 0) for _ in range(4)]
    places = tuple(PartyAddress("127.0.0.1", each.getsockname()[1]) for each in sockets)
    task = small_task(4, 1)
    found = {}

    def one(party):
        settings = PartySettings(task, party, identities[party], tuple(each.public for each in identities), places)
        found[party] = run_party(settings, ROWS[party], sockets[party])

    threads = [threading.Thread(target=one, args=(party,)) for party in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [found[party][0].numbers for party in range(4)] == [(3,)] * 4
    assert all(figures.rounds == 31 for _, figures in found.values())


def test_runs_are_charged_again_and_again_until_epsilon_or_delta_runs_out(tmp_path):
    """Losses add up over runs of one data set, whatever was released of it between them; what ran out is named."""
    task = replace(small_task(4, 1), epsilon="1", delta="1/1000000")
    book = tmp_path / "one.sqlite"
    for epsilon, delta, dataset, ran_out in (
        ("2", "1", "one", "'one' cannot pay for joint .*: its epsilon runs out. It has epsilon 0 of 2 "),
        (
            "9",
            "2e-6",
            "two",
            "'two' cannot pay for joint .*: its delta runs out. It has epsilon 7 of 9 and delta 0 of 2e-06 left",
        ),
    ):
        budget = LifetimeBudget(book, dataset, epsilon, delta)
        budget.check(task)
        budget.charge(task)
        frame = pl.DataFrame({"illness": ["flu"] * 4})
        rt.publish(rt.Table(frame, quasi=["illness"], dataset=dataset), rt.KAnonymity(2), ledger=book, again=True)
        budget.check(task)
        budget.charge(task)
        with pytest.raises(LedgerError, match=ran_out):
            budget.check(task)
        with pytest.raises(LedgerError, match="Nothing was charged"):
            budget.charge(task)
        with Ledger(book) as ledger:
            assert dict(ledger.accounts.of(dataset).spent) == {"epsilon": 2, "delta": Fraction("2e-6")}


@pytest.mark.parametrize(("budget", "named"), [(("1/2", "1"), "epsilon"), (("2", "1e-4"), "delta")])
def test_a_party_whose_budget_is_spent_does_not_begin(tmp_path, budget, named):
    budget = LifetimeBudget(tmp_path / "one.sqlite", "hospital", *budget)
    identities = [Identity.new() for _ in range(4)]
    keys = tuple(each.public for each in identities)
    place = PartyAddress("127.0.0.1", 1)
    settings = PartySettings(small_task(4, 1), 0, identities[0], keys, (place,) * 4, budget=budget)
    with pytest.raises(LedgerError, match=f"its {named} runs out.* Nothing was sent"):
        run_party(settings, [1])


def test_a_party_that_is_stopped_says_what_it_cost(tmp_path):
    """Before the answer is opened nothing is charged; afterwards it is, and the message says so."""
    sockets = [bound("127.0.0.1", 0) for _ in range(4)]
    places = tuple(PartyAddress("127.0.0.1", each.getsockname()[1]) for each in sockets)
    identities = [Identity.new() for _ in range(4)]
    budget = LifetimeBudget(tmp_path / "one.sqlite", "hospital", "2", "1")
    settings = PartySettings(
        small_task(4, 1), 0, identities[0], tuple(each.public for each in identities), places, budget=budget
    )
    with pytest.raises(Cancelled, match="Nothing was opened and nothing was charged"):
        run_party(settings, [1], sockets[0], stop=lambda: True)
    with Ledger(tmp_path / "one.sqlite") as ledger:
        assert ledger.accounts.all() == []

    async def opened():
        settings.budget.charge(settings.task)
        await asyncio.sleep(60)

    with pytest.raises(Cancelled, match="the run was charged where there is a budget"):
        asyncio.run(_stoppable(opened(), lambda: True, [None]))


def test_parties_who_stay_away_end_in_an_abort_that_names_them():
    identities = [Identity.new() for _ in range(4)]
    place = PartyAddress("127.0.0.1", 1)
    settings = PartySettings(
        small_task(4, 1), 3, identities[3], tuple(each.public for each in identities), (place,) * 4, gathering=0.3
    )
    with pytest.raises(NoiseAborted, match="missing: 1, 2, 3") as caught:
        run_party(settings, [1], bound("127.0.0.1", 0))
    assert set(caught.value.blamed) == {0, 1, 2}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"values": []}, DataError, "There are no parties"),
        ({"values": [1, 0, 1, 1]}, DataError, r"values\[0\] must be the list of rows of party 1, but it is 1"),
        ({"values": ROWS, "patience": 0}, PolicyError, "patience must be a number of seconds"),
        ({"values": ROWS, "most_rows": 0}, PolicyError, "most_rows must be at least 1"),
        ({"values": [[1, 0], [], [], []], "most_rows": 1}, DataError, "agreed on at most 1 each"),
        (
            {"values": ROWS, "budgets": {5: LifetimeBudget(Path("l"), "d", "1")}},
            PolicyError,
            "budgets must map parties, 1 to 4",
        ),
        ({"values": ROWS, "budgets": {1: "2"}}, PolicyError, "to a LifetimeBudget, but it has 1: '2'"),
        ({"values": [[2], [0], [0], [0]]}, DataError, r"values\[0\], row 1: 2 is not 0 or 1"),
        ({"values": ROWS, "faults": 2}, PolicyError, "fewer than a third"),
        ({"values": ROWS, "behaviours": {1: "dance"}}, PolicyError, "There is no behaviour 'dance'"),
        ({"values": ROWS, "behaviours": {9: "crash"}}, PolicyError, "there is no party 9"),
        ({"values": ROWS, "servers": 4, "level": "semi-honest"}, PolicyError, "level='byzantine'"),
        (
            {"values": [[1], [1]], "faults": 0},
            PolicyError,
            "2 parties cannot tolerate 1 faulty ones.*Use at least 4 parties\\.$",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_starts(given, error, message):
    with pytest.raises(error, match=message):
        run_local(**given)


@pytest.mark.slow
def test_a_frozen_process_hangs_nobody():
    """A party whose process is stopped in the middle keeps its links open and reads nothing; the others end without it."""
    frozen = []

    def freeze():
        children = Path(f"/proc/self/task/{main_thread}/children")
        while not frozen:
            time.sleep(0.05)
            for child in children.read_text().split():
                sockets = Path("/proc", child, "net/tcp").exists() and list(Path("/proc", child, "fd").iterdir())
                # More than one socket: it has begun to talk to the others.
                if sockets and sum("socket" in os.readlink(each) for each in sockets) >= 4:
                    os.kill(int(child), signal.SIGSTOP)
                    frozen.append(int(child))
                    return

    main_thread = threading.get_native_id()
    watcher = threading.Thread(target=freeze, daemon=True)
    watcher.start()
    answer = run_local([[k % 50] * 20 for k in range(4)], query="histogram", cells=50, patience=10)
    assert len(frozen) == 1
    assert sum(each.numbers is not None for each in answer.results) == 3
