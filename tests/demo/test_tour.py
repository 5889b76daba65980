"""The tour keeps its promises to whoever watches: it ends safe, quickly, and touches nobody's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from reticent.cli.app import app_for
from reticent.demo.tour import FILES, Step, Tour
from reticent.errors import DataError


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Step]]:
    folder = tmp_path_factory.mktemp("tour") / "files"
    return folder, list(Tour(folder, patients=1500).walk())


def facts(steps: list[Step]) -> dict[str, Any]:
    return {name: value for step in steps for name, value in step.facts.items()}


def test_people_are_found_before_and_nobody_after(walked: tuple[Path, list[Step]]) -> None:
    found = facts(walked[1])
    before, after = found["attacks_before"], found["attacks_after"]
    assert before[0]["hits"] > 300
    assert before[0]["details"]["right"] > 300
    assert before[1]["hits"] > 1400
    assert [each["hits"] for each in after] == [0, 0]
    assert after[0]["details"]["learned"] == 0
    assert after[0]["details"]["smallest_match"] >= 5


def test_the_example_is_about_the_same_person_before_and_after(walked: tuple[Path, list[Step]]) -> None:
    found = facts(walked[1])
    before, after = found["attacks_before"][0]["example"], found["attacks_after"][0]["example"]
    assert before.split(" matches ")[0] == after.split(" matches ")[0]


def test_the_release_verifies_and_a_changed_copy_does_not(walked: tuple[Path, list[Step]]) -> None:
    found = facts(walked[1])
    assert found["holds"]
    assert not found["tampered_holds"]
    assert not (walked[0] / "release-tampered").exists()


def test_a_second_release_is_refused(walked: tuple[Path, list[Step]]) -> None:
    found = facts(walked[1])
    assert found["refused"]
    assert "released already" in found["refusal"]


def test_certain_bounds_of_counts_contain_the_published_truth(walked: tuple[Path, list[Step]]) -> None:
    found = facts(walked[1])
    for count in found["counts"]:
        low, high = count["bounds"]
        assert low <= count["value"] <= high
        assert low - 1 <= count["truth"] <= high + found["suppressed"]


def test_all_files_are_where_the_tour_says(walked: tuple[Path, list[Step]]) -> None:
    folder, steps = walked
    assert sorted(each.name for each in folder.iterdir()) == sorted(FILES)
    assert facts(steps)["files"] == [folder / name for name in FILES]


def test_a_tour_in_the_same_folder_starts_afresh(tmp_path: Path) -> None:
    list(Tour(tmp_path, patients=300).walk())
    steps = list(Tour(tmp_path, patients=300).walk())
    assert facts(steps)["holds"]


@pytest.mark.parametrize("names", [("thesis.docx",), ("hospital.csv", "voters.csv", "thesis.docx"), ("report.html",)])
def test_a_folder_with_other_files_is_not_touched(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).write_text("mine")
    with pytest.raises(DataError, match=r"which is not from an earlier demo\. Choose a new folder"):
        Tour(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(names)


def test_the_command_prints_one_object_for_machines(tmp_path: Path) -> None:
    result = CliRunner().invoke(app_for(["demo"]), ["demo", "-o", str(tmp_path / "x"), "--patients", "400", "--json"])
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed["ok"] is True
    assert len(printed["steps"]) == 10
    assert all(Path(name).exists() for name in printed["files"])


def test_the_command_tells_people_what_happens_and_what_to_try(tmp_path: Path) -> None:
    result = CliRunner().invoke(app_for(["demo"]), ["demo", "-o", str(tmp_path / "x"), "--patients", "400", "--fast"])
    assert result.exit_code == 0
    for words in (
        "Attack the table without names",
        "Attack again",
        "0 diagnoses are learned",
        "Try next",
        "reticent verify",
    ):
        assert words in result.stdout


def test_the_tour_ends_by_offering_the_workbench(tmp_path: Path) -> None:
    """``make demo`` runs this command."""
    folder = tmp_path / "x"
    result = CliRunner().invoke(app_for(["demo"]), ["demo", "-o", str(folder), "--patients", "400", "--fast"])
    told = " ".join(result.stdout.split())
    last = told[told.rindex("reticent ") :]
    assert last.replace(" ", "").startswith(f"reticentworkbench{folder}/policy.toml")
    assert (folder / "policy.toml").exists()


def test_the_numbers_in_the_document_are_those_of_the_tour(tmp_path: Path) -> None:
    document = (Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "demo.md").read_text("utf-8")
    found = facts(list(Tour(tmp_path / "tour").walk()))
    linked = found["attacks_before"][0]
    row = (
        f"{linked['people']:,} voters are looked up: {linked['hits']:,} match exactly one row, "
        f"{linked['details']['right']:,} diagnoses are learned"
    )
    assert row in document
    assert f"{found['patients']:,} patients who do not exist" in document
    assert f"the least distorted of {found['nodes']:,} ways" in document
