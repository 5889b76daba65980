"""The page about a synthetic file of another tool names what it discloses; new people disclose nothing."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app


def people(rows: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    ends = {"age": (18, 90), "place": (0, 40), "job": (0, 12), "wage": (100, 900)}
    return pl.DataFrame({name: random.integers(low, high, rows) for name, (low, high) in ends.items()})


PATIENTS, OTHERS, NEW = people(600, 1), people(600, 2), people(600, 3)


def test_a_file_that_repeats_people_is_said_to(tmp_path: Path) -> None:
    PATIENTS.write_csv(tmp_path / "copy.csv")
    page = rt.report(
        tmp_path / "copy.csv", tmp_path / "page.html", original=PATIENTS, control=OTHERS, sensitive=["job"]
    )
    text = page.read_text("utf-8")
    assert "Membership succeeds" in text
    assert "These succeed: membership" in text
    assert "The file has no certificate" in text
    assert "copy.csv" in text
    assert "mean distance over pairs of columns" in text
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_new_people_disclose_nothing_and_a_table_gives_roles(tmp_path: Path) -> None:
    table = rt.Table(PATIENTS, quasi=["age", "place"], sensitive="job")
    text = rt.report(NEW, tmp_path / "page.html", original=table).read_text("utf-8")
    assert "None of these attacks succeeds" in text
    assert "No control group was given" in text
    assert "Inference of job" in text
    assert "Inference of wage" not in text


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    for name, frame in (("synthetic", NEW), ("patients", PATIENTS), ("others", OTHERS)):
        frame.write_csv(tmp_path / f"{name}.csv")
    given = [tmp_path / "synthetic.csv", "--original", tmp_path / "patients.csv", "--control", tmp_path / "others.csv"]
    words = ["report", *map(str, given), "--sensitive", "job", "-o", str(tmp_path / "page.html"), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["report"] == str(tmp_path / "page.html")
    assert "None of these attacks succeeds" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"control": OTHERS}, "control= cannot be combined with a release or a series"),
        ({"original": PATIENTS, "public": True}, "public= cannot be combined with synthetic records"),
        ({"original": PATIENTS, "regression": "wage ~ age"}, "regression= cannot be combined with synthetic records"),
    ],
)
def test_what_does_not_go_together_is_named(given: dict[str, object], words: str, tmp_path: Path) -> None:
    with pytest.raises(rt.PolicyError, match=words):
        rt.report(NEW, tmp_path / "page.html", **given)


def test_a_release_is_not_a_file_of_another_tool(tmp_path: Path) -> None:
    release = rt.publish(rt.Table(PATIENTS, quasi=["age"]), rt.KAnonymity(2))
    with pytest.raises(rt.PolicyError, match="For a release pass its table as raw="):
        rt.report(release, tmp_path / "page.html", original=PATIENTS)
    for words in (["--control", "x.csv"], ["--original", "x.csv", "--public"]):
        assert isinstance(CliRunner().invoke(app, ["report", "x", *words]).exception, rt.PolicyError)
