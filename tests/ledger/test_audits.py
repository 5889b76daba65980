"""What the ledger remembers of audited SQL."""

from __future__ import annotations

import multiprocessing
from fractions import Fraction
from pathlib import Path

import pytest

from reticent.errors import LedgerError
from reticent.ledger import AuditVerdict, Ledger


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def verdict(identity: str = "set 1", **changes) -> AuditVerdict:
    given = {
        "column": "salary",
        "function": "sum",
        "identity": identity,
        "size": 3,
        "answered": True,
        "rule": "safe",
        "reason": "Safe.",
    }
    return AuditVerdict(**{**given, "members": b"members", **changes})


def test_a_decision_is_found_by_what_it_is_about_and_its_answer_is_filled_in_once(ledger: Ledger) -> None:
    audits = ledger.audits
    question = audits.ask("people", "alice", "SELECT ...")
    entry = audits.decide("people", question, verdict())
    assert (entry.number, entry.answer, entry.members) == (1, None, b"members")
    audits.answer(entry.number, Fraction(10, 3), durable=True)
    audits.answer(entry.number, Fraction(10, 3), durable=False)
    with pytest.raises(LedgerError, match="has another answer already, or was denied"):
        audits.answer(entry.number, Fraction(4), durable=True)
    assert audits.find("people", "salary", "sum", "set 1").answer == Fraction(10, 3)
    assert audits.find("people", "salary", "max", "set 1") is None
    assert audits.find("others", "salary", "sum", "set 1") is None


def test_a_denied_decision_takes_no_answer_and_the_same_query_is_not_decided_twice(ledger: Ledger) -> None:
    audits = ledger.audits
    question = audits.ask("people", "alice", "SELECT ...")
    denied = audits.decide("people", question, verdict(answered=False, members=None))
    with pytest.raises(LedgerError, match="was denied"):
        audits.answer(denied.number, Fraction(4), durable=True)
    with pytest.raises(LedgerError, match="Decision 1 is about the same query already"):
        audits.decide("people", question, verdict())
    audits.decide("others", question, verdict())
    assert [entry.answered for entry in audits.after("people")] == [False]
    assert audits.after("people", denied.number) == []


def test_questions_are_kept_for_each_person_with_their_decisions(ledger: Ledger) -> None:
    audits = ledger.audits
    first, second = audits.ask("people", "alice", "one"), audits.ask("people", "bob", "two")
    entry = audits.decide("people", first, verdict())
    audits.asked_again(second, entry.number)
    audits.asked_again(second, entry.number)
    assert [(each.asker, each.text, each.decisions) for each in audits.questions("people")] == [
        ("bob", "two", (1,)),
        ("alice", "one", (1,)),
    ]
    assert [each.number for each in audits.questions("people", "alice")] == [first]
    assert audits.questions("people", before=first) == []
    assert audits.asked_since("people", "alice", "2000-01-01T00:00:00Z") == 1
    assert audits.asked_since("people", "alice", "2999-01-01T00:00:00Z") == 0


def test_a_question_that_names_the_same_twice_led_to_one_decision(ledger: Ledger) -> None:
    audits = ledger.audits
    question, other = audits.ask("people", "alice", "one"), audits.ask("people", "bob", "two")
    entry = audits.decide("people", question, verdict())
    audits.asked_again(question, entry.number)
    assert audits.questions("people", "alice")[0].decisions == (1,)
    # What another process decides is found as well.
    with Ledger(ledger.path) as another:
        another.audits.decide("people", question, verdict("set 2"))
    assert audits.questions("people", "alice")[0].decisions == (1, 2)
    assert [audits.decision("people", 2, who) is None for who in ("alice", "bob", None)] == [False, True, False]
    audits.asked_again(other, 2)
    assert audits.decision("people", 2, "bob") is not None


def test_the_same_query_is_not_decided_by_two_processes(ledger: Ledger) -> None:
    question = ledger.audits.ask("people", "alice", "one")
    ledger.audits.decide("people", question, verdict("set 1"))
    with Ledger(ledger.path) as another:
        another.audits.decide("people", question, verdict("set 2"))
        with pytest.raises(LedgerError, match="Decision 2 is about the same query already"):
            ledger.audits.decide("people", question, verdict("set 2"))
        # What was refused is forgotten.
        assert ledger.audits.decide("people", question, verdict("set 3")).number == 3
        assert another.audits.find("people", "salary", "sum", "set 3").number == 3


def test_an_answer_that_another_process_filled_in_is_found(ledger: Ledger) -> None:
    question = ledger.audits.ask("people", "alice", "one")
    entry = ledger.audits.decide("people", question, verdict())
    with Ledger(ledger.path) as another:
        another.audits.answer(entry.number, Fraction(5), durable=False)
    assert ledger.audits.find("people", "salary", "sum", "set 1").answer == 5
    with pytest.raises(LedgerError, match="has another answer already"):
        ledger.audits.answer(entry.number, Fraction(6), durable=False)


def test_a_decision_that_cannot_be_paid_is_not_taken(ledger: Ledger) -> None:
    audits = ledger.audits
    ledger.budgets.open("people", "noise", 1, column="salary")
    question = audits.ask("people", "alice", "SELECT ...")
    audits.decide("people", question, verdict("set 1", cost="3/4"), "noise")
    with pytest.raises(LedgerError, match="has 1/4 of 1 left, but 3/4 was requested"):
        audits.decide("people", question, verdict("set 2", cost="3/4"), "noise")
    assert len(audits.after("people")) == 1
    assert ledger.budgets.of("people", "noise", column="salary").left == Fraction(1, 4)


def test_variables_are_appended_in_order_and_only_with_the_same_key(ledger: Ledger) -> None:
    audits = ledger.audits
    audits.register("people", "salary", "key 1", 0, b"a" * 32)
    audits.register("people", "salary", "key 1", 2, b"b" * 16)
    assert audits.hashes("people", "salary", "key 1") == b"a" * 32 + b"b" * 16
    with pytest.raises(LedgerError, match="at the same time"):
        audits.register("people", "salary", "key 1", 2, b"c" * 16)
    with pytest.raises(LedgerError, match="registered with another key"):
        audits.hashes("people", "salary", "key 2")


def hold(path: Path, entered, leave) -> None:
    with Ledger(path) as ledger:
        turns = ledger.turns("people")
        with turns.taken():
            entered.set()
            leave.wait()


def test_turns_are_taken_one_after_the_other_and_a_killed_process_loses_its_own(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    entered, leave = spawn.Event(), spawn.Event()
    holder = spawn.Process(target=hold, args=(tmp_path / "ledger.sqlite", entered, leave))
    holder.start()
    assert entered.wait(60)
    with Ledger(tmp_path / "ledger.sqlite", timeout=0.2) as ledger:
        turns, others = ledger.turns("people"), ledger.turns("other people")
        with others.taken():
            pass
        with pytest.raises(LedgerError, match="Another process has been deciding"), turns.taken():
            pass
        holder.kill()
        holder.join()
        with turns.taken():
            pass
        turns.close()
        others.close()
