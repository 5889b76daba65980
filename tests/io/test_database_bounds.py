"""Database files are bounded before anything in them is expanded, and no program that a file brings along is run."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import duckdb
import pytest

from reticent.errors import DataError
from reticent.io import Source, read_frame
from reticent.table import Rows

COUNT = "with recursive r(i) as (select 1 union all select i + 1 from r limit {}) select i from r"


def duckdb_file(path: Path, *statements: str, storage: str = "latest") -> Path:
    with duckdb.connect() as connection:
        connection.execute(f"attach '{path}' as made (storage_version '{storage}')")
        connection.execute("use made")
        for statement in statements:
            connection.execute(statement)
        connection.execute("checkpoint made")
    return path


def sqlite_file(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


ENDLESS = {
    "duckdb": "create view people as select i from range(1000000000000) r(i)",
    "sqlite": f"create view people as {COUNT.format(10**12)}",
}
MADE = {"duckdb": duckdb_file, "sqlite": sqlite_file}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("table", [None, "people"])
def test_a_view_is_not_run_unless_a_query_names_it(tmp_path: Path, kind: str, table: str | None) -> None:
    path = MADE[kind](tmp_path / f"house.{kind}", ENDLESS[kind])
    source = Source(path, table=table)
    for read in (source.columns, source.read, source.open):
        with pytest.raises(DataError, match="'people' is a view, which computes its rows when they are read"):
            read()
    small = 'select * from "people" limit 3'
    assert read_frame(path, query=small)["i"].len() == 3


@pytest.mark.parametrize("kind", MADE)
def test_the_only_table_beside_views_is_read(tmp_path: Path, kind: str) -> None:
    path = MADE[kind](tmp_path / f"house.{kind}", "create table t (a int)", "insert into t values (7)", ENDLESS[kind])
    assert read_frame(path).rows() == [(7,)]
    with pytest.raises(DataError, match="has no table 'tt'"):
        read_frame(path, table="tt")


@pytest.mark.parametrize("kind", MADE)
def test_a_query_whose_answer_memory_does_not_hold_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = MADE[kind](tmp_path / f"house.{kind}", ENDLESS[kind])
    monkeypatch.setenv("RETICENT_MEMORY", "1MB")
    with pytest.raises(DataError, match="the answer to the query takes more than 1,048,576 bytes of memory"):
        read_frame(path, query="select * from people limit 500000")


def test_generated_columns_and_virtual_tables_are_not_run(tmp_path: Path) -> None:
    in_duckdb = duckdb_file(
        tmp_path / "a.duckdb",
        "create table t (a int, g varchar generated always as (repeat('a', 2000)) virtual)",
        "insert into t select i from range(5) r(i)",
    )
    with pytest.raises(DataError, match="'t' is a table with generated columns"):
        read_frame(in_duckdb)
    in_sqlite = sqlite_file(
        tmp_path / "a.sqlite",
        "create table t (a, g text generated always as (printf('%.*c', 2000, 'a')) virtual)",
        f"insert into t {COUNT.format(3)}",
    )
    with pytest.raises(DataError, match="'t' is a table with generated columns"):
        read_frame(in_sqlite)
    assert read_frame(in_sqlite, columns=["a"]).height == 3
    virtual = sqlite_file(tmp_path / "b.sqlite", "create virtual table t using rtree(id, a, b)")
    with pytest.raises(DataError, match="'t' is a view"):
        read_frame(virtual, table="t")


BOMBS = {
    "rows": ("create table t as select 1 as a from range(30000000)", "declares 30,000,000 values"),
    "texts": (
        "create table t as select repeat('a', 1000000) as a from range(100)",
        "would unpack from [0-9,]+ to 100,000,800 bytes",
    ),
    "lists": (
        "create table t as select [1, 1, 1, 1, 1, 1, 1] as a from range(5000000)",
        "would unpack from [0-9,]+ to 320,000,000 bytes",
    ),
    "texts in records": (
        "create table t as select {'b': [repeat('a', 1000000)]} as a from range(100)",
        "would unpack from [0-9,]+ to 100,001,600 bytes",
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_duckdb_table_that_declares_more_than_its_file_may_hold_is_refused(
    tmp_path: Path, bomb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement, refusal = BOMBS[bomb]
    path = duckdb_file(tmp_path / "bomb.duckdb", statement)
    assert path.stat().st_size < 600_000
    for read in (Source(path).read, lambda: Source(path).stream(["a"])):
        with pytest.raises(DataError, match=rf"bomb.duckdb {refusal}"):
            read()
    # The way out that the message names.
    if bomb == "texts":
        monkeypatch.setenv("RETICENT_MEMORY", "2GB")
        assert read_frame(path).height == 100


def test_texts_of_older_duckdb_files_are_measured(tmp_path: Path) -> None:
    """They declare the longest text only, which may stand beside thousands of short ones."""
    texts = "create table t as select repeat('a', {}) as a from range({}) r(i)"
    plain = duckdb_file(tmp_path / "plain.duckdb", texts.format("100000 * (i // 1999)", 2000), storage="v1.0.0")
    assert read_frame(plain)["a"].str.len_bytes().sum() == 100_000
    packed = duckdb_file(tmp_path / "packed.duckdb", texts.format(4_000, 30_000), storage="v1.0.0")
    assert packed.stat().st_size < 600_000
    with pytest.raises(DataError, match=r"would unpack from [0-9,]+ to 120,240,000 bytes"):
        read_frame(packed)


def children(page: memoryview) -> list[int]:
    """Where an interior page of a SQLite table names its children."""
    (cells,) = struct.unpack(">H", page[3:5])
    return [8, *(struct.unpack(">H", page[12 + 2 * cell : 14 + 2 * cell])[0] for cell in range(cells))]


def test_a_sqlite_table_whose_pages_name_one_another_again_and_again_is_refused(tmp_path: Path) -> None:
    """Eight levels of pages, each of which names the next some forty times: 10^13 rows in 400 KB."""
    path = sqlite_file(
        tmp_path / "forged.sqlite",
        "pragma page_size = 512",
        "create table t (a)",
        f"insert into t {COUNT.format(30_000)}",
    )
    content = bytearray(path.read_bytes())
    pages = {
        number: memoryview(content)[512 * (number - 1) : 512 * number] for number in range(2, len(content) // 512 + 1)
    }
    full = [number for number, page in pages.items() if page[0] == 5 and len(children(page)) > 20]
    leaf = next(number for number, page in pages.items() if page[0] == 13)
    chain = [2, *(number for number in full if number != 2)][:8]
    for number, below in zip(chain, [*chain[1:], leaf], strict=True):
        for place in children(pages[number]):
            pages[number][place : place + 4] = struct.pack(">I", below)
    path.write_bytes(content)
    source = Source(path)
    assert source.columns() == ["a"]
    for read in (source.read, source.open):
        with pytest.raises(DataError, match=r"its table has more rows than a file of [0-9,]+ bytes can"):
            read()


def test_sqlite_rows_that_share_their_texts_are_refused(tmp_path: Path) -> None:
    """Eight rows of 20 KB, and thousands of pages that name the same texts: 200 MB in less than 2 MB."""
    path = sqlite_file(
        tmp_path / "forged.sqlite",
        "pragma page_size = 512",
        "create table t (a)",
        f"insert into t select printf('%.*c', 20000, 'a') from ({COUNT.format(8)})",
        "create table filler (a)",
        f"insert into filler select printf('%.*c', 300, 'b') from ({COUNT.format(1500)})",
    )
    content = bytearray(path.read_bytes())
    for start in range(0, len(content), 512):
        if content[start] == 13 and b"b" * 300 in content[start : start + 512]:
            content[start : start + 512] = content[512:1024]
    path.write_bytes(content)
    assert len(content) < 2_000_000
    with pytest.raises(DataError, match=r"forged.sqlite would unpack from [0-9,]+ to 2[0-9]{2},[0-9,]+ bytes"):
        read_frame(path, table="filler")


def test_a_sqlite_table_is_streamed_where_it_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sqlite_file(
        tmp_path / "a.sqlite",
        "create table t (a, b)",
        f"insert into t select i, 'x' || i from ({COUNT.format(120_000)})",
    )
    monkeypatch.setenv("RETICENT_MEMORY", "4MB")
    rows = Source(path).open(["b", "a"])
    assert isinstance(rows, Rows)
    heights = [chunk.height for chunk in rows.chunks()]
    assert sum(heights) == 120_000
    assert len(heights) > 1
    assert rows.schema.names() == ["b", "a"]
