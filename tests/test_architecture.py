"""The map in docs/architecture.md, held: arrows point one way, and importing Reticent is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "reticent"

# What each room may import; rooms further down may not be imported from further up.
MAY_IMPORT = {
    "errors": set(),
    "exact": {"errors"},
    "randomness": set(),
    "files": {"errors"},
    "data": {"errors", "exact", "files", "randomness"},
    "engine": {"data", "errors"},
    "worst_case": {"data", "errors", "exact"},
    "definitions": {"data", "errors", "exact", "worst_case"},
    "propose": {"data", "definitions", "engine", "errors", "exact"},
    "utility": {"data", "errors", "exact"},
    "ledger": {"data", "errors", "exact", "files"},
    "anonymize": {"data", "definitions", "engine", "errors", "exact", "randomness", "utility"},
    "randomize": {"data", "definitions", "errors", "exact", "files", "ledger", "randomness"},
    "web": {"audit", "errors"},
    "audit": {"data", "errors", "exact", "files", "ledger", "randomness"},
    "views": {"data", "errors", "exact", "ledger"},
}
BELOW_RELEASE = {"anonymize", "data", "definitions", "engine", "errors", "exact", "files", "ledger"} | {
    "randomize",
    "randomness",
    "utility",
    "worst_case",
}
MAY_IMPORT["release"] = BELOW_RELEASE
MAY_IMPORT["attack"] = MAY_IMPORT["knowledge"] = MAY_IMPORT["belief"] = {*BELOW_RELEASE, "release"}
MAY_IMPORT["report"] = {*BELOW_RELEASE, "release", "attack", "belief", "knowledge", "propose"}

MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def imported_rooms(module: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse((SOURCE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("reticent.")}
    return found


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_room_imports_only_what_the_map_allows(module):
    room = module.parts[0].removesuffix(".py")
    if room in MAY_IMPORT:
        assert imported_rooms(module) - {room} <= MAY_IMPORT[room]


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_reticent_loads_nothing_heavy():
    assert not loaded_by("import reticent") & {"polars", "numpy", "numba", "duckdb", "altair", "psycopg", "pandas"}


def test_publishing_needs_no_optional_package_and_no_compiler():
    statement = (
        "import polars as pl, reticent as rt; "
        "rt.publish(rt.Table(pl.DataFrame({'a': [1, 1, 2, 2], 's': ['x', 'y', 'x', 'y']}), quasi=['a'], sensitive='s'), rt.KAnonymity(2))"
    )
    assert not loaded_by(statement) & {
        "numba",
        "pandas",
        "psycopg",
        "altair",
        "vl_convert",
        "pyspark",
        "fastapi",
        "opendp",
    }


def test_every_public_name_can_be_reached():
    import reticent

    for name in reticent.__all__:
        assert getattr(reticent, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = reticent.nothing
