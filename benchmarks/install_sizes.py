"""Megabytes on disk of the core and of what each extra adds. Run ``python -m benchmarks install_sizes``.

Read from the packages of this environment, in which all extras are installed, with the modules that pip compiled. What an
extra shares with the core counts as core.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

_PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_LARGEST = 6


def needed(requirements: Iterable[str]) -> dict[str, Distribution]:
    """The packages that requirements need, by name; without those that are not installed."""
    found: dict[str, Distribution] = {}
    waiting = [(Requirement(each), "") for each in requirements]
    while waiting:
        requirement, asked = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": asked}):
            continue
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        known = name in found
        found[name] = package
        own = package.requires or ()
        if not known:
            waiting += [(Requirement(each), "") for each in own]
        waiting += [(Requirement(each), wanted) for wanted in requirement.extras for each in own if "extra" in each]
    return found


def megabytes(package: Distribution) -> float:
    """The size of the files that a package installed."""
    paths = {str(package.locate_file(each)): package.locate_file(each) for each in package.files or ()}
    return sum(path.stat().st_size for path in paths.values() if path.exists()) / 1e6  # type: ignore[attr-defined]


def row(name: str, packages: dict[str, Distribution]) -> str:
    """A line of the table: the sum, and the largest packages."""
    sizes = sorted(((megabytes(package), each) for each, package in packages.items()), reverse=True)
    largest = ", ".join(f"{each} {size:.0f}" for size, each in sizes[:_LARGEST] if size >= 1)
    return f"| {name} | {sum(size for size, _ in sizes):.0f} MB | {largest} |"


def main() -> None:
    project = tomllib.loads(_PROJECT.read_text("utf-8"))["project"]
    core = needed(project["dependencies"])
    print("| what | size | largest packages, MB |\n|---|---|---|")
    print(row("core", core))
    for extra, requirements in sorted(project["optional-dependencies"].items()):
        if extra not in ("dev", "docs"):
            more = needed(requirements)
            print(row(f"`{extra}`", {name: package for name, package in more.items() if name not in core}))


if __name__ == "__main__":
    main()
