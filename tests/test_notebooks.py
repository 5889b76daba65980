"""The notebooks of examples/ run from the first cell to the last, and what a cell ends with can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from docs.tools.notebooks import TUTORIALS, notebook, notebook_path

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "examples").rglob("*.ipynb"))


def run_cell(text: str, names: dict[str, object]) -> object:
    """Run a cell as a notebook does: the value of a last expression is what is shown."""
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    names: dict[str, object] = {}
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 3
    for cell in cells:
        shown = run_cell("".join(cell["source"]), names)
        assert repr(shown)
        assert not hasattr(shown, "_repr_html_") or shown._repr_html_()


@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_the_notebook_of_a_tutorial_is_in_step_with_its_page(tutorial: str) -> None:
    assert notebook_path(tutorial).read_text("utf-8") == notebook(tutorial), "run make notebooks"
