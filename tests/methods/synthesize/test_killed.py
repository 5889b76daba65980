"""A process that publishes synthetic data is killed at any moment: a budget was spent with its entry or not at all, and no folder is half written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

import reticent as rt
from reticent.base.privacy_cost import LossBound, PrivacyCost
from reticent.ledger import Ledger

PUBLISHING = """
import sys
from pathlib import Path
import polars as pl
import reticent as rt
place = Path(sys.argv[1])
values = [f"v{i}" for i in range(8)]
frame = pl.DataFrame({"g": [f"g{i % 5}" for i in range(200)], "v": [values[i * i % 8] for i in range(200)]})
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 1000):
    table = rt.Table(frame.with_columns(g=pl.col("g") + f" {number}"), quasi=["g"], sensitive="v", dataset=f"data {number}")
    sizes = {f"g{i} {number}": 40 for i in range(5)}
    made = rt.Synthetic(groups=sizes, domain=values, budget={"epsilon": 3, "delta": "1e-3"})
    rt.publish(table, rt.ProbabilisticDP(2, "1e-4"), made, ledger=place / "ledger.sqlite").save(place / "out" / str(number))
    print(number, flush=True)
"""


def killed(place: Path, first: int, seconds: float) -> int:
    """Publish one data set after another and be killed so long after the first was saved; the last number that was certainly saved."""
    process = subprocess.Popen(
        [sys.executable, "-c", PUBLISHING, str(place), str(first)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(place / "scratch")},
    )  # fmt: skip
    assert process.stdout is not None
    saved = int(process.stdout.readline())
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    return max([saved, *map(int, process.stdout.read().split())])


def check(place: Path, numbers: range) -> dict[str, int]:
    """Every data set has an entry with its spending and perhaps a whole folder, or nothing at all."""
    seen = {"nothing": 0, "reserved": 0, "given out": 0}
    with Ledger(place / "ledger.sqlite") as book:
        for number in numbers:
            name, folder = f"data {number}", place / "out" / str(number)
            entries = book.entries(name)
            if not entries:
                assert not folder.exists()
                with pytest.raises(rt.LedgerError, match="no account"):
                    book.accounts.of(name)
                seen["nothing"] += 1
                continue
            assert dict(book.accounts.of(name).spent) == {"epsilon": 2, "delta": Fraction("1e-4")}
            assert len(entries) == 1
            seen[entries[0].status] += 1
            if entries[0].status == "given out":
                assert folder.exists()
            if folder.exists():
                assert rt.verify(folder).holds
    return seen


def campaign(place: Path, kills: int, seed: int) -> dict[str, int]:
    (place / "out").mkdir()
    (place / "scratch").mkdir()
    chance, first, seen = random.Random(seed), 0, {"nothing": 0, "reserved": 0, "given out": 0}
    for _ in range(kills):
        last = killed(place, first, chance.uniform(0, 0.3))
        for status, times in check(place, range(first, last + 3)).items():
            seen[status] += times
        first = last + 3
    # What a killed process leaves is set apart by its name, never a folder that somebody would take for a release.
    assert all(path.name.isdigit() or path.name.startswith(".") for path in (place / "out").iterdir())
    return seen


def test_a_killed_publication_has_spent_with_its_entry_or_not_at_all(tmp_path):
    seen = campaign(tmp_path, 1, 7)
    assert seen["given out"] >= 1
    # The ledger goes on.
    name = "data 0"
    with Ledger(tmp_path / "ledger.sqlite") as book, pytest.raises(rt.LedgerError, match="It has epsilon 1 of 3"):
        book.charge(name, PrivacyCost("more than is left", {"replace": LossBound(Fraction(2))}))


@pytest.mark.slow
def test_sixty_killed_publications_have_spent_with_their_entries_or_not_at_all(tmp_path):
    seen = campaign(tmp_path, 60, 8)
    assert seen["given out"] >= 60
    assert seen["reserved"] >= 1
