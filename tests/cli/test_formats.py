"""Excel, SPSS, Stata and SAS through the command line: inspect, publish, verify, query, attack."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tests.cli.conftest import PATIENTS, Command


@pytest.fixture
def survey(place: Path) -> Path:
    rows = PATIENTS.with_columns(
        sex=pl.Series([1, 2, 1, 2, 9] * 24),
        disease=PATIENTS["disease"].replace_strict({"flu": 1, "cold": 2, "ulcer": 3, "asthma": 4}),
    )
    pyreadstat.write_sav(
        rows,
        str(place / "survey.sav"),
        variable_value_labels={
            "sex": {1: "male", 2: "female", 9: "refused"},
            "disease": {1: "flu", 2: "cold", 3: "ulcer", 4: "asthma"},
        },
        missing_ranges={"sex": [9]},
    )
    return place


@pytest.mark.parametrize("files", ["sav", "dta", "xlsx", "xpt"])
def test_from_a_statistics_file_to_a_verified_release(survey: Path, reticent: Command, files: str) -> None:
    looked = reticent("inspect", "survey.sav", "--json")
    assert looked.code == 0, looked.err
    assert any("9 (refused)" in note and "24 rows were read as missing" in note for note in looked.json["notes"])
    made = reticent("publish", "policy.toml", "-o", "release", "--files", files, "--json")
    assert made.code == 0, made.err
    assert made.json["read_as_missing"] == {"sex": {"9 (refused)": 24}}
    assert [Path(file).suffix for file in made.json["tables"].values()] == [f".{files}"]
    assert reticent("verify", "release").code == 0
    assert reticent("query", "release", "disease = 'flu'").code == 0
    assert reticent("attack", "release").code in (0, 1)
    (published,) = (survey / "release" / "public").glob(f"*.{files}")
    if files == "xlsx":
        sheet = openpyxl.load_workbook(published).worksheets[0]
        assert sheet.max_row == made.json["rows"] + 1
    elif files == "dta":
        assert set(pd.read_stata(published)["disease"].astype(str)) <= {"flu", "cold", "ulcer", "asthma"}
    content = published.read_bytes()
    published.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert reticent("verify", "release").code == 1


def test_a_workbook_with_two_sheets_asks_which(place: Path, reticent: Command) -> None:
    book = openpyxl.Workbook()
    for name in ("First", "Second"):
        sheet = book.create_sheet(name)
        sheet.append(PATIENTS.columns)
        for row in PATIENTS.iter_rows():
            sheet.append(row)
    book.remove(book.worksheets[0])
    book.save(place / "people.xlsx")
    asked = reticent("inspect", "people.xlsx")
    assert asked.code == 2
    assert "'First', 'Second'" in asked.err
    assert reticent("inspect", "people.xlsx", "--sheet", "Second").code == 0
    assert 'sheet = "Second"' in (place / "policy.toml").read_text()
    assert reticent("publish", "policy.toml", "-o", "release").code == 0


def test_a_kind_of_file_that_does_not_stream_is_refused_before_the_search(survey: Path, reticent: Command) -> None:
    PATIENTS.write_csv("patients.csv")
    assert reticent("inspect", "patients.csv").code == 0
    found = reticent("publish", "policy.toml", "-o", "release", "--files", "dta", "--engine", "streaming")
    assert found.code == 2
    assert "needs all rows in memory" in found.err
    wrong = reticent("publish", "policy.toml", "-o", "release", "--files", "dat")
    assert wrong.code == 2
    assert "Did you mean 'dta'" in wrong.err
    assert not (survey / "release").exists()


def test_a_release_is_written_to_a_database_too_or_nothing_is(place: Path, reticent: Command) -> None:
    PATIENTS.write_csv("patients.csv")
    assert reticent("inspect", "patients.csv").code == 0
    to = f"sqlite:///{place / 'open.data'}"
    unnamed = reticent("publish", "policy.toml", "-o", "release", "--to", to)
    assert unnamed.code == 2
    assert "--to-table" in unnamed.err
    made = reticent("publish", "policy.toml", "-o", "release", "--to", to, "--to-table", "patients")
    assert made.code == 0, made.err
    assert reticent("verify", "release").code == 0
    assert reticent("inspect", to, "-o", "-", "--table", "patients").code == 0
    again = reticent("publish", "policy.toml", "-o", "second", "--again", "--to", to, "--to-table", "patients")
    assert again.code == 2
    assert "has a table 'patients' already" in again.err
    assert not (place / "second").exists()
    # The last attempt was withdrawn, so the data set was released once.
    assert [entry["status"] for entry in reticent("ledger", "list", "--json").json["entries"]].count("given out") == 1
