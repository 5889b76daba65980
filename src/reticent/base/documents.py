"""Small documents (text, TOML and JSON), read within limits.

A device or a pipe never ends, a text nested ten thousand levels deep overflows Python's stack, and a number of a
million digits takes minutes to parse. Input that is too large or too deep is rejected here with a message, before it is
read or parsed.
"""

from __future__ import annotations

import json
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reticent.errors import DataError

LARGEST = 1 << 26
LARGEST_SETTINGS = 1 << 20
_DEEPEST_KEY = 50
_KEY = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
# Comments and strings are skipped as a whole: their dots do not separate keys.
_LEXEMES = re.compile(
    rf"""\#[^\n]*+|\"{{3}}(?:[^\\]|\\.)*?\"{{3}}|'{{3}}.*?'{{3}}|(?P<deep>(?:{_KEY}[ \t]*+\.[ \t]*+){{{_DEEPEST_KEY}}})|{_KEY}""",
    re.DOTALL,
)
_LONGEST_NUMBER = re.compile(r"(?<![\w\"'])[-+]?[0-9_]{4000}")


def read_document(path: str | Path, largest: int = LARGEST) -> bytes:
    """The bytes of a regular file of at most ``largest`` bytes. Raises :class:`DataError` naming it otherwise.

    System errors (no such file, no permission) are passed on unchanged.
    """
    file = Path(path)
    state = file.stat()
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(21, "Is a directory", str(file))
    if not stat.S_ISREG(state.st_mode):
        raise DataError(f"{file} is not a regular file but a pipe or a device. Save its content as a file.")
    if state.st_size > largest:
        raise DataError(f"{file} has {state.st_size:,} bytes; at most {largest:,} are read here.")
    return file.read_bytes()


def check_ordinary(path: Path) -> None:
    """Raise for a pipe or a device, whose content may never end."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise DataError(f"{path} is not a regular file but a pipe or a device. Save its content as a file.")


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises :class:`tomllib.TOMLDecodeError` also if it is too large or too deep."""
    if len(text) > LARGEST_SETTINGS:
        raise tomllib.TOMLDecodeError(
            f"the text has {len(text):,} characters, and at most {LARGEST_SETTINGS:,} are read"
        )
    deep = next((match for match in _LEXEMES.finditer(text) if match["deep"]), None)
    if deep is not None:
        line = text.count("\n", 0, deep.start()) + 1
        raise tomllib.TOMLDecodeError(f"a key has more than {_DEEPEST_KEY} parts (at line {line}, column 1)")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("the text is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise tomllib.TOMLDecodeError(f"a number cannot be read: {str(error).partition(';')[0]}") from None


def parse_json(
    text: str, parse_float: Callable[[str], Any] | None = None, parse_int: Callable[[str], Any] | None = None
) -> Any:
    """The value of a JSON text. Raises :class:`json.JSONDecodeError` also if it is too deep or a number is too long."""
    try:
        return json.loads(text, parse_float=parse_float, parse_int=parse_int)
    except RecursionError:
        raise json.JSONDecodeError("the text is nested too deeply", text, 0) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        match = _LONGEST_NUMBER.search(text)
        reason = f"a number cannot be read: {str(error).partition(';')[0]}"
        raise json.JSONDecodeError(reason, text, match.start() if match else 0) from None
