"""Readers: what people have comes in as it was meant, and what is broken is refused with its place."""

from __future__ import annotations

import builtins
import datetime
import gzip
import importlib
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from reticent.errors import DataError, PolicyError
from reticent.io.csv_records import RecordFormat
from reticent.io.source import Source, read_frame
from reticent.table.table import Table
from tests.sampling import examples, seeds


def write(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_frame(path, **options)  # type: ignore[arg-type]  # each test passes one option of its own type
    return str(caught.value).replace(str(path), path.name)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_the_delimiter_and_the_encoding_are_found_out(tmp_path: Path, delimiter: str, encoding: str) -> None:
    lines = [("name", "age", "town"), ("José", "31", "Köln"), ("Zoë", "44", "Málaga"), ("Bob", "7", "Oslo")]
    path = write(tmp_path / "people.csv", "".join(delimiter.join(row) + "\r\n" for row in lines), encoding)
    frame = read_frame(path)
    assert frame.rows() == [("José", 31, "Köln"), ("Zoë", 44, "Málaga"), ("Bob", 7, "Oslo")]


@pytest.mark.parametrize("seed", seeds(12))
def test_a_text_in_another_encoding_is_cut_behind_records(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Converted piece by piece, whatever stands in quotes: lines, quotation marks, nothing."""
    rng = random.Random(seed)
    values = ["x", "é", '"a\nb"', '"say ""no"" \n"', "", '"\n\n"', "12", '","', '5" pipe', 'a"b"c']
    lines = [f"{number},{rng.choice(values)},{rng.choice(values)}" for number in range(rng.randint(1, 200))]
    text = "id,a,b\n" + rng.choice(["\n", "\r\n"]).join(lines) + rng.choice(["", "\n"])
    for name in ("utf-8", "cp1252", "utf-16"):
        (tmp_path / f"{name}.csv").write_bytes(text.encode(name))
    whole = read_frame(tmp_path / "utf-8.csv", types={"a": "text", "b": "text"})
    module = importlib.import_module("reticent.io.csv_files")
    monkeypatch.setattr(module, "_BLOCK", rng.choice([64, 128, 300, 1000]))
    for name in ("cp1252", "utf-16"):
        found = read_frame(tmp_path / f"{name}.csv", encoding=name, types={"a": "text", "b": "text"})
        assert found.equals(whole)


RAGGED = """
import importlib, sys
module = importlib.import_module("reticent.io.csv_files")
module._BLOCK = 1 << 12
from reticent.cli import main
sys.argv = ["reticent", "inspect", sys.argv[1]]
main()
"""


def test_a_ragged_row_in_a_large_text_of_another_encoding_ends_in_words(tmp_path: Path) -> None:
    """A program that ends with an error ends in words, not by an abort of a library's threads."""
    file = tmp_path / "large.csv"
    file.write_bytes(("id,name\n" + "1,é\n" * 60_000 + "1,2,3\n" + "1,é\n" * 60_000).encode("cp1252"))
    done = subprocess.run([sys.executable, "-c", RAGGED, str(file)], capture_output=True, text=True)
    assert done.returncode == 2
    assert "line 60002: 3 fields where the header has 2" in " ".join(done.stderr.split())


def test_bytes_that_windows_does_not_know_are_read_as_latin_1(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"a,b\n\x81,\xe9\n")
    assert read_frame(path).rows() == [("\x81", "é")]


def test_a_gzipped_file_is_unpacked_whatever_it_is_called(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "a.csv"):
        path = write(tmp_path / name, gzip.compress(b"a;b\n1;x\n2;y\n"))
        assert read_frame(path).rows() == [(1, "x"), (2, "y")]


def test_every_type_is_inferred_from_all_values(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv",
        "i,f,d,t,b,s,zip,big\n"
        "1,1.5,2024-01-31,2024-01-31 10:20:30,true,x,01234,18446744073709551616\n"
        "-2,2,2023-12-01,2023-12-01 00:00:00,False,,99999,1\n",
    )
    frame = read_frame(path)
    assert dict(frame.schema) == {
        "i": pl.Int64,
        "f": pl.Float64,
        "d": pl.Date,
        "t": pl.Datetime("us"),
        "b": pl.Boolean,
        "s": pl.String,
        "zip": pl.String,
        "big": pl.String,
    }
    assert frame["zip"].to_list() == ["01234", "99999"]
    assert frame["big"].to_list() == ["18446744073709551616", "1"]
    assert frame["s"].to_list() == ["x", None]


def test_integers_just_inside_and_just_outside_of_64_bits(tmp_path: Path) -> None:
    inside = write(tmp_path / "inside.csv", f"n,m\n{2**63 - 1},1\n{-(2**63)},2\n")
    assert read_frame(inside)["n"].to_list() == [2**63 - 1, -(2**63)]
    outside = write(tmp_path / "outside.csv", f"n,m\n{2**63},1\n1,2\n")
    assert read_frame(outside)["n"].to_list() == [str(2**63), "1"]


def test_a_late_value_changes_the_type_of_the_whole_column(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "n,c\n" + "".join(f"{i},{i}\n" for i in range(700_000)) + "12,007\n")
    frame = read_frame(path)
    assert frame.schema["n"] == pl.Int64
    assert frame.schema["c"] == pl.String
    assert frame["c"][-1] == "007"
    assert frame["n"].sum() == sum(range(700_000)) + 12


def test_dates_whose_day_and_month_could_be_swapped_stay_text(tmp_path: Path) -> None:
    unclear = write(tmp_path / "unclear.csv", "d,x\n01/02/2024,1\n03/04/2024,2\n")
    assert read_frame(unclear).schema["d"] == pl.String
    clear = write(tmp_path / "clear.csv", "d,x\n01/02/2024,1\n31/04/2023,1\n13/04/2024,2\n".replace("31/04", "30/04"))
    assert read_frame(clear)["d"].to_list()[0] == datetime.date(2024, 2, 1)
    told = read_frame(unclear, types={"d": "date:%m/%d/%Y"})
    assert told["d"].to_list() == [datetime.date(2024, 1, 2), datetime.date(2024, 3, 4)]


def test_decimal_commas_are_numbers_when_the_comma_is_not_the_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x;y\n1,5;2\n-0,25;3\n")
    assert read_frame(path)["x"].to_list() == [1.5, -0.25]


def test_missing_is_an_empty_field_and_the_quoted_empty_text_is_a_value(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'a,b,c\n"",1,\n,NA,"x"\n?,"",y\n')
    frame = read_frame(path)
    assert frame["a"].to_list() == ["", None, "?"]
    assert frame["b"].to_list() == [1, None, None]
    assert read_frame(path, null_values=["?"])["a"].to_list() == ["", None, None]


def test_types_can_be_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "code,n\n007,1\n12,2\n")
    frame = read_frame(path, types={"code": "integer", "n": "text"})
    assert frame["code"].to_list() == [7, 12]
    assert frame["n"].to_list() == ["1", "2"]


def test_quotes_newlines_and_delimiters_inside_values_survive(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'a,b\n"x, ""y""","line 1\nline 2"\n\n5\'11",z\n')
    assert read_frame(path).rows() == [('x, "y"', "line 1\nline 2"), ("5'11\"", "z")]


def test_unicode_names_and_values_survive(tmp_path: Path) -> None:
    combining, arabic = "e\u0301te\u0301", "\u0639\u0645\u0631"
    path = write(tmp_path / "a.csv", f"{combining},{arabic}\nنعم,👩‍👩‍👧\nלא,日本\n")
    frame = read_frame(path)
    assert frame.columns == [combining, arabic]
    assert frame.rows() == [("نعم", "👩‍👩‍👧"), ("לא", "日本")]


def test_only_the_wanted_columns_are_kept(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [True, False]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    for name in ("a.csv", "a.parquet", "a.arrow"):
        assert read_frame(tmp_path / name, columns=["c", "a"]).equals(frame.select("c", "a"))
        assert read_frame(tmp_path / name).equals(frame)
        assert Source(tmp_path / name).columns() == ["a", "b", "c"]


def test_frames_of_every_kind_are_read() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for given_frame in (frame, frame.lazy(), frame.to_arrow(), pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})):
        assert read_frame(given_frame).equals(frame)
        assert read_frame(given_frame, columns=["b"]).equals(frame.select("b"))
    assert isinstance(frame.to_arrow(), pa.Table)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.csv is empty. A CSV file needs a line of column names and a line for each row."),
        (b"  \n\n", "a.csv is empty. A CSV file needs a line of column names and a line for each row."),
        (
            b"a,b\n",
            "a.csv has column names (line 1) but no rows. There is nothing to publish; check the source. If that line is a row, pass header=False (--no-header).",
        ),
        (
            b"a,b,a\n1,2,3\n",
            "a.csv, line 1: two columns are called 'a' (the 1st and the 3rd). Give every column its own name, or pass number_names=True (--number-names). If the line is a row, pass header=False (--no-header).",
        ),
        (
            b'a,b\n1,2\n"x\ny",4\n5\n',
            "a.csv, line 5: 1 fields where the header has 2. Put quotes around values that contain ',', or complete the row.",
        ),
        (
            b"a,b\n1,2\n3,4,5\n",
            "a.csv, line 3: 3 fields where the header has 2. Put quotes around values that contain ',', or complete the row.",
        ),
        (
            b"a,b\n1,2\n3,\x004\n",
            "a.csv, line 3: a NUL byte. This is not a text file, or it was damaged; export it again.",
        ),
        (
            b'a,b\n1,2\n3,"never closed\n5,6\n',
            "a.csv, line 3: a quotation mark opens and never closes. Close it, or double it inside a value.",
        ),
    ],
)
def test_a_broken_csv_file_is_refused_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    assert refusal(write(tmp_path / "a.csv", content)) == message


