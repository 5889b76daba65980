"""``reticent inspect`` writes a policy that the rest of the command line accepts unchanged."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

import reticent as rt
from reticent.cli.console import show_card
from reticent.policy import Policy
from tests.cli.conftest import PATIENTS, Command
from tests.sampling import first


def test_inspect_then_publish_then_verify(patients: Path, reticent: Command) -> None:
    found = reticent("inspect", "patients.csv", "--output", "proposed.toml", "--json")
    assert found.code == 0
    assert found.json["ok"] is True
    assert found.json["rows"] == 120
    assert {column["name"]: column["role"] for column in found.json["columns"]} == {
        "name": "identifier",
        "age": "quasi",
        "zip": "quasi",
        "disease": "sensitive",
        "note": "quasi",
    }
    assert found.json["policy"] == "proposed.toml"
    assert reticent("publish", "proposed.toml", "-o", "release").code == 0
    assert reticent("verify", "release").code == 0


def test_people_are_shown_the_columns_the_roles_and_what_to_do_next(patients: Path, reticent: Command) -> None:
    found = reticent("inspect", "patients.csv", "-o", "proposed.toml")
    assert found.code == 0
    for text in (
        "120 rows, 5 columns",
        "Proposed roles",
        "not published, because it identifies people",
        "reticent publish proposed.toml",
    ):
        assert text in found.out
    assert found.out.count("\n") < 25
    told = reticent("inspect", "patients.csv", "-o", "proposed.toml", "--force", "--details").out
    assert "the name suggests that it identifies a person" in told


def test_an_existing_policy_is_not_overwritten(patients: Path, reticent: Command) -> None:
    before = (patients / "policy.toml").read_text()
    found = reticent("inspect", "patients.csv")
    assert found.code == 2
    assert found.err == "policy.toml exists already. Choose another name with -o, or overwrite it with --force.\n"
    assert (patients / "policy.toml").read_text() == before
    assert reticent("inspect", "patients.csv", "--force").code == 0
    assert (patients / "policy.toml").read_text() != before


def test_the_policy_may_lie_elsewhere(patients: Path, reticent: Command) -> None:
    (patients / "deep").mkdir()
    assert reticent("inspect", "patients.csv", "-o", "deep/policy.toml").code == 0
    assert 'source = "../patients.csv"' in (patients / "deep" / "policy.toml").read_text()
    assert reticent("assess", "deep/policy.toml").code == 1


def test_a_database_is_inspected_too(place: Path, reticent: Command) -> None:
    with duckdb.connect(str(place / "house.duckdb")) as connection:
        connection.register("frame", PATIENTS.to_arrow())
        connection.execute("create table patients as select * from frame")
    assert reticent("inspect", "house.duckdb", "--table", "patients").code == 0
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    assert reticent("verify", "release").code == 0


@pytest.mark.parametrize(
    "name", first(["adult/adult_subset.csv.gz", "fars/fars_subset.csv.gz", "sdcmicro/testdata.csv.gz"], 1)
)
def test_real_tables_go_all_the_way(shared_data: Path, place: Path, reticent: Command, name: str) -> None:
    assert reticent("inspect", shared_data / name).code == 0
    published = reticent("publish", "policy.toml", "-o", "release", "--json")
    assert published.code == 0, published.out
    assert reticent("verify", "release", "--json").json["holds"] is True


def test_nothing_to_generalize_is_said(place: Path, reticent: Command) -> None:
    pl.DataFrame({"email": [f"{letter}@b.org" for letter in "abcdefghijkl"]}).write_csv(place / "a.csv")
    found = reticent("inspect", "a.csv")
    assert found.code == 0
    assert "No column can be generalized" in found.out


@pytest.mark.parametrize("rows", [0, 1, 2, 9])
def test_too_few_people_get_no_policy(patients: Path, reticent: Command, rows: int) -> None:
    PATIENTS.head(rows).write_parquet(patients / "few.parquet")
    found = reticent("inspect", "few.parquet", "-o", "proposed.toml")
    assert found.code == 1
    assert ("The table has no rows" if rows == 0 else "too few people for any protection") in found.err
    assert not (patients / "proposed.toml").exists()


def test_a_published_example_of_nine_rows_is_too_small(shared_data: Path, reticent: Command) -> None:
    assert reticent("inspect", shared_data / "arx_small/test2.csv").code == 1


def test_the_policy_can_be_printed_instead_of_written(reticent: Command, place: Path) -> None:
    PATIENTS.write_csv(place / "patients.csv")
    found = reticent("inspect", "patients.csv", "-o", "-")
    assert found.code == 0
    assert Policy.parse(found.out, folder=place).table().rows == PATIENTS.height
    assert not (place / "-").exists()
    assert not (place / "policy.toml").exists()
    told = reticent("inspect", "patients.csv", "-o", "-", "--json").json
    assert told["text"] == found.out
    assert told["policy"] is None


def test_what_was_found_is_shown_where_nothing_can_be_written(
    reticent: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PATIENTS.write_csv(place / "patients.csv")

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("reticent.policy.inspection.write_whole", read_only)
    found = reticent("inspect", "patients.csv")
    assert found.code == 0
    assert "Proposed roles" in found.out
    assert "could not be written to policy.toml: Read-only file system" in found.out
    assert reticent("inspect", "patients.csv", "--json").json["policy"] is None
    asked = reticent("inspect", "patients.csv", "-o", "mine.toml")
    assert asked.code == 2
    assert "mine.toml" in asked.err


def test_notes_that_are_not_shown_are_counted_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rt.inspect(PATIENTS)
    for hidden, said in ((1, "1 more note: --details"), (2, "2 more notes: --details")):
        monkeypatch.setattr("reticent.policy.inspection._NOTES_SHOWN", len(found.notes) - hidden)
        show_card(found.card())
        assert said in capsys.readouterr().out
