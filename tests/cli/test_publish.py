"""``reticent publish``, ``verify``, ``query`` and ``keys``: from a policy to a release that anybody can check and use."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import POLICY, Command


def test_a_release_is_written_described_and_verified(patients: Path, reticent: Command) -> None:
    found = reticent("publish", "policy.toml", "-o", "release", "--json")
    assert found.code == 0
    told = found.json
    assert told["ok"] is True
    assert set(told["levels"]) == {"age", "zip"}
    assert told["rows"] + told["suppressed"] == 120
    assert told["groups"]["smallest"] >= 4
    assert 0 < told["utility"]["loss"] <= 1
    assert told["unpublished"] == ["note"]
    assert [claim["definition"] for claim in told["certificate"]["claims"]] == ["KAnonymity", "RecursiveLDiversity"]
    assert pl.read_csv(patients / told["tables"]["data"]).columns == ["age", "zip", "disease"]
    checked = reticent("verify", "release", "--json")
    assert (checked.code, checked.json["ok"], checked.json["holds"], checked.json["signed"]) == (0, True, True, False)


def test_people_are_shown_promise_levels_and_cost(patients: Path, reticent: Command) -> None:
    found = reticent("publish", "policy.toml", "-o", "release")
    assert found.code == 0
    assert re.match(
        r"Published \d+ rows in \d+ groups of at least \d+, none suppressed\.\nHolds\.\nKAnonymity\(k=4\): ",
        found.out,
    )
    assert re.search(r"^Detail \([\d.]+% lost overall, loss 0\.\d{3}\)", found.out, re.MULTILINE)
    assert re.search(r"^age +\d+ -> \S+", found.out, re.MULTILINE)
    for text in ("5 of the rows", "reticent verify release"):
        assert text in found.out
    assert "Levels" not in found.out
    assert "Levels" in reticent("publish", "policy.toml", "-o", "another", "--again", "--details").out
    checked = reticent("verify", "release")
    assert "Holds.\n" in checked.out


def test_the_public_folder_alone_is_enough(patients: Path, reticent: Command) -> None:
    reticent("publish", "policy.toml", "-o", "release")
    (patients / "release" / "public").rename(patients / "handed over")
    assert reticent("verify", "handed over").code == 0


def test_tampering_is_found(patients: Path, reticent: Command) -> None:
    reticent("publish", "policy.toml", "-o", "release")
    data = patients / "release" / "public" / "data.csv"
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join(lines[:-1]))
    found = reticent("verify", "release", "--json")
    assert (found.code, found.json["ok"]) == (1, False)
    assert any(check["status"] == "fails" for check in found.json["checks"])
    assert "Does not hold:" in reticent("verify", "release").out


def test_a_signature_proves_the_origin(patients: Path, reticent: Command) -> None:
    made = reticent("keys", "generate", "-o", "keys", "--name", "office", "--json")
    assert made.code == 0
    assert (patients / "keys" / "office.key").stat().st_mode & 0o077 == 0
    assert reticent("publish", "policy.toml", "-o", "release", "--sign", "keys/office.key").code == 0
    signed = reticent("verify", "release", "--key", "keys/office.pub", "--json")
    assert (signed.code, signed.json["signed"]) == (0, True)
    assert reticent("verify", "release", "--key", made.json["fingerprint"]).code == 0
    reticent("keys", "generate", "-o", "keys", "--name", "other")
    assert reticent("verify", "release", "--key", "keys/other.pub").code == 1
    again = reticent("keys", "generate", "-o", "keys", "--name", "office")
    assert again.code == 2
    assert "keys are not overwritten" in again.err


def test_a_second_release_of_a_data_set_is_refused_unless_allowed(patients: Path, reticent: Command) -> None:
    assert reticent("publish", "policy.toml", "-o", "first").code == 0
    refused = reticent("publish", "policy.toml", "-o", "second", "--definition", "KAnonymity(9)", "--json")
    assert refused.code == 2
    assert refused.json["ok"] is False
    assert refused.json["error"]["kind"] == "LedgerError"
    assert not (patients / "second").exists()
    allowed = reticent("publish", "policy.toml", "-o", "second", "--definition", "KAnonymity(9)", "--again", "--json")
    assert allowed.code == 0
    assert allowed.json["certificate"]["ledger"]["release"] == 2


def test_the_same_release_again_is_no_second_one(patients: Path, reticent: Command) -> None:
    assert reticent("publish", "policy.toml", "-o", "first").code == 0
    assert reticent("publish", "policy.toml", "-o", "copy").code == 0
    first, copy = ((patients / name / "public" / "data.csv").read_bytes() for name in ("first", "copy"))
    assert first == copy


def test_the_command_line_wins_over_the_policy(patients: Path, reticent: Command) -> None:
    found = reticent(
        "publish", "policy.toml", "-o", "release", "--suppression", "0", "--objective", "discernibility",
        "--definition", "KAnonymity(3)", "--files", "parquet", "--json",
    )  # fmt: skip
    assert found.code == 0
    assert found.json["suppressed"] == 0
    assert found.json["tables"] == {"data": "release/public/data.parquet"}
    assert [claim["definition"] for claim in found.json["certificate"]["claims"]] == ["KAnonymity"]


def test_whatever_the_command_line_can_say_the_policy_can_say(patients: Path, reticent: Command) -> None:
    reticent("keys", "generate", "-o", ".")
    (patients / "policy.toml").write_text(
        POLICY.replace("k = 4", "k = 3").replace(
            'suppression = "0.05"', 'suppression = "0"\nformat = "generalize"\nseconds = 30'
        )
        + '[release]\noutput = "out/release"\nfiles = "parquet"\nreport = true\nsign = "reticent.key"\nagain = true\nledger = "own.sqlite"\n'
    )
    found = reticent("publish", "policy.toml", "--json")
    assert found.code == 0, found.out
    assert found.json["path"] == "out/release"
    assert (patients / "out" / "release" / "private" / "report.html").read_text().startswith("<!")
    assert (patients / "own.sqlite").exists()
    assert not (patients / "ledger").exists()
    assert reticent("verify", "out/release", "--key", "reticent.pub").code == 0


@pytest.mark.parametrize("method", ["Mondrian", "Datafly"])
def test_another_method_is_named_in_the_policy(patients: Path, reticent: Command, method: str) -> None:
    (patients / "policy.toml").write_text(POLICY[: POLICY.index("[method]")] + f'[method]\nname = "{method}"\n')
    found = reticent("publish", "policy.toml", "-o", "release", "--json")
    assert found.code == 0, found.out
    assert found.json["rows"] > 0
    assert reticent("publish", "policy.toml", "-o", "shown").code == 0
    assert reticent("verify", "release").code == 0
    wrong = reticent("publish", "policy.toml", "-o", "other", "--objective", "loss")
    assert (wrong.code, wrong.err.split(".")[0]) == (2, f"{method} has no parameter 'objective'")


def test_exact_values_joined_by_bucket(patients: Path, reticent: Command) -> None:
    found = reticent(
        "publish",
        "policy.toml",
        "-o",
        "release",
        "--format",
        "bucketize",
        "--definition",
        "DistinctLDiversity(2)",
        "--json",
    )
    assert found.code == 0, found.out
    assert set(found.json["tables"]) == {"quasi", "sensitive"}
    assert reticent("verify", "release").code == 0
    wrong = reticent("publish", "policy.toml", "-o", "other", "--format", "bucketize")
    assert wrong.code == 2
    assert "publishes these values exactly" in wrong.err


def test_an_existing_folder_is_left_alone(patients: Path, reticent: Command) -> None:
    (patients / "release").mkdir()
    (patients / "release" / "mine.txt").write_text("keep")
    found = reticent("publish", "policy.toml", "-o", "release")
    assert found.code == 2
    assert found.err == "'release' exists already. Choose another folder, or remove it first. Nothing was published.\n"
    assert not (patients / "ledger").exists()
    assert [path.name for path in (patients / "release").iterdir()] == ["mine.txt"]
    (patients / "file").write_text("")
    below = reticent("publish", "policy.toml", "-o", "file/release")
    assert below.code == 2
    assert "'file/release' cannot be created" in below.err


def test_a_place_must_be_said(patients: Path, reticent: Command) -> None:
    found = reticent("publish", "policy.toml")
    assert found.code == 2
    assert "name the folder of the release: -o FOLDER, or [release] output = 'FOLDER'." in found.err


def test_what_cannot_be_had_exits_with_1(patients: Path, reticent: Command) -> None:
    found = reticent(
        "publish", "policy.toml", "-o", "release", "--definition", "KAnonymity(121)", "--suppression", "0", "--json"
    )
    assert found.code == 1
    assert found.json["error"]["kind"] == "Infeasible"
    assert "even all 120 rows in one group do not" in found.json["error"]["message"]
    assert not (patients / "release").exists()


def test_counting_queries_have_bounds_that_hold(patients: Path, reticent: Command) -> None:
    reticent("publish", "policy.toml", "-o", "release", "--suppression", "0")
    truth = (
        pl.read_csv(patients / "patients.csv")
        .filter(pl.col("age").is_between(30, 40) & (pl.col("disease") == "flu"))
        .height
    )
    condition = "age between 30 and 40 and disease = 'flu'"
    found = reticent("query", "release", condition, "--json")
    assert found.code == 0
    low, high = found.json["bounds"]
    assert low <= truth <= high
    assert low <= found.json["value"] <= high
    assert found.json["standard_error_of_model"] >= 0
    most = reticent("query", "release", condition, "--estimator", "intersect", "--json")
    assert most.json["value"] == high
    assert "For certain between" in reticent("query", "release", condition).out


def test_a_condition_that_makes_no_sense_is_refused(patients: Path, reticent: Command) -> None:
    reticent("publish", "policy.toml", "-o", "release")
    for condition, told in (("agee < 3", "Did you mean 'age'?"), ("age <", "age <"), ("name = 'Person 1'", "name")):
        found = reticent("query", "release", condition)
        assert found.code == 2, condition
        assert told in found.err
    assert "Did you mean 'uniform'?" in reticent("query", "release", "age < 3", "--estimator", "unifrom").err
    assert reticent("query", "nowhere", "age < 3").code == 2


def test_a_missing_release_is_bad_input(place: Path, reticent: Command) -> None:
    found = reticent("verify", "nowhere")
    assert (found.code, found.err) == (2, "There is no release at 'nowhere'.\n")


def test_a_policy_that_names_its_method_is_previewed_beside_others_and_published_alone(
    patients: Path, reticent: Command
) -> None:
    (patients / "policy.toml").write_text(
        re.sub(r"\[method\][^\[]*", '[method]\nname = "Mondrian"\nvalues = "ranges"\n\n', POLICY)
    )
    told = reticent("preview", "policy.toml", "--no-attacks", "--json").json
    methods = told["methods"]
    chosen = methods["methods"][methods["chosen"]]
    assert (chosen["method"]["name"], chosen["method"]["values"]) == ("Mondrian", "ranges")
    assert chosen["loss"] == pytest.approx(told["utility"]["loss"])
    assert {each["method"]["name"] for each in methods["methods"]} == {"Bang", "Lattice", "Mondrian"}
    shown = reticent("preview", "policy.toml", "--no-attacks").out
    assert "Methods compared" in shown
    assert re.search(r"Mondrian ranges, span \(chosen\) +0\.\d{3}", shown)
    assert reticent("publish", "policy.toml", "-o", "release", "--json").json["methods"] is None
    assert "Methods compared" not in reticent("publish", "policy.toml", "-o", "another", "--again").out


def test_what_was_compared_for_a_default_method_stays_with_the_steward(patients: Path, reticent: Command) -> None:
    (patients / "policy.toml").write_text(re.sub(r"\[method\][^\[]*", "", POLICY))
    assert "Methods compared" in reticent("publish", "policy.toml", "-o", "release").out
    for file in (patients / "release" / "public").iterdir():
        assert "compared" not in file.read_text()


def test_typical_values_can_be_asked_for_on_the_command_line(patients: Path, reticent: Command) -> None:
    found = reticent("publish", "policy.toml", "-o", "release", "--values", "typical", "--json")
    assert (found.code, found.json["format"]) == (0, "typical")
    frame = pl.read_csv(patients / found.json["tables"]["data"])
    assert frame["age"].dtype.is_integer()
    assert reticent("verify", "release").code == 0
    refused = reticent("publish", "policy.toml", "-o", "other", "--values", "means")
    assert refused.code == 2
    assert "values must be" in refused.err


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ('name = "Bang"', r"Published 120 rows in \d+ groups of at least"),
        ('name = "Angelization"', r"age +\d+ -> "),
        ('name = "Bang"\nminimum = 120', "Published 120 rows in 1 group of at least 120, none suppressed"),
    ],
)
def test_releases_of_every_kind_are_described(patients: Path, reticent: Command, method: str, said: str) -> None:
    """Rows of Angelization find their batch by the sensitive column too, of which an example of a quasi column has no need."""
    text = (patients / "policy.toml").read_text("utf-8").split("[method]")[0]
    (patients / "policy.toml").write_text(f"{text}\n[method]\n{method}\n", "utf-8")
    found = reticent("publish", "policy.toml", "-o", "release")
    assert found.code == 0, found.out
    assert re.search(said, found.out), found.out


def test_a_release_without_a_row_says_so(patients: Path, reticent: Command) -> None:
    (patients / "policy.toml").write_text(
        '[data]\nsource = "patients.csv"\n[roles]\nquasi = ["age"]\n[[definition]]\nname = "CrowdBlending"\nk = 10000\n[method]\nname = "GridSample"\n[method.grid]\n'
        "age = { from = 0, to = 120, step = 10 }\n",
        "utf-8",
    )
    found = reticent("publish", "policy.toml", "-o", "release")
    assert found.code == 0, found.out
    assert "Published no rows" in found.out


def test_groups_of_people_with_several_rows_are_counted_in_people(place: Path, reticent: Command) -> None:
    visits = pl.DataFrame(
        {
            "person": list(range(60)) * 2,
            "age": [20 + each % 6 * 10 for each in range(60)] * 2,
            "ill": ["flu", "gout"] * 60,
        }
    )
    visits.write_csv("visits.csv")
    Path("policy.toml").write_text(
        '[data]\nsource = "visits.csv"\n[roles]\nkey = "person"\nunit = "person"\nidentifiers = ["person"]\nquasi = ["age"]\n'
        'sensitive = ["ill"]\n[[definition]]\nname = "KAnonymity"\nk = 5\n[method]\nname = "Mondrian"\n'
    )
    shown = reticent("publish", "policy.toml", "-o", "release")
    assert "Published 120 rows in 6 groups of at least 10 people, none suppressed." in shown.out, shown.err
    assert "It was not attacked yet" in shown.out
