"""Projects of the workbench. A project is a private folder with a policy, all its versions, pinned candidates, cached results, uploads and releases.

The policy is the state. Every edit in the workbench creates a new version of ``policy.toml``; undo and redo move between versions, and none is deleted.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import threading
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reticent.base.files import write_whole
from reticent.errors import DataError, PolicyError

_NUMBER = re.compile(r"[0-9a-f]{12}")
_FORMAT = 1
_MOST_PINNED = 12


@dataclass(frozen=True)
class Version:
    """One version of a policy: its parent version and a description of the change."""

    number: int
    parent: int | None
    what: str
    made: str


class Project:
    """A project stored in one folder. Mutable: all pages of a server share one object per project."""

    def __init__(self, folder: Path) -> None:
        """Load the project stored in ``folder``."""
        self.folder = folder
        self._lock = threading.RLock()
        self._facts: dict[str, Any] = json.loads((folder / "project.json").read_bytes())

    @property
    def id(self) -> str:
        """Identifier of the project, used in URLs."""
        return self.folder.name

    @property
    def name(self) -> str:
        """Name of the project, chosen by the steward."""
        return str(self._facts["name"])

    @property
    def source(self) -> str:
        """Human-readable path or database address that the project was created from."""
        return str(self._facts.get("source", ""))

    @property
    def changed(self) -> str:
        """Timestamp of the last change."""
        return str(self._facts["changed"])

    @property
    def head(self) -> int:
        """Number of the current version; 0 if there is no policy yet."""
        return int(self._facts["head"])

    @property
    def cache(self) -> Path:
        """Folder of cached results."""
        return self.folder / "results"

    @property
    def policy_path(self) -> Path:
        """Path of the current policy."""
        return self.folder / "policy.toml"

    @property
    def versions(self) -> list[Version]:
        """All versions, oldest first."""
        return [Version(**entry) for entry in self._facts["versions"]]

    @property
    def pinned(self) -> list[dict[str, Any]]:
        """Pinned candidates."""
        return list(self._facts.get("pinned", ()))

    @property
    def releases(self) -> list[dict[str, Any]]:
        """Releases published from this project, newest first."""
        return list(reversed(self._facts.get("releases", ())))

    def fact(self, name: str, default: Any = None) -> Any:
        """Return a value stored with the project outside the policy."""
        return self._facts.get(name, default)

    def remember(self, **facts: Any) -> None:
        """Store values with the project, outside the policy and its versions; existing ones are replaced."""
        with self._lock:
            self._facts.update(facts)
            self._save()

    def text(self, version: int | None = None) -> str:
        """Return the policy text of a version, by default the current one."""
        number = self.head if version is None else version
        return self.version_path(number).read_text("utf-8") if number else ""

    def content(self, version: int | None = None) -> dict[str, Any]:
        """Return the policy of a version as parsed TOML."""
        return tomllib.loads(self.text(version))

    def has(self, version: int) -> bool:
        """True if the version exists."""
        return any(entry["number"] == version for entry in self._facts["versions"])

    def write(self, text: str, what: str) -> int:
        """Store a policy text as the new current version and return its number; unchanged text creates no version."""
        with self._lock:
            if self.head and text == self.text():
                return self.head
            number = len(self._facts["versions"]) + 1
            write_whole(self.version_path(number), text.encode())
            self._facts["versions"].append(
                {"number": number, "parent": self.head or None, "what": what, "made": _now()}
            )
            self._move(number)
            return number

    def change(self, edit: Callable[[dict[str, Any]], object], what: str) -> int:
        """Apply ``edit`` to the parsed current policy in place and store the result as a new version."""
        from reticent.policy import Policy
        from reticent.propose import document_text

        with self._lock:
            content = self.content()
            edit(content)
            text = document_text(content)
            Policy.parse(text, "the policy", self.folder)
            return self.write(text, what)

    def undo(self) -> int:
        """Make the parent of the current version current."""
        with self._lock:
            parent = self._version(self.head).parent if self.head else None
            return self._move(parent) if parent is not None else self.head

    def redo(self) -> int:
        """Make the newest child of the current version current."""
        with self._lock:
            children = [version.number for version in self.versions if version.parent == self.head]
            return self._move(max(children)) if children else self.head

    def restore(self, version: int) -> int:
        """Make any existing version the current one."""
        with self._lock:
            return self._move(version) if self.has(version) else self.head

    @property
    def can_undo(self) -> bool:
        """True if the current version has a parent."""
        return bool(self.head) and self._version(self.head).parent is not None

    @property
    def can_redo(self) -> bool:
        """True if the current version has a child."""
        return any(entry["parent"] == self.head for entry in self._facts["versions"])

    def pin(self, candidate: Mapping[str, Any]) -> None:
        """Pin a candidate (the method and its parameters in policy notation); one with the same method is replaced."""
        with self._lock:
            others = [pinned for pinned in self.pinned if pinned["method"] != candidate["method"]]
            self.remember(pinned=[*others, dict(candidate)][-_MOST_PINNED:])

    def unpin(self, number: int) -> None:
        """Remove the pinned candidate with this index."""
        self.remember(pinned=[candidate for index, candidate in enumerate(self.pinned) if index != number])

    def _version(self, number: int) -> Version:
        return Version(**self._facts["versions"][number - 1])

    def version_path(self, number: int) -> Path:
        """Path of the policy at a version. Paths in it are relative to the project's folder."""
        return self.folder / "versions" / f"{number:06d}.toml"

    def _move(self, number: int) -> int:
        """Make a stored version the current policy and return its number."""
        write_whole(self.policy_path, self.version_path(number).read_bytes())
        self._facts["head"] = number
        self._save()
        return number

    def _save(self) -> None:
        self._facts["changed"] = _now()
        write_whole(self.folder / "project.json", json.dumps(self._facts, ensure_ascii=False, indent=1).encode())


