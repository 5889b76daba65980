"""Files in which people have several rows: visits, panels and repeating pseudonyms, published and counted again by hand."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from random import Random

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.release.manifest import Manifest
from tests.verifier.agreement import NODE, node_verdicts


def visits(people: int = 400, seed: int = 5) -> pl.DataFrame:
    """Irregular visits: a few people have most of them, and come back at much the same age, in the same town."""
    chance, rows = Random(seed), []
    for patient in range(people):
        age, town = chance.randrange(20, 80), chance.choice("abcdef")
        blood = chance.choice(["0", "0", "A", "A", "B", "AB"])
        for visit in range(1 + int(chance.expovariate(0.4))):
            rows.append((patient, age + visit // 6, town, blood, chance.choice(["flu", "burn", "asthma", "cough"])))
    return pl.DataFrame(rows, schema=["patient", "age", "town", "blood", "diagnosis"], orient="row")


def panel(people: int = 120, waves: int = 7, seed: int = 2) -> pl.DataFrame:
    """A balanced panel: age grows, wages change, sex and origin stay."""
    chance, rows = Random(seed), []
    for person in range(people):
        age, sex, origin = chance.randrange(20, 50), chance.choice("mf"), chance.choice("xyz")
        wage = chance.randrange(10, 40)
        for wave in range(waves):
            wage += chance.randrange(-2, 4)
            rows.append((person, 2000 + wave, age + wave, sex, origin, wage))
    return pl.DataFrame(rows, schema=["person", "year", "age", "sex", "origin", "wage"], orient="row")


def people_in_groups(release, frame: pl.DataFrame, key: str) -> list[Counter]:
    """How many rows of whom every published group holds, by the labels that each raw row got."""
    labels, kept = release.private.recoding.place(frame, "suppress")
    found: dict[tuple, Counter] = defaultdict(Counter)
    for label, person in zip(labels.rows(), frame[key].filter(pl.Series(kept)), strict=True):
        found[label][person] += 1
    return list(found.values())


def test_groups_of_a_visits_file_hold_as_many_people_as_is_claimed():
    """By rows most groups hold fewer people than k, or rows of one person mostly; by people none does."""
    frame, promise = visits(), rt.KAnonymity(5)
    by_rows = rt.Table(frame.drop("patient"), quasi=["age", "town"], sensitive="diagnosis")
    few = [
        len(people) < 5 or 5 * max(people.values()) > people.total()
        for people in people_in_groups(rt.publish(by_rows, promise, rt.Mondrian(values="sets")), frame, "patient")
    ]
    assert sum(few) > 0.8 * len(few)
    table = rt.Table(frame, quasi=["age", "town"], sensitive="diagnosis", identifiers=["patient"])
    for method in (rt.Mondrian(values="sets"), rt.Lattice(suppression="0.1"), None):
        for people in people_in_groups(rt.publish(table, promise, method), frame, "patient"):
            assert len(people) >= 5
            assert 5 * max(people.values()) <= people.total()


@pytest.mark.parametrize("method", [rt.Mondrian(values="ranges"), rt.Lattice(), None], ids=str)
def test_a_panel_in_which_age_grows_is_published(method, tmp_path):
    frame = panel()
    table = rt.Table(frame, quasi=["year", "age", "sex", "origin"], sensitive="wage", identifiers=["person"])
    release = rt.publish(table, rt.KAnonymity(5) & rt.DistinctLDiversity(3), method)
    for people in people_in_groups(release, frame, "person"):
        assert len(people) >= 5
        assert 5 * max(people.values()) <= people.total()
    found = rt.verify(release.save(tmp_path / "release"))
    assert found.holds
    assert ("people", "not re-checked") in [(check.name, check.status) for check in found.checks]
    assert release.certificate["unit"] == "person"
    assert release.public.manifest.known_rows.rows is None


def test_what_is_the_same_in_all_rows_is_promised_for_one_known_row(tmp_path):
    """Blood groups never change: whoever knows several visits of a patient may learn more, and the headline says so."""
    table = rt.Table(visits(), quasi=["age", "town"], sensitive=["blood", "diagnosis"], identifiers=["patient"])
    promise = rt.KAnonymity(5) & rt.ProbabilisticLDiversity("1.2", column="blood")
    release = rt.publish(table, promise, rt.Mondrian(values="sets"))
    known = release.public.manifest.known_rows
    assert known.rows is not None
    assert known.same == ("blood",)
    told = release.certificate
    assert any(
        "The promises about blood are about an attacker who knows" in each for each in told["headline"]["reasons"]
    )
    assert "of one record of a person" in told["claims"][0]["covers"] or known.rows > 1
    assert rt.verify(release.save(tmp_path / "release")).holds
    told = json.loads((tmp_path / "release" / "public" / "manifest.json").read_text())
    assert told["known_rows"] == known.as_json()


def test_rows_that_are_said_to_be_people_although_a_name_repeats_hold_but(tmp_path):
    """Claims count records, and a person has several: certificate, statement and both verifiers say so first of all."""
    frame = visits(100)
    roles = {"quasi": ["age", "town"], "identifiers": ["patient"]}
    release = rt.publish(rt.Table(frame, **roles, unit="row"), rt.KAnonymity(5), rt.Mondrian(values="sets"))
    folder = release.save(tmp_path / "release")
    said = "The promises count records, and each record counts as another person because the publisher says so"
    assert release.headline.state == "holds, but"
    assert release.headline.reasons[0].startswith(said)
    assert said in " ".join((folder / "public" / "STATEMENT.txt").read_text().split())
    found = rt.verify(folder)
    assert found.headline == release.headline
    if NODE is not None:
        assert node_verdicts([folder / "public"])[0][0] == "holds, but"
    keyed = rt.Table(frame.with_row_index("visit"), **roles, key="visit")
    assert (keyed.unit, keyed.unit_declared) == ("row", False)
    once = rt.Table(frame.unique("patient", maintain_order=True), **roles, unit="row")
    assert rt.publish(once, rt.KAnonymity(5), rt.Mondrian(values="sets")).headline.state == "holds"


def test_that_rows_are_people_on_a_word_only_is_refused_of_other_units(tmp_path):
    table = rt.Table(visits(100), quasi=["age", "town"], identifiers=["patient"])
    folder = rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="sets")).save(tmp_path / "release")
    written = json.loads((folder / "public" / "manifest.json").read_text())
    for wrong in (True, False, 1):
        with pytest.raises(DataError, match=r"unit_declared|contradictory entries"):
            Manifest.from_json({**written, "unit_declared": wrong})


def test_a_pseudonym_that_repeats_gives_everybody_away_and_is_refused(tmp_path):
    """Sixty people with ten rows each: no two have the same rows in a release of groups of five, and verify can see that."""
    frame, chance = panel(60, 10), Random(4)
    frame = frame.with_columns(origin=pl.Series([chance.choice("xyz") for _ in range(frame.height)]))
    roles = {"quasi": ["year", "age", "sex", "origin"], "sensitive": "wage", "identifiers": ["person"]}
    with pytest.raises(DataError, match="would have duplicates: it links rows"):
        rt.Table(frame, **roles, pseudonyms=["person"], unit="row")
    linked = rt.Table(frame, **roles, pseudonyms=["person"])
    with pytest.raises(PolicyError, match="links all rows of a person"):
        rt.publish(linked, rt.KAnonymity(5), rt.Mondrian(values="sets"))
    # As it was published before: rows are people, and a column links them.
    rows = rt.Table(
        frame.with_row_index("row").drop("person"),
        quasi=roles["quasi"],
        sensitive="wage",
        identifiers=["row"],
        pseudonyms=["row"],
    )
    release = rt.publish(rows, rt.KAnonymity(5), rt.Mondrian(values="sets"))
    names = release.private.tables["pseudonyms"].frame()
    owners = dict(zip(names["pseudonym"], (frame["person"][int(row)] for row in names["row"]), strict=True))
    histories: dict[int, list] = defaultdict(list)
    for row in release.frame.iter_rows(named=True):
        histories[owners[row["pseudonym"]]].append(tuple(row[name] for name in roles["quasi"]))
    assert Counter(Counter(tuple(sorted(each)) for each in histories.values()).values()) == {1: 60}
    folder = release.save(tmp_path / "release")
    assert rt.verify(folder).holds
    spoilt = release.frame.with_columns(
        pl.col("pseudonym").replace_strict({each: f"p{owners[each]}" for each in owners})
    )
    spoilt.sort(pl.all()).write_csv(folder / "public" / "data.csv")
    _certify_again(folder)
    found = rt.verify(folder)
    assert not found.holds
    assert [check.name for check in found.failures] == ["pseudonym pseudonym"]


def _certify_again(folder) -> None:
    """A publisher who writes pseudonyms that repeat: the certificate's fingerprint is that of the file."""
    from reticent.release.canonical_json import readable
    from reticent.release.certificate import fingerprint

    certificate = json.loads((folder / "public" / "certificate.json").read_text())
    certificate["files"]["data.csv"] = fingerprint((folder / "public" / "data.csv").read_bytes())
    (folder / "public" / "certificate.json").write_bytes(readable(certificate))


