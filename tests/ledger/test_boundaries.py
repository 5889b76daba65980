"""Killed at every boundary: what is left is whole, counts, and can be gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reticent.definitions import KAnonymity
from reticent.errors import LedgerError
from reticent.ledger import Entry, Ledger
from reticent.release import publish, verify
from tests.release.conftest import table_of_patients

KILLED = Path(__file__).with_name("killed.py")
ROOT = Path(__file__).parents[2]


def run(what: str, path: Path, boundary: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, str(KILLED), what, str(path), boundary], env=environment, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def certify(entry: Entry) -> str:
    return "c"


@pytest.mark.parametrize(
    ("boundary", "left"),
    [
        ("new file", []),
        ("new file after the key", []),
        ("reserve before the commit", []),
        ("reserve after the commit", ["reserved"]),
        ("reserved", ["reserved"]),
        ("give out before the commit", ["reserved"]),
        ("give out after the commit", ["given out"]),
        ("withdraw after the commit", ["withdrawn"]),
        ("given out", ["given out"]),
    ],
)
def test_a_kill_while_recording_leaves_an_entry_or_none(tmp_path: Path, boundary: str, left: list[str]) -> None:
    path = tmp_path / "ledger.sqlite"
    run("record", path, boundary)
    with Ledger(path) as ledger:
        assert [each.status for each in ledger.entries("people")] == left
        if left in ([], ["withdrawn"]):
            assert ledger.record("people", "b", certify).number == len(left) + 1
            return
        with pytest.raises(LedgerError, match="was released already: release 1"):
            ledger.record("people", "b", certify)
        # The same content goes on where it stopped.
        entry = ledger.record("people", "a", certify)
        assert (entry.number, entry.new, ledger.give_out(entry).status) == (1, False, "given out")


@pytest.mark.parametrize("boundary", ["save before the rename", "save after the rename", "saved"])
def test_a_kill_while_saving_leaves_no_half_folder_and_an_entry_that_counts(tmp_path: Path, boundary: str) -> None:
    path, folder = tmp_path / "ledger.sqlite", tmp_path / "release"
    run("save", path, boundary)
    with Ledger(path) as ledger:
        (entry,) = ledger.entries("patients")
    assert entry.status == ("given out" if boundary == "saved" else "reserved")
    assert folder.exists() == (boundary != "save before the rename")
    if folder.exists():
        assert verify(folder).holds
    with pytest.raises(LedgerError, match="was released already"):
        publish(table_of_patients(), KAnonymity(2), ledger=path)
    again = publish(table_of_patients(), KAnonymity(4), ledger=path)
    again.save(folder, overwrite=folder.exists())
    assert again.certificate["ledger"]["release"] == 1
    with Ledger(path) as ledger:
        assert [each.status for each in ledger.entries("patients")] == ["given out"]


def test_a_release_that_the_steward_withdrew_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    release = publish(table_of_patients(), KAnonymity(4), ledger=path)
    with Ledger(path) as ledger:
        ledger.withdraw(ledger.entries("patients")[0], "it was a trial")
    with pytest.raises(LedgerError, match="was withdrawn"):
        release.save(tmp_path / "release")
    assert not (tmp_path / "release").exists()
    publish(table_of_patients(), KAnonymity(2), ledger=path).save(tmp_path / "release")
