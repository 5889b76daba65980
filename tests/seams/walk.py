"""The whole way of a release, for any table, definition and method: every step must work, whatever kind of release it is."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.errors import LedgerError
from reticent.ledger import Ledger
from reticent.reports import write_report
from tests.seams.attackers import every_adversary


@dataclass(frozen=True)
class Walked:
    """What the walk left: the release, and the folder that it was saved in."""

    release: rt.Release
    folder: Path


def command(*arguments: object, ok: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """A command's answer as JSON."""
    done = CliRunner().invoke(app, [str(each) for each in (*arguments, "--json")])
    assert done.exit_code in ok, (arguments, done.output, done.exception)
    return dict(json.loads(done.stdout))


def full_walk(
    table: rt.Table,
    definition: Any,
    method: Any,
    place: Path,
    *,
    condition: str,
    truth: float,
    other: rt.Table,
    people: pl.DataFrame,
    series: bool = False,
) -> Walked:
    """Preview, publish, save, refuse another, reopen, verify, count, assess, attack, report, on the command line too.

    ``other`` has the same data set and other rows; ``people`` is the list that adversaries look up.
    """
    assert table.dataset is not None
    book = place / "ledger.sqlite"
    found = rt.preview(table, definition, method)
    assert not book.exists()
    assert found.rows > 0 or found.utility["standard_error"] > 0

    release = rt.publish(table, definition, method, ledger=book)
    folder = release.save(place / "release")
    with pytest.raises(LedgerError):
        rt.publish(other, definition, method, ledger=book)
    with Ledger(book) as ledger:
        assert [entry.status for entry in ledger.entries(table.dataset)] == ["given out"]

    _verified(folder, place, series)
    _counted(release, folder, condition, truth)
    _attacked(release, folder, table, people)
    _reported(release, folder, table, place, "Not shown to hold" if series else "Holds")
    return Walked(release, folder)


def _verified(folder: Path, place: Path, series: bool) -> None:
    checked = rt.verify([folder] if series else folder)
    assert checked.holds, [check for check in checked.checks if check.status != "holds"]
    # What is claimed of a series cannot be judged on one folder that does not say it is all of it.
    assert command("verify", folder, ok=(int(series),))["ok"] is not series
    shutil.copytree(folder / "public", place / "alone" / "public")
    assert rt.verify([place / "alone"] if series else place / "alone").holds
    data = next(path for path in sorted((place / "alone" / "public").iterdir()) if path.suffix == ".csv")
    raw = bytearray(data.read_bytes())
    raw[-2] ^= 1
    data.write_bytes(bytes(raw))
    assert not rt.verify(place / "alone").holds


def _counted(release: rt.Release, folder: Path, condition: str, truth: float) -> None:
    answer = release.count(condition)
    low, high = answer.bounds
    assert low <= truth <= high or abs(float(answer.value) - truth) <= 5 * (answer.standard_error or 0)
    told = command("query", folder, condition)
    assert float(told["value"]) == pytest.approx(float(answer.value))


def _attacked(release: rt.Release, folder: Path, table: rt.Table, people: pl.DataFrame) -> None:
    every_adversary(release, folder, table, people)
    found = rt.attacks.attack(folder)
    told = command("attack", folder)["attacks"]
    assert [each["adversary"] for each in told] == [each.adversary for each in found]


def _reported(release: rt.Release, folder: Path, table: rt.Table, place: Path, words: str) -> None:
    for target in (release, folder):
        for public in (True, False):
            page = write_report(target, place / "report.html", table=None if public else table, public=public)
            assert words in page.read_text("utf-8")
    assert command("report", folder, "-o", place / "told.html")["ok"] is True