def test_a_wrong_value_of_a_declared_type_is_refused_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'age,note\n31,"two\nlines"\n\nold,x\n')
    assert refusal(path, types={"age": "integer"}) == (
        "a.csv, line 5: column 'age' has the value 'old', which cannot be read as integer. Correct it, list it in null_values, or read "
        "the column as text."
    )


def test_an_endless_field_is_read_or_refused_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b\n" + "x" * 200_000 + ",2\n")
    assert read_frame(path)["b"].to_list() == [2]
    assert refusal(write(path, path.read_text() + "3\n")).startswith(
        "a.csv, line 2: a value of more than 131,072 characters"
    )


def test_a_wrong_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"a,b\n1,2\nx,caf\xe9\n")
    assert refusal(path, encoding="utf-8") == (
        "a.csv, line 3: the text is not utf-8. Pass another encoding=, such as cp1252 or latin-1."
    )
    assert "there is no text encoding 'utf-99'" in refusal(path, encoding="utf-99")


def test_a_cut_gzip_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-20])
    assert "is not a complete gzip file" in refusal(path)


def test_a_missing_column_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "age,sex\n1,m\n")
    assert refusal(path, columns=["aeg"]) == (
        "a.csv has no column 'aeg'. Did you mean 'age'? The columns are: 'age', 'sex'."
    )
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "a.parquet")
    assert "has no column 'aeg'. Did you mean 'age'?" in refusal(tmp_path / "a.parquet", columns=["aeg"])


