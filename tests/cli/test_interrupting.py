"""Ctrl-C: a command stops between two steps, says what was and was not done, and leaves with 130."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from reticent.base.context import Event
from reticent.cli import console
from reticent.errors import Cancelled
from reticent.ledger import Ledger
from reticent.release import Release
from tests.cli.conftest import Command

POLICY = """
dataset = "rows"
[data]
source = "rows.csv"
[roles]
quasi = ["age", "town"]
[definition]
name = "KAnonymity"
k = 2
"""


@pytest.fixture
def job(place: Path) -> Path:
    (place / "rows.csv").write_text("age,town\n" + "".join(f"{20 + n % 5},{'ab'[n % 2]}\n" for n in range(60)))
    (place / "policy.toml").write_text(POLICY)
    return place


def pressing(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Ctrl-C is pressed the ``number``-th time that a command asks whether to stop."""
    own, asked = console._Interrupts.asked, []

    def ask(self: console._Interrupts) -> bool:
        asked.append(1)
        if len(asked) == number:
            own(self)
            os.kill(os.getpid(), signal.SIGINT)
        return own(self)

    monkeypatch.setattr(console._Interrupts, "asked", ask)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_ctrl_c_stops_publishing_and_says_what_was_done(
    number: int, job: Path, reticent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressing(monkeypatch, number)
    found = reticent("publish", "policy.toml", "-o", "out")
    assert found.code == 130
    assert "Stopped on request while " in found.err
    assert "Nothing was recorded and nothing was written." in found.err
    assert not (job / "out").exists()
    with Ledger() as ledger:
        assert ledger.entries("rows") == []
    monkeypatch.undo()


def test_ctrl_c_while_saving_withdraws_the_release(
    job: Path, reticent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Release, target: Path, overwrite: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Release, "_write", interrupted)
    found = reticent("publish", "policy.toml", "-o", "out", "--json")
    assert found.code == 130
    told = found.json["error"]
    assert told["kind"] == "Cancelled"
    assert "No folder was written. Release 1 of 'rows', reserved in the ledger, was withdrawn." in told["message"]
    assert not (job / "out").exists()
    with Ledger() as ledger:
        assert [entry.status for entry in ledger.entries("rows")] == ["withdrawn"]


def test_a_second_ctrl_c_and_one_that_nobody_looks_at_interrupt_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with console.working("Working ...", True) as context:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        context.check("working")
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Cancelled):
            context.check("working")
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_shows_the_stage_its_share_and_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    with console._Progress("Searching ...") as progress:
        progress.show(Event("counting rows"))
        progress.show(Event("searching", 25, 100, "3 of 100 generalizations looked at"))
        task = progress._drawn.tasks[0]
        assert (task.description, task.completed, task.total) == ("Searching ...", 0.25, 1.0)
        assert task.fields["told"] == "25% (3 of 100 generalizations looked at)"
        progress.show(Event("searching", 99, 100))
        assert task.fields["told"].startswith("25%")
