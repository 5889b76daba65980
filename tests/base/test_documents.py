"""Documents that never end, are nested too deeply or hold numbers that are too long: refused in words, within seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

from reticent.base.documents import LARGEST_SETTINGS, parse_json, parse_toml, read_document
from reticent.errors import DataError, PolicyError
from reticent.io.source import read_frame
from reticent.policy import read
from tests.sampling import first


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("a = " + "{a=" * 5_000 + "1" + "}" * 5_000, "nested too deeply"),
        ("a" + ".a" * 20_000 + " = 1", "more than 50 parts"),
        ("[" + "a." * 20_000 + "a]", "more than 50 parts"),
        ("k = " + "9" * 5_000, "a number cannot be read"),
        ("\n".join(f"k{number} = 1" for number in range(300_000)), f"at most {LARGEST_SETTINGS:,} are read"),
    ],
    ids=["lists", "tables", "keys", "headers", "digits", "size"],
)
def test_toml_that_cannot_be_read_is_told_like_toml_that_is_wrong(text: str, words: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match=words):
        parse_toml(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [("[" * 100_000 + "]" * 100_000, "nested too deeply"), ('{"a": ' + "9" * 5_000 + "}", "a number cannot be read")],
    ids=["lists", "digits"],
)
def test_json_that_cannot_be_read_is_told_like_json_that_is_wrong(text: str, words: str) -> None:
    with pytest.raises(json.JSONDecodeError, match=words):
        parse_json(text)


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    link = tmp_path / "zero.parquet"
    link.symlink_to("/dev/zero")
    for place in (pipe, link):
        with pytest.raises(DataError, match="not a regular file"):
            read_document(place)
        with pytest.raises(DataError, match="not a regular file"):
            read_frame(place)
    with pytest.raises((DataError, PolicyError), match="not a regular file"):
        read(pipe, policy=pipe)


def test_a_file_beyond_the_limit_is_not_loaded(tmp_path: Path) -> None:
    place = tmp_path / "large"
    with place.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DataError, match="at most 1,000 are read here"):
        read_document(place, 1_000)


def test_damaged_parquet_with_a_readable_footer_is_named(tmp_path: Path) -> None:
    place = tmp_path / "people.parquet"
    pl.DataFrame({"age": range(5_000), "name": [str(number) for number in range(5_000)]}).write_parquet(place)
    content = bytearray(place.read_bytes())
    for position in range(4, len(content) // 2):
        content[position] = (content[position] * 7 + 13) % 256
    place.write_bytes(content)
    with pytest.raises(DataError, match=r"people.parquet cannot be read.*: .* Is the file complete\?"):
        read_frame(place)


@pytest.mark.parametrize("encoding", first(["utf-16", "utf-8", "cp1252"], 1))
def test_a_ragged_file_ends_the_command_with_words_and_never_aborts_it(tmp_path: Path, encoding: str) -> None:
    """Arrow's own threads called Python while it was ending: the process was aborted in most runs."""
    place = tmp_path / "ragged.csv"
    rows = "".join(f"{number},é\n" for number in range(20_000))
    place.write_text(f"age,sex\n1,2\n3\n{rows}", encoding=encoding)
    command = [sys.executable, "-m", "reticent", "inspect", str(place), "-o", str(tmp_path / "policy.toml")]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2
        assert "line 3: 1 fields where the header has 2" in done.stderr


def test_a_field_of_megabytes_is_refused_by_its_line(tmp_path: Path) -> None:
    place = tmp_path / "long.csv"
    place.write_text("age,sex\n1,m\n2," + "x" * 20_000_000 + "\n")
    with pytest.raises(DataError, match=r"long.csv, line 3: a value of more than"):
        read_frame(place)


def test_a_line_of_column_names_may_be_longer_than_the_first_look(tmp_path: Path) -> None:
    place = tmp_path / "wide.csv"
    names = [f"column {number} {'x' * 200}" for number in range(1_000)]
    place.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert read_frame(place).columns == names
    place.write_text(",".join(f"c{number}" for number in range(20_000)) + "\n")
    with pytest.raises(DataError, match="20,000 columns, but at most 5,000 are read"):
        read_frame(place)


def test_arguments_that_are_not_text_are_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reticent", "inspect", b"\xff\xfe.csv"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "Argument 2" in done.stderr
    assert "not valid UTF-8" in done.stderr


def test_sizes_that_would_take_all_memory_are_refused() -> None:
    import reticent as rt

    with pytest.raises(PolicyError, match=r"digits must be at most 1,000, but it is 1,000,000,000"):
        rt.Hierarchy.masking(digits=10**9)
