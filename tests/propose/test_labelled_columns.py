"""Columns of public data sets that were labelled by hand: what a steward calls confidential is found, what everybody sees is not called so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reticent.propose.profile import profile
from reticent.propose.topics import with_kinds

FIXTURES = Path(__file__).parent / "fixtures"
FILES = ("labelled_columns.tsv", "made_up_columns.tsv")
PARTS = {"tuning": 0.97, "held-out": 0.97, "later": 0.97, "made-up": 0.97}
ROWS = 120


@dataclass(frozen=True)
class LabelledFile:
    part: str
    name: str
    columns: list[tuple[str, str, str]]


def values(sketch: str, number: int) -> list[object]:
    """Made-up values that fit a sketch, each of them drawn about equally often and in another order in every column."""
    kind, _, rest = sketch.partition(" ")
    order = np.random.default_rng(number).permutation(ROWS)
    if kind == "t":
        levels = (
            json.loads(rest) if rest.startswith("[") else [f"level {level}" for level in range(min(int(rest), ROWS))]
        )
        return [levels[place % len(levels)] for place in order]
    if kind in ("i", "f"):
        count, low, high = (float(part) for part in rest.split())
        steps = np.linspace(low, high, min(int(count), ROWS))
        return [
            round(steps[place % len(steps)]) if kind == "i" else float(steps[place % len(steps)]) for place in order
        ]
    if kind == "b":
        return [bool(place % 2) for place in order]
    if kind == "d":
        return [np.datetime64("2020-01-01") + int(place) for place in order]
    return [None] * ROWS


@cache
def labelled() -> list[LabelledFile]:
    files: list[LabelledFile] = []
    for line in (line for name in FILES for line in (FIXTURES / name).read_text("utf-8").splitlines()):
        if line.startswith("## "):
            _, part, name, _ = line.split(" ")
            files.append(LabelledFile(part, name, []))
        elif not line.startswith("#"):
            label, column, sketch = line.split("\t")
            files[-1].columns.append((label, column, sketch))
    return files


@cache
def judged(part: str) -> tuple[list[str], list[str], int]:
    """Confidential columns that were not found, known columns that were called sensitive, and how many confidential ones there are."""
    missed, alarms, total = [], [], 0
    for file in (each for each in labelled() if each.part == part):
        frame = pl.DataFrame(
            {name: values(sketch, number) for number, (_, name, sketch) in enumerate(file.columns)}, strict=False
        )
        kinds = {column.name: column.kind for column in with_kinds(profile(frame), file.name.split("/")[1])}
        for label, name, _ in file.columns:
            kind = kinds[name]
            sensitive = kind is not None and kind.sensitive
            hidden = kind is not None and kind.meaning in ("identifier", "place")
            total += label == "confidential"
            if label == "confidential" and not sensitive and not hidden:
                missed.append(f"{file.name}: {name}")
            if label == "known" and sensitive:
                alarms.append(f"{file.name}: {name} ({kind.words if kind else ''})")
    return missed, alarms, total


def test_more_than_a_hundred_files_are_labelled() -> None:
    assert len([file for file in labelled() if file.part == "held-out"]) > 100
    assert len([file for file in labelled() if file.part == "tuning"]) > 100


@pytest.mark.parametrize("part", PARTS)
def test_what_a_steward_calls_confidential_is_found(part: str) -> None:
    missed, _, total = judged(part)
    assert len(missed) <= (1 - PARTS[part]) * total, missed


@pytest.mark.parametrize("part", PARTS)
def test_what_everybody_sees_is_never_called_sensitive(part: str) -> None:
    assert judged(part)[1] == []
