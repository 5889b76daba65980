"""Kinds of files: what is written comes back value for value, other programs read the same, and what cannot be held is refused by name."""

from __future__ import annotations

import datetime
import io
import string

import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import DataError, PolicyError
from reticent.registry import TABLE_FILES
from reticent.table import TableCodebook, table_file
from reticent.table.table_files import plain_names
from tests.sampling import examples

KINDS = tuple(TABLE_FILES)
FOREIGN = ("xlsx", "sav", "dta", "xpt")


def there_and_back(kind: str, frame: pl.DataFrame, codebook: TableCodebook | None = None) -> bytes:
    """The bytes of a frame, which must come back as it was."""
    file = table_file(kind, codebook)
    content = b"".join(file.write(frame, frame.schema))
    assert file.read(content, frame.schema, f"table.{kind}").equals(frame)
    return content


def pandas_of(kind: str, content: bytes) -> pd.DataFrame:
    """What a program that shares no code with ours reads."""
    if kind == "xlsx":
        sheet = openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]
        first, *rows = sheet.iter_rows(values_only=True)
        return pd.DataFrame(rows, columns=list(first))
    if kind == "dta":
        return pd.read_stata(io.BytesIO(content))
    if kind == "xpt":
        return pyreadstat.read_xport(io.BytesIO(content))[0]
    return pyreadstat.read_sav(io.BytesIO(content), apply_value_formats=True)[0]


TYPES = pl.DataFrame(
    {
        "text": ["née, “x”", None, "=1+1", "漢字 😀"],
        "number": [1, None, -3, 2**31],
        "wide": [2**63 - 1, None, -(2**63), 9007199254740993],
        "unsigned": pl.Series([2**64 - 1, None, 0, 1], dtype=pl.UInt64),
        "real": [0.1 + 0.2, None, -1e300, 5e-324],
        "far": [float("inf"), 1.5, None, float("-inf")],
        "day": [datetime.date(2024, 1, 31), None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
        "moment": [
            datetime.datetime(2024, 1, 31, 23, 59, 59, 123456),
            None,
            datetime.datetime(1850, 1, 1),
            datetime.datetime(1970, 1, 1, 1),
        ],
        "flag": [True, False, None, True],
        "nothing": pl.Series([None] * 4, dtype=pl.String),
    }
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_a_release_comes_back(kind: str) -> None:
    there_and_back(kind, TYPES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_depend_on_the_values_only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    first = there_and_back(kind, TYPES)
    if kind in ("sav", "dta", "xpt"):
        time.sleep(1.1)
    assert there_and_back(kind, TYPES) == first


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
_COLUMNS = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3).map(
        lambda values: pl.Series(values, dtype=pl.Int64)
    ),
    st.lists(st.none() | st.floats(allow_nan=False), min_size=3, max_size=3).map(
        lambda values: pl.Series(values, dtype=pl.Float64)
    ),
    st.lists(st.none() | st.dates(), min_size=3, max_size=3).map(lambda values: pl.Series(values, dtype=pl.Date)),
    st.lists(st.none() | st.datetimes(), min_size=3, max_size=3).map(
        lambda values: pl.Series(values, dtype=pl.Datetime("us"))
    ),
    st.lists(st.none() | st.booleans(), min_size=3, max_size=3).map(lambda values: pl.Series(values, dtype=pl.Boolean)),
    st.lists(st.none() | _TEXT, min_size=3, max_size=3).map(lambda values: pl.Series(values, dtype=pl.String)),
)
_NAMES = st.lists(
    st.text(string.ascii_letters + string.digits + " _-éß漢.", min_size=1, max_size=40),
    min_size=1,
    max_size=4,
    unique=True,
)


@examples(60)
@given(st.sampled_from(FOREIGN), _NAMES, st.data())
def test_whatever_is_written_comes_back_or_is_refused_by_its_column(
    kind: str, names: list[str], data: st.DataObject
) -> None:
    frame = pl.DataFrame({name: data.draw(_COLUMNS) for name in names})
    file, refused = table_file(kind), None
    try:
        content = b"".join(file.write(frame, frame.schema))
    except DataError as error:
        refused = error
    if refused is not None:
        texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
        assert refused.column in texts or (kind == "xlsx" and frame.tail(1).row(0) == (None,) * frame.width)
        return
    assert file.read(content, frame.schema, "table").equals(frame)


PLAIN = pl.DataFrame(
    {
        "id": [1, 2, 3],
        "age": [20, 30, None],
        "weight": [0.1 + 0.2, 70.5, None],
        "born": [datetime.date(2000, 1, 2), datetime.date(1950, 12, 31), None],
        "job": ["nurse", "née", None],
    }
)


@pytest.mark.parametrize("kind", FOREIGN)
def test_other_programs_read_the_same_values(kind: str) -> None:
    found = pandas_of(kind, there_and_back(kind, PLAIN))
    assert [str(name).lower() for name in found.columns] == PLAIN.columns
    found.columns = PLAIN.columns
    assert [None if pd.isna(value) else int(value) for value in found["age"]] == [20, 30, None]
    assert [None if pd.isna(value) else float(value) for value in found["weight"]] == [0.1 + 0.2, 70.5, None]
    assert [None if pd.isna(value) else str(value)[:10] for value in found["born"]] == [
        "2000-01-02",
        "1950-12-31",
        None,
    ]
    assert [value if isinstance(value, str) and value else None for value in found["job"]] == ["nurse", "née", None]


def test_codes_of_the_original_label_the_same_texts_again() -> None:
    book = TableCodebook(
        {"sex": "Sex of respondent"}, {"sex": {1: "male", 2: "female", 3: "other"}, "age": {99: "99 or older"}}
    )
    frame = pl.DataFrame({"sex": ["female", "male", "*", None], "age": [98, 99, 99, None]})
    for kind, read in (("sav", pyreadstat.read_sav), ("dta", pyreadstat.read_dta)):
        found, told = read(io.BytesIO(there_and_back(kind, frame, book)))
        assert found["sex"].dropna().tolist() == [2, 1, 4]
        # A label that no published row has is not published.
        assert told.variable_value_labels == {"sex": {1: "male", 2: "female", 4: "*"}, "age": {99: "99 or older"}}
        assert told.column_names_to_labels["sex"] == "Sex of respondent"


def test_names_are_made_to_fit_and_told_apart() -> None:
    columns = ["native-country", "native country", "9lives", "if", "a" * 40, "a" * 41, "_x", "Age", "age", "漢字"]
    made = plain_names(columns, 32, reserved=("if",))
    assert made == [
        "native_country",
        "native_country_2",
        "v9lives",
        "if_2",
        "a" * 32,
        "a" * 30 + "_2",
        "v_x",
        "Age",
        "age_2",
        "漢字",
    ]
    assert plain_names(["漢字", "é"], 32, ascii_only=True) == ["v__", "v_"]
    frame = pl.DataFrame({name: [1, 2] for name in columns})
    for kind in FOREIGN:
        there_and_back(kind, frame)
    _, told = pyreadstat.read_dta(io.BytesIO(there_and_back("dta", frame)))
    assert told.column_names_to_labels["native_country"] == "native-country"


@pytest.mark.parametrize(("kind", "texts"), [("xpt", ["", "a", None]), ("sav", ["x "] * 3)])
def test_what_would_come_back_changed_is_refused_by_its_column(kind: str, texts: list[str | None]) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "note": texts})
    with pytest.raises(DataError, match=f"Column 'note' cannot be written as {kind} without loss") as caught:
        list(table_file(kind).write(frame, frame.schema))
    assert caught.value.column == "note"


