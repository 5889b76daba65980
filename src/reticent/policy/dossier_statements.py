"""What a steward states for a dossier, in a file beside the policy."""

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
    """A file of statements, checked."""

    called: ClassVar[str] = "statements"

    sections: StatementSections

    @classmethod
    def parse(cls, text: str, file: str = "statements", folder: str | Path = ".") -> StatementFile:
        """Check the text of the file; ``file`` is the name that messages use."""
        sections, places = checked(text, file, StatementSections)
        return cls(file, Path(folder), sections, places)


def read_statements(path: str | Path) -> dict[str, str]:
    """The statements by the name of their field."""
    return StatementFile.read(path).sections.dossier
