"""Everybody who is after a secret is after each of several, and after kinds of values where a hierarchy says what is alike."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from reticent.attacks import Homogeneity, adversaries_for, attack, compare
from reticent.definitions import CategoryDiversity, DistinctLDiversity, KAnonymity
from reticent.release import Release, publish
from reticent.table import Hierarchy, Table

KINDS = {"stomach": ["ulcer", "gastritis", "dyspepsia"], "lungs": ["asthma", "flu"]}


def people() -> pl.DataFrame:
    """Forty people: in places 1 and 2 illnesses differ, but everybody of place 2 earns little and has a bad stomach."""
    stomach, lungs = KINDS["stomach"] * 4, KINDS["lungs"] * 6
    return pl.DataFrame(
        {
            "zip": ["1"] * 24 + ["2"] * 12,
            "ill": (stomach + lungs)[:24] + KINDS["stomach"] * 4,
            "income": ["low", "high"] * 12 + ["low"] * 12,
        }
    )


def table_of(sensitive: dict[str, Hierarchy | None]) -> Table:
    return Table(people(), quasi={"zip": Hierarchy.suppression(["1", "2"])}, sensitive=sensitive)


def released(table: Table) -> Release:
    return publish(table, KAnonymity(5))


def test_the_second_secret_is_attacked_like_the_first(tmp_path: Path) -> None:
    table = table_of({"ill": None, "income": None})
    release = released(table)
    release.save(tmp_path / "release")
    for target in (release, tmp_path / "release", table):
        found = {each.adversary: each for each in attack(target)}
        assert list(found) == [
            *("homogeneity of ill", "exclusion of ill", "skewness of ill"),
            *("homogeneity of income", "exclusion of income", "skewness of income"),
            "singling out",
        ]
        assert found["homogeneity of ill"].hits == 0
        assert found["homogeneity of income"].hits == 12
        assert found["homogeneity of income"].example.endswith("have income 'low'.")


def test_a_model_guesses_every_secret_before_and_after() -> None:
    table = table_of({"ill": None, "income": None})
    found = {after.adversary: (before, after) for before, after in compare(table, released(table))}
    for secret in ("ill", "income"):
        before, after = found[f"inference of {secret}"]
        assert before is not None
        assert after.baseline_interval is not None
        assert secret in after.hit


def test_a_secret_that_somebody_names_is_named() -> None:
    found = attack(released(table_of({"ill": None, "income": None})), Homogeneity(column="income"))[0]
    assert (found.adversary, found.hits) == ("homogeneity of income", 12)


def test_values_of_one_kind_by_the_hierarchy_of_a_secret_are_similar() -> None:
    """Three illnesses of the stomach are three values and one fact; who declared the kinds is told so without asking."""
    kinds = Hierarchy.taxonomy(KINDS)
    table = table_of({"ill": kinds})
    weak = publish(table, DistinctLDiversity(3))
    found = {after.adversary: after for _, after in compare(table, weak)}
    assert found["similarity"].hits == 12
    assert "'stomach'" in found["similarity"].example
    assert "similarity" in [each.name for each in adversaries_for(table)]
    safe = publish(table, CategoryDiversity("0.9", list(KINDS.values())))
    found = {after.adversary: after for _, after in compare(table, safe)}
    assert not found["similarity"].succeeds
