"""``make notebooks``: write the tutorials as Jupyter notebooks into ``examples/``.

python -m docs.tools.notebooks

A block of ``python`` becomes a code cell, without prompts and without the output that the page shows; everything between blocks becomes a Markdown cell.
``tests/test_notebooks.py`` holds that the notebooks are in step with their pages and run.
"""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = (
    "hospital-register",
    "survey-with-weights",
    "monthly-series",
    "commuting-flows",
    "questions-instead-of-data",
)
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")


def notebook_path(tutorial: str) -> Path:
    """The notebook of a tutorial."""
    return ROOT / "examples" / f"{tutorial.replace('-', '_')}.ipynb"


def notebook(tutorial: str) -> str:
    """The text of a notebook, made from the page of a tutorial."""
    page = (ROOT / "docs" / "tutorials" / f"{tutorial}.md").read_text("utf-8")
    pieces = _BLOCK.split(page)  # prose and code in turn
    cells = [_cell(piece, code=index % 2 == 1) for index, piece in enumerate(pieces) if piece.strip()]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {
        "cells": cells,
        "metadata": kernel | {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(text: str, *, code: bool) -> dict[str, Any]:
    """A code cell from a block, or a Markdown cell in which links to pages are plain words."""
    source = _statements(text) if code else _LINK.sub(r"\1", text).strip()
    cell: dict[str, Any] = {"cell_type": "code" if code else "markdown", "metadata": {}}
    cell["source"] = source.splitlines(keepends=True)
    return cell | ({"execution_count": None, "outputs": []} if code else {})


def _statements(block: str) -> str:
    """The statements of a block; those of a doctest lose prompts and expected output."""
    if not block.startswith(">>>"):
        return block.strip()
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block)).strip()


if __name__ == "__main__":
    for each in TUTORIALS:
        notebook_path(each).write_text(notebook(each), encoding="utf-8")
