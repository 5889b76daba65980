"""Records of CSV text: as Arrow's reader has them, whatever stands in quotation marks."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv

from reticent.io.csv_records import MalformedRecords, RecordFormat, RecordText, record_blocks, text_blocks
from tests.sampling import examples

FIELDS = [
    "",
    "x",
    "12",
    "NA",
    '"NA"',
    '""',
    '"a,b"',
    '"a\nb"',
    '"say ""no"""',
    '5" pipe',
    'a"b"c',
    '"a"b',
    " ",
    '"\n\n"',
    "é",
]
texts = st.builds(
    lambda rows, ends, last: "".join(
        ",".join(row) + (end if number < len(rows) - 1 or last else "")
        for number, (row, end) in enumerate(zip(rows, ends, strict=False))
    ),
    st.lists(st.lists(st.sampled_from(FIELDS), min_size=3, max_size=3), min_size=1, max_size=12),
    st.lists(st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n"]), min_size=12, max_size=12),
    st.booleans(),
)


def by_arrow(text: bytes, names: list[str], null_values: list[str]) -> list[tuple[str | None, ...]]:
    """The independent oracle: the reader of another library. It takes an empty last value for quoted if no line end follows."""
    text = text if text.endswith(b"\n") else text + b"\n"
    table = arrow_csv.read_csv(
        io.BytesIO(text),
        read_options=arrow_csv.ReadOptions(column_names=names),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(names) > 1),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            null_values=["", *null_values],
            quoted_strings_can_be_null=False,
        ),
    )
    return pl.DataFrame(table).rows()


def ours(text: bytes, width: int, null_values: list[str], block: int) -> list[tuple[str | None, ...]]:
    form = RecordFormat(",", width, tuple(null_values))
    books = {place: pl.Categories.random() for place in range(width)}
    pieces = (text[start : start + block] for start in range(0, len(text), block))
    parts = [form.columns(part, books) for part in record_blocks(text_blocks(pieces, "utf-8"), form, 0, False, 1 << 20)]
    return pl.concat(parts).select(pl.all().cast(pl.String)).rows() if parts else []


@given(texts, st.sampled_from([[], ["NA"], ["12", "x"]]), st.integers(1, 80))
@examples(200)
def test_records_are_those_of_another_reader(text: str, null_values: list[str], block: int) -> None:
    content = text.encode()
    assert ours(content, 3, null_values, block) == by_arrow(content, ["a", "b", "c"], null_values)


@given(st.lists(st.sampled_from(FIELDS[:5] + FIELDS[7:9]), min_size=1, max_size=9), st.integers(1, 30))
@examples(60)
def test_an_empty_line_of_one_column_is_a_missing_value(values: list[str], block: int) -> None:
    content = "".join(f"{value}\n" for value in values).encode()
    assert ours(content, 1, [], block) == by_arrow(content, ["a"], [])


@given(
    st.lists(st.lists(st.sampled_from(FIELDS[:7]), min_size=1, max_size=5), min_size=1, max_size=6), st.integers(1, 40)
)
@examples(100)
def test_records_of_another_width_are_refused(rows: list[list[str]], block: int) -> None:
    """Also where a long record makes up for the delimiters that a short one lacks."""
    content = "".join(",".join(row) + "\n" for row in rows).encode()
    if all(len(row) == 3 or row == [""] for row in rows):
        assert ours(content, 3, [], block) == by_arrow(content, ["a", "b", "c"], [])
    else:
        with pytest.raises(MalformedRecords):
            ours(content, 3, [], block)


def test_lines_of_old_computers_end_with_a_carriage_return() -> None:
    assert ours(b'a,"b"\rc,d\r', 2, [], 3) == [("a", "b"), ("c", "d")]
    assert ours(b"a,b\rc,d", 2, [], 100) == [("a", "b"), ("c", "d")]


def test_a_record_must_fit_into_a_block() -> None:
    with pytest.raises(MalformedRecords, match="too long"):
        list(record_blocks([b"x" * 50] * 3, RecordFormat(",", 1), 0, False, 100))
    assert RecordText(b'"x\ny"\nz').lines == 2
