"""Whatever a column is called, ``inspect`` writes a policy that reads back with the same names."""

from __future__ import annotations

import csv
import random
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.base.documents import parse_toml
from reticent.policy import inspect
from reticent.propose.document import key, value

ODD_NAMES = (
    'a"b', "c#d", "e=f", "ünï", "g\nh", "i'j", "k[l]", "m,n", "o.p", "\\", "tab\there", "emoji 🎉", "[x]", "x]", "true",
    "1979-05-27", "a.b.c = 1 # . . .", "null", "42", "{a}", "$x", 'a\\"b', "\x7f", "col%", "a;b", "`q`", "#", "=", '"', "'''", '"""',
)  # fmt: skip


def _write(path: Path, names: list[str]) -> Path:
    draw = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([draw.randint(1, 4) for _ in names] for _ in range(60))
    return path


def test_names_with_dots_in_a_wide_file_are_inspected(tmp_path: Path) -> None:
    names = [f"Q{number}.a" for number in range(58)] + ["wt.loss", "ph.ecog"]
    inspected = inspect(_write(tmp_path / "wide.csv", names), output=tmp_path / "policy.toml", prices=False)
    inspected.save(tmp_path / "policy.toml")
    assert list(inspected.roles) == names
    assert set(inspected.table().schema) <= set(names)


def test_odd_names_are_inspected_and_read_back(tmp_path: Path) -> None:
    written = [" lead", "trail ", "", *ODD_NAMES]
    inspected = inspect(_write(tmp_path / "odd.csv", written), output=tmp_path / "policy.toml", prices=False)
    assert list(inspected.roles) == ["lead", "trail", "column_3", *ODD_NAMES]
    policy = inspected.parsed()
    told = {*policy.sections.roles.quasi, *policy.sections.roles.sensitive, *policy.sections.roles.identifiers}
    assert told
    assert told <= set(inspected.roles)


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=80, unique=True))
def test_any_names_survive_the_text_of_a_policy(names: list[str]) -> None:
    comment = " ".join("".join(c if c.isprintable() else " " for c in name) for name in names)
    lines = [f"# Note: {comment}", f"names = {value(names)}", f"types = {value(dict.fromkeys(names, 'text'))}"]
    lines += [f"[hierarchies.{key(name)}]\nkind = 'suppression'" for name in names]
    read = parse_toml("\n".join(lines))
    assert read["names"] == names
    assert list(read["types"]) == names
    assert list(read["hierarchies"]) == names


@pytest.mark.parametrize("text", ["x = { a" + ".a" * 60 + " = 1 }", 'x = 1\n"q"' + '. "a.b"' * 60 + " = 1"])
def test_keys_that_are_nested_too_deeply_are_still_refused(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="more than 50 parts"):
        parse_toml(text)


@pytest.mark.parametrize(
    "text",
    [
        "# " + "a." * 100 + "\nx = 1",
        "x = '" + "a." * 100 + "'",
        'x = """\n' + "a." * 100 + ' = 1\n"""',
        '"' + "a." * 100 + '" = 1',
    ],
)
def test_dots_in_comments_and_texts_part_no_key(text: str) -> None:
    assert len(parse_toml(text)) == 1
