"""Files of queries, schemas and certificates as text."""

from __future__ import annotations

from pathlib import Path

from reticent.base.documents import read_document
from reticent.errors import PolicyError


def read_text(path: Path) -> str:
    """The text of a file; one that is not text is refused by name."""
    try:
        return read_document(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path} is not valid UTF-8 (byte {error.start + 1}); give a file of SQL or JSON.") from None


def is_path(given: str) -> bool:
    """Whether a word of the command line names something on the disk; a long query is no name of a file."""
    try:
        return Path(given).exists()
    except (OSError, ValueError):
        return False
