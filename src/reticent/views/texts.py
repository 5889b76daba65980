"""Read files of queries, schemas and certificates."""

from __future__ import annotations

from pathlib import Path

from reticent.base.documents import read_document
from reticent.errors import PolicyError


def read_text(path: Path) -> str:
    """Return the text of a file; a file that is not text is refused by name."""
    try:
        return read_document(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path} is not valid UTF-8 (byte {error.start + 1}); pass a file of SQL or JSON.") from None


def is_path(argument: str) -> bool:
    """True if a command-line argument names an existing path; a long query is not a file name."""
    try:
        return Path(argument).exists()
    except (OSError, ValueError):
        return False
