"""A damaged, forged or older ledger never answers what was forbidden, and never fails with anything but LedgerError (issue 14, 7)."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reticent.base.disclosures import PersonFingerprints, SeriesState, Spending, unjudged
from reticent.errors import LedgerError
from reticent.ledger import AuditVerdict, Ledger

FILES = ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-key", "ledger.sqlite-newest")


def certify(entry) -> str:
    return "certificate"


def fill(ledger: Ledger) -> None:
    """A little of everything that later decisions depend on."""
    people = [PersonFingerprints("people", 0, (1, 2, 3))]
    spend = [Spending("epsilon", "1/2", total=1)]
    ledger.give_out(ledger.record("people", "first", certify, people=people, spend=spend))
    ledger.record("series", "one", certify, state=SeriesState("tau", "v1", {"index": 1}))
    for number in range(12):
        question = ledger.audits.ask("asked", "alice", f"SELECT {number}")
        verdict = AuditVerdict(
            "salary", "max", f"set {number}", 3, number % 3 > 0, "rule", "Reason.", bytes([number]) * 40
        )
        entry = ledger.audits.decide("asked", question, verdict)
        if entry.answered:
            ledger.audits.answer(entry.number, Fraction(number), durable=True)
    ledger.audits.register("asked", "salary", "key", 0, b"h" * 160)
    ledger.audits.add_token("asked", "alice", "revoked", b"d" * 32)
    ledger.audits.revoke("asked", "alice")
    ledger.answers.record("rules", "views: authorization", '{"forbid": "secret"}', "forbid")


def remembered(ledger: Ledger) -> dict[str, Any]:
    """Everything that decisions are made from."""
    return {
        "entries": {name: ledger.entries(name) for name in ("people", "series", "asked", "rules", "nobody")},
        "decisions": ledger.audits.after("asked"),
        "found": [ledger.audits.find("asked", "salary", "max", f"set {number}") for number in range(12)],
        "hashes": ledger.audits.hashes("asked", "salary", "key"),
        "token": ledger.audits.token("asked", "revoked"),
        "budget": ledger.budgets.of("people", "epsilon"),
        "state": ledger.state("series", "tau"),
        "rules": ledger.answers.of("rules", "views: authorization"),
    }


def forbidden(ledger: Ledger) -> list[Callable[[], object]]:
    """What the whole ledger refuses."""
    return [
        lambda: ledger.record("people", "second", certify),
        lambda: ledger.record(
            "the same people", "second", certify, people=[PersonFingerprints("people", 0, (2, 3, 4))]
        ),
        lambda: ledger.record("asked", "release", certify),
        lambda: ledger.record("x", "y", certify, spend=[Spending("epsilon", 1)]),
        lambda: ledger.record("people", "z", certify, beside=unjudged, spend=[Spending("epsilon", "3/5")]),
        lambda: ledger.record("series", "two", certify, beside=unjudged, state=SeriesState("tau", "v2")),
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger as it lies there while a service runs: a part of it in the write-ahead log."""
    folder = tmp_path_factory.mktemp("whole")
    live = tmp_path_factory.mktemp("live")
    with Ledger(live / "ledger.sqlite") as ledger:
        fill(ledger)
        for name in FILES:
            shutil.copy2(live / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def closed(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after everything was closed."""
    folder = tmp_path_factory.mktemp("closed")
    for name in FILES:
        shutil.copy2(whole / name, folder / name)
    Ledger(folder / "ledger.sqlite").close()
    return folder


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with a flipped bit, some bytes zeroed, made random, copied from elsewhere in it, or cut off."""
    changed = bytearray(content)
    start = chance.randrange(len(changed))
    length = min(chance.choice([1, 4, 32, 512, 4096]), len(changed) - start)
    kind = chance.choice(["flip", "flip", "zero", "random", "moved", "cut"])
    if kind == "flip":
        changed[start] ^= 1 << chance.randrange(8)
    elif kind == "zero":
        changed[start : start + length] = bytes(length)
    elif kind == "random":
        changed[start : start + length] = chance.randbytes(length)
    elif kind == "moved":
        other = chance.randrange(len(changed) - length + 1)
        changed[start : start + length] = changed[other : other + length]
    else:
        del changed[start:]
    return bytes(changed)


def campaign(source: Path, folder: Path, copies: int, seed: int) -> dict[str, int]:
    """Damage copies in one file each; every one is refused, or remembers everything."""
    with Ledger(source / "ledger.sqlite") as ledger:
        told = remembered(ledger)
        for step in forbidden(ledger):
            with pytest.raises(LedgerError):
                step()
    chance = random.Random(seed)
    outcomes = {"refused": 0, "whole": 0}
    present = [name for name in FILES if (source / name).exists() and (source / name).stat().st_size]
    for number in range(copies):
        place = folder / str(number)
        shutil.copytree(source, place)
        name = chance.choice(["ledger.sqlite", "ledger.sqlite", *present])
        name = name if name in present else "ledger.sqlite"
        (place / name).write_bytes(damaged((place / name).read_bytes(), chance))
        try:
            with Ledger(place / "ledger.sqlite", timeout=1) as ledger:
                assert remembered(ledger) == told, (number, name)
                for step in forbidden(ledger):
                    with pytest.raises(LedgerError):
                        step()
            outcomes["whole"] += 1
        except LedgerError:
            outcomes["refused"] += 1
        shutil.rmtree(place)
    return outcomes


def test_damaged_copies_are_refused_or_remember_everything(closed: Path, tmp_path: Path) -> None:
    outcomes = campaign(closed, tmp_path, copies=120, seed=0)
    assert outcomes["refused"] > 25


def test_damaged_copies_of_a_running_ledger_are_refused_or_remember_everything(whole: Path, tmp_path: Path) -> None:
    # Opening it checkpoints, so that each copy starts from the same files.
    source = tmp_path / "source"
    shutil.copytree(whole, source)
    kept = tmp_path / "kept"
    shutil.copytree(whole, kept)
    with Ledger(kept / "ledger.sqlite") as ledger:
        told = remembered(ledger)
    chance = random.Random(11)
    for number in range(60):
        place = tmp_path / str(number)
        shutil.copytree(source, place)
        wal = place / "ledger.sqlite-wal"
        wal.write_bytes(damaged(wal.read_bytes(), chance))
        try:
            with Ledger(place / "ledger.sqlite", timeout=1) as ledger:
                assert remembered(ledger) == told
        except LedgerError:
            pass
        shutil.rmtree(place)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_damaged_copies_are_refused_or_remember_everything(
    closed: Path, whole: Path, tmp_path: Path, seed: int
) -> None:
    campaign(closed, tmp_path / "closed", copies=700, seed=seed)


CHANGES = [
    "UPDATE entries SET status = 'withdrawn' WHERE id = 1",
    "DELETE FROM entries WHERE id = 1",
    "UPDATE entries SET dataset = 4 WHERE id = 1",
    "UPDATE datasets SET name = 'somebody' WHERE id = 1",
    "UPDATE budgets SET spent = '0'",
    "UPDATE audit_decisions SET answer = NULL WHERE id = 2",
    "UPDATE audit_decisions SET answered = 1 WHERE id = 1",
    "DELETE FROM audit_decisions WHERE id = 12",
    "UPDATE audit_decisions SET members = NULL WHERE id = 12",
    "UPDATE audit_decisions SET identity = 'another set' WHERE id = 12",
    "UPDATE audit_tokens SET revoked = NULL",
    "DELETE FROM answers",
    "DELETE FROM people",
    "DELETE FROM states",
    "DELETE FROM chain",
    "DELETE FROM chain WHERE id > 5",
    "DELETE FROM chain WHERE id = 5",
    "UPDATE chain SET digest = zeroblob(32) WHERE id = 3",
    "INSERT INTO entries SELECT 99, dataset, kind, 99, status, 'x', certificate, note, details, made, changed, reason FROM entries LIMIT 1",
    "DROP TABLE people",
    "CREATE TRIGGER forget AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
]


@pytest.mark.parametrize("change", CHANGES)
def test_whoever_has_no_key_can_change_nothing_that_counts(closed: Path, tmp_path: Path, change: str) -> None:
    shutil.copytree(closed, tmp_path / "copy")
    path = tmp_path / "copy" / "ledger.sqlite"
    with Ledger(path) as ledger:
        told = remembered(ledger)
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        raw.execute(change)
    try:
        with Ledger(path) as ledger:
            assert remembered(ledger) == told
            for step in forbidden(ledger):
                with pytest.raises(LedgerError):
                    step()
    except LedgerError:
        pass


def older(path: Path, keep: tuple[str, ...]) -> None:
    """Put a copy of some files back that was made before the last entry."""
    backup = path.parent / "backup"
    backup.mkdir()
    with Ledger(path) as ledger:
        ledger.record("people", "one", certify)
    for name in keep:
        shutil.copy2(path.parent / name, backup / name)
    with Ledger(path) as ledger:
        ledger.record("people", "two", certify, beside=unjudged)
    for name in keep:
        shutil.copy2(backup / name, path.parent / name)


def test_an_older_copy_is_refused(tmp_path: Path) -> None:
    older(tmp_path / "ledger.sqlite", ("ledger.sqlite",))
    with pytest.raises(LedgerError, match="is an older copy"):
        Ledger(tmp_path / "ledger.sqlite")


def test_an_older_folder_is_refused_by_a_second_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_LEDGER_NEWEST", str(tmp_path / "second"))
    (tmp_path / "folder").mkdir()
    older(tmp_path / "folder" / "ledger.sqlite", ("ledger.sqlite", "ledger.sqlite-newest"))
    with pytest.raises(LedgerError, match="is an older copy"):
        Ledger(tmp_path / "folder" / "ledger.sqlite")
    with Ledger(tmp_path / "folder" / "ledger.sqlite", accept="the disk broke") as ledger:
        assert [each.kind for each in ledger.entries("people")] == ["release", "restored"]
    with Ledger(tmp_path / "folder" / "ledger.sqlite") as ledger, pytest.raises(LedgerError, match="restored 2"):
        ledger.record("people", "three", certify)


@pytest.mark.parametrize("gone", ["ledger.sqlite", "ledger.sqlite-key", "ledger.sqlite-newest"])
def test_a_ledger_that_lost_one_of_its_files_is_refused(tmp_path: Path, gone: str) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.record("people", "one", certify)
    (tmp_path / gone).unlink()
    with pytest.raises(LedgerError):
        Ledger(tmp_path / "ledger.sqlite")


def test_another_chain_of_the_same_length_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.record("people", "one", certify)
    shutil.copy2(path, tmp_path / "before")
    newest = (tmp_path / "ledger.sqlite-newest").read_bytes()
    with Ledger(path) as ledger:
        ledger.record("people", "two", certify, beside=unjudged)
    newer = (tmp_path / "ledger.sqlite-newest").read_bytes()
    shutil.copy2(tmp_path / "before", path)
    (tmp_path / "ledger.sqlite-newest").write_bytes(newest)
    with Ledger(path) as ledger:
        ledger.record("people", "another two", certify, beside=unjudged)
    (tmp_path / "ledger.sqlite-newest").write_bytes(newer)
    with pytest.raises(LedgerError, match="is an older copy, or another ledger"):
        Ledger(path)


@pytest.mark.slow
def test_opening_a_long_ledger_stays_fast(tmp_path: Path) -> None:
    import time

    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        with ledger._store.writing(durable=False) as writing:
            owner = writing.dataset("asked")
            for number in range(20_000):
                writing.add("answers", owner, kind="k", question=str(number), decision="d", answer=None, made="m")
        ledger.record("people", "one", certify)
    began = time.process_time()
    Ledger(path).close()
    assert time.process_time() - began < 1