def test_a_missing_file_is_refused_with_a_hint(tmp_path: Path) -> None:
    write(tmp_path / "patients.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match=r"There is no file '.*patient\.csv'\. Did you mean 'patients\.csv'\?"):
        read_frame(tmp_path / "patient.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_frame(tmp_path)
    with pytest.raises(DataError, match="cannot tell what kind of file"):
        read_frame(write(tmp_path / "a.xyz", "a"))


def test_lines_may_end_as_they_did_on_old_computers(tmp_path: Path) -> None:
    found = read_frame(write(tmp_path / "a.csv", "age,sex\r21,f\r22,m\r"))
    assert found.rows() == [(21, "f"), (22, "m")]


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": range(1000)}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-50])
    assert "cannot be read" in refusal(path)


def test_an_unknown_type_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b\n1,2\n")
    with pytest.raises(PolicyError, match=r"column 'a' cannot be read as 'integr'\. Did you mean 'integer'\?"):
        read_frame(path, types={"a": "integr"})


def test_nan_becomes_null_and_is_refused_by_the_table(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,s\n1.5,a\nNaN,b\n")
    frame = read_frame(path)
    assert frame["x"].to_list() == [1.5, None]
    with pytest.raises(DataError, match="Column 'x' has 1 missing values, the first in row 2"):
        Table(frame, quasi=["x"])


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    path = tmp_path / "house.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('create table people (age integer, "post code" varchar, pay decimal(10, 2), huge hugeint)')
        connection.execute("insert into people values (31, '01234', 12.50, 170141183460469231731687303715884105727)")
    return path


def test_a_duckdb_table_or_query_is_read(warehouse: Path) -> None:
    frame = read_frame(warehouse)
    assert frame.rows() == [(31, "01234", 12.5, "170141183460469231731687303715884105727")]
    assert read_frame(warehouse, table="people", columns=["post code"]).rows() == [("01234",)]
    assert read_frame(warehouse, query="select age + 1 as older from people").rows() == [(32,)]
    whole = read_frame(
        warehouse,
        query="select 12::decimal(20, 0) as n, 12345678901234567890::decimal(20, 0) as m, -1.5::decimal(4, 1) as x, -12345678901234567890::decimal(20, 0) as y",
    )
    assert whole.rows() == [(12, "12345678901234567890", -1.5, "-12345678901234567890")]
    assert read_frame(warehouse, query="select sum(age) as total from people").rows() == [(31,)]
    assert Source(warehouse, query="select age from people").columns() == ["age"]


def test_what_duckdb_does_not_have_is_refused(warehouse: Path) -> None:
    assert "has no table 'poeple'. Did you mean 'people'?" in refusal(warehouse, table="poeple")
    assert "DuckDB says: " in refusal(warehouse, query="selec 1")
    assert "has no column 'ages'. Did you mean 'age'?" in refusal(warehouse, columns=["ages"])
    with pytest.raises(PolicyError, match="pass a table or a query, not both"):
        read_frame(warehouse, table="people", query="select 1")
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute("create table other (x integer)")
    with pytest.raises(PolicyError, match="choose one with table=, or pass query="):
        read_frame(warehouse)


def test_reading_does_not_change_a_duckdb_file(warehouse: Path) -> None:
    before = warehouse.read_bytes()
    assert "DuckDB says: " in refusal(warehouse, query="delete from people returning age")
    assert warehouse.read_bytes() == before


def test_table_and_query_are_for_databases(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="table= is for databases"):
        read_frame(write(tmp_path / "a.csv", "a\n1\n"), table="a")


@pytest.fixture
def people_url(postgres_url: str) -> str:
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("drop table if exists people")
        connection.execute("create sequence if not exists visits")
        connection.execute(
            'create table people (age integer, "post code" text, pay numeric(10, 2), born date, seen timestamptz, ok boolean, id uuid)'
        )
        connection.execute(
            "insert into people values (31, '01234', 12.5, '1990-02-03', '2024-01-01 12:00+02', true, "
            "'00000000-0000-0000-0000-000000000001'), (null, 'נעם', null, null, null, null, null)"
        )
    return postgres_url


@pytest.mark.xdist_group("postgres")
def test_a_postgres_table_or_query_is_read(people_url: str) -> None:
    frame = read_frame(people_url, table="people")
    assert frame.row(0) == (
        31,
        "01234",
        12.5,
        datetime.date(1990, 2, 3),
        datetime.datetime(2024, 1, 1, 10, tzinfo=datetime.UTC),
        True,
        "00000000-0000-0000-0000-000000000001",
    )
    assert frame.row(1) == (None, "נעם", None, None, None, None, None)
    assert read_frame(people_url, table="public.people", columns=["post code"])["post code"].to_list() == [
        "01234",
        "נעם",
    ]
    assert read_frame(people_url, query="select 10 * generate_series(1, 120000) as n;")["n"].sum() == 72_000_600_000
    assert Source(people_url, table="people").columns()[:2] == ["age", "post code"]
    digits = "12345678901234567890"
    numbers = read_frame(
        people_url,
        query=f"select {digits}::numeric as long, 12::numeric as short, 1.5::numeric as half, null::numeric as none",
    )
    assert numbers.rows() == [(digits, 12, 1.5, None)]
    typed = read_frame(people_url, table="people", types={"age": "text"}, columns=["age"])
    assert typed["age"].to_list() == ["31", None]


@pytest.mark.xdist_group("postgres")
def test_the_address_can_stand_in_the_environment(people_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTER_URL", people_url)
    assert read_frame("env:REGISTER_URL", query="select 1 as one").rows() == [(1,)]
    monkeypatch.delenv("REGISTER_URL")
    with pytest.raises(PolicyError, match="the environment variable REGISTER_URL is not set"):
        read_frame("env:REGISTER_URL", query="select 1 as one")


@pytest.mark.xdist_group("postgres")
def test_what_postgres_refuses_is_told_without_the_address(people_url: str) -> None:
    with pytest.raises(DataError, match=r"The database has no table 'poeple'\. Did you mean 'people'\?"):
        read_frame(people_url, table="poeple")
    with pytest.raises(DataError, match="PostgreSQL says: syntax error"):
        read_frame(people_url, query="selec 1")
    with pytest.raises(DataError, match=r"cannot execute .* in a read-only transaction"):
        read_frame(people_url, query="select nextval('visits')")
    with pytest.raises(DataError, match="two columns are called 'a'"):
        read_frame(people_url, query="select 1 as a, 2 as a")
    with pytest.raises(DataError) as caught:
        read_frame("postgresql://steward:geheim@127.0.0.1:1/x", table="people")
    assert "PostgreSQL cannot be reached" in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_a_missing_postgres_package_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "psycopg":
            raise ModuleNotFoundError(name)
        return real(name, *rest)  # type: ignore[arg-type]  # handed through as it came

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match=r"pip install 'reticent\[postgres\]'"):
        read_frame("postgresql://localhost/x", table="people")


_cells = st.text(st.characters(blacklist_characters="\0\r", blacklist_categories=["Cs"]), max_size=6)


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(_cells, _cells), min_size=1, max_size=8))
def test_whatever_text_polars_writes_comes_back_as_it_was(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    frame = pl.DataFrame(rows, schema={"first": pl.String, "second": pl.String}, orient="row")
    path = tmp_path / "round.csv"
    frame.write_csv(path, quote_style="always")
    back = read_frame(path, types={"first": "text", "second": "text"}, delimiter=",")
    assert back.rows() == rows


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8),
    floats=st.floats(allow_nan=False, allow_infinity=False, width=32),
)
def test_numbers_come_back_as_they_were(tmp_path: Path, numbers: list[int], floats: float) -> None:
    frame = pl.DataFrame({"n": numbers, "x": [floats + 0.5] * len(numbers)}, schema={"n": pl.Int64, "x": pl.Float64})
    path = tmp_path / "round.csv"
    frame.write_csv(path)
    back = read_frame(path)
    assert back["n"].to_list() == numbers
    assert [float(value) for value in back["x"].to_list()] == frame["x"].to_list()


