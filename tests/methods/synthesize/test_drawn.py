"""Releases with another number of synthetic rows than of people: certified, verified, counted, compared."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.errors import PolicyError
from reticent.methods.synthesize.plan import drawn_of
from tests.methods.mechanisms import CASES, FRAME, ILLNESSES

CASE = CASES["Synthetic"]


def published(drawn: object, **more: object) -> rt.Release:
    method = rt.Synthetic(groups={"Aix": 40, "Apt": 40, "Arles": 40}, domain=ILLNESSES, drawn=drawn)  # type: ignore[arg-type]
    return rt.publish(CASE.table(), CASE.definition, method, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("drawn", "rows"), [("1/2", 20), (3, 120), ({40: 7}, 7), ("1/39", 2)])
def test_a_release_may_have_another_number_of_rows(drawn: object, rows: int, tmp_path: Path) -> None:
    release = published(drawn, insecure_seed=3)
    assert release.frame.group_by("town").len()["len"].to_list() == [rows] * 3
    folder = release.save(tmp_path / "release")
    assert rt.verify(folder).holds
    answer = release.count("illness = 'flu'")
    truth = FRAME.filter(illness="flu").height
    assert abs(answer.value - truth) <= 5 * answer.standard_error


def test_more_rows_need_more_noise_and_fewer_less() -> None:
    alphas = [rt.synthesize.plan([40], 4, 3, "1e-2", drawn=each).alpha[40] for each in ("1/4", None, 4)]
    assert alphas[0] < alphas[1] < alphas[2]


def test_counts_of_few_or_many_rows_are_unbiased() -> None:
    truth = FRAME.filter(illness="flu").height
    for drawn in ("1/2", 2):
        found = [published(drawn, insecure_seed=seed).count("illness = 'flu'") for seed in range(40)]
        mean = sum(each.value for each in found) / len(found)
        error = math.sqrt(sum(each.standard_error**2 for each in found)) / len(found)
        assert abs(mean - truth) <= 5 * error


def test_rows_that_are_missing_are_found_out(tmp_path: Path) -> None:
    folder = published("1/2").save(tmp_path / "release")
    manifest = json.loads((folder / "public" / "manifest.json").read_text("utf-8"))
    assert manifest["details"]["drawn"] == {"40": 20}
    manifest["details"]["drawn"] = {"40": 21}
    (folder / "public" / "manifest.json").write_text(json.dumps(manifest))
    assert not rt.verify(folder).holds


def test_the_number_of_rows_is_a_share_or_by_size() -> None:
    assert drawn_of("1/3", [10, 3]) == {10: 4, 3: 1}
    assert drawn_of(1, [10]) == {}
    with pytest.raises(PolicyError, match="group size 11, which no group has"):
        drawn_of({11: 3}, [10])
    for wrong in (0, -1, {10: 0}):
        with pytest.raises(PolicyError, match="drawn"):
            drawn_of(wrong, [10])  # type: ignore[arg-type]
    assert rt.synthesize.plan([10], 4, 3, "1e-2", drawn={10: 5}).privacy_loss().delta <= Fraction("1e-2")


def test_drawn_rows_are_compared_with_true_ones_on_the_command_line(tmp_path: Path) -> None:
    FRAME.select("town", "illness").write_csv(tmp_path / "rows.csv")
    pl.DataFrame({"town": ["Aix", "Apt", "Arles"], "size": [40] * 3}).write_csv(tmp_path / "groups.csv")
    pl.DataFrame({"illness": ILLNESSES}).write_csv(tmp_path / "domain.csv")
    (tmp_path / "policy.toml").write_text(
        """
[data]
source = "rows.csv"
[roles]
quasi = ["town"]
sensitive = ["illness"]
[[definition]]
name = "ProbabilisticDP"
epsilon = 3
delta = "1e-2"
[method]
name = "Synthetic"
groups = "groups.csv"
domain = "domain.csv"
"""
    )
    policy, folder = str(tmp_path / "policy.toml"), str(tmp_path / "release")
    for arguments in (["publish", policy, "-o", folder], ["synthesize", "compare", folder, "--policy", policy]):
        done = CliRunner().invoke(app, [*arguments, "--json"])
        assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["private"] is True
    assert told["levels"][0]["level"] == "as published"
    assert 0 <= told["levels"][0]["together"] <= 1
    assert told["queries"]
    plain = CliRunner().invoke(app, ["synthesize", "compare", folder, "--policy", policy])
    assert "For the steward only" in plain.stdout
