"""The kinds of columns and the words for each, read once from the files of this folder."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

SENSITIVE = (
    "health",
    "outcome",
    "sexuality",
    "genetics",
    "crime",
    "religion",
    "politics",
    "union",
    "money",
    "achievement",
    "opinion",
    "unclear",
)
"""Sensitive meanings, the most delicate first."""

# Kinds of known.toml that are more specific than demographic.
_MEANINGS = frozenset(["age", "birth", "postcode", "place", "weight", "time"])
_COMPOUND = 6
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


@dataclass(frozen=True)
class Kind:
    """The subject of a column: its ``meaning`` (one of :data:`SENSITIVE`, or ``age``, ``demographic``, ``identifier``
    ...) and its description ``says``.

    ``inferred`` kinds come from neighbouring columns; the other flags are those of the files (see the package).
    """

    meaning: str
    says: str
    topic: bool = False
    numbers: bool = False
    few: bool = False
    person: bool = False
    visible: bool = False
    inferred: bool = False

    @property
    def sensitive(self) -> bool:
        """True if the kind is sensitive."""
        return self.meaning in SENSITIVE

    @property
    def words(self) -> str:
        """Return the description of the kind for the steward."""
        return f"{self.meaning}: {self.says}" if self.sensitive and self.says != self.meaning else self.says


@dataclass(frozen=True)
class Lexicon:
    """The words of all kinds, by matching rule."""

    exact: dict[str, list[Kind]] = field(default_factory=dict)
    plain: dict[str, list[Kind]] = field(default_factory=dict)
    whole: dict[str, list[Kind]] = field(default_factory=dict)
    starts: dict[str, list[Kind]] = field(default_factory=dict)
    ends: dict[str, list[Kind]] = field(default_factory=dict)
    inside: dict[str, list[Kind]] = field(default_factory=dict)
    followed: dict[str, list[Kind]] = field(default_factory=dict)
    following: dict[str, list[Kind]] = field(default_factory=dict)


def folded(text: str) -> str:
    """Return a text in lower case and without accents."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("ł", "l").replace("Ł", "L"))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).lower()


@cache
def lexicon() -> Lexicon:
    """Return all words, read once."""
    words = Lexicon()
    for file in sorted(resources.files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            category = file.name.removesuffix(".toml")
            for name, table in tomllib.loads(file.read_text("utf-8")).items():
                _add(words, _kind(category, name, table), table)
    return words


def _kind(category: str, name: str, table: dict[str, Any]) -> Kind:
    """Return the kind of column that an entry of the lexicon describes; ``category`` is the file that lists it."""
    is_demographic = category == "known" and name not in _MEANINGS
    meaning = category if category in SENSITIVE else "demographic" if is_demographic else name
    flags = {flag: bool(table.get(flag, False)) for flag in ("topic", "numbers", "few", "person", "visible")}
    return Kind(meaning, table["says"], **flags)


def _add(words: Lexicon, kind: Kind, table: dict[str, Any]) -> None:
    """Add the words of a kind to the lexicon: ``table`` lists them by language (two-letter code, or "short")."""
    for language, words_written in table.items():
        if len(language) > 2 and language != "short":
            continue
        for spelling in words_written.split():
            # Umlauts are also spelled with two letters.
            for word in {folded(spelling), folded(spelling.translate(_GERMAN))}:
                _add_word(words, kind, word)


def _add_word(words: Lexicon, kind: Kind, pattern: str) -> None:
    """Add a word to the lists in which it is looked up, by the marks in its pattern.

    ``=word`` is exact, ``^word`` the whole name, ``word_~`` is followed and ``~_word`` preceded by other words, and ``~`` at
    an end allows further letters there.
    """
    word = re.sub(r"[=^~_]", "", pattern)
    if pattern.startswith("="):
        lists = [words.exact]
    elif pattern.startswith("^"):
        lists = [words.whole]
    elif pattern.endswith("_~"):
        lists = [words.followed]
    elif pattern.startswith("~_"):
        lists = [words.following]
    elif pattern.startswith("~") and pattern.endswith("~"):
        lists = [words.inside]
    elif pattern.startswith("~"):
        lists = [words.ends]
    elif pattern.endswith("~"):
        lists = [words.starts]
    elif without_spaces(word):
        lists = [words.inside]
    else:
        lists = [words.plain, *([words.starts, words.ends] if len(word) >= _COMPOUND else [])]
    for word_list in lists:
        word_list.setdefault(word, []).append(kind)


def without_spaces(word: str) -> bool:
    """True if the script of a word has no spaces between words."""
    return any("\u3040" <= c <= "\u9fff" for c in word)
