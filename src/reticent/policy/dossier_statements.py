"""The steward's statements for a dossier, in a separate file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from reticent.policy.file import PolicyFile, checked
from reticent.policy.sections import Section


class StatementSections(Section):
    """The whole file: ``[dossier]``, as in a policy."""

    dossier: dict[str, str]


@dataclass(frozen=True)
class StatementFile(PolicyFile):
    """A validated file of statements."""

    called: ClassVar[str] = "statements"

    sections: StatementSections

    @classmethod
    def parse(cls, text: str, file: str = "statements", folder: str | Path = ".") -> StatementFile:
        """Validate the text of the file; ``file`` is its name in messages."""
        sections, positions = checked(text, file, StatementSections)
        return cls(file, Path(folder), sections, positions)


def read_statements(path: str | Path) -> dict[str, str]:
    """Return the statements by field name."""
    return StatementFile.read(path).sections.dossier
