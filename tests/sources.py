"""The modules of the package as trees: parsing all of them takes seconds, so tests that look at code share them (and a worker: group ``house``)."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "reticent"


def nodes(module: Path) -> list[ast.AST]:
    """Every node of a module, whose path is whole or relative to the package."""
    return _parsed(SOURCE / module)


@cache
def _parsed(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
