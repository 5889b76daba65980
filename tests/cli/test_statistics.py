"""Statistics with noise by a policy file: preview, publish, verify, count, and what the account says of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command

pytest.importorskip("opendp")

POLICY = """\
dataset = "patients"

[data]
source = "patients.csv"

[roles]
identifiers = ["name"]
quasi = ["age", "zip"]
sensitive = ["disease"]

[[definition]]
name = "UnboundedDP"
epsilon = 2
delta = "1e-6"

[method]
name = "Statistics"
queries = [
  { statistic = "count", by = ["disease"] },
  { statistic = "mean", column = "age", where = "disease = 'flu'" },
]
domain = { disease = ["flu", "cold", "ulcer", "asthma"] }
bounds = { age = [0, 120] }
"""


@pytest.fixture
def statistics(patients: Path) -> Path:
    (patients / "policy.toml").write_text(POLICY)
    return patients


def test_a_policy_publishes_statistics_that_anybody_verifies(statistics: Path, reticent: Command) -> None:
    shown = reticent("preview", "policy.toml")
    assert shown.code == 0
    assert "Nothing was sampled" in shown.out
    assert not (statistics / "release").exists()
    assert reticent("publish", "policy.toml", "--output", "release").code == 0
    rows = pl.read_csv(statistics / "release" / "public" / "statistics.csv")
    assert rows["statistic"].to_list() == ["count"] * 4 + ["mean"]
    assert ((rows["low"] <= rows["value"]) & (rows["value"] <= rows["high"])).all()
    verified = reticent("verify", "release", "--json")
    assert verified.code == 0
    assert verified.json["ok"] is True
    budget = reticent("ledger", "budget")
    assert "statistics with noise" in budget.out


def test_a_changed_figure_is_found_out(statistics: Path, reticent: Command) -> None:
    reticent("publish", "policy.toml", "--output", "release")
    place = statistics / "release" / "public" / "statistics.csv"
    lines = place.read_text().splitlines()
    lines[1] = lines[1].replace(lines[1].split(",")[5], "999.0")
    place.write_text("\n".join(lines) + "\n")
    assert reticent("verify", "release").code != 0


def test_a_statistic_that_is_misspelt_is_named_with_the_way_out(statistics: Path, reticent: Command) -> None:
    (statistics / "policy.toml").write_text(POLICY.replace('"mean"', '"meen"'))
    refused = reticent("publish", "policy.toml", "--output", "release")
    assert refused.code == 2
    assert "'mean'" in refused.err
    assert not (statistics / "release").exists()


def test_nobody_is_looked_up_in_statistics(statistics: Path, reticent: Command) -> None:
    """Comparing the table with artificial records, of which there are none, ended in an error of a library."""
    assert reticent("publish", "policy.toml", "--output", "release").code == 0
    for options in (("--raw", "policy.toml"), ("--people", "patients.csv"), ()):
        attacked = reticent("attack", "release", *options)
        assert attacked.code == 0
        assert "No attack applies" in " ".join(attacked.out.split())
