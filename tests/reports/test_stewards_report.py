"""The steward's report of a published policy runs the adversaries and looks at the risk; the public one has neither."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from reticent.cli.app import app
from reticent.definitions import KAnonymity
from reticent.demo import hospital, hospital_policy_text, voter_roll
from reticent.policy import Policy
from reticent.release import publish
from reticent.reports import write_report, write_stewards_report
from reticent.table import Hierarchy, Table


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reporting")
    hospital(1200).write_csv(folder / "hospital.csv")
    (folder / "policy.toml").write_text(hospital_policy_text().replace("report = true", "report = false"))
    return folder


def published(place: Path, name: str, *options: str) -> Path:
    arguments = ["publish", place / "policy.toml", "-o", place / name, "--ledger", place / f"{name}.sqlite", *options]
    done = CliRunner().invoke(app, [str(each) for each in (*arguments, "--json")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["report"] == str(place / name / "private" / "report.html")
    return place / name


@pytest.mark.parametrize("options", [(), ("--format", "bucketize", "--definition", "DistinctLDiversity(3)")])
def test_publishing_with_a_report_attacks_before_and_after_and_tells_what_drove_the_risk(
    place: Path, options: tuple[str, ...]
) -> None:
    release = published(place, f"release{len(options)}", "--report", *options)
    told = (release / "private" / "report.html").read_text("utf-8")
    for words in (
        "What adversaries achieve",
        "Attacks that were run, on the table as it stood",
        "What drove the risk",
        "The most exposed, before publication",
        "Values that make people unique",
        "people who were held out of a release made in the same way",
    ):
        assert words in told
    for adversary in ("Linkage", "Probabilistic linkage", "Homogeneity", "Exclusion", "Skewness", "Singling out"):
        assert f"<b>{adversary}</b> knows" in told
    assert ("Buckets show quasi values exactly" in told) == bool(options)
    after = sum(told.count(f'class="{kind}"') for kind in ("is", "still", "told"))
    assert told.count('class="was"') == after == (7 if options else 8)
    # What no promise is about is neither good nor bad.
    assert told.count('class="told"') == (0 if options else 1)
    # Who knows quasi values finds people in buckets, which show them.
    assert 'class="still"' in told or not options


def test_the_public_report_of_the_same_release_tells_nothing_of_it(place: Path) -> None:
    release = published(place, "for_everybody", "--report")
    told = write_report(release, place / "public.html", public=True).read_text("utf-8")
    for words in ("adversaries achieve", "As it stood", "drove the risk", "most exposed", "records suppressed"):
        assert words not in told


def test_a_list_of_people_is_looked_up_by_name(place: Path) -> None:
    release = published(place, "by_name", "--report")
    table = Policy.read(place / "policy.toml").table()
    roll = voter_roll(table.frame)
    told = write_stewards_report(release, place / "named.html", table, people=roll, who="name").read_text("utf-8")
    assert any(f"{name} (" in told for name in roll["name"].to_list())


def test_people_with_several_rows_and_streamed_tables_are_reported_too(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {
            "who": [number // 2 for number in range(120)],
            "age": [20 + number // 2 % 30 for number in range(120)],
            "ill": ["flu", "gout", "HIV"] * 40,
        }
    )
    age = Hierarchy.intervals([10, 20], origin=20, domain=(20, 59))
    people = Table(rows, quasi={"age": age}, sensitive="ill", key="who", unit="person")
    told = write_stewards_report(publish(people, KAnonymity(3)), tmp_path / "people.html", people).read_text("utf-8")
    assert "<b>Linkage</b> knows" in told
    assert "Holds" in told
    streamed = Table(rows.lazy(), quasi={"age": age}, sensitive="ill", engine="streaming")
    told = write_stewards_report(publish(streamed, KAnonymity(3)), tmp_path / "s.html", streamed).read_text("utf-8")
    assert "<b>Homogeneity</b> knows" in told
    assert "<b>Linkage</b> knows" in told
    assert "What drove the risk" in told