def test_rows_that_one_person_has_too_many_of_are_suppressed_and_counted(tmp_path):
    frame = visits()
    roles = {"quasi": ["age", "town"], "sensitive": "diagnosis", "identifiers": ["patient"]}
    release = rt.publish(rt.Table(frame, **roles, rows_per_person=2), rt.KAnonymity(5), rt.Mondrian(values="sets"))
    kept = frame.group_by("patient").len().select(pl.col("len").clip(upper_bound=2).sum()).item()
    assert release.frame.height == kept
    assert release.private.suppressed == frame.height - kept
    assert release.private.search["people"]["rows_left_out"] == frame.height - kept
    assert set(release.private.search["people"]["largest_share_ever"]) == {"diagnosis"}
    assert rt.verify(release.save(tmp_path / "release")).holds


def test_members_of_one_household_do_not_hide_each_other(tmp_path):
    chance = Random(1)
    frame = pl.DataFrame(
        [(4 * home + member, home, home % 20, chance.choice("abc")) for home in range(60) for member in range(4)],
        schema=["person", "home", "zip", "illness"],
        orient="row",
    )
    people = rt.Table(frame, quasi=["zip"], sensitive="illness", key="person")
    assert people.unit == "row"
    assert rt.publish(people, rt.KAnonymity(5)).groups.sizes.min() == 12
    table = rt.Table(frame, quasi=["zip"], sensitive="illness", key="person", household="home")
    release = rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="sets"))
    homes = people_in_groups(release, frame, "home")
    assert min(map(len, homes)) >= 5
    assert release.certificate["unit"] == "household"
    assert "at least 5 households" in release.certificate["claims"][0]["covers"]
    assert rt.verify(release.save(tmp_path / "release")).holds
