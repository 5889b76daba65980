"""Ledgers that earlier versions wrote: everything in them is kept, and everything counts."""

from __future__ import annotations

import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

import reticent as rt
from reticent.base.disclosures import unjudged
from reticent.errors import LedgerError
from reticent.ledger import AuditVerdict, Entry, Ledger
from tests.ledger.test_boundaries import run
from tests.release.conftest import table_of_patients

# Written by the code of commits f1dc096 and e703282 (with a key of 32 times k), then dumped as SQL.
FIXTURES = Path(__file__).parents[1] / "fixtures" / "ledger"
SECOND, THIRD, THIRD_NEWEST = (FIXTURES / name for name in ("layout2.sql", "layout3.sql", "layout3.newest"))


def certify(entry: Entry) -> str:
    return f"certificate {entry.number}"


@pytest.fixture
def second(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    path.touch(mode=0o600)
    with sqlite3.connect(path) as raw:
        raw.executescript(SECOND.read_text(encoding="utf-8"))
    return path


@pytest.fixture
def third(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    for name, content in (("", b""), ("-key", b"k" * 32), ("-newest", THIRD_NEWEST.read_bytes())):
        each = path.with_name(f"{path.name}{name}")
        each.touch(mode=0o600)
        each.write_bytes(content)
    with sqlite3.connect(path) as raw:
        raw.executescript(THIRD.read_text(encoding="utf-8"))
    return path


def test_releases_and_views_of_the_second_layout_are_entries_with_their_numbers(second: Path) -> None:
    with Ledger(second) as ledger:
        found = {name: ledger.entries(name) for name in ("patients", "views", "killed")}
    assert [(each.kind, each.number, each.content[:2], each.status) for each in found["patients"]] == [
        ("release", 1, "aa", "given out"),
        ("release", 2, "bb", "given out"),
    ]
    assert [(each.kind, each.number, each.details["index"]) for each in found["views"]] == [
        ("alpha-beta", 1, 1),
        ("alpha-beta", 2, 2),
    ]
    assert [(each.kind, each.number, each.content[:2]) for each in found["killed"]] == [("alpha-beta", 1, "ee")]
    assert [bool(each.note) for each in found["patients"]] == [False, True]


@pytest.mark.parametrize("name", ["patients", "views", "killed", "asked", "granted", "spent", "D", "d"])
def test_whatever_was_given_out_before_keeps_a_release_back(second: Path, name: str) -> None:
    with Ledger(second) as ledger, pytest.raises(LedgerError, match="was released already"):
        ledger.record(name, "new", certify)


def test_content_that_was_published_before_is_still_the_same_release(second: Path) -> None:
    with Ledger(second) as ledger:
        entry = ledger.record("patients", "aa" * 32, certify)
        assert (entry.number, entry.new) == (1, False)
        assert ledger.record("refused", "new", certify).number == 1
        assert ledger.record("patients", "cc" * 32, certify, beside=unjudged).number == 3


def test_names_that_were_told_apart_count_together_now(second: Path) -> None:
    with Ledger(second) as ledger:
        assert sorted(each.content[:2] for each in ledger.entries("d")) == ["d0", "d1"]


def test_answers_budgets_and_variables_are_kept(second: Path) -> None:
    with Ledger(second) as ledger:
        assert ledger.audits.after("asked")[0].answer == Fraction(7, 2)
        assert ledger.audits.hashes("asked", "salary", "key") == b"a" * 32
        assert ledger.budgets.of("spent", "epsilon").left == Fraction(2, 3)
        assert len(ledger.answers.of("granted", "views: decision")) == 1


def test_an_update_happens_once_and_takes_the_key_of_audited_sql_along(second: Path) -> None:
    before = second.with_name("ledger.sqlite-audit-key")
    before.write_bytes(b"k" * 32)
    with pytest.raises(LedgerError, match="other users have permissions on it"):
        Ledger(second)
    before.chmod(0o600)
    Ledger(second).close()
    assert not before.exists()
    with Ledger(second) as ledger:
        assert ledger.secret.key == b"k" * 32
    with sqlite3.connect(second) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (5,)
        tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert not tables & {"releases", "views"}


def test_a_ledger_of_the_first_layout_gets_everything_that_it_lacks(second: Path) -> None:
    with sqlite3.connect(second) as raw:
        for name in ("audit_asked", "audit_questions", "audit_decisions", "audit_variables", "audit_tokens"):
            raw.execute(f"DROP TABLE {name}")
        raw.execute("PRAGMA user_version = 1")
    with Ledger(second) as ledger:
        assert [each.number for each in ledger.entries("patients")] == [1, 2]
        assert ledger.audits.after("patients") == []


def test_an_update_that_fails_leaves_the_older_layout_as_it_was(second: Path) -> None:
    with sqlite3.connect(second) as raw:
        raw.execute("CREATE TABLE people (something_else TEXT)")
        before = raw.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall()
    # One of the new tables is there already, so that the update stops half way.
    with pytest.raises(LedgerError, match="already exists"):
        Ledger(second)
    with sqlite3.connect(second) as raw:
        assert raw.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall() == before
        assert raw.execute("PRAGMA user_version").fetchone() == (2,)


def links(path: Path) -> list[tuple[int, bytes]]:
    with sqlite3.connect(path) as raw:
        return raw.execute("SELECT id, link FROM chain ORDER BY id").fetchall()


def test_decisions_of_the_third_layout_are_kept_and_the_chain_goes_on(third: Path) -> None:
    before = links(third)
    for _ in range(2):
        with Ledger(third) as ledger:
            audits = ledger.audits
            assert [(each.answered, each.answer) for each in audits.after("asked")] == [
                (True, 0),
                (False, None),
                (True, None),
                (True, Fraction(3, 2)),
            ]
            assert audits.find("asked", "salary", "max", "set 3").members == bytes([3]) * 40
            assert [(each.asker, each.decisions) for each in audits.questions("asked")] == [
                ("bob", (1,)),
                *(("alice", (number,)) for number in (4, 3, 2, 1)),
            ]
            assert [audits.decision("asked", 1, who) is None for who in ("alice", "bob", "carol")] == [
                False,
                False,
                True,
            ]
            assert [(each.kind, each.status) for each in ledger.entries("people")] == [("release", "given out")]
            assert ledger.budgets.of("people", "epsilon").left == Fraction(1, 2)
            assert audits.hashes("asked", "salary", "key") == b"h" * 32
    # One more link for each decision, which has another form; the earlier ones stay.
    assert links(third)[: len(before)] == before
    assert len(links(third)) == len(before) + 4
    with Ledger(third) as ledger:
        question = ledger.audits.ask("asked", "carol", "SELECT")
        with pytest.raises(LedgerError, match="Decision 1 is about the same query already"):
            ledger.audits.decide("asked", question, AuditVerdict("salary", "max", "set 0", 3, False, "rule", "Reason."))
        ledger.audits.answer(3, Fraction(1), durable=True)
    with Ledger(third) as ledger:
        assert ledger.audits.find("asked", "salary", "max", "set 2").answer == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit_decisions SET answered = 1 WHERE id = 2",
        "UPDATE entries SET status = 'withdrawn'",
        "DELETE FROM audit_decisions WHERE id = 4",
        "UPDATE chain SET digest = zeroblob(32) WHERE id = 3",
        "DELETE FROM chain WHERE id = 19",
    ],
)
def test_a_ledger_of_the_third_layout_that_was_changed_is_refused(third: Path, change: str) -> None:
    with sqlite3.connect(third) as raw:
        raw.execute(change)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"is damaged|is an older copy"):
            Ledger(third)


