"""Reading the text fixtures of this room."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures" / "views"


@dataclass
class Golden:
    """One block of a fixture: its id and its fields."""

    name: str
    fields: dict[str, str] = field(default_factory=dict)


def read_goldens(name: str) -> list[Golden]:
    """The blocks of a Datalog fixture."""
    found: list[Golden] = []
    last = ""
    for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith("== "):
            found.append(Golden(line[3:].split(":")[0].strip()))
        elif line.startswith(" "):
            found[-1].fields[last] += "\n" + line.strip()
        else:
            last, _, value = line.partition(":")
            found[-1].fields[last] = value.strip()
    return found


def read_sql_goldens(name: str) -> list[Golden]:
    """The blocks of an SQL fixture."""
    found: list[Golden] = []
    last = ""
    for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines():
        option = re.match(r"-- (semantics|verdict): (.*)", line)
        if line.startswith("--- "):
            found.append(Golden(line[4:].split(":")[0].strip()))
            last = ""
        elif option and found:
            found[-1].fields[option[1]] = option[2]
        elif line in ("-- schema", "-- secret", "-- view"):
            last = line[3:]
            found[-1].fields[last] = ""
        elif last and line.strip():
            found[-1].fields[last] += line + "\n"
    return found
