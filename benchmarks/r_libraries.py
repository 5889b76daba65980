"""Data frames of R libraries, read without R from Debian packages (``apt-get download r-cran-mice``); ``rdata`` parses what R has serialized."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

_SHARE = "/data/"
_SERIALIZED = (".rda", ".rdata")
_TEXTS = (".csv", ".txt", ".tab")
_XZ = [{"id": lzma.FILTER_LZMA2, "preset": 6}]


def data_of(package: Path, name: str) -> pl.DataFrame | None:
    """The data frame ``name`` of a library; None where it has none."""
    with tarfile.open(fileobj=io.BytesIO(_payload(package))) as files:
        members = {member.name: member for member in files.getmembers() if _SHARE in member.name and member.isfile()}

        def content(path: str) -> bytes:
            stream = files.extractfile(members[path])
            assert stream is not None
            return stream.read()

        for path in members:
            stem, end = _split(path)
            if path.endswith("Rdata.rdx"):
                found = _from_database(content(path), content(f"{path[:-1]}b"), name)
            elif end in _SERIALIZED and stem == name:
                found = _parsed(content(path)).get(name)
            elif end in _TEXTS and stem == name:
                return _from_text(_unpacked(content(path)).decode("utf-8", "replace"))
            else:
                continue
            if found is not None:
                return _as_r_writes(pl.from_pandas(found.reset_index(drop=True)))
    return None


def _as_r_writes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with numbers that are all whole as integers, which is how R writes them."""
    numbers = [each.name for each in rows if each.dtype.is_float()]
    whole = [name for name in numbers if (rows[name].fill_nan(None).drop_nulls() % 1 == 0).all()]
    return rows.with_columns(pl.col(whole).fill_nan(None).cast(pl.Int64))


def _split(path: str) -> tuple[str, str]:
    """The name of a file without its ending, and the ending in small letters without that of a compressed file."""
    name = path.rsplit("/", 1)[-1]
    for packed in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(packed)
    stem, dot, end = name.rpartition(".")
    return stem, f"{dot}{end}".lower()


def _payload(package: Path) -> bytes:
    """The archive of files inside a Debian package, which is an archive of ``ar`` with three members."""
    content, place = package.read_bytes(), len(b"!<arch>\n")
    while place < len(content):
        name, size = content[place : place + 16].decode().strip(), int(content[place + 48 : place + 58])
        if name.startswith("data.tar"):
            return content[place + 60 : place + 60 + size]
        place += 60 + size + size % 2
    raise ValueError(f"{package.name} is no Debian package.")


def _unpacked(content: bytes) -> bytes:
    for begins, unpack in ((b"\x1f\x8b", gzip.decompress), (b"BZh", bz2.decompress), (b"\xfd7zXZ", lzma.decompress)):
        if content.startswith(begins):
            return unpack(content)
    return content


def _from_database(index: bytes, database: bytes, name: str) -> Any:
    """A data frame of the pair of files in which R keeps data that is loaded when it is asked for."""
    places = _parsed(index)["variables"]
    if name not in places:
        return None
    begin, length = map(int, places[name])
    return _parsed(_block(database[begin : begin + length]))


def _block(block: bytes) -> bytes:
    """One object of the database: its length, for some ways of packing a letter, and what was packed."""
    match block[4:5]:
        case b"2":
            return bz2.decompress(block[5:])
        case b"Z":
            return lzma.decompress(block[5:], format=lzma.FORMAT_RAW, filters=_XZ)
    return zlib.decompress(block[4:])


def _parsed(content: bytes) -> Any:
    import rdata  # type: ignore[import-not-found,import-untyped,unused-ignore]  # an optional package

    def days(values: Any, attributes: Any) -> Any:
        import pandas as pd

        return pd.to_datetime(pd.Series(values), unit="D").dt.date

    constructors = {**rdata.conversion.DEFAULT_CLASS_MAP, "Date": days}
    return rdata.conversion.convert(rdata.parser.parse_data(_unpacked(content)), constructor_dict=constructors)


def _from_text(text: str) -> pl.DataFrame:
    """A table as R reads it: names of columns, then rows that may begin with their own names."""
    lines = text.splitlines()
    separator = next((each for each in ";,\t" if lines[0].count(each) > 1), " ")
    rows = [line for line in _cells(lines, separator) if line]
    names = rows[0]
    values = [row[len(row) - len(names) :] for row in rows[1:]]
    columns = {name: [row[place] for row in values] for place, name in enumerate(names)}
    return pl.read_csv(
        io.BytesIO(pl.DataFrame(columns).write_csv().encode()), null_values=["NA", ""], infer_schema_length=None
    )


def _cells(lines: list[str], separator: str) -> Iterator[list[str]]:
    import csv

    yield from csv.reader(lines, delimiter=separator, skipinitialspace=True)
