"""``reticent apply``: later rows are recoded as the release was, and what is wrong is told."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import PATIENTS, POLICY, Command
from tests.io.test_sheets import workbook


@pytest.mark.parametrize("method", ["", 'name = "Mondrian"\n', 'name = "Mondrian"\nvalues = "hierarchy"\n'])
def test_the_rows_of_the_table_come_back_as_they_were_published(reticent: Command, patients: Path, method: str) -> None:
    head = POLICY[: POLICY.index("[method]")]
    (patients / "policy.toml").write_text(f"{head}[method]\n{method}" if method else POLICY)
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    found = reticent("apply", "release", "patients.csv", "-o", "recoded.csv", "--json")
    assert found.code == 0, found.err
    published = pl.read_csv(patients / "release" / "public" / "data.csv", infer_schema=False)
    recoded = pl.read_csv(patients / "recoded.csv", infer_schema=False)
    assert recoded.sort(pl.all()).equals(published.sort(pl.all()))
    assert found.json["rows"] == published.height
    assert found.json["left_out"] == PATIENTS.height - published.height


def test_a_value_without_a_place_is_named_or_its_row_is_left_out(reticent: Command, patients: Path) -> None:
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    PATIENTS.head(3).with_columns(age=pl.Series([130, 27, 34])).write_csv("new.csv")
    found = reticent("apply", "release", "new.csv", "-o", "recoded.csv")
    assert found.code == 2
    assert "130" in found.err
    assert not Path("recoded.csv").exists()
    left = reticent("apply", "release", "new.csv", "-o", "recoded.csv", "--unseen", "suppress")
    assert left.code == 0
    assert "not a release" in left.out
    assert pl.read_csv("recoded.csv").height < 3
    assert reticent("apply", "release", "new.csv", "-o", "recoded.csv", "--unseen", "ignore").code == 2
    assert reticent("apply", "release/public", "new.csv", "-o", "recoded.csv").code == 2


def test_new_rows_are_read_as_inspect_reads_them(reticent: Command, patients: Path) -> None:
    """From another sheet, with another delimiter, without column names: the same rows are recoded alike."""
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    assert reticent("apply", "release", "patients.csv", "-o", "expected.csv").code == 0
    workbook(Path("new.xlsx"), Notes=[["a"], [1]], People=[PATIENTS.columns, *map(list, PATIENTS.rows())])
    several = reticent("apply", "release", "new.xlsx", "-o", "recoded.csv")
    assert several.code == 2
    assert "--sheet" in several.err
    assert reticent("apply", "release", "new.xlsx", "-o", "sheet.csv", "--sheet", "People").code == 0
    written = PATIENTS.write_csv(separator="#")
    Path("new.txt").write_text("Patients\n\n" + written)
    assert reticent("apply", "release", "new.txt", "-o", "text.csv", "--delimiter", "#", "--skip-rows", "2").code == 0
    with sqlite3.connect("new.sqlite") as connection:
        connection.execute(f"CREATE TABLE people ({', '.join(PATIENTS.columns)})")
        connection.execute("CREATE TABLE other (a)")
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * PATIENTS.width)})", PATIENTS.rows())
    assert reticent("apply", "release", "new.sqlite", "-o", "base.csv", "--table", "people").code == 0
    expected = Path("expected.csv").read_bytes()
    assert all(Path(f"{name}.csv").read_bytes() == expected for name in ("sheet", "text", "base"))


def test_new_rows_are_read_as_the_policy_says(reticent: Command, patients: Path) -> None:
    """Codes without leading zeros are numbers in the new file, and text in the release."""
    policy = POLICY.replace('types = { zip = "text" }', 'types = { zip = "text", name = "text" }')
    Path("policy.toml").write_text(policy)
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    PATIENTS.head(5).drop("name").write_csv("new.csv")
    found = reticent("apply", "release", "new.csv", "-o", "recoded.csv", "--policy", "policy.toml", "--json")
    assert found.code == 0, found.err
    assert found.json["notes"] == []
