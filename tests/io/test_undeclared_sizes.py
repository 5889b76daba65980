"""Files that do not say how large they are once they are read: bounded all the same."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from reticent.errors import DataError
from reticent.io import Source, read_frame
from tests.io.old_workbooks import old_workbook

CELLS = [(0, 0, "age"), (0, 1, "town"), (1, 0, 34.0), (1, 1, "Ulm"), (2, 0, 35.0), (2, 1, "Rom")]


def test_an_old_workbook_is_read_in_a_process_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "people.xls"
    path.write_bytes(old_workbook(CELLS))
    source = Source(path)
    assert source.columns() == ["age", "town"]
    assert source.read(["town", "age"]).rows() == [("Ulm", 34), ("Rom", 35)]
    with pytest.raises(DataError, match="has no sheet 'other'"):
        read_frame(path, sheet="other")


LYING = {
    "a cell in the far corner": lambda: old_workbook([*CELLS, (65_535, 255, 1.0)]),
    "a table of sectors of two terabytes": lambda: _changed(44, 0xFFFFFFF0),
    "a table of small sectors of two terabytes": lambda: _changed(64, 0xFFFFFFF0),
}


def _changed(place: int, number: int) -> bytes:
    content = old_workbook(CELLS)
    return content[:place] + struct.pack("<I", number) + content[place + 4 :]


@pytest.mark.parametrize("lie", LYING)
def test_an_old_workbook_that_would_take_gigabytes_is_refused(tmp_path: Path, lie: str) -> None:
    path = tmp_path / "people.xls"
    path.write_bytes(LYING[lie]())
    with pytest.raises(
        DataError, match=r"people.xls has [0-9,]+ bytes and cannot be read within [0-9,]+ bytes of memory"
    ):
        read_frame(path)


def stata_texts(path: Path, text: str, rows: int) -> None:
    """A file of Stata in which so many rows have one long text, which stands in it once."""
    frame = pd.DataFrame({"note": [text, text]})
    frame.to_stata(path, version=118, convert_strl=["note"], write_index=False)
    content = path.read_bytes()
    first, last = content.index(b"<data>") + 6, content.index(b"</data>")
    row = content[first : (first + last) // 2]
    places = content.index(b"<map>") + 5
    moved = [
        place + len(row) * (rows - 2) * (place > first)
        for place in struct.unpack("<14Q", content[places : places + 112])
    ]
    counted = content.index(b"<N>") + 3
    head = content[:counted] + struct.pack("<Q", rows) + content[counted + 8 : places] + struct.pack("<14Q", *moved)
    path.write_bytes(head + content[places + 112 : first] + row * rows + content[last:])


def test_long_texts_of_stata_are_read_and_refused_where_every_row_has_one(tmp_path: Path) -> None:
    path = tmp_path / "notes.dta"
    stata_texts(path, "y" * 3000, 4)
    assert read_frame(path, columns=["note"]).rows() == [("y" * 3000,)] * 4
    stata_texts(path, "y" * 1_000_000, 4_000)
    assert path.stat().st_size < 1_100_000
    with pytest.raises(DataError, match=r"notes.dta has [0-9,]+ bytes and cannot be read within"):
        read_frame(path)


def test_rows_of_spss_that_nobody_counted_are_counted_while_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "people.zsav"

    def write(rows: int) -> None:
        pyreadstat.write_sav(pl.DataFrame({"a": np.zeros(rows), "b": np.ones(rows)}), path, compress=True)
        content = bytearray(path.read_bytes())
        counted = content.find(struct.pack("<iiii", 7, 16, 8, 2)) + 24
        content[80:84], content[counted : counted + 8] = struct.pack("<i", -1), struct.pack("<q", -1)
        path.write_bytes(content)

    write(1000)
    assert read_frame(path).sum().row(0) == (0, 1000)
    write(4_500_000)
    with pytest.raises(DataError, match=r"people.zsav has more than 4,194,304 rows of 2 columns in [0-9,]+ bytes"):
        read_frame(path)


@pytest.mark.parametrize("ending", ["sav", "dta", "por", "xpt"])
def test_a_file_with_a_wrong_number_anywhere_is_read_or_refused(tmp_path: Path, ending: str) -> None:
    path, writers = tmp_path / f"people.{ending}", {"xpt": pyreadstat.write_xport}
    write = writers.get(ending) or getattr(pyreadstat, f"write_{ending}")
    write(pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "yy"]}), path)
    content = path.read_bytes()
    for place in range(0, len(content) - 4, max(8, len(content) // 40)):
        for word in (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x00\x00\x00\x40"):
            path.write_bytes(content[:place] + word + content[place + 4 :])
            with suppress(DataError):
                assert read_frame(path).height < 1000


def test_an_address_of_a_sqlite_file_is_bounded_as_the_file_is(tmp_path: Path) -> None:
    path, endless = (
        tmp_path / "people.data",
        "with recursive r(i) as (select 1 union all select i + 1 from r) select i from r",
    )
    with sqlite3.connect(path) as connection:
        connection.execute(f"create view people as {endless}")
    connection.close()
    for address in (f"sqlite:///{path}", f"sqlite+pysqlite:///{path}?timeout=5"):
        with pytest.raises(DataError, match="'people' is a view, which computes its rows when they are read"):
            read_frame(address)
    assert read_frame(f"sqlite:///{path}", query="select * from people limit 3")["i"].to_list() == [1, 2, 3]
