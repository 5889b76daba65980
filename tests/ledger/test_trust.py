"""Whose files the ledger uses: our own, under one name, without rights for others (issue 14, 8 and 15)."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from reticent.errors import LedgerError
from reticent.ledger import Ledger, LedgerLocation
from reticent.release import publish
from tests.release.conftest import table_of_patients

KINDS = ["", "-key", "-newest", "-wal", "-turn"]


def path_of(ledger: Path, kind: str) -> Path:
    if kind == "-turn":
        with Ledger(ledger) as opened:
            turns = opened.turns("people")
            turns.close()
            return turns.path
    return ledger.with_name(f"{ledger.name}{kind}")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as opened:
        opened.record("people", "a", lambda entry: "c")
    return path


def use(path: Path) -> None:
    with Ledger(path) as opened:
        opened.turns("people").close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", [0o666, 0o644, 0o640, 0o602])
def test_a_file_that_others_have_rights_on_is_refused_unless_that_is_declared(
    ledger: Path, kind: str, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(ledger, kind)
    path.touch(exist_ok=True)
    path.chmod(mode)
    with pytest.raises(
        LedgerError, match=f"other users have permissions on it .mode {mode:04o}.; remove them with chmod 600"
    ):
        use(ledger)
    monkeypatch.setenv("RETICENT_LEDGER_SHARED", "1")
    use(ledger)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("kind", KINDS)
def test_somebody_elses_file_is_refused(ledger: Path, kind: str) -> None:
    path = path_of(ledger, kind)
    path.touch(mode=0o600, exist_ok=True)
    os.chown(path, 65534, 65534)
    with pytest.raises(LedgerError, match=r"belongs to another user \(user 65534\)"):
        use(ledger)


@pytest.mark.parametrize("kind", ["-key", "-newest", "-wal"])
def test_a_planted_link_is_refused(ledger: Path, kind: str) -> None:
    path = path_of(ledger, kind)
    elsewhere = ledger.parent / "elsewhere"
    path.touch(mode=0o600, exist_ok=True)
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(LedgerError, match="it is a link"):
        use(ledger)


def test_a_second_hard_link_is_refused(ledger: Path) -> None:
    os.link(ledger, ledger.parent / "second name")
    with pytest.raises(LedgerError, match="it is a link"):
        use(ledger)


def test_a_ledger_reached_through_links_is_one_ledger_with_one_turn(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(ledger)
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    names = [
        ledger,
        tmp_path / "link.sqlite",
        tmp_path / "folder" / "ledger.sqlite",
        tmp_path / "folder" / "link.sqlite",
    ]
    assert {LedgerLocation.of(name).path for name in names} == {ledger}
    turns = set()
    for name in names:
        with Ledger(name) as opened:
            each = opened.turns("people")
            turns.add(each.path)
            each.close()
    assert len(turns) == 1


def decide_once(path: Path, rounds: int, barrier, outcomes) -> None:
    """Decide in a turn that nobody else decided; with two turn files both would."""
    decided = 0
    with Ledger(path) as opened:
        turns = opened.turns("people")
        for number in range(rounds):
            barrier.wait()
            with turns.taken():
                if not any(each.question == str(number) for each in opened.answers.of("people", "race")):
                    opened.answers.record("people", "race", str(number), "answered")
                    decided += 1
    outcomes.put(decided)


def test_processes_that_use_two_names_of_one_ledger_never_both_decide(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(ledger)
    spawn = multiprocessing.get_context("spawn")
    barrier, outcomes = spawn.Barrier(2), spawn.Queue()
    names = [ledger, tmp_path / "link.sqlite"]
    processes = [spawn.Process(target=decide_once, args=(name, 40, barrier, outcomes)) for name in names]
    for process in processes:
        process.start()
    assert sum(outcomes.get(timeout=60) for _ in processes) == 40
    for process in processes:
        process.join(timeout=60)


def test_the_public_side_is_for_everybody_whatever_the_umask(tmp_path: Path) -> None:
    from reticent.definitions import KAnonymity

    before = os.umask(0o077)
    try:
        release = publish(table_of_patients(), KAnonymity(4), ledger=tmp_path / "book" / "ledger.sqlite")
        release.save(tmp_path / "release")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "release").iterdir()}
    assert modes == {"public": 0o755, "private": 0o700}
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "release" / "public").iterdir()} == {0o644}


def test_a_copy_with_its_files_is_a_ledger_of_its_own(ledger: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in ledger.parent.glob("ledger.sqlite*"):
        shutil.copy2(path, other)
    with Ledger(other / "ledger.sqlite") as opened:
        assert len(opened.entries("people")) == 1