@dataclass
class Projects:
    """All projects in one private folder. Mutable: caches one object per project, so that all pages share its state."""

    home: Path
    _opened: dict[str, Project] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chmod(self.home, 0o700)

    def find(self, number: str) -> Project:
        """Return the project with this identifier; raise :class:`DataError` if there is none."""
        with self._lock:
            folder = self.home / number
            if not _NUMBER.fullmatch(number) or not (folder / "project.json").is_file():
                self._opened.pop(number, None)
                raise DataError("There is no such project. It was forgotten, or it belongs to another user.")
            if number not in self._opened:
                self._opened[number] = Project(folder)
            return self._opened[number]

    def new(self, name: str, source: str = "") -> Project:
        """Create an empty project."""
        number = secrets.token_hex(6)
        folder = self.home / number
        folder.mkdir(mode=0o700)
        for subfolder in ("versions", "uploads", "releases"):
            (folder / subfolder).mkdir(mode=0o700)
        facts = {"format": _FORMAT, "name": name, "source": source, "head": 0, "versions": [], "changed": _now()}
        write_whole(folder / "project.json", json.dumps(facts).encode())
        return self.find(number)

    def all(self) -> list[Project]:
        """Return all projects, most recently changed first."""
        projects = []
        for folder in self.home.iterdir():
            try:
                projects.append(self.find(folder.name))
            except (DataError, ValueError, KeyError):
                continue
        return sorted(projects, key=lambda project: project.changed, reverse=True)

    def forget(self, number: str) -> None:
        """Delete a project with its folder: uploads, versions, results and the releases stored there."""
        project = self.find(number)
        with self._lock:
            self._opened.pop(number, None)
        shutil.rmtree(project.folder)


def home_folder() -> Path:
    """Return the folder of all projects: RETICENT_WORKBENCH, or a default in the user's data folder."""
    configured = os.environ.get("RETICENT_WORKBENCH")
    if configured:
        return Path(configured)
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "reticent" / "workbench"


def safe_file_name(given: str) -> str:
    """Return the name of an uploaded file without folders; raise :class:`PolicyError` if it is not a valid name."""
    name = given.replace("\\", "/").rpartition("/")[2].strip().replace("\x00", "")
    if name in ("", ".", "..") or len(name.encode()) > 200:
        raise PolicyError("The file needs a name of at most 200 bytes. Rename it and try again.")
    return name


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