@pytest.mark.slow
def test_columns_without_a_role_take_no_memory(tmp_path: Path) -> None:
    """Some 300 MB of text, of which one narrow column is wanted: the reader stays far below the size of the file."""
    path = tmp_path / "wide.csv"
    line = ",".join(["x" * 60] * 25)
    with path.open("w") as file:
        file.write("n," + ",".join(f"c{i}" for i in range(25)) + "\n")
        for start in range(0, 200_000, 1000):
            file.write("".join(f"{start + i},{line}\n" for i in range(1000)))
    # The high-water mark of the process itself: ru_maxrss begins with the memory of the one that started it.
    peak = "int(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
    code = (
        "from reticent.io.source import read_frame; import pyarrow.csv; "
        f"before = {peak}; frame = read_frame({str(path)!r}, columns=['n']); "
        f"print(frame.height, ({peak} - before) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows, megabytes = map(int, done.stdout.split())
    assert rows == 200_000
    assert path.stat().st_size > 300_000_000
    # A few blocks, whatever the size of the file.
    assert megabytes < 220


def test_a_csv_file_is_parsed_once(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text(
        "age,town\n" + "".join(f"{age},{town}\n" for age, town in [(31, "Oslo"), (42, "Rome"), (7, "")] * 9)
    )
    parsed, own = [], RecordFormat.columns
    monkeypatch.setattr(RecordFormat, "columns", lambda *given: (parsed.append(1), own(*given))[1])
    frame = Source(path).read()
    assert len(parsed) == 1
    assert dict(frame.schema) == {"age": pl.Int64, "town": pl.String}
    assert frame["town"].to_list()[:3] == ["Oslo", "Rome", None]


def test_types_are_found_whatever_blocks_the_rows_come_in(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    lines = [f"{number},{number % 7}.5,word {number % 11},{'' if number % 5 else 'NA'}" for number in range(4000)]
    path.write_text("a,b,c,d\n" + "\n".join([*lines, "x,1,2,3"]) + "\n")
    whole = Source(path).read()
    monkeypatch.setattr("reticent.io.csv_files._BLOCK", 1 << 12)
    assert Source(path).read().equals(whole)
    assert dict(whole.schema) == {"a": pl.String, "b": pl.Float64, "c": pl.String, "d": pl.Int64}
    stream = Source(path).stream(["d", "a"])
    assert pl.concat(list(stream.chunks())).equals(whole.select("d", "a"))


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\r\n', "\ufeffsep=;\n", "\nsep=;\n"])
def test_the_line_that_tells_a_spreadsheet_the_delimiter_is_no_header(tmp_path: Path, first: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes((first + "age;sex\n34;f\n35;m\n").encode())
    assert read_frame(path).rows() == [(34, "f"), (35, "m")]
    assert Source(path).stream(["sex"]).schema.names() == ["sex"]
    path.write_bytes((first + "age;sex\n34;f\n35\n").encode())
    lines = first.count("\n") + 3
    with pytest.raises(DataError, match=f"line {lines}: 1 fields where the header has 2"):
        read_frame(path)
    path.write_bytes(first.encode())
    with pytest.raises(DataError, match="nothing else"):
        read_frame(path)


def test_a_delimiter_that_the_first_line_says_may_be_any_character(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("sep=^\nage^sex\n34^f\n")
    assert read_frame(path).rows() == [(34, "f")]


def test_a_stream_that_can_be_read_once_is_read_once() -> None:
    frame = pl.DataFrame({"age": [1, 2], "sex": ["f", "m"]})
    source = Source(frame.to_arrow().to_reader())
    assert source.columns() == ["age", "sex"]
    assert source.read(["sex"]).rows() == [("f",), ("m",)]
    assert source.read().equals(frame)


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["white", "Unknown", "black"])])
def test_spellings_of_missing_values_apply_to_categories_as_to_texts(tmp_path: Path, dtype: Any) -> None:
    values = ["white", "Unknown", None, "black"]
    pl.DataFrame({"race": pl.Series(values, dtype=dtype), "age": [1, 2, 3, 4]}).write_parquet(tmp_path / "rows.parquet")
    source = Source(tmp_path / "rows.parquet", null_values=["Unknown", "2"])
    for frame in (source.read(), pl.concat(source.stream(["race", "age"]).chunks())):
        assert frame["race"].cast(pl.String).to_list() == ["white", None, None, "black"]
        assert frame["race"].dtype == dtype
        assert frame["age"].to_list() == [1, 2, 3, 4]
