"""``make notebooks``: write the tutorials as Jupyter notebooks into ``examples/tutorials/``.

python -m docs.tools.notebooks

A block of ``python`` becomes code cells, without prompts and without the output that the page shows; everything between blocks becomes a Markdown cell.
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
    return ROOT / "examples" / "tutorials" / f"{tutorial}.ipynb"


def notebook(tutorial: str) -> str:
    """The text of a notebook, made from the page of a tutorial."""
    page = (ROOT / "docs" / "tutorials" / f"{tutorial}.md").read_text("utf-8")
    cells = []
    for index, piece in enumerate(_BLOCK.split(page)):  # prose and code in turn
        cells += [_code(text) for text in _statements(piece)] if index % 2 else [_markdown(piece)]
    numbered = [cell | {"id": f"cell-{number}"} for number, cell in enumerate(cells)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    metadata = kernel | {"language_info": {"name": "python"}}
    whole = {"cells": numbered, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _markdown(text: str) -> dict[str, Any]:
    """A cell of prose, in which links to other pages are plain words."""
    source = _LINK.sub(r"\1", text).strip()
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    source = text.strip().splitlines(keepends=True)
    return {"cell_type": "code", "metadata": {}, "source": source, "execution_count": None, "outputs": []}


def _statements(block: str) -> list[str]:
    """The statements of a block, a text for each cell: in a doctest one ends where output is shown, which a notebook shows below its cell."""
    if not block.startswith(">>>"):
        return [block]
    cells = [""]
    for example in doctest.DocTestParser().get_examples(block):
        cells[-1] += example.source
        if example.want:
            cells.append("")
    return [cell for cell in cells if cell]


if __name__ == "__main__":
    for each in TUTORIALS:
        notebook_path(each).write_text(notebook(each), encoding="utf-8")
