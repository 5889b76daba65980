"""Synthetic releases of ours are attacked like any synthetic file, through what their format shows."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.attacks import adversaries_for, attack, compare, synthetic
from reticent.cli.app import app
from reticent.release import Release, adversary_view_of

VALUES = [f"home {number:03}" for number in range(200)]
NAMES = ["membership", "singling out", "linkability", "inference of home"]


def jobs(seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    work = random.integers(0, 30, 3000)
    home = (work * 7 + random.integers(0, 25, 3000)) % 200
    return pl.DataFrame({"work": [f"work {number:02}" for number in work], "home": [VALUES[number] for number in home]})


def table() -> rt.Table:
    return rt.Table(jobs(), quasi=["work"], sensitive="home")


def released(epsilon: float) -> Release:
    method = rt.Synthetic(groups=jobs().group_by("work").len("size"), domain=VALUES, public="a register")
    return rt.publish(table(), rt.ProbabilisticDP(epsilon, "1e-4"), method, insecure_seed=3)


def test_artificial_rows_are_seen_as_nobodys() -> None:
    seen = adversary_view_of(released(2))
    assert seen.is_artificial
    assert seen.rows == 3000
    assert len(attack(seen)) == 0


@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_what_an_attack_reaches_stays_within_the_promise(epsilon: float) -> None:
    """Whoever was in the data is hit at most e^epsilon times as often as somebody who was not, and delta more; the table itself keeps no such bound."""
    pairs = compare(table(), released(epsilon), control=jobs(9))
    assert [after.adversary for _, after in pairs] == NAMES
    for before, after in pairs:
        assert before is not None
        assert after.interval is not None
        assert after.baseline_interval is not None
        assert after.interval[0] <= math.exp(epsilon) * after.baseline_interval[1] + 1e-4
        assert after.share <= before.share
    stood = {before.adversary: before for before, _ in pairs if before is not None}
    assert stood["singling out"].succeeds


def test_without_a_control_group_the_table_is_split() -> None:
    found = [after for _, after in compare(table(), released(2))]
    assert [each.adversary for each in found] == NAMES
    assert all("true rows of other people" in each.knows for each in found)


def test_people_in_the_data_can_be_listed() -> None:
    release = released(2)
    chosen = adversaries_for(release, people=jobs(), control=jobs(9))
    assert len(chosen) == 3 + 2
    assert [each.name for each in chosen][:3] == NAMES[:3]


def test_the_folder_is_attacked_by_python_and_by_the_command(tmp_path: Path) -> None:
    released(2).save(tmp_path / "release")
    jobs().write_csv(tmp_path / "jobs.csv")
    assert [each.adversary for each in synthetic(tmp_path / "release", table())] == NAMES
    given = [
        "attack",
        str(tmp_path / "release"),
        "--original",
        str(tmp_path / "jobs.csv"),
        "--sensitive",
        "home",
        "--json",
    ]
    told = json.loads(CliRunner().invoke(app, given).stdout)
    assert [each["adversary"] for each in told["attacks"]] == NAMES
