"""Every key of a TOML text is found where it stands."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reticent.policy.toml_positions import TomlPositions
from reticent.propose.document import key, value
from tests.sampling import examples

TEXT = '''# a comment with [brackets] and = signs
top = "a # no comment [x]"
dotted.name."quoted key" = 1

[table] # trailing
text = """
not_a_key = 1
[not.a.table]
"""
raw = \'\'\'also = "not"\'\'\'
list = [1, "two, ]", { inner = "}" , other = [ { deep = 1 } ] }, # comment ]
  4]
inline = { first = 1, "second" = [1, 2] }

[[many]]
name = "a"
[many.below]
x = 1
[[many]]
name = 'b'
[many.below]
x = 2
'''


def place_of(*path: str | int) -> tuple[int, int]:
    place = TomlPositions(TEXT).find(path)
    return place.line, place.column


def test_every_kind_of_key_is_found() -> None:
    assert place_of("top") == (2, 1)
    assert place_of("dotted", "name", "quoted key") == (3, 1)
    assert place_of("table") == (5, 1)
    assert place_of("table", "raw") == (10, 1)
    assert place_of("table", "list", 1) == (11, 12)
    assert place_of("table", "list", 2, "other", 0, "deep") == (11, 50)
    assert place_of("table", "list", 3) == (12, 3)
    assert place_of("table", "inline", "second", 1) == (13, 38)
    assert place_of("many", 0, "name") == (16, 1)
    assert place_of("many", 1, "below", "x") == (22, 1)


def test_what_is_not_written_is_placed_at_what_surrounds_it() -> None:
    assert place_of("table", "missing") == (5, 1)
    assert place_of("nowhere") == (1, 1)
    assert place_of("many", 1, "missing") == (19, 1)


def test_the_line_is_shown_with_a_mark_under_the_column() -> None:
    shown = TomlPositions(TEXT).find(("table", "list", 3)).point("f.toml", "no.")
    assert shown == "f.toml:12:3: no.\n  12 |   4]\n     |   ^"


_keys = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=5)
_leaves = st.one_of(st.integers(-5, 5), st.booleans(), _keys, st.lists(st.one_of(st.integers(0, 9), _keys), max_size=3))
_trees = st.dictionaries(_keys, st.one_of(_leaves, st.dictionaries(_keys, _leaves, max_size=3)), min_size=1, max_size=4)


@examples(150)
@given(content=_trees)
def test_whatever_is_written_down_is_found_again(content: dict[str, Any]) -> None:
    lines = [f"{key(name)} = {value(item)}" for name, item in content.items() if not isinstance(item, dict)]
    for name, item in content.items():
        if isinstance(item, dict):
            lines += [f"[{key(name)}]", *(f"{key(inner)} = {value(below)}" for inner, below in item.items())]
    text = "\n".join(lines) + "\n"
    assert tomllib.loads(text) == content
    places = TomlPositions(text)
    for name, item in content.items():
        place = places.find((name,))
        assert place.text[place.column - 1 :].lstrip("[").startswith(key(name))
        for inner in item if isinstance(item, dict) else ():
            below = places.find((name, inner))
            assert below.text.startswith(key(inner))
            assert below.line > place.line


def test_a_key_with_a_backslash_before_a_letter_is_found() -> None:
    """A backslash is written twice, so what follows is a letter and no code point; a code point is read as one."""
    assert TomlPositions('a = 1\n"\\\\U" = 2\n').find(("\\U",)).line == 2
    assert TomlPositions('a = 1\n"\\U0001F600" = 2\n').find(("\U0001f600",)).line == 2
