"""The worked flu example, and the goldens as data."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from reticent.worst_case import Population

FIXTURES = Path(__file__).parent.parent / "fixtures" / "knowledge"


def golden(name: str) -> Any:
    """One file of goldens."""
    return json.loads((FIXTURES / f"{name}.json").read_text())


def flu_rows() -> list[dict[str, str]]:
    """The ten people of the worked example."""
    with (FIXTURES / "flu.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def flu() -> Population:
    """The ten people, men and women in a bucket each."""
    rows = flu_rows()
    return Population.of([[(row["name"], row["disease"]) for row in rows if row["sex"] == sex] for sex in "MF"])
