"""A kind of release is one package: nobody outside names it, but for the places listed here, and the list only gets shorter."""

from __future__ import annotations

import ast
from pathlib import Path

from reticent.registry import FORMATS, RECODINGS
from tests.sources import SOURCE, nodes

SHARED = {"grouping", "typical"}
KINDS = sorted(path.name for path in (SOURCE / "methods").iterdir() if path.is_dir() and path.name not in SHARED)
BLIND = ("base", "table", "conditions", "io", "core", "engine", "definitions", "utility", "release", "ledger", "noise")
"""Rooms that know no kind at all."""
NAMED_OUTSIDE = {
    ("attacks", "lattice"),
    ("attacks", "series"),
    ("baselines", "lattice"),
    ("baselines", "series"),
    ("methods.anatomy", "lattice"),
    ("methods.anatomy", "mondrian"),
    ("methods.counts", "randomize"),
    ("methods.grid", "counts"),
    ("methods.panel", "mondrian"),
    ("methods.series", "anatomy"),
    ("reports", "lattice"),
    ("reports", "series"),
}


def packages() -> dict[Path, str]:
    """Every module with the package that it belongs to, but the faces, which may name everything."""
    modules = {path.relative_to(SOURCE): path.relative_to(SOURCE).parts for path in SOURCE.rglob("*.py")}
    faces = {"cli", "__init__.py", "__main__.py", "registry.py"}
    return {
        module: ".".join(parts[:2]) if parts[0] == "methods" else parts[0]
        for module, parts in modules.items()
        if parts[0] not in faces
    }


def imported_kinds(module: Path) -> set[str]:
    names = [node.module for node in nodes(module) if isinstance(node, ast.ImportFrom) and node.module]
    names += [alias.name for node in nodes(module) if isinstance(node, ast.Import) for alias in node.names]
    return {kind for kind in KINDS for name in names if f"{name}.".startswith(f"reticent.methods.{kind}.")}


def test_a_kind_is_imported_by_the_places_that_are_listed() -> None:
    found = {
        (package, kind)
        for module, package in packages().items()
        for kind in imported_kinds(module)
        if package != f"methods.{kind}"
    }
    assert found - NAMED_OUTSIDE == set(), "a kind of release is one package: go through the registry"
    assert NAMED_OUTSIDE - found == set(), "delete these lines from NAMED_OUTSIDE"


def test_what_is_below_kinds_names_no_format_and_no_recoding_of_a_kind() -> None:
    own = {name for name, home in {**FORMATS, **RECODINGS}.items() if home.module.startswith("reticent.methods.")}
    english = {"cells", "generalize", "records", "series", "typical", "view"}
    named = {
        (str(module), node.value)
        for module, package in packages().items()
        if package in BLIND
        for node in nodes(module)
        if isinstance(node, ast.Constant) and node.value in own - english
    }
    assert named == {("release/certificate.py", "bucketize")}  # which releases version 0.3 could hash
