"""Subtracting the published rows from the histogram that a certificate declares."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.attacks import Remainder, adversaries_for, attack, compare
from reticent.errors import PolicyError
from reticent.release.canonical_json import readable
from tests.sampling import seeds

ROWS = {
    "zip": ["1"] * 6 + ["2"] * 5 + ["9"],
    "ill": ["flu", "cold", "flu", "cold", "HIV", "flu", "flu", "cold", "cold", "flu", "HIV", "HIV"],
}


def released(tmp_path: Path, *, as_of_old: bool) -> Path:
    """The release of twelve rows; ``as_of_old``: with the whole table's histogram, as certificates once had it."""
    table = rt.Table(ROWS, quasi=["zip"], sensitive="ill")
    folder = rt.publish(table, rt.TCloseness("0.3"), rt.Lattice(suppression="0.1")).save(tmp_path / "release")
    if as_of_old:
        file = folder / "public" / "certificate.json"
        certificate = json.loads(file.read_text())
        whole = pl.Series(ROWS["ill"]).value_counts(sort=False).sort("")
        certificate["reference"]["ill"].update(
            values=whole[""].to_list(), counts=whole["count"].to_list(), of="whole table"
        )
        file.write_bytes(readable(certificate))
    return folder


def test_an_old_release_gives_away_whom_it_left_out(tmp_path):
    folder = released(tmp_path, as_of_old=True)
    [found] = attack(folder, Remainder())
    assert (found.hits, found.people) == (1, 1)
    assert found.succeeds
    assert found.details["histogram"] == {"HIV": 1}
    assert found.example == "One person was suppressed, and has the ill 'HIV'."
    assert not rt.verify(folder).holds


def test_a_release_of_today_tells_nothing(tmp_path):
    folder = released(tmp_path, as_of_old=False)
    with pytest.raises(PolicyError, match="nothing follows about suppressed records"):
        attack(folder, Remainder())
    assert not any(isinstance(each, Remainder) for each in adversaries_for(folder))


def test_where_nobody_was_left_out_nothing_is_left_to_tell():
    table = rt.Table(ROWS, quasi=["zip"], sensitive="ill")
    release = rt.publish(table, rt.TCloseness("0.3"))
    [found] = attack(release, Remainder())
    assert (found.hits, found.people, found.succeeds) == (0, 0, False)
    assert found.example == "Nothing is disclosed about suppressed records."
    pairs = compare(table, release)
    before, after = next(pair for pair in pairs if pair[1].adversary == "remainder")
    assert before is not None
    assert before.people == after.people == 0


def test_a_release_without_a_histogram_has_nothing_to_subtract_from(tmp_path):
    release = rt.publish(
        rt.Table(ROWS, quasi=["zip"], sensitive="ill"), rt.KAnonymity(2), rt.Lattice(suppression="0.1")
    )
    with pytest.raises(PolicyError, match="declares no histogram of the whole table"):
        attack(release, Remainder())
    assert not any(isinstance(each, Remainder) for each in adversaries_for(release))
    with pytest.raises(PolicyError, match="threshold must be above 0"):
        Remainder(0)


def test_those_left_out_who_differ_are_hit_only_by_a_lower_threshold(tmp_path):
    rows = [("1", "a")] * 6 + [("1", "b")] * 4 + [("2", "a")] * 4 + [("2", "b")] * 6 + [("3", "a"), ("4", "b")]
    table = rt.Table(pl.DataFrame(rows, schema=["zip", "ill"], orient="row"), quasi=["zip"], sensitive="ill")
    release = rt.publish(table, rt.TCloseness("0.1"), rt.Lattice(suppression="0.2", node={"zip": 0}))
    folder = release.save(tmp_path / "release")
    file = folder / "public" / "certificate.json"
    certificate = json.loads(file.read_text())
    certificate["reference"]["ill"].update(counts=[11, 11], of="whole table")
    file.write_bytes(readable(certificate))
    assert attack(folder, Remainder())[0].hits == 0
    assert attack(folder, Remainder("1/2"))[0].hits == 2


@pytest.mark.parametrize("seed", seeds(8))
def test_whoever_knows_one_column_of_those_left_out_learns_nothing_about_another(seed):
    """The certificate has one histogram a column and no pair of values: every way to put them together is equally likely, so that a known job says nothing about a disease.

    Counted over all worlds of small remainders, for people who know the jobs of all or of some of those left out.
    """
    chance = random.Random(seed)
    people = range(chance.randint(2, 5))
    jobs = [chance.choice("xyz") for _ in people]
    diseases = [chance.choice(["flu", "cold", "HIV"]) for _ in people]
    known = {person: jobs[person] for person in people if chance.random() < 0.7}
    worlds = [
        (job, disease)
        for job in set(permutations(jobs))
        for disease in set(permutations(diseases))
        if all(job[person] == told for person, told in known.items())
    ]
    for person, value in product(people, set(diseases)):
        share = Fraction(sum(disease[person] == value for _, disease in worlds), len(worlds))
        assert share == Fraction(diseases.count(value), len(diseases))
