"""``reticent assess``: the risk as it stands."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command


def test_the_risk_is_told_and_a_table_that_could_not_go_out_exits_with_1(patients: Path, reticent: Command) -> None:
    found = reticent("assess", "policy.toml", "--json", "--groups", 3)
    assert found.code == 1
    told = found.json
    assert told["ok"] is told["holds"] is False
    assert (told["rows"], told["k"]) == (120, 1)
    assert told["unique_rows"] > 0
    assert [each["definition"] for each in told["assessments"]] == ["KAnonymity(k=4)", "RecursiveLDiversity(c=3, l=2)"]
    assert told["assessments"][0]["value"] == 1
    assert len(told["exposed"]) == 3
    assert set(told["exposed"][0]["quasi"]) == {"age", "zip"}
    assert told["unpublished"] == ["note"]


def test_people_are_shown_figures_verdicts_and_the_most_exposed(patients: Path, reticent: Command) -> None:
    found = reticent("assess", "policy.toml")
    assert found.code == 1
    assert found.out.startswith("Not safe to publish unchanged: an attacker who knows age, zip of every person sees")
    for text in ("smallest group (k)", "does not hold", "Most identifying columns", "no role is set: note."):
        assert text in found.out
    assert "Most exposed groups" not in found.out
    assert found.out.count("\n") < 30
    assert "Most exposed groups" in reticent("assess", "policy.toml", "--details").out


def test_a_data_file_is_assessed_without_a_policy(patients: Path, reticent: Command) -> None:
    found = reticent("assess", "patients.csv", "--quasi", "note", "--sensitive", "disease", "--json")
    assert found.code == 0
    assert (found.json["k"], found.json["groups"]) == (120, 1)
    asked = reticent("assess", "patients.csv", "--quasi", "note", "--definition", "KAnonymity(121)", "--json")
    assert asked.code == 1
    assert asked.json["assessments"][0]["witness"].startswith("1 of 1 groups have fewer than 121 people")


def test_a_data_file_needs_its_quasi_columns(patients: Path, reticent: Command) -> None:
    found = reticent("assess", "patients.csv")
    assert found.code == 2
    assert found.err == (
        "patients.csv is not a policy, so name the columns that an adversary may know: --quasi age --quasi sex. Or let `reticent inspect patients.csv` "
        "propose a policy.\n"
    )


def test_the_command_line_wins_over_the_policy(patients: Path, reticent: Command) -> None:
    found = reticent("assess", "policy.toml", "--quasi", "age", "--definition", "KAnonymity(2)", "--json")
    assert found.code == 0
    assert found.json["columns"] == ["age"]


def test_diversity_is_audited_and_shown(patients: Path, reticent: Command) -> None:
    found = reticent("assess", "policy.toml", "--json")
    (audit,) = found.json["diversity"]
    assert audit["sensitive"] == "disease"
    assert audit["homogeneous_rows"] == found.json["homogeneous_rows"]
    assert audit["nearly_homogeneous_rows"] >= audit["homogeneous_rows"]
    assert 1 <= audit["effective_l"] <= audit["table_effective_l"]
    assert "Diversity of the groups" in reticent("assess", "policy.toml", "--details").out


def test_each_set_of_quasi_columns_has_its_own_risk(patients: Path, reticent: Command) -> None:
    text = (patients / "policy.toml").read_text("utf-8")
    sets = text.replace("[roles]\n", '[roles]\nquasi_sets = [["age"], ["zip"]]\n')
    assert sets != text
    (patients / "sets.toml").write_text(sets)
    told = reticent("assess", "sets.toml", "--json").json
    assert [each["together"]["columns"] for each in told["risks"]] == [["age"], ["zip"]]
    assert [each["columns"] for each in told["diversity"]] == [["age"], ["zip"]]
    assert told["risk"] in told["risks"]
    assert told["risk"]["together"]["columns"] == told["columns"]
    shown = reticent("assess", "sets.toml", "--details").out
    assert "Which columns drive the risk from age" in shown
    assert "Which columns drive the risk from zip" in shown


def test_the_worst_group_of_each_definition_is_named(patients: Path, reticent: Command) -> None:
    """Report(ok, achieved parameter, worst class, offending rows) of R-PM: the group, and how many rows fail."""
    arguments = ("assess", "patients.csv", "--quasi", "zip", "--sensitive", "disease", "--definition")
    found = reticent(*arguments, "KAnonymity(1) & MUnique(200)", "--json")
    assert found.code == 1
    anonymous, unique = found.json["assessments"]
    assert anonymous["worst"] is None
    assert set(unique["worst"]["quasi"]) == {"zip"}
    assert unique["worst"]["people"] == sum(unique["worst"]["histogram"].values())
    assert unique["diagnostics"]["failing_rows"] == 120
    assert f"Worst: zip {unique['worst']['quasi']['zip']}." in " ".join(
        reticent(*arguments, "MUnique(200)", "--details").out.split()
    )


def test_each_column_and_each_half_of_a_definition_is_told_by_itself(patients: Path, reticent: Command) -> None:
    arguments = (
        "assess",
        "patients.csv",
        "--quasi",
        "zip",
        "--sensitive",
        "disease",
        "--sensitive",
        "note",
        "--definition",
    )
    (found,) = reticent(*arguments, "PSensitive(2, 3)", "--json").json["assessments"]
    values, people = found["parts"]
    assert people["definition"] == "KAnonymity(k=3)"
    assert set(values["value"]) == {"disease", "note"}
    assert [part["diagnostics"]["distinct"] for part in values["parts"]] == list(values["value"].values())


def test_a_folder_is_not_assessed_and_the_way_out_is_told(patients: Path, reticent: Command) -> None:
    (patients / "release").mkdir()
    found = reticent("assess", "release")
    assert found.code == 2
    assert "release is a folder." in found.err
    assert "`reticent verify release`" in found.err


def test_failing_rows_are_written_for_the_steward_only(place: Path, reticent: Command) -> None:
    (place / "few.csv").write_text("name,zip,ill\nAnn,1,flu\nBob,1,cold\nEve,2,flu\n")
    arguments = ["assess", "few.csv", "--quasi", "zip", "--sensitive", "ill", "--definition", "KAnonymity(2)"]
    found = reticent(*arguments, "--failing-rows", "failing.csv", "--json")
    assert found.code == 1
    assert found.json["failing_rows"] == {"file": "failing.csv", "rows": 1}
    assert (place / "failing.csv").read_text() == "row,zip,ill\n2,2,flu\n"
    assert (place / "failing.csv").stat().st_mode & 0o777 == 0o600
    again = reticent(*arguments, "--failing-rows", "failing.csv")
    assert again.code == 2
    assert "cannot be written" in again.err
