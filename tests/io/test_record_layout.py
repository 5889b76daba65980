"""Where the table stands in a file: titles above it, notes below it, column names or none; what is assumed is told, and what is said wins."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.io import Source, read_frame
from reticent.io.record_layout import find_layout, repetitions_numbered
from reticent.policy import Policy
from tests.io.test_sheets import workbook

ROWS = [("31", "f", "flu"), ("44", "m", "gout"), ("52", "f", "flu"), ("29", "m", "ulcer")]
HEAD = ("age", "sex", "ill")
TYPED = [(31, "f", "flu"), (44, "m", "gout"), (52, "f", "flu"), (29, "m", "ulcer")]


def text(*lines: str | tuple[str, ...]) -> str:
    return "".join((line if isinstance(line, str) else ",".join(line)) + "\n" for line in lines)


def write(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("above", "below", "settings", "told"),
    [
        ((), (), {}, ()),
        (("Patients of 2024",), (), {"skip_rows": 1}, ("The first line is above the table and was skipped ('Patients of 2024')",)),
        (("Patients", "", "as of May 2024"), (), {"skip_rows": 3}, ("The first 2 lines are above the table and were skipped ('Patients')",)),
        (("Patients,,", ",,"), (), {"skip_rows": 2}, ("The first line is above",)),
        (('"Two\nlines, quoted"',), (), {"skip_rows": 2}, ("The first line is above",)),
        ((), ("Source: the ward",), {}, ("the last line is a note below the rows and was not read ('Source: the ward')",)),
        ((), ("", "Source: the ward", "n = 4 patients", ""), {}, ("the last 2 lines are notes",)),
        ((), (",,", "Source: the ward,,"), {}, ("the last line is a note",)),
        ((), (",,", ",,"), {}, ("2 empty rows at the end were not read",)),
        (("Title",), ("* provisional",), {"skip_rows": 1}, ("above the table", "a note below")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_titles_and_notes_are_skipped_and_told(
    tmp_path: Path,
    above: tuple[str, ...],
    below: tuple[str, ...],
    settings: dict[str, Any],
    told: tuple[str, ...],
    encoding: str,
) -> None:
    source = Source(write(tmp_path / "a.csv", text(*above, HEAD, *ROWS, *below), encoding))
    assert source.read().rows() == TYPED
    assert source.columns() == list(HEAD)
    assert source.found() == settings
    notes = source.codebook().notes()
    assert len(notes) == len(told)
    for note, words in zip(notes, told, strict=True):
        assert words in note
    assert pl.concat(source.stream(["age", "ill"]).chunks(["age", "ill"])).rows() == [
        (age, ill) for age, _, ill in TYPED
    ]
    said = Source(tmp_path / "a.csv", **settings)
    assert said.read().rows() == TYPED
    assert not [note for note in said.codebook().notes() if "above" in note], "what was said is told again"


@pytest.mark.parametrize(
    "lines",
    [
        [*ROWS, "Ann"],  # a name, not a note: no other word
        [*ROWS, "12"],
        [*ROWS, ("31", "f")],
        [("31", "f"), *ROWS],
    ],
)
def test_a_broken_row_at_the_end_is_still_refused_unless_it_is_a_text_alone(tmp_path: Path, lines: list[Any]) -> None:
    path = write(tmp_path / "a.csv", text(HEAD, *lines))
    if lines[-1] == "Ann":
        assert "is a note" in Source(path).codebook().notes()[0]
        return
    with pytest.raises(DataError, match=r"line \d: \d fields? where the header has 3"):
        read_frame(path)


def test_a_row_with_one_value_is_a_row(tmp_path: Path) -> None:
    source = Source(write(tmp_path / "a.csv", text(HEAD, *ROWS, "33,,")))
    assert source.read().rows()[-1] == (33, None, None)
    assert source.codebook().notes() == ()


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        (["age,sex,ill", "31,f,flu", "44,m,gout"], True),
        (["31,f,flu", "44,m,gout", "52,f,flu"], False),
        (["39, State-gov, 77516, Bachelors", "50, Self-emp, 83311, Bachelors"], False),
        (["f,flu", "m,gout", "f,flu", "m,flu"], False),
        (["sex,ill", "m,gout", "f,flu", "m,flu"], True),
        (["2024-01-31,x", "2024-02-28,y"], False),
        (["day,what", "2024-02-28,y"], True),
        (["country,2019,2020,2021", "Chad,5,6,7", "Mali,1,2,3"], True),
        (["country,2019", "Chad,5", "Mali,7"], True),
        (["Ann,1980", "Bea,1975", "Cid,1991"], False),
        (["country,2020-01-01,2020-01-02", "Chad,5,6", "Mali,1,2"], True),
        (["0,1,2", "5,6,7", "8,9,1"], True),
        (["7", "9", "12"], False),
        (["n", "9", "12"], True),
        (["name", "Ann", "Bea", "Ann"], True),
        ([",age,sex", "0,31,f", "1,44,m"], True),
        (["31,,f", "44,2,m", "52,3,f"], False),
        (["true,x", "false,y", "true,z"], False),
        (["1QTR,2QTR", "5,6", "7,8"], True),
        (["$1,200;x", "$900;y", "$1,350;z"], False),
        (["a,b", "c,d"], True),
        (["a,b"], True),
        (["?,-", "1,2"], True),
    ],
)
def test_column_names_are_told_from_a_row(tmp_path: Path, lines: list[str], header: bool) -> None:
    source = Source(write(tmp_path / "a.csv", text(*lines)))
    width = len(source.columns())
    assert source.found() == ({} if header else {"header": False})
    assert (source.columns() == [f"column_{number}" for number in range(1, width + 1)]) is not header
    if not header:
        assert source.read().height == len(lines)
        assert "looks like a row" in source.codebook().notes()[0]
    for said in (True, False):
        told = Source(tmp_path / "a.csv", header=said)
        assert told.codebook().notes() == ()
        if len(lines) > said:
            assert told.read().height == len(lines) - said


def test_lines_are_skipped_as_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x;y\nnonsense,\n\nage,sex\n31,f\n44,m\n")
    assert read_frame(path, skip_rows=2).rows() == [(31, "f"), (44, "m")]
    assert read_frame(path, skip_rows=4, header=False).columns == ["column_1", "column_2"]
    with pytest.raises(DataError, match=r"a\.csv is empty below the 9 lines that are skipped"):
        read_frame(path, skip_rows=9)
    with pytest.raises(PolicyError, match="skip_rows must be a number of lines from 0"):
        read_frame(path, skip_rows=-1)
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    for option in ({"header": False}, {"skip_rows": 1}):
        with pytest.raises(PolicyError, match="= is for text files and spreadsheets"):
            read_frame(tmp_path / "a.parquet", **option)


def test_errors_name_the_line_of_the_file_below_skipped_ones(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", text("Title", "", HEAD, *ROWS))
    with pytest.raises(
        DataError, match=r"line 5: column 'sex' has the value 'm'|line 4: column 'sex' has the value 'f'"
    ):
        read_frame(path, types={"sex": "integer"})
    with pytest.raises(DataError, match=r"line 4: column 'column_2' has the value 'f'"):
        read_frame(write(path, text("A title", "of two lines", "", *ROWS)), types={"column_2": "integer"}, header=False)


SHEET = [
    ["age", "sex", "ill", "seen"],
    *([a, s, i, datetime.date(2024, 1, a)] for a, s, i in [(5, "f", "flu"), (6, "m", "gout"), (7, "f", "flu")]),
]


@pytest.mark.parametrize(
    ("rows", "settings", "told"),
    [
        (SHEET, {}, []),
        ([[], *SHEET], {}, []),
        ([["Patients of 2024"], [], *SHEET], {"skip_rows": 2}, ["The first row is above the table"]),
        ([*SHEET, [], ["Source: the ward"]], {}, ["the last row is a note below the table and was not read ('Source: the ward')"]),
        ([["Title"], ["by me"], *SHEET, [], ["a"], ["b"]], {"skip_rows": 2}, ["The first 2 rows are", "the last 2 rows are notes"]),
    ],
)  # fmt: skip
def test_a_sheet_is_read_like_a_text_file(
    tmp_path: Path, rows: list[list[Any]], settings: dict[str, Any], told: list[str]
) -> None:
    source = Source(workbook(tmp_path / "a.xlsx", People=rows))
    assert source.read().rows() == [tuple(row) for row in SHEET[1:]]
    assert source.columns() == SHEET[0]
    assert source.found() == settings
    notes = source.codebook().notes()
    assert len(notes) == len(told)
    assert all(words in note for note, words in zip(notes, told, strict=True))


def test_a_sheet_without_names(tmp_path: Path) -> None:
    source = Source(workbook(tmp_path / "a.xlsx", People=[row[:3] for row in SHEET[1:]]))
    assert source.found() == {"header": False}
    assert source.read().rows() == [tuple(row[:3]) for row in SHEET[1:]]
    assert source.columns() == ["column_1", "column_2", "column_3"]
    assert Source(tmp_path / "a.xlsx", header=True).columns() == ["5", "f", "flu"]


def test_inspect_writes_down_what_it_found_and_publish_reads_it_so(tmp_path: Path) -> None:
    lines = [f"{20 + number % 30},{'fm'[number % 2]},{['flu', 'gout', 'ulcer'][number % 3]}" for number in range(90)]
    path = write(tmp_path / "people.data", text("Patients of 2024", *lines, "Source: the ward"))
    inspected = rt.inspect(path, output=tmp_path / "policy.toml")
    assert "skip_rows = 1" in inspected.policy
    assert "header = false" in inspected.policy
    assert list(inspected.roles) == ["column_1", "column_2", "column_3"]
    assert (
        sum("was skipped" in note or "looks like a row" in note or "is a note" in note for note in inspected.notes) == 3
    )
    assert inspected.table().rows == 90
    assert rt.read(path, quasi=["column_1"], sensitive="column_3").rows == 90
    named = rt.read(path, quasi=["20"], sensitive="flu", header=True)
    assert named.rows == 89


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)


@given(
    st.lists(st.lists(cells, min_size=1, max_size=5), min_size=1, max_size=8),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, 0]),
)
def test_a_layout_is_found_whatever_the_records_are(
    records: list[list[str]], header: bool | None, skip: int | None
) -> None:
    filled = [record for record in records if any(record)] or [["a"]]
    found = find_layout(filled, header, skip, "a.csv")
    assert 0 <= found.above < len(filled)
    assert header is None or found.header is header
    assert bool(found.assumed) == (found.above > 0 or (header is None and not found.header))


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_repeated_names_are_numbered_where_that_is_said(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"visits{suffix}"
    head, rows = ["date", "sex", "date", "", "date_2", "date"], [[1, "f", 3, 4, 5, 6], [7, "m", 9, 10, 11, 12]]
    if suffix == ".xlsx":
        workbook(path, Visits=[head, *rows])
    else:
        write(path, text(*(tuple(map(str, line)) for line in [head, *rows])))
    with pytest.raises(DataError, match=r"called 'date'.*number_names=True \(--number-names\)"):
        read_frame(path)
    frame = read_frame(path, number_names=True)
    assert frame.columns == ["date", "sex", "date_3", "column_4", "date_2", "date_4"]
    assert frame["date_3"].to_list() == [3, 9]
    assert frame["date_4"].to_list() == [6, 12]
    assert read_frame(path, number_names=True, columns=["date_4", "sex"]).columns == ["date_4", "sex"]
    assert pl.concat(Source(path, number_names=True).stream(["date_3"]).chunks())["date_3"].to_list() == [3, 9]


def test_a_policy_says_that_names_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "visits.csv", text("date,date", *(f"{n},{n % 7}" for n in range(60))))
    inspected = rt.inspect(path, output=tmp_path / "policy.toml", number_names=True, prices=False)
    assert "number_names = true" in inspected.policy
    (tmp_path / "policy.toml").write_text(inspected.policy)
    read = Policy.read(tmp_path / "policy.toml")
    assert read.sourced(None).columns() == ["date", "date_2"]


def test_numbering_of_names_is_for_files_that_have_them(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(PolicyError, match="number_names= is for text files and spreadsheets"):
        Source(tmp_path / "rows.parquet", number_names=True)


@given(st.lists(st.sampled_from(["a", "b", "a_2", "a_3", "a_2_2"])))
def test_numbered_names_are_distinct_and_first_ones_stay(names: list[str]) -> None:
    numbered = repetitions_numbered(names)
    assert len(set(numbered)) == len(names)
    for position, (name, unique_name) in enumerate(zip(names, numbered, strict=True)):
        assert (unique_name == name) == (name not in names[:position])
        assert unique_name.startswith(name)
