"""Writers: what is written comes back, and a file appears whole or not at all."""

from __future__ import annotations

import datetime
import resource
import signal
from pathlib import Path

import polars as pl
import pytest

from reticent.errors import DataError
from reticent.io.source import read_frame
from reticent.table.blocks import as_parquet, csv_header
from reticent.table.table_files import write_frame

FRAME = pl.DataFrame(
    {
        "text": ["", None, 'x, "y"\nz', "éא"],
        "number": [1, None, -(2**63), 2**63 - 1],
        "day": [datetime.date(2024, 1, 31)] * 4,
        "flag": [True, False, None, True],
    }
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_written_comes_back(tmp_path: Path, ending: str) -> None:
    write_frame(FRAME, tmp_path / f"out.{ending}")
    assert read_frame(tmp_path / f"out.{ending}").equals(FRAME)


def test_the_same_values_give_the_same_bytes_whatever_their_chunks() -> None:
    chunked = pl.concat([FRAME.head(1), FRAME.slice(1)], rechunk=False)
    assert as_parquet(chunked) == as_parquet(FRAME)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot write 'parqet'\. Did you mean 'parquet'\?"):
        write_frame(FRAME, tmp_path / "out", format="parqet")
    with pytest.raises(DataError, match=r"Column 'l' of type List\(Int64\) cannot be written as csv"):
        write_frame(pl.DataFrame({"l": [[1]]}), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    """A limit on the size of files gives the same broken write as a full disk."""
    target = tmp_path / "out.csv"
    write_frame(FRAME, target)
    before = target.read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write_frame(pl.DataFrame({"a": range(10_000)}), target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize(
    "names", [["a", "b c"], ["a-b", "_x"], ["a,b"], [""], ["a", ""], ['x"'], [" a", "b "], ["ä", "日本"], ["x\ny"]]
)
def test_a_header_is_that_of_a_file_without_rows(names: list[str]) -> None:
    schema = pl.Schema(dict.fromkeys(names, pl.String))
    assert csv_header(schema) == pl.DataFrame(schema=schema).write_csv(quote_style="necessary").encode()
