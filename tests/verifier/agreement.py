"""Both verifiers on the same folders: Python's checks and those of the JavaScript core, under the names that the conformance suite uses."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import reticent as rt

NODE = shutil.which("node")
PROGRAM = Path(rt.__file__).parent / "verifier" / "node.js"
OPTIONAL = ("wording",)
"""Checks that a verifier may leave to Reticent: they compare sentences, and decide nothing about the data."""

Verdicts = dict[str, str]


def python_verdicts(folder: Path, **known: Any) -> tuple[str, Verdicts]:
    """The headline's state, and the status of every check; a folder without a certificate is refused in words, which is its one failing check. ``known`` is what the recipient brings along."""
    if not (folder / "certificate.json").exists():
        with pytest.raises(rt.DataError, match=r"has no folder public/ with a certificate\.json"):
            rt.verify(folder)
        return "does not hold", {"certificate": "fails"}
    found = rt.verify(folder, **known)
    verdicts: Verdicts = {}
    claims = 0
    for check in found.checks:
        name = check.name
        if check.claim and name != "claims":
            claims += 1
            name = f"claim {claims}"
        elif name.endswith(", all of it"):
            name = f"claim {claims}, all of it"
        elif name.startswith("pseudonym "):
            name = "pseudonym"
        # What is thrown while the files are read is one more check of consistency: a failing one counts.
        if verdicts.get(name) != "fails":
            verdicts[name] = check.status
    return found.headline.state, verdicts


def node_verdicts(folders: Sequence[Path], *options: str, program: Path = PROGRAM) -> list[tuple[str, Verdicts]]:
    """The same by the JavaScript core, for many public folders at once."""
    return [_read(answer) for answer in node_answers(folders, *options, program=program)]


def node_answers(folders: Sequence[Path], *options: str, program: Path = PROGRAM) -> list[dict[str, Any]]:
    """What the JavaScript core prints for each folder, reasons included."""
    assert NODE is not None
    listed = "\n".join(map(str, folders))
    ran = subprocess.run([NODE, str(program), *options, "-"], input=listed, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def _read(answer: Mapping[str, object]) -> tuple[str, Verdicts]:
    verdicts: Verdicts = {}
    for check in answer["checks"]:  # type: ignore[attr-defined]
        if verdicts.get(check["id"]) != "fails":
            verdicts[check["id"]] = check["status"]
    return answer["headline"]["state"], verdicts  # type: ignore[index]


def differences(
    expected: Verdicts, found: Verdicts, also: Sequence[str] = ()
) -> dict[str, tuple[str | None, str | None]]:
    """The checks on which two verifiers do not agree, optional ones aside; those that are ``also`` compared may be left by the second."""
    left = [name for name in OPTIONAL if name not in also or found.get(name) == "not re-checked"]
    names = {*expected, *found} - set(left)
    return {
        name: (expected.get(name), found.get(name)) for name in sorted(names) if expected.get(name) != found.get(name)
    }


def write(files: Mapping[str, bytes], folder: Path) -> Path:
    """A public folder of some files."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder
