"""In turn: what the other columns tell about a quasi column, by the golden, by brute force, and through releases."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.definitions import (
    DistinctLDiversity,
    InTurn,
    KAnonymity,
    ProbabilisticLDiversity,
    TCloseness,
    definition_from,
)
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.policy.expressions import definition_from_text
from reticent.release.claims import check_claims
from tests.sampling import examples

NAMES = "abc"


def people():
    """Five people of one place, three of them white; two of another, both white."""
    frame = pl.DataFrame({"zip": ["1"] * 5 + ["2"] * 2, "race": ["w"] * 3 + ["b"] * 2 + ["w"] * 2})
    return rt.Table(frame, quasi=["zip", "race"])


def shares(labels, raw, column):
    """For every record the share of the most frequent raw value of a column among records that are alike in the others."""
    cells: dict[object, list[object]] = {}
    keys = [tuple(label for place, label in enumerate(row) if place != column) for row in labels]
    for key, row in zip(keys, raw, strict=True):
        cells.setdefault(key, []).append(row[column])
    return [Fraction(Counter(cells[key]).most_common(1)[0][1], len(cells[key])) for key in keys]


def test_k_anonymity_does_not_keep_race_from_whoever_knows_the_place():
    assert rt.assess(people(), KAnonymity(2)).holds
    assert sorted(set(shares(people().frame.rows(), people().frame.rows(), 1))) == [Fraction(3, 5), 1]
    found = rt.assess(people(), InTurn("race", ProbabilisticLDiversity(1)))
    assert (found.holds, found.value) == (True, 1)
    diverse = rt.assess(people(), InTurn("race", DistinctLDiversity(2)))
    assert (diverse.holds, diverse.value) == (False, 1)
    assert diverse.witness.details["labels"] == {"zip": "2"}
    assert set(diverse.failing_rows().tolist()) == {5, 6}


@examples(120)
@given(data=st.data(), bound=st.sampled_from([1, Fraction(3, 2), 2]))
def test_the_verdict_is_that_of_counting(data, bound):
    width = data.draw(st.integers(1, 3))
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * width), min_size=1, max_size=12))
    table = rt.Table(pl.DataFrame(rows, schema=list(NAMES[:width]), orient="row"), quasi=list(NAMES[:width]))
    columns = data.draw(st.lists(st.sampled_from(NAMES[:width]), min_size=1, unique=True))
    worst = {name: max(shares(rows, rows, NAMES.index(name))) for name in columns}
    found = rt.assess(table, InTurn(columns, ProbabilisticLDiversity(bound)))
    assert found.holds is all(share * bound <= 1 for share in worst.values())
    values = found.value if len(columns) > 1 else {columns[0]: found.value}
    assert values == {name: 1 / share for name, share in worst.items()}


@examples(60, few=12)
@given(data=st.data())
@pytest.mark.parametrize("method", [rt.Lattice(), rt.Mondrian(values="sets")], ids=["lattice", "mondrian"])
def test_what_is_published_keeps_raw_values_open(method, data):
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=4, max_size=20))
    frame = pl.DataFrame([(*row, place) for place, row in enumerate(rows)], schema=[*NAMES, "id"], orient="row")
    table = rt.Table(frame, quasi=list(NAMES), declared={"id": "a number that nobody knows"})
    definition = InTurn(["a", "b"], DistinctLDiversity(2)) & KAnonymity(2)
    try:
        release = rt.publish(table, definition, method=method)
    except Infeasible:
        assert min(len({row[place] for row in rows}) for place in (0, 1)) < 2
        return
    shown = release.frame.sort("id")
    labels, raw = shown.select(list(NAMES)).rows(), [rows[place] for place in shown["id"]]
    for column in (0, 1):
        cells: dict[object, set[int]] = {}
        for label, row in zip(labels, raw, strict=True):
            cells.setdefault((label[1 - column], label[2]), set()).add(row[column])
        assert all(len(values) >= 2 for values in cells.values())
    assert min(Counter(labels).values()) >= 2


def test_generalizing_the_column_itself_does_not_help():
    frame = people().frame
    coarse = rt.Hierarchy.suppression(["w", "b"])
    table = rt.Table(frame, quasi={"zip": rt.Hierarchy.suppression(["1", "2"]), "race": coarse})
    release = rt.publish(table, InTurn("race", DistinctLDiversity(2)), method=rt.Lattice())
    assert set(release.frame["zip"]) == {"*"}
    assert set(release.frame["race"]) == {"w", "b"}


def test_verify_counts_again_where_labels_are_values_and_says_where_they_are_not(tmp_path):
    exact = rt.publish(people(), InTurn("race", DistinctLDiversity(2)), method=rt.Lattice())
    exact.save(tmp_path / "exact")
    assert rt.verify(tmp_path / "exact").holds
    wide = rt.publish(people(), InTurn("race", DistinctLDiversity(2)) & KAnonymity(3), method=rt.Lattice())
    wide.save(tmp_path / "wide")
    checks = {each.name: each for each in rt.verify(tmp_path / "wide").checks if each.claim}
    told = checks["claim InTurn(columns=['race'], inner=DistinctLDiversity(l=2))"]
    assert (told.status, "represent several values" in told.detail) == ("not re-checked", True)


def claimed_status(release, definition):
    """What verify says of a release whose certificate claims the definition."""
    claims = [{"definition": definition.name, "parameters": definition.parameters()}]
    side = replace(release.public, certificate={**release.certificate, "claims": claims})
    (found,) = [each for each in check_claims(side, None, None, Context()) if each.claim]
    return found


@examples(60, few=12)
@given(data=st.data(), bound=st.sampled_from(["1.2", "1.5", "2"]))
def test_labels_without_a_common_value_show_what_raw_values_are_spread_at_least(data, bound):
    """Ages by decades: what verify says from labels is what raw values have, or that the files do not show it."""
    pairs = st.tuples(st.integers(20, 59), st.integers(0, 1))
    rows = data.draw(st.lists(pairs, min_size=2, max_size=25))
    frame = pl.DataFrame([(*row, place) for place, row in enumerate(rows)], schema=["age", "sex", "id"], orient="row")
    decades = rt.Hierarchy.intervals([10], origin=0, domain=(20, 60)).limited(min_level=1)
    table = rt.Table(frame, quasi={"age": decades, "sex": None}, declared={"id": "a number that nobody knows"})
    release = rt.publish(table, KAnonymity(1), method=rt.Lattice())
    labels = release.frame.sort("id").select("age", "sex").rows()
    truth = max(shares(labels, rows, 0)) * Fraction(bound) <= 1
    shown = max(shares(labels, labels, 0)) * Fraction(bound) <= 1
    status = claimed_status(release, InTurn("age", ProbabilisticLDiversity(bound))).status
    assert status == ("holds" if shown else "not re-checked")
    assert truth or not shown


def test_a_record_class_whose_labels_are_values_refutes_a_false_claim():
    """Most labels of race stand for two values; those who show one value each are all of one race in zip 2."""
    tree = rt.Hierarchy.taxonomy({"any": ["w", "b", "r"]})
    frame = pl.DataFrame({"zip": ["1"] * 4 + ["2"] * 3, "race": ["w", "b", "w", "r"] + ["w"] * 3})
    table = rt.Table(frame, quasi={"zip": None, "race": tree})
    release = rt.publish(table, KAnonymity(2), method=rt.Mondrian(values="sets"))
    assert set(release.frame["race"]) > {"w"}
    found = claimed_status(release, InTurn("race", DistinctLDiversity(2)))
    assert found.status == "fails"
    assert claimed_status(release, InTurn("zip", DistinctLDiversity(1))).status == "holds"


def test_what_the_files_do_not_show_is_said_in_the_headline(tmp_path):
    frame = pl.DataFrame({"age": [20, 21, 30, 31] * 6, "sex": ["m", "f"] * 12})
    table = rt.Table(frame, quasi=["age", "sex"])
    wanted = InTurn("sex", DistinctLDiversity(2)) & KAnonymity(3)
    release = rt.publish(table, wanted, method=rt.Mondrian(values="ranges"))
    headline = release.certificate["headline"]
    assert headline["state"] == "holds, but"
    assert "InTurn(columns=['sex'], inner=DistinctLDiversity(l=2)) is the publisher's word" in headline["reasons"][0]
    assert rt.preview(table, wanted, rt.Mondrian(values="ranges")).headline.state == "holds, but"
    folder = release.save(tmp_path / "release")
    assert "publisher's word" in " ".join((folder / "public" / "STATEMENT.txt").read_text().split())
    assert rt.verify(folder).headline.state == "not shown"


def test_the_sentence_names_what_is_known_and_what_stays_open():
    release = rt.publish(people(), InTurn("race", DistinctLDiversity(2)) & KAnonymity(2), method=rt.Lattice())
    told = release.certificate["claims"][0]["covers"]
    assert told.startswith(
        "An attacker who knows zip of a person (everything published that is not confidential, except race)"
    )
    assert told.endswith("cannot narrow race to fewer than 2 values.")


def test_it_is_written_and_read_again():
    definition = InTurn(["race", "sex"], DistinctLDiversity(2) & ProbabilisticLDiversity("1.2"))
    assert definition_from("InTurn", definition.parameters()) == definition
    assert definition_from_text("InTurn('race', DistinctLDiversity(2))") == InTurn(["race"], DistinctLDiversity(2))
    assert definition_from_text(str(definition)) == definition


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InTurn([], DistinctLDiversity(2)), "must name different quasi columns"),
        (lambda: InTurn("race", KAnonymity(2)), "cannot be used for a quasi column"),
        (lambda: InTurn("race", TCloseness("0.2")), "cannot be used for a quasi column"),
        (lambda: InTurn("race", DistinctLDiversity(2, column="race")), "names no column"),
        (lambda: rt.assess(people(), InTurn("rase", DistinctLDiversity(2))), "not a quasi column. Did you mean 'race'"),
        (
            lambda: rt.publish(people(), InTurn("race", DistinctLDiversity(2)), method=rt.Suppress()),
            "Use Lattice or Mondrian",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(make, message):
    with pytest.raises((PolicyError, DataError), match=message):
        make()


def test_sets_of_columns_are_not_joined_with_it():
    frame = people().frame.with_columns(age=pl.Series(range(7)))
    table = rt.Table(frame, quasi=["zip", "race", "age"], quasi_sets=[["zip", "race"], ["age"]])
    with pytest.raises(PolicyError, match="quasi_sets"):
        rt.assess(table, InTurn("race", DistinctLDiversity(2)))