def test_many_different_texts_are_written_as_texts_and_few_as_codes() -> None:
    frame = pl.DataFrame({"few": [f"v{i % 7}" for i in range(1200)], "many": [f"{i:04d}" for i in range(1200)]})
    found, told = pyreadstat.read_sav(io.BytesIO(there_and_back("sav", frame)))
    assert sorted(told.variable_value_labels) == ["few"]
    assert found["many"].tolist() == frame["many"].to_list()


def test_a_kind_that_is_not_known_is_named_with_those_that_are() -> None:
    with pytest.raises(
        PolicyError, match=r"files must be one of csv, parquet, .*, but it is 'dat'\. Did you mean 'dta'"
    ):
        table_file("dat")
    with pytest.raises(PolicyError, match="need all rows in memory"):
        table_file("dta").blocks(TYPES.schema, [TYPES])


def test_a_sheet_has_room_for_a_million_rows() -> None:
    frame = pl.DataFrame({"a": pl.repeat(1, 1_048_576, eager=True)})
    with pytest.raises(DataError, match="at most 1,048,575 rows"):
        list(table_file("xlsx").write(frame, frame.schema))
    long = pl.DataFrame({"a": ["x" * 32_768]})
    with pytest.raises(DataError, match="Column 'a' has a text of more than 32,767"):
        list(table_file("xlsx").write(long, long.schema))


@pytest.mark.parametrize("kind", FOREIGN)
def test_damaged_bytes_are_refused(kind: str) -> None:
    content, schema = there_and_back(kind, PLAIN), PLAIN.schema
    for broken in (b"", b"hello", content[: len(content) // 2]):
        with pytest.raises(DataError, match="table"):
            table_file(kind).read(broken, schema, "table")
    other = pl.Schema({"other" if name == "age" else name: dtype for name, dtype in schema.items()})
    with pytest.raises(DataError, match="but the manifest lists"):
        table_file(kind).read(content, other, "table")
    wrong = pl.Schema({name: pl.Int64() if name == "weight" else dtype for name, dtype in schema.items()})
    with pytest.raises(DataError, match="column 'weight' is not of type Int64"):
        table_file(kind).read(content, wrong, "table")


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("edge", [2.0**1023, -(2.0**1023), 1.7976931348623157e308, 5e-324, 7.3e75, 1e-80, float("inf")])
def test_numbers_at_the_ends_of_what_a_program_holds_come_back(kind: str, edge: float) -> None:
    frame = pl.DataFrame({"x": [1.5, edge, None], "id": [1, 2, 3]})
    file = table_file(kind)
    assert file.read(b"".join(file.write(frame, frame.schema)), frame.schema, "table").equals(frame)
