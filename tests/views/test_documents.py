"""The documentation page is run as it stands, and the examples' reports are what the command writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reticent import views
from reticent.views.checker import Checker
from reticent.views.matrix import Matrix
from reticent.views.sql.query_files import read_queries

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", ["hospital", "shop"])
def test_the_examples_have_true_reports(example: str) -> None:
    folder = ROOT / "examples" / "views" / example
    secrets, shown = (read_queries(folder / name, "postgres") for name in ("secrets", "views"))
    schema = views.load_schema(folder / "schema.sql")
    names = [f"secret {name}" for name in secrets] + [f"view {name}" for name in shown]
    known, queries = views.prepare([*secrets.values(), *shown.values()], schema, names=names)
    matrix = Matrix.of(Checker(known, foreign_keys="ignored"), queries[: len(secrets)], queries[len(secrets) :])
    assert matrix.to_markdown() + "\n" == (folder / "matrix.md").read_text(encoding="utf-8")
    assert {verdict.status for row in matrix.verdicts for verdict in row} >= {"PRIVATE", "DISCLOSES"}


def test_the_example_policy_decides(tmp_path: Path) -> None:
    from reticent.views.policy_file import open_policy

    with open_policy(ROOT / "examples" / "views" / "hospital" / "access.toml", tmp_path / "ledger") as control:
        assert control.decide("ann", "flu").allowed
        assert not control.decide("ann", "ward").allowed
        assert control.decide("dora", "ward").allowed
        assert [leak.seer for leak in control.collusion(["ann", "dora"])] == ["dora"]
