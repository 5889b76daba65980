"""The documentation page is run as it stands, and the examples' reports are what the command writes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from reticent import views
from reticent.cli import views as command
from reticent.cli.console import run
from reticent.views.checking import Checker
from reticent.views.matrix import Matrix
from reticent.views.sql.files import read_queries

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_page_about_views_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    names: dict[str, object] = {}
    blocks = BLOCK.findall((ROOT / "docs" / "views.md").read_text(encoding="utf-8"))
    assert len(blocks) > 10
    for kind, text in blocks:
        if kind == "sql":
            first, _, rest = text.partition("\n")
            Path(first.removeprefix("-- file: ")).write_text(rest)
        elif kind == "python":
            exec(compile(text, "docs/views.md", "exec"), names)
        else:
            _run_console(text, monkeypatch, capsys)


def _run_console(text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    said = ""
    for line in text.splitlines():
        if line.startswith("$ "):
            words = shlex.split(line[2:])
            assert words[0] == "reticent"
            app = typer.Typer()
            command.register(app)
            app.callback()(lambda: None)
            monkeypatch.setattr("sys.argv", words)
            assert run(app) in (0, 1)
            said = capsys.readouterr().out
        else:
            assert line in said, f"{line!r} is not in the output:\n{said}"


@pytest.mark.parametrize("example", ["hospital", "shop"])
def test_the_examples_have_true_reports(example: str) -> None:
    folder = ROOT / "examples" / "views" / example
    secrets, shown = (read_queries(folder / name, "postgres") for name in ("secrets", "views"))
    schema = views.load_schema(folder / "schema.sql")
    names = [f"secret {name}" for name in secrets] + [f"view {name}" for name in shown]
    known, queries = views.prepare([*secrets.values(), *shown.values()], schema, names=names)
    matrix = Matrix.of(Checker(known), queries[: len(secrets)], queries[len(secrets) :])
    assert matrix.to_markdown() + "\n" == (folder / "matrix.md").read_text(encoding="utf-8")
    assert {verdict.status for row in matrix.verdicts for verdict in row} >= {"PRIVATE", "DISCLOSES"}


def test_the_example_policy_decides(tmp_path: Path) -> None:
    from reticent.views.policy_file import open_policy

    with open_policy(ROOT / "examples" / "views" / "hospital" / "access.toml", tmp_path / "ledger") as control:
        assert control.decide("ann", "flu").allowed
        assert not control.decide("ann", "ward").allowed
        assert control.decide("dora", "ward").allowed
        assert [leak.seer for leak in control.collusion(["ann", "dora"])] == ["dora"]
