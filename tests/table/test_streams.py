"""Sources as streams: the same rows and types as reading them whole, pass after pass."""

import gzip
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.io.source import Source
from reticent.table.rows import StreamRows
from tests.engine.making import frame_of


def collected(stream: StreamRows) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=stream.schema), *stream.chunks()])


def agrees(source: Source, columns: list[str]) -> None:
    stream = source.stream(columns)
    with pytest.MonkeyPatch.context() as enough:
        enough.delenv("RETICENT_MEMORY", raising=False)
        whole = source.read(columns)
    assert dict(stream.schema) == dict(whole.schema)
    assert collected(stream).equals(whole)
    assert pl.concat(list(stream.chunks(columns[1:2]))).equals(whole.select(columns[1:2]))


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_MEMORY", "100KB")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow"])
def test_a_file_streams_as_it_reads(ending: str, tmp_path: Path) -> None:
    frame, path = frame_of(3000, 2, missing=0.1), tmp_path / f"rows.{ending}"
    if ending.startswith("csv"):
        content = frame.write_csv().encode()
        path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    else:
        frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    agrees(Source(path), ["illness", "age", "day", "cost"])
    agrees(Source(path, null_values=["flu"], types={"age": "text"}), ["illness", "age", "stay"])
    opened = Source(path).open(["age", "zip"])
    assert isinstance(opened, StreamRows)
    assert isinstance(Source(path).open(["age", "zip"], "local"), pl.DataFrame)
    assert rt.read(path, quasi=["age", "zip"], nulls="drop").streamed
    assert not rt.read(path, quasi=["age", "zip"], nulls="drop", engine="local").streamed


def test_a_small_file_is_read_whole_unless_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RETICENT_MEMORY")
    path = tmp_path / "rows.csv"
    frame_of(30, 2).write_csv(path)
    assert not rt.read(path, quasi=["age"]).streamed
    assert rt.read(path, quasi=["age"], engine="streaming").streamed
    (tmp_path / "policy.toml").write_text(
        '[data]\nsource = "rows.csv"\nengine = "streaming"\n[roles]\nquasi = ["age"]\n[definition]\nname = "KAnonymity"\nk = 2\n'
    )
    assert rt.read(policy=tmp_path / "policy.toml").streamed
    assert rt.read(policy=tmp_path / "policy.toml", quasi=["zip"]).streamed
    assert not rt.read(policy=tmp_path / "policy.toml", engine="local").streamed
    with pytest.raises(PolicyError, match="engine must be 'local', 'streaming' or 'spark', but it is 'sparc'"):
        rt.read(path, quasi=["age"], engine="sparc")


def test_a_value_that_cannot_be_read_is_named_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = frame_of(4000, 2).with_columns(
        pl.when(pl.arange(pl.len()) == 3456).then(pl.lit("soon")).otherwise(pl.lit("7")).alias("note")
    )
    frame.write_parquet(path)
    stream = Source(path, types={"note": "integer"}).stream(["note"])
    with pytest.raises(DataError, match=r"Column 'note', row 3457: 'soon' cannot be read as integer"):
        list(stream.chunks())
    with pytest.raises(DataError, match="has no column 'agee'"):
        Source(path).stream(["agee"])


def test_a_duckdb_file_streams_as_it_reads(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.sql(
            "create table rows as select range::hugeint as whole, (range / 7)::decimal(18, 4) as part, "
            "(range::hugeint + 9223372036854775800) as huge, 'p' || (range % 10) as code, date '2024-01-01' as day from range(3000)"
        )
    columns = ["code", "whole", "part", "huge", "day"]
    agrees(Source(path), columns)
    agrees(Source(path, query="select code, whole, part, huge, day from rows where whole > 17"), columns)
    assert rt.read(path, quasi=["code", "whole"]).streamed
    with pytest.raises(DataError, match=r"DuckDB says: .*does not exist"):
        Source(path, query="select * from nothing").stream(["code"])


def test_postgres_streams_one_snapshot(postgres_url: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table streamed_rows (code text, number bigint, price numeric)")
        with connection.cursor() as cursor:
            cursor.executemany(
                "insert into streamed_rows values (%s, %s, %s)",
                [(f"p{n % 7}", n if n % 5 else None, Decimal(n) / 8) for n in range(3000)],
            )
        source = Source(postgres_url, table="streamed_rows")
        agrees(source, ["code", "number", "price"])
        table = rt.read(postgres_url, table="streamed_rows", quasi=["code"], sensitive=["price"])
        assert table.streamed
        connection.execute("delete from streamed_rows where number > 100")
        assert rt.publish(table, rt.KAnonymity(5)).frame.height == 3000
    with pytest.raises(DataError, match=r"PostgreSQL says: .*nothing"):
        Source(postgres_url, query="select * from nothing").stream(["code"])
