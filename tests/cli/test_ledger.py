"""``reticent ledger``: what was given out, withdrawing what never left, going on with a restored backup."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reticent.base.disclosures import unjudged
from reticent.ledger import Ledger
from tests.cli.conftest import Command


@pytest.fixture
def book(place: Path) -> Path:
    path = place / "ledger" / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.give_out(ledger.record("patients", "a" * 64, lambda entry: "c"))
        ledger.record("patients", "b" * 64, lambda entry: "c", beside=unjudged)
        ledger.record("voters", "c" * 64, lambda entry: "c", kind="alpha-beta", details={"views": 2})
    return path


def test_entries_are_listed_by_data_set(book: Path, reticent: Command) -> None:
    found = reticent("ledger", "list", "--json")
    assert (found.code, found.json["ledger"]) == (0, str(book))
    assert [(each["dataset"], each["number"], each["kind"], each["status"]) for each in found.json["entries"]] == [
        ("patients", 1, "release", "given out"),
        ("patients", 2, "release", "reserved"),
        ("voters", 1, "alpha-beta", "reserved"),
    ]
    shown = reticent("ledger", "list").out
    for text in ("patients", "given out", "reserved", "alpha-beta", "aaaaaaaaaaaa"):
        assert text in shown


def test_one_data_set_is_shown_in_full_whatever_the_spelling(book: Path, reticent: Command) -> None:
    found = reticent("ledger", "show", "PATIENTS", "--json")
    assert "release 1" in found.json["entries"][1]["beside"]
    assert "not judged together" in reticent("ledger", "show", "patients").out
    wrong = reticent("ledger", "show", "patient")
    assert wrong.code == 2
    assert "Did you mean 'patients'?" in wrong.err


def test_a_reservation_is_withdrawn_with_its_reason_and_what_is_out_is_not(book: Path, reticent: Command) -> None:
    done = reticent("ledger", "withdraw", "patients", 2, "--reason", "the disk was full")
    assert (done.code, "is withdrawn: the disk was full" in done.out) == (0, True)
    assert reticent("ledger", "show", "patients", "--json").json["entries"][1]["reason"] == "the disk was full"
    refused = reticent("ledger", "withdraw", "patients", 1, "--reason", "no")
    assert (refused.code, "cannot be withdrawn" in refused.err) == (2, True)
    missing = reticent("ledger", "withdraw", "patients", 7, "--reason", "no")
    assert (missing.code, "Its entries are 1, 2." in missing.err) == (2, True)


def test_looking_for_a_ledger_does_not_make_one(place: Path, reticent: Command) -> None:
    found = reticent("ledger", "list")
    assert (found.code, "There is no ledger at" in found.err) == (2, True)
    assert not (place / "ledger").exists()


def test_an_older_copy_is_refused_until_it_is_accepted_and_then_every_data_set_says_so(
    book: Path, reticent: Command
) -> None:
    backup = book.with_name("backup")
    shutil.copy(book, backup)
    with Ledger(book) as ledger:
        ledger.record("voters", "d" * 64, lambda entry: "c", beside=unjudged)
    shutil.copy(backup, book)
    refused = reticent("ledger", "list")
    assert (refused.code, "is an older copy" in refused.err) == (2, True)
    done = reticent("ledger", "accept", "--reason", "Monday's backup", "--json")
    assert [(each["dataset"], each["kind"]) for each in done.json["entries"]] == [
        ("patients", "restored"),
        ("voters", "restored"),
    ]
    assert done.json["entries"][0]["details"]["reason"] == "Monday's backup"
    assert reticent("ledger", "list").code == 0
    assert "nothing was changed" in reticent("ledger", "accept", "--reason", "again").out


def test_a_release_that_could_not_be_saved_is_withdrawn_and_can_be_published_again(
    patients: Path, reticent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reticent.release import Release

    def full(self, path, **options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Release, "save", full)
        assert reticent("publish", "policy.toml", "-o", "release").code != 0
    assert [each["status"] for each in reticent("ledger", "list", "--json").json["entries"]] == ["withdrawn"]
    again = reticent("publish", "policy.toml", "-o", "release", "--json")
    assert (again.code, again.json["certificate"]["ledger"]["release"]) == (0, 2)
    assert "withdrawn, and never left" in again.json["certificate"]["ledger"]["statement"]
    assert [each["status"] for each in reticent("ledger", "list", "--json").json["entries"]] == [
        "withdrawn",
        "given out",
    ]
    assert reticent("verify", "release").code == 0
