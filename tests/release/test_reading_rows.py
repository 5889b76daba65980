"""Rows of a public CSV file that repeat are read once: what comes out is what reading all of them gives."""

from __future__ import annotations

from functools import partial

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from reticent.errors import DataError
from reticent.release.manifest import Manifest, ManifestColumn, ManifestTable
from reticent.release.public_tables import read_rows, read_table
from reticent.table import RepeatedRows, ValueType
from reticent.table.blocks import as_csv
from tests.sampling import examples

COLUMNS = (ManifestColumn("town", "declared", ValueType.TEXT), ManifestColumn("age", "declared", ValueType.INTEGER))
MANIFEST = Manifest("generalize", COLUMNS, {"data": ManifestTable(("data.csv",), ("town", "age"))}, {}, "row", None, {})
HEADER = b"town,age\n"
# What a forger may write: quotes that stay open, empty lines, ends of lines of other systems, too many fields, bytes that are no text.
PIECES = st.sampled_from(
    [
        b"a,1\n",
        b"b,2\n",
        b'"x, y",3\n',
        b'"x\ny",3\n',
        b'"x\n',
        b"\n",
        b"a,1\r\n",
        b"a,1,1\n",
        b"\xff,1\n",
        b"a\n",
        b"\x1f,1\n",
        b'""\n',
        b",\n",
    ]
)


def outcome(read, content):
    try:
        rows = read(content, "data", MANIFEST)
        return rows if isinstance(rows, pl.DataFrame) else rows.frame()
    except DataError as error:
        return str(error)


@examples(300)
@given(st.lists(st.tuples(PIECES, st.integers(1, 9)), max_size=6), st.sampled_from([HEADER, b"town;age\n", b""]))
@example([(b"a,1\n", 9)], HEADER)
@example([(b'"x\n', 4)], HEADER)
@example([(b'"x\ny",3\n', 4)], HEADER)
def test_what_is_read_by_runs_is_what_is_read_row_by_row(parts, header):
    content = header + b"".join(piece * times for piece, times in parts)
    by_rows = outcome(read_table, content)
    for by_runs in (outcome(partial(read_rows, small=0), [content]), outcome(read_rows, [content])):
        assert type(by_runs) is type(by_rows)
        assert by_runs.equals(by_rows) if isinstance(by_rows, pl.DataFrame) else by_runs == by_rows


def test_rows_that_repeat_are_held_once():
    frame = pl.DataFrame({"town": ["x, y"] * 50 + ["z"] * 50, "age": [1] * 100})
    rows = read_rows([as_csv(frame)], "data", MANIFEST, small=0)
    assert isinstance(rows, RepeatedRows)
    assert rows.distinct.height == 2
    assert rows.frame().equals(frame)
