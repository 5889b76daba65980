"""Rows in memory, coded, in a stream and in a file: the same answers wherever they are."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import engine_named
from reticent.engine import engine_of
from reticent.errors import PolicyError
from reticent.table import (
    CodedRows,
    FrameRows,
    RepeatedRows,
    Rows,
    StoredRows,
    StreamRows,
    Table,
    stand_in_order,
    table_file,
)
from reticent.table.blocks import as_csv
from tests.sampling import examples

TEXTS = st.lists(st.sampled_from(["a", "B", "ä", "(missing)", "10", "9", '"', ","]), min_size=1, max_size=30)


def enumerated(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        frame[name].cast(pl.Enum(frame[name].drop_nulls().unique().sort()))
        for name, kind in frame.schema.items()
        if kind == pl.String
    )


def repeated(frame: pl.DataFrame) -> RepeatedRows:
    """Each run of equal rows as one that is repeated."""
    runs = frame.with_columns(frame.select(pl.struct(pl.all()).rle_id()).to_series().alias("run"))
    counted = runs.group_by("run", maintain_order=True).agg(pl.all().first(), pl.len().alias("times"))
    distinct = CodedRows(enumerated(counted.select(frame.columns)))
    return RepeatedRows(distinct, counted["times"].to_numpy().astype("int64"))


def every_kind(frame: pl.DataFrame, folder: Path) -> dict[str, Rows]:
    path = folder / "rows.csv"
    path.write_bytes(as_csv(frame))
    return {
        "frame": FrameRows(frame),
        "coded": CodedRows(enumerated(frame)),
        "repeated": repeated(frame),
        "stream": StreamRows.of_frame(frame),
        "stored": StoredRows(frame.schema, paths=(path,), judged=("town",)),
    }


@examples(40)
@given(TEXTS, st.data())
def test_rows_answer_alike_wherever_they_are(tmp_path_factory, towns, data):
    ages = data.draw(st.lists(st.integers(1, 3), min_size=len(towns), max_size=len(towns)))
    frame = pl.DataFrame({"town": towns, "age": ages}, schema={"town": pl.String, "age": pl.Int64})
    for rows in every_kind(frame, tmp_path_factory.mktemp("rows")).values():
        assert isinstance(rows, Rows)
        assert rows.schema == frame.schema
        assert rows.height == frame.height
        assert rows.again
        assert set(rows.values("town")) == set(towns)
        assert pl.concat(list(rows.chunks())).equals(frame)
        assert pl.concat(list(rows.chunks(["age"]))).equals(frame.select("age"))
        for columns in (["town"], ["age", "town"]):
            found, times = rows.counted(columns)
            counted = found.with_columns(times=pl.Series(times)).sort(columns)
            expected = frame.group_by(columns).agg(times=pl.len().cast(pl.Int64)).sort(columns)
            assert counted.equals(expected.select(counted.columns))
        assert stand_in_order(rows) == frame.equals(frame.sort(pl.all()))
        longer = rows.mapped(frame.schema, lambda part: part.with_columns(pl.col("^age$") + 1))
        assert pl.concat(list(longer.chunks())).equals(frame.with_columns(pl.col("age") + 1))


@examples(40)
@given(TEXTS)
def test_coded_rows_are_written_in_the_bytes_of_their_text(tmp_path_factory, towns):
    frame = pl.DataFrame({"town": towns, "number": range(len(towns))})
    folder = tmp_path_factory.mktemp("files")
    for kind in ("csv", "parquet"):
        made = [
            engine_named(rows.engine).write(rows, folder / f"{type(rows).__name__}.{kind}", table_file(kind))
            for rows in (FrameRows(frame), CodedRows(enumerated(frame)))
        ]
        one, other = (each.files[0] for each in made)
        assert one.sha256 == other.sha256
        assert one.size == (folder / f"CodedRows.{kind}").stat().st_size
        assert made[0].rows.frame().equals(made[1].rows.frame())
        assert made[1].rows.frame().equals(frame.sort("town", "number"))


def test_rows_that_keep_their_order_are_written_as_they_stand(tmp_path):
    frame = pl.DataFrame({"town": ["b", "a"]})
    for rows in (FrameRows(frame), StreamRows.of_frame(frame)):
        made = engine_named(rows.engine).write(rows, tmp_path / rows.engine, table_file("csv"), "own")
        assert (tmp_path / rows.engine).read_bytes() == b"town\nb\na\n"
        assert made.rows.frame().equals(frame)


def test_streamed_rows_have_no_frame():
    with pytest.raises(PolicyError, match="needs all rows of the table in memory"):
        StreamRows.of_frame(pl.DataFrame({"a": [1]})).frame()


def test_the_engine_is_found_by_the_name_that_rows_give():
    class Elsewhere(FrameRows):
        engine = "nowhere"

    with pytest.raises(PolicyError, match="There is no engine 'nowhere'"):
        Table(Elsewhere(pl.DataFrame({"a": [1]})), quasi=["a"])
    table = Table(pl.DataFrame({"a": [1, 1]}), quasi=["a"])
    assert type(engine_of(table)).__name__ == "LocalEngine"


@examples(60)
@given(st.lists(st.tuples(st.sampled_from(["a", "", None, '"', "x\ny", "\r", "b,c"]), st.integers(1, 4)), min_size=1))
def test_repeated_rows_are_sorted_and_written_as_if_each_stood_there(tmp_path_factory, pairs):
    frame = pl.DataFrame(pairs, schema={"town": pl.String, "age": pl.Int64}, orient="row")
    folder = tmp_path_factory.mktemp("written")
    for kind in ("csv", "parquet"):
        written = engine_named("local").write(repeated(frame), folder / f"repeated.{kind}", table_file(kind))
        plainly = engine_named("local").write(FrameRows(frame), folder / f"plain.{kind}", table_file(kind))
        one, other = written.files[0], plainly.files[0]
        assert (one.sha256, one.size) == (other.sha256, other.size)
        assert written.rows.frame().equals(plainly.rows.frame())
        assert stand_in_order(written.rows)
