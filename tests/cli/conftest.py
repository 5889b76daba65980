"""The command line as a user has it: arguments in, exit code, text and files out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.cli.app import app
from reticent.cli.console import run

Command = Callable[..., "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What a command left behind on the terminal."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object that ``--json`` prints."""
        return json.loads(self.out)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with a ledger of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger" / "ledger.sqlite"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("RETICENT_TRACEBACK", raising=False)
    return tmp_path


@pytest.fixture
def reticent(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process, through everything that the program itself goes through."""

    def command(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["reticent", *map(str, arguments)])
        capsys.readouterr()
        code = run(app)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return command


@pytest.fixture
def program(place: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the installed program in a process of its own."""

    def start(
        *arguments: object, environment: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        executable = Path(sys.executable).parent / "reticent"
        return subprocess.Popen(
            [str(executable), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=place,
            env={**os.environ, **(environment or {})},
            **options,
        )

    return start


PATIENTS = pl.DataFrame(
    {
        "name": [f"Person {i}" for i in range(120)],
        "age": [20 + (7 * i) % 60 for i in range(120)],
        "zip": [f"{13000 + (i * 37) % 90:05d}" for i in range(120)],
        "disease": [("flu", "cold", "ulcer", "asthma")[(i * i + i // 7) % 4] for i in range(120)],
        "note": ["x"] * 120,
    }
)

POLICY = """\
dataset = "patients"

[data]
source = "patients.csv"
types = { zip = "text" }

[roles]
identifiers = ["name"]
quasi = ["age", "zip"]
sensitive = ["disease"]

[hierarchies.age]
kind = "intervals"
widths = [5, 10, 20, 40]
domain = [0, 120]

[hierarchies.zip]
kind = "masking"
digits = 5

[[definition]]
name = "KAnonymity"
k = 4

[[definition]]
name = "RecursiveLDiversity"
c = 3
l = 2

[method]
objective = "loss"
suppression = "0.05"
"""


@pytest.fixture
def patients(place: Path) -> Path:
    """A working folder with a data file and a policy for it."""
    PATIENTS.write_csv(place / "patients.csv")
    (place / "policy.toml").write_text(POLICY)
    return place
