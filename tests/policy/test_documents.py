"""The pages on data, policies and the command line say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
import typer.main
from pydantic import BaseModel

from docs.tools.generated import filled
from reticent.cli.app import app
from reticent.policy import Policy
from reticent.policy.sections import Sections

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLE = re.findall(r"```toml\n(.*?)```", (DOCS / "reference" / "policy.md").read_text(), re.DOTALL)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Data that the example of the policy page describes."""
    rows = range(40)
    pl.DataFrame(
        {
            "patient": list(rows),
            "name": [f"N{i}" for i in rows],
            "age": [20 + i for i in rows],
            "sex": ["female" if i % 2 else "male" for i in rows],
            "postcode": [f"0{1000 + i % 5}" for i in rows],
            "admitted": [f"2025-{1 + i % 12:02d}-11" for i in rows],
            "nationality": [("French", "Polish", "Indian", "Japanese")[i % 4] for i in rows],
            "job": [("clerk", "smith", "?")[i % 3] for i in rows],
            "diagnosis": [("flu", "cold", "ulcer", "asthma")[i % 4] for i in rows],
            "severity": [("mild", "moderate", "severe")[i // 4 % 3] for i in rows],
            "ward": ["A"] * 40,
            "sample_weight": [1.5] * 40,
        }
    ).write_csv(tmp_path / "patients.csv")
    (tmp_path / "job_hierarchy.csv").write_text("clerk;office;*\nsmith;workshop;*\n")
    return tmp_path


def test_the_example_policy_is_a_policy_and_reads_its_table(folder: Path) -> None:
    policy = Policy.parse(EXAMPLE, "policy.toml", folder)
    table = policy.table()
    assert table.rows == 40
    assert [hierarchy.height for hierarchy in table.hierarchies] == [5, 1, 2, 4, 2, 2]
    assert [part.name for part in policy.definition.parts()] == ["KAnonymity", "RecursiveLDiversity", "TCloseness"]
    assert policy.method(table, policy.definition).describe()["suppression"] == "1/20"


def test_every_setting_of_a_policy_is_documented() -> None:
    text = filled((DOCS / "reference" / "policy.md").read_text())
    for name, field in Sections.model_fields.items():
        assert name in text
        kind = field.annotation
        for setting in kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else ():
            assert f"`{setting}`" in text, f"[{name}] {setting}"


def test_every_option_of_a_documented_command_is_documented() -> None:
    text = (DOCS / "reference" / "command-line.md").read_text()
    group = typer.main.get_command(app)

    def section_of(name: str) -> str:
        return text[text.index(f"\n## {name}\n") :].split("\n## ")[1]

    for name in ("inspect", "assess", "preview", "publish", "verify", "query", "apply"):
        command = group.commands[name]  # type: ignore[attr-defined]  # the application is a group
        section = section_of(name)
        # The options of reading are listed once.
        section += section_of("inspect") if "[READING]" in section else ""
        for parameter in command.params:
            if parameter.param_type_name != "option" or parameter.name in ("as_json", "help"):
                continue
            assert any(option in section for option in parameter.opts), f"{name} {parameter.opts}"


def test_every_python_call_on_the_data_page_works() -> None:
    from reticent.table import Hierarchy

    calls = re.findall(
        r"`(Hierarchy\.(?:intervals|cuts|masking|dates|suppression)\([^`]*\))`",
        (DOCS / "how-to" / "data.md").read_text(),
    )
    assert len(calls) == 6
    for call in calls:
        assert isinstance(eval(call, {"Hierarchy": Hierarchy}), Hierarchy)
