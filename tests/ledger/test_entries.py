"""Entries: reserved, given out, withdrawn; judged beside each other; spending and the state of a series in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.base.disclosures import Judgement, PriorDisclosure, SeriesState, Spending, allow, refuse, unjudged
from reticent.errors import LedgerError
from reticent.ledger import AuditVerdict, Entry, Ledger
from tests.sampling import examples


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def certify(entry: Entry) -> str:
    return f"certificate {entry.number} {entry.note}"


def test_an_entry_is_reserved_then_given_out_and_giving_it_out_again_changes_nothing(ledger: Ledger) -> None:
    entry = ledger.record("people", "a", certify)
    assert (entry.status, entry.new, ledger.entries("people")[0].status) == ("reserved", True, "reserved")
    out = ledger.give_out(entry)
    assert out.status == "given out"
    assert ledger.give_out(entry) == out
    assert ledger.entries("people") == [out]


def test_a_reservation_keeps_others_back_as_a_release_does(ledger: Ledger) -> None:
    ledger.record("people", "a", certify)
    with pytest.raises(LedgerError, match="was released already: release 1"):
        ledger.record("people", "b", certify)


def test_withdrawn_content_can_be_recorded_again_and_its_number_never(ledger: Ledger) -> None:
    first = ledger.record("people", "a", certify)
    ledger.withdraw(first, "the disk was full")
    again = ledger.record("people", "a", certify)
    assert (again.number, again.note) == (2, "")
    assert [(each.number, each.status, each.reason) for each in ledger.entries("people")] == [
        (1, "withdrawn", "the disk was full"),
        (2, "reserved", ""),
    ]
    with pytest.raises(LedgerError, match=r"Release 1 of the data set 'people' was withdrawn .*the disk was full"):
        ledger.give_out(first)


def test_what_was_given_out_cannot_be_withdrawn_and_a_withdrawal_needs_a_reason(ledger: Ledger) -> None:
    entry = ledger.record("people", "a", certify)
    with pytest.raises(LedgerError, match="Pass a reason"):
        ledger.withdraw(entry, " ")
    ledger.give_out(entry)
    with pytest.raises(LedgerError, match=r"was given out .* cannot be withdrawn"):
        ledger.withdraw(entry, "I changed my mind")


def test_an_entry_of_another_ledger_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    with Ledger(tmp_path / "other.sqlite") as other:
        foreign = other.record("people", "a", certify)
    with pytest.raises(LedgerError, match="has no release 1 of the data set 'people'"):
        ledger.give_out(foreign)
    ledger.record("people", "b", certify)
    with pytest.raises(LedgerError, match="has other content"):
        ledger.give_out(foreign)


@given(st.lists(st.booleans(), min_size=1, max_size=12))
@examples(20)
def test_numbers_rise_by_one_whatever_is_withdrawn(tmp_path_factory, withdrawn: list[bool]) -> None:
    with Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite") as ledger:
        for number, is_withdrawn in enumerate(withdrawn, start=1):
            entry = ledger.record("people", f"content {number % 3}", certify, beside=unjudged)
            if entry.new and is_withdrawn:
                ledger.withdraw(entry, "never written")
        numbers = [each.number for each in ledger.entries("people")]
    assert numbers == list(range(1, len(numbers) + 1))


def test_names_that_differ_in_case_width_or_outer_spaces_are_one_data_set(ledger: Ledger) -> None:
    ledger.record("Straße 1", "a", certify)
    for name in ("straße 1 ", "STRASSE 1", "ｓｔｒａｓｓｅ　1", "Straße  1"):
        with pytest.raises(LedgerError, match="was released already"):
            ledger.record(name, "b", certify)
    assert ledger.datasets() == ["Straße 1"]


def test_beside_sees_everything_that_is_not_withdrawn_and_its_note_reaches_the_certificate(ledger: Ledger) -> None:
    ledger.withdraw(ledger.record("people", "a", certify), "never written")
    ledger.record("people", "b", certify, kind="alpha-beta", details={"views": 2})
    asked: list[Sequence[PriorDisclosure]] = []

    def beside(given: Sequence[PriorDisclosure]) -> Judgement:
        asked.append(given)
        return allow("judged together with view 1")

    entry = ledger.record("people", "c", certify, kind="alpha-beta", beside=beside)
    assert [(each.kind, each.number, each.details) for each in asked[0]] == [("alpha-beta", 2, {"views": 2})]
    assert entry.certificate == "certificate 3 judged together with view 1"
    with pytest.raises(LedgerError, match="these two do not fit"):
        ledger.record("people", "d", certify, beside=lambda given: refuse("these two do not fit"))


def test_something_recorded_while_it_was_judged_makes_it_be_judged_again(ledger: Ledger) -> None:
    seen: list[int] = []

    def beside(given: Sequence[PriorDisclosure]) -> Judgement:
        seen.append(len(given))
        if len(given) < 2:
            with Ledger(ledger.path) as another:
                another.record("people", f"other {len(given)}", certify, beside=unjudged)
        return allow(f"beside {len(given)}")

    entry = ledger.record("people", "mine", certify, beside=beside)
    assert seen == [0, 1, 2]
    assert (entry.number, entry.note) == (3, "beside 2")


def test_content_made_from_an_older_position_is_refused(ledger: Ledger) -> None:
    position = ledger.position("people")
    first = ledger.record("people", "a", certify, since=position)
    with pytest.raises(LedgerError, match="while this was being made"):
        ledger.record("people", "b", certify, beside=unjudged, since=position)
    position = ledger.position("people")
    ledger.withdraw(first, "never written")
    assert ledger.position("people") > position


def test_spending_and_entry_are_one_transaction(ledger: Ledger) -> None:
    ledger.record("people", "a", certify, spend=[Spending("epsilon", "3/4", "histogram", total=1)])
    assert ledger.budgets.of("people", "epsilon").left == Fraction(1, 4)
    with pytest.raises(LedgerError, match="has 1/4 of 1 left, but 1/2 was requested"):
        ledger.record("people", "b", certify, beside=unjudged, spend=[Spending("epsilon", "1/2")])
    assert [each.content for each in ledger.entries("people")] == ["a"]
    # The same content tells nobody anything new, so it costs nothing.
    assert ledger.record("people", "a", certify, spend=[Spending("epsilon", "3/4")]).number == 1
    assert ledger.budgets.of("people", "epsilon").left == Fraction(1, 4)


def test_a_budget_that_cannot_be_paid_leaves_the_ledger_usable(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="There is no budget"):
        ledger.record("people", "a", certify, spend=[Spending("epsilon", 1)])
    assert ledger.datasets() == []
    assert ledger.record("people", "a", certify).number == 1


def test_a_series_goes_on_only_from_its_true_state(ledger: Ledger) -> None:
    assert ledger.state("people", "tau") is None
    one = SeriesState("tau", "v1", {"index": 1})
    first = ledger.record("people", "a", certify, state=one)
    assert ledger.state("people", "tau") == one
    with pytest.raises(LedgerError, match="is at version 'v1', but this was made from None"):
        ledger.record("people", "b", certify, beside=unjudged, state=SeriesState("tau", "v2"))
    two = SeriesState("tau", "v2", {"index": 2}, follows="v1")
    second = ledger.record("people", "b", certify, beside=unjudged, state=two)
    assert ledger.state("people", "tau") == two
    ledger.withdraw(second, "never written")
    assert ledger.state("people", "tau") == one
    with pytest.raises(LedgerError, match="'v2' of the series 'tau' was used before"):
        ledger.record("people", "c", certify, beside=unjudged, state=two)
    ledger.give_out(first)


def test_the_hash_that_an_earlier_version_made_is_accepted_once(ledger: Ledger) -> None:
    first = ledger.record("people", "old", certify)
    same = ledger.record("people", "new", certify, formerly=lambda: ("older", "old"))
    assert (same.number, same.made, same.content, same.new) == (1, first.made, "new", False)
    assert ledger.record("people", "new", certify).number == 1
    with pytest.raises(LedgerError, match="was released already"):
        ledger.record("people", "old", certify)


def test_spendings_and_answers_are_entries_from_their_first_on(ledger: Ledger) -> None:
    ledger.budgets.open("spent", "epsilon", 1)
    ledger.spend("spent", "epsilon", "1/2")
    ledger.spend("spent", "epsilon", "1/4")
    question = ledger.audits.ask("asked", "alice", "SELECT ...")
    denied = AuditVerdict("salary", "sum", "one", 1, False, "unsafe", "Unsafe.")
    ledger.audits.decide("asked", question, denied)
    assert ledger.entries("asked") == []
    for identity in ("two", "three"):
        ledger.audits.decide("asked", question, AuditVerdict("salary", "sum", identity, 9, True, "safe", "Safe.", b"m"))
    assert [(each.kind, each.status) for each in ledger.entries("spent")] == [("budget", "given out")]
    assert [(each.kind, each.status) for each in ledger.entries("asked")] == [("answers", "given out")]
    for name in ("spent", "asked"):
        with pytest.raises(LedgerError, match="was released already"):
            ledger.record(name, "a", certify)
    assert "answers 1" in ledger.record("asked", "a", certify, beside=unjudged).note


def test_answers_beside_a_release_are_refused_unless_allowed(ledger: Ledger) -> None:
    ledger.record("people", "a", certify)
    question = ledger.audits.ask("people", "alice", "SELECT ...")
    verdict = AuditVerdict("salary", "sum", "two", 2, True, "safe", "Safe.", b"m")
    with pytest.raises(LedgerError, match="was released already"):
        ledger.audits.decide("people", question, verdict)
    assert ledger.audits.after("people") == []
    assert ledger.audits.decide("people", question, verdict, beside=unjudged).answered
    assert "release 1" in ledger.entries("people")[1].note


def test_what_was_checked_is_remembered_until_somebody_changes_it(ledger: Ledger) -> None:
    entry = ledger.record("people", "a", certify)
    before = ledger.entries("people")
    with Ledger(ledger.path) as other:
        other.withdraw(entry, "by another process")
    assert [each.status for each in before] == ["reserved"]
    assert [each.status for each in ledger.entries("people")] == ["withdrawn"]
    with pytest.raises(LedgerError, match="withdrawn"):
        ledger.give_out(entry)


def test_what_a_failed_transaction_read_is_not_remembered(ledger: Ledger) -> None:
    entry = ledger.record("people", "a", certify)

    def fails(given: Entry) -> str:
        assert ledger._made
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        ledger.record("people", "b", fails, beside=unjudged)
    assert [each.content for each in ledger.entries("people")] == ["a"]
    with Ledger(ledger.path) as other:
        other.give_out(entry)
    assert ledger.record("people", "b", certify, beside=unjudged).number == 2
    assert [each.status for each in ledger.entries("people")] == ["given out", "reserved"]