def test_an_older_copy_of_the_third_layout_is_refused(third: Path, tmp_path: Path) -> None:
    shutil.copy2(third, tmp_path / "backup")
    with Ledger(third) as ledger:
        ledger.record("new", "content", certify)
    shutil.copy2(tmp_path / "backup", third)
    for _ in range(2):
        with pytest.raises(LedgerError, match="is an older copy"):
            Ledger(third)


def test_an_update_of_the_third_layout_that_is_killed_is_done_again(third: Path) -> None:
    before = links(third)
    run("record", third, "update of the layout")
    with sqlite3.connect(third) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (3,)
    assert links(third) == before
    with Ledger(third) as ledger:
        assert len(ledger.audits.after("asked")) == 4


# The hashes that commit f1dc096 made of releases of the same table.
FORMER = {
    "44c227938048f731022c28069933ad6a5ae617c1710afbd9b1dfd15bbb98d218": (rt.KAnonymity(4), rt.Lattice(), "csv"),
    "545f1a158c109160e3ed5bee8fc0c42c5030b671df4ccf4fd18d849c85f68be5": (rt.KAnonymity(3), rt.Lattice(), "parquet"),
    "bcf069f9312fd918bd7214639c2690b580c8f0a01cf8b5ae0455288149deb0e4": (
        rt.DistinctLDiversity(2),
        rt.Lattice(format="bucketize"),
        "csv",
    ),
    "75ddea608e21974f011a67c02c0cf71890e122ab2bc8ff22dedb1011d33dfec3": (
        rt.KAnonymity(2),
        rt.Mondrian(values="sets"),
        "csv",
    ),
    "0e6df2250bc306302fa8629992e6793f6a89d2080335b40b5ce21cfd3827b49c": (rt.TCloseness(1), rt.Lattice(), "csv"),
}


@pytest.mark.parametrize("content", FORMER)
def test_what_an_earlier_version_published_is_not_another_release_after_the_update(
    tmp_path: Path, content: str
) -> None:
    definition, method, files = FORMER[content]
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        first = ledger.give_out(ledger.record("patients", content, certify))
    for kind in (files, "parquet", "csv"):
        release = rt.publish(table_of_patients(), definition, method, ledger=path, files=kind)
        assert (release.certificate["ledger"]["release"], release.certificate["created"]) == (1, first.made)
    with Ledger(path) as ledger:
        assert [(each.number, each.status) for each in ledger.entries("patients")] == [(1, "given out")]
