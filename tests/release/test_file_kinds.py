"""Every kind of release in every kind of file: saved, verified, reopened, counted; and what was damaged is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.definitions.mechanisms import BoundedBelief
from reticent.methods.randomize import AlphaBeta
from reticent.registry import TABLE_FILES
from reticent.release import Release, open_public, publish
from tests.methods.randomize.examples import scores_frame

VALUES = {"age": list(range(20, 40)), "nationality": ["British", "Indian", "American"], "score": list(range(81, 101))}
PEOPLE = pl.DataFrame(
    {
        "age": [20 + i % 6 for i in range(60)],
        "home town": [("Aix", "Bône", None)[i % 3] for i in range(60)],
        "score": [i % 4 + 0.5 for i in range(60)],
        "seen": pl.Series([None if i % 7 == 0 else i % 5 == 0 for i in range(60)]),
    }
)


def generalized(files: Any) -> Release:
    table = rt.Table(
        PEOPLE, quasi=["age", "home town"], sensitive="score", declared={"seen": "nobody knows it"}, nulls="category"
    )
    return publish(table, rt.KAnonymity(3), rt.Mondrian(values="sets"), files=files)


def bucketized(files: Any) -> Release:
    table = rt.Table(PEOPLE, quasi=["age", "home town"], sensitive="score", nulls="category")
    return publish(table, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"), files=files)


def viewed(files: Any) -> Release:
    table = rt.Table(scores_frame(), quasi=["age", "nationality"], sensitive="score")
    return publish(table, BoundedBelief("1/200", "1/3"), AlphaBeta(domain=VALUES), insecure_seed=1, files=files)


@pytest.mark.parametrize("files", TABLE_FILES)
@pytest.mark.parametrize("made", [generalized, bucketized, viewed])
def test_a_release_is_the_same_in_every_kind_of_file(tmp_path: Path, made: Any, files: str) -> None:
    release = made(files)
    release.save(tmp_path / "release")
    found = rt.verify(tmp_path / "release")
    assert found.holds, found
    side = open_public(tmp_path / "release")
    for name, frame in release.tables.items():
        assert side.tables[name].equals(frame)
    condition = "age between 22 and 24"
    assert side.count(condition).as_dict() == release.count(condition).as_dict()
    file = sorted((tmp_path / "release" / "public").glob(f"*.{files}"))[0]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    assert not rt.verify(tmp_path / "release").holds


def test_the_kind_of_file_makes_no_other_release(tmp_path: Path) -> None:
    table = rt.Table(PEOPLE, quasi=["age"], sensitive="score", dataset="people")
    entries = [
        publish(table, rt.KAnonymity(3), rt.Lattice(), files=kind, ledger=tmp_path / "book").entry
        for kind in ("csv", "dta", "xlsx")
    ]
    assert [entry.number for entry in entries if entry is not None] == [1, 1, 1]
