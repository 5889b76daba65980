"""Spreadsheets come in as they look, and what a spreadsheet program would have to decide is asked or refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.io.source import Source, read_frame


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "people.xlsx"


def test_cells_have_the_types_that_they_show(place: Path) -> None:
    workbook(
        place,
        People=[
            ["id", "weight", "born", "seen", "job", "mixed", "zip", "ill", None, "nothing"],
            [
                1,
                70.5,
                datetime.date(1980, 1, 2),
                datetime.datetime(2024, 1, 1, 8, 30),
                "nurse",
                5,
                "02138",
                True,
                3,
                None,
            ],
            [2, None, datetime.date(1900, 5, 1), datetime.datetime(2024, 1, 1), "née", "five", "10115", False, 4, None],
            [None, 80, None, None, "#N/A", 5.5, None, None, None, None],
            [2**40, 1, None, None, None, None, None, None, 1, None],
        ],
    )
    found = read_frame(place)
    assert found.schema == pl.Schema(
        {
            "id": pl.Int64,
            "weight": pl.Float64,
            "born": pl.Date,
            "seen": pl.Datetime("us"),
            "job": pl.String,
            "mixed": pl.String,
            "zip": pl.String,
            "ill": pl.Boolean,
            "column_9": pl.Int64,
            "nothing": pl.String,
        }
    )
    assert found["id"].to_list() == [1, 2, None, 2**40]
    assert found["job"].to_list() == ["nurse", "née", None, None]
    assert found["mixed"].to_list() == ["5", "five", "5.5", None]
    assert found["zip"].to_list() == ["02138", "10115", None, None]
    assert found["born"].to_list()[:2] == [datetime.date(1980, 1, 2), datetime.date(1900, 5, 1)]


def test_which_of_several_sheets_is_asked(place: Path) -> None:
    workbook(place, Notes=[["a"], [1]], People=[["age"], [34], [35]], Empty=[])
    with pytest.raises(PolicyError, match=r"has several sheets: 'Notes', 'People'\. Choose the one.*--sheet"):
        read_frame(place)
    assert read_frame(place, sheet="People")["age"].to_list() == [34, 35]
    assert rt.read(place, sheet="People", quasi=["age"]).rows == 2
    with pytest.raises(DataError, match=r"has no sheet 'Peopel'\. Did you mean 'People'"):
        read_frame(place, sheet="Peopel")
    with pytest.raises(DataError, match="sheet 'Empty' is empty"):
        read_frame(place, sheet="Empty")
    with pytest.raises(PolicyError, match="sheet= is for spreadsheets"):
        Source("rows.csv", sheet="People")


def test_the_only_sheet_with_rows_is_taken(place: Path) -> None:
    workbook(place, Empty=[], People=[["age"], [34]])
    assert read_frame(place)["age"].to_list() == [34]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "no sheet with anything in it"),
        ([["age", "sex"]], "sheet 'People' has no rows below its column names"),
        ([["age", "age"], [1, 2]], "two columns of sheet 'People' are called 'age'"),
        ([["age", "twice"], [1, "=A2*2"]], "cell B2 of sheet 'People' is a formula whose value was never computed"),
    ],
)
def test_what_makes_no_table_is_refused(place: Path, rows: list[list[Any]], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_frame(workbook(place, People=rows))


def test_a_formula_that_was_computed_is_its_value(place: Path) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(str(place))
    sheet = book.add_worksheet("People")
    sheet.write_row(0, 0, ["age", "twice"])
    sheet.write_number(1, 0, 17)
    sheet.write_formula(1, 1, "=A2*2", None, 34)
    book.close()
    assert read_frame(place)["twice"].to_list() == [34]


def test_damaged_misnamed_and_protected_files_are_refused(tmp_path: Path, place: Path) -> None:
    whole = workbook(place, People=[["age"], [34]]).read_bytes()
    cases = {
        "cut.xlsx": (whole[: len(whole) // 2], "cannot be read as a spreadsheet"),
        "text.xlsx": (b"age,sex\n1,2\n", "cannot be read as a spreadsheet.*is its suffix right"),
        "nothing.xlsx": (b"", "is empty"),
        # Excel packs an encrypted workbook into a compound file.
        "locked.xlsx": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(4096), "protected by a password"),
        "old.xls": (b"hello", "cannot be read as a spreadsheet"),
    }
    for name, (content, told) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=told):
            read_frame(tmp_path / name)


def test_the_wanted_columns_are_read_and_declared_types_hold(place: Path) -> None:
    workbook(place, People=[["zip", "age", "note"], [2138, 34, "?"], [10115, 35, "x"]])
    found = read_frame(place, columns=["note", "zip"], types={"zip": "text"}, null_values=["?"])
    assert found.rows() == [(None, "2138"), ("x", "10115")]
    with pytest.raises(DataError, match=r"has no column 'agee'\. Did you mean 'age'"):
        read_frame(place, columns=["agee"])
