"""Positions in a TOML file: the line and column of every key and list item.

``tomllib`` parses values but drops their positions. This walks over a text that ``tomllib`` has accepted, so it may
assume valid syntax and only has to distinguish keys from values.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field

Path = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_INLINE_BLANK = re.compile(r"[ \t]*")
_SCALAR = re.compile(r"[^,\]}#\n\r]*")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_WIDEST = 160


@dataclass(frozen=True)
class TomlPosition:
    """A line and a column, both counted from one, and the text of that line."""

    line: int
    column: int
    text: str

    def name(self, file: str) -> str:
        """Return the position in the format of editors and compilers."""
        return f"{file}:{self.line}:{self.column}"

    @property
    def excerpt(self) -> str:
        """Return the line, with a mark under the column."""
        number = str(self.line)
        start = max(0, self.column - _WIDEST // 2) if len(self.text) > _WIDEST else 0
        visible = self.text.replace("\t", " ")[start : start + _WIDEST]
        return f"  {number} | {visible}\n  {' ' * len(number)} | {' ' * (self.column - 1 - start)}^"

    def point(self, file: str, message: str) -> str:
        """Return the message with its position before it and the line under it."""
        return f"{self.name(file)}: {message}\n{self.excerpt}"


@dataclass
class TomlPositions:
    """The offset of every key path of a TOML text. Built by one pass over the text."""

    text: str
    _offsets: dict[Path, int] = field(default_factory=dict)
    _lengths: dict[Path, int] = field(default_factory=dict)
    _here: int = 0

    def __post_init__(self) -> None:
        """Read the whole text, and note the position of every key, table and list item."""
        table: Path = ()
        while self._skip(_BLANK) < len(self.text):
            if self.text[self._here] == "[":
                table = self._header()
            else:
                self._pair(table)

    def find(self, path: Sequence[str | int]) -> TomlPosition:
        """Return the position of a key or item, or of the nearest enclosing one that exists."""
        full_path = tuple(path)
        for length in range(len(full_path), -1, -1):
            for shorter in (full_path[:length], tuple(part for part in full_path[:length] if isinstance(part, str))):
                if shorter in self._offsets:
                    return self.at(self._offsets[shorter])
        return self.at(0)

    def at(self, offset: int) -> TomlPosition:
        """Return the position of a character."""
        before = self.text.rfind("\n", 0, offset) + 1
        line = self.text.count("\n", 0, offset) + 1
        return TomlPosition(line, offset - before + 1, self.text[before:].split("\n", 1)[0].rstrip("\r"))

    def _skip(self, pattern: re.Pattern[str]) -> int:
        """Move past what the pattern matches here, and return the new offset."""
        matched = pattern.match(self.text, self._here)
        assert matched is not None
        self._here = matched.end()
        return self._here

    def _note(self, path: Path, offset: int) -> None:
        for length in range(1, len(path) + 1):
            self._offsets.setdefault(path[:length], offset)

    def _header(self) -> Path:
        """Parse ``[table]`` or ``[[list of tables]]``; a name below a list refers to its last item."""
        start = self._here
        several = self.text.startswith("[[", start)
        self._here += 2 if several else 1
        keys = self._keys()
        self._here += 2 if several else 1
        path: Path = ()
        for number, key in enumerate(keys):
            path = (*path, key)
            if several and number == len(keys) - 1:
                self._lengths[path] = self._lengths.get(path, 0) + 1
            if path in self._lengths:
                self._note(path, start)
                path = (*path, self._lengths[path] - 1)
        self._note(path, start)
        return path

    def _pair(self, table: Path) -> None:
        """Read a key and its value, and note the position of the key."""
        start = self._here
        path = (*table, *self._keys())
        self._note(path, start)
        self._here = self.text.index("=", self._here) + 1
        self._skip(_INLINE_BLANK)
        self._value(path)

    def _keys(self) -> list[str]:
        """Read a dotted key; return its parts."""
        keys = []
        while True:
            self._skip(_INLINE_BLANK)
            keys.append(self._key())
            self._skip(_INLINE_BLANK)
            if not self.text.startswith(".", self._here):
                return keys
            self._here += 1

    def _key(self) -> str:
        """Read one part of a key."""
        start = self._here
        if self.text[start] in "\"'":
            self._string()
            return next(iter(tomllib.loads(f"{self.text[start : self._here]} = 0")))
        self._skip(_BARE_KEY)
        return self.text[start : self._here]

    def _value(self, path: Path) -> None:
        """Read a value, and note the positions of what it contains below ``path``."""
        first = self.text[self._here]
        if first in "\"'":
            self._string()
        elif first == "[":
            self._list(path)
        elif first == "{":
            self._inline_table(path)
        else:
            self._skip(_SCALAR)

    def _string(self) -> None:
        """Move past a string."""
        for pattern in _STRINGS:
            matched = pattern.match(self.text, self._here)
            if matched:
                self._here = matched.end()
                return

    def _list(self, path: Path) -> None:
        """Read a list, and note the position of each item."""
        self._here += 1
        number = 0
        while self.text[self._skip(_BLANK)] != "]":
            self._note((*path, number), self._here)
            self._value((*path, number))
            number += 1
            if self.text[self._skip(_BLANK)] == ",":
                self._here += 1
        self._here += 1

    def _inline_table(self, path: Path) -> None:
        """Read an inline table, and note the positions of its keys."""
        self._here += 1
        while self.text[self._skip(_BLANK)] != "}":
            self._pair(path)
            if self.text[self._skip(_BLANK)] == ",":
                self._here += 1
        self._here += 1
