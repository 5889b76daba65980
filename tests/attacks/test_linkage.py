"""Linkage hits people on data as they stand, and nobody on a release that protects them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.attacks import Homogeneity, Linkage, attack
from reticent.core import AdversaryView
from reticent.demo import hospital, hospital_table, ten_people, ten_people_table, voter_roll
from reticent.engine import count_table, engine_of
from reticent.errors import DataError, PolicyError
from reticent.table import Hierarchy, Meaning, Table, ValueType
from reticent.table.meaning import Anything, Interval, Missing, Prefix, Value, Values
from tests.oracles.attack_linkage import link
from tests.sampling import examples


def generalized(table: Table, levels: tuple[int, ...]) -> tuple[pl.DataFrame, dict[str, dict[str, Any]]]:
    """The rows of a table at some levels, and what their labels mean: what a release shows."""
    points = count_table(table, floor=levels)
    labelled = points.labels()[np.concatenate(list(engine_of(table).points(table, points)))]
    meanings = {
        bound.column: dict(zip(bound.levels[level].labels, bound.levels[level].meanings, strict=True))
        for bound, level in zip(table.hierarchies, levels, strict=True)
    }
    return labelled.with_columns(table.frame[name] for name in table.sensitive), meanings


def published(table: Table, levels: tuple[int, ...]) -> AdversaryView:
    data, meanings = generalized(table, levels)
    return AdversaryView.in_rows(
        data, None, {name: meanings[name] for name in list(table.quasi)}, list(table.sensitive)
    )


def test_ten_people_are_all_found_in_the_table_as_it_stands() -> None:
    findings = attack(ten_people_table(), Linkage(ten_people(), who="name", truth="disease"))[0]
    assert (findings.hits, findings.people) == (10, 10)
    assert findings.details["learned"] == findings.details["right"] == 10
    assert findings.example == (
        "Frank (14853, 29, M) matches exactly one published row, so disease is 'mumps', if this person is in the data."
    )


def test_nobody_of_the_ten_is_found_in_the_five_anonymous_release() -> None:
    findings = attack(published(ten_people_table(), (1, 2, 0)), Linkage(ten_people(), who="name", about=3))[0]
    assert findings.hits == 0
    assert findings.details["matched"] == 10
    assert findings.details["smallest_match"] == 5
    assert findings.details["learned"] == 0
    assert findings.example == (
        "Ed (14850, 27, M) matches 5 published rows with 3 different values of disease; "
        "the best guess, 'flu', is right with a probability of 40%."
    )


def test_a_k_anonymous_release_with_a_uniform_group_still_teaches_the_value() -> None:
    frame = pl.DataFrame({"age": [21, 22, 23, 41, 42, 43], "illness": ["flu", "flu", "flu", "flu", "gout", "HIV"]})
    table = Table(frame, quasi={"age": Hierarchy.intervals([20], domain=(20, 59))}, sensitive="illness")
    findings = attack(published(table, (1,)), Linkage(frame.select("age")))[0]
    assert findings.hits == 0
    assert findings.details["learned"] == 3


def test_somebody_who_is_not_in_the_data_may_be_matched_but_is_not_counted_as_right() -> None:
    frame = ten_people()
    strangers = pl.DataFrame(
        {"zip": ["14850", "99999"], "age": [23, 23], "sex": ["M", "M"], "disease": [None, None]},
        schema_overrides={"disease": pl.String},
    )
    findings = attack(ten_people_table(), Linkage(strangers, truth="disease"))[0]
    assert findings.hits == 1
    assert findings.details["matched"] == 1
    assert findings.details["right"] == 0
    assert frame.height == 10


def test_a_value_that_the_adversary_does_not_know_fits_everything() -> None:
    people = pl.DataFrame({"zip": ["14850", None], "age": [None, 29], "sex": ["F", None]})
    findings = attack(ten_people_table(), Linkage(people, about=0))[0]
    assert findings.hits == 1
    assert (
        findings.example
        == "A person with 14850, F matches 2 published rows, so disease is 'flu', if this person is in the data."
    )


def test_dates_postcodes_and_categories_are_placed_by_what_their_labels_mean() -> None:
    register = hospital(400, seed=3)
    view = published(hospital_table(register), (2, 0, 2, 1, 2))
    findings = attack(view, Linkage(register, who="name"))[0]
    assert findings.details["matched"] == 400
    assert findings.details["columns"] == ["age", "sex", "postcode", "nationality", "admitted"]
    elsewhere = register.with_columns(pl.lit("99999").alias("postcode"))
    assert attack(view, Linkage(elsewhere))[0].details["matched"] == 0


def test_meanings_that_went_through_json_place_people_alike() -> None:
    import json

    register = hospital(200, seed=4)
    table = hospital_table(register)
    data, meanings = generalized(table, (2, 0, 1, 1, 1))
    written = {name: {label: each.as_json() for label, each in known.items()} for name, known in meanings.items()}
    again = {
        name: {
            text: Meaning.read(given, ValueType.published(table.schema[name]), text) for text, given in known.items()
        }
        for name, known in json.loads(json.dumps(written)).items()
    }
    quasi = ["age", "sex", "postcode", "nationality", "admitted"]
    first = AdversaryView.in_rows(data, None, {name: meanings[name] for name in quasi}, ["diagnosis"])
    second = AdversaryView.in_rows(data, None, {name: again[name] for name in quasi}, ["diagnosis"])
    linkage = Linkage(register)
    assert linkage.attack(first) == linkage.attack(second)
    assert linkage.attack(first).details["matched"] == 200


MEANINGS = {
    "age": {
        "young": Interval(None, 30),
        "middle": Interval(25, 50),
        "old": Interval(45, None),
        "33": Value(33),
        "*": Anything(),
    },
    "zip": {
        "14": Prefix("14", 3),
        "1": Prefix("1", 3),
        "set": Values(("148", "250")),
        "gone": Missing(),
    },
}


@examples(80)
@given(data=st.data())
def test_overlapping_labels_agree_with_the_row_by_row_twin(data: st.DataObject) -> None:
    row = st.fixed_dictionaries(
        {
            "age": st.sampled_from(sorted(MEANINGS["age"])),
            "zip": st.sampled_from(sorted(MEANINGS["zip"])),
            "ill": st.sampled_from("abc"),
        }
    )
    person = st.fixed_dictionaries(
        {
            "age": st.none() | st.integers(20, 60),
            "zip": st.none() | st.sampled_from(["148", "142", "250", "130", "999"]),
        }
    )
    rows = data.draw(st.lists(row, min_size=1, max_size=12))
    people = data.draw(st.lists(person, min_size=1, max_size=8))
    expected = link(people, rows, MEANINGS, ["age", "zip"], "ill")
    frame = pl.DataFrame(people, schema={"age": pl.Int64, "zip": pl.String})
    view = AdversaryView.in_rows(pl.DataFrame(rows), None, {name: MEANINGS[name] for name in ["age", "zip"]}, ["ill"])
    findings = Linkage(frame).attack(view)
    assert findings.hits == sum(count == 1 for count, _ in expected)
    assert findings.details["matched"] == sum(count > 0 for count, _ in expected)
    assert findings.details["learned"] == sum(len(values) == 1 for _, values in expected)


@examples(40)
@given(seed=st.integers(0, 10_000), levels=st.tuples(*(st.integers(0, top) for top in (5, 1, 3, 2, 4))))
def test_full_domain_releases_agree_with_the_row_by_row_twin(seed: int, levels: tuple[int, ...]) -> None:
    register = hospital(40, seed=seed)
    table = hospital_table(register)
    data, meanings = generalized(table, levels)
    people = voter_roll(register, others=10, seed=seed)
    quasi = ["age", "sex", "postcode", "nationality"]
    expected = link(people.to_dicts(), data.to_dicts(), meanings, quasi, "diagnosis")
    findings = Linkage(people).attack(published(table, levels))
    assert findings.hits == sum(count == 1 for count, _ in expected)
    assert findings.details["matched"] == sum(count > 0 for count, _ in expected)
    assert findings.details["learned"] == sum(len(values) == 1 for _, values in expected)


def test_a_sample_says_how_far_it_can_be_trusted() -> None:
    register = hospital(3000, seed=8)
    roll = voter_roll(register, others=500)
    table = hospital_table(register)
    everybody = attack(table, Linkage(roll))[0]
    sampled = attack(table, Linkage(roll, sample=400, seed=1))[0]
    assert everybody.interval is not None
    assert everybody.interval[1] - everybody.interval[0] < 0.04
    assert sampled.people == 400
    assert sampled.interval is not None
    low, high = sampled.interval
    assert low < everybody.share < high
    assert 0.08 < high - low < 0.11


@pytest.mark.slow
def test_thirty_thousand_people_are_looked_up_among_thirty_thousand_rows_within_seconds() -> None:
    register = hospital(30_000, seed=1)
    roll = voter_roll(register, others=8000)
    table = hospital_table(register)
    started = time.perf_counter()
    findings = attack(table, Linkage(roll))[0]
    assert time.perf_counter() - started < 5
    assert findings.people == roll.height > 25_000


def test_a_list_without_a_shared_column_is_refused() -> None:
    with pytest.raises(DataError, match="shares no quasi-identifier with the release"):
        attack(ten_people_table(), Linkage({"height": [180]}))


def test_a_misspelt_column_is_refused_with_a_hint() -> None:
    with pytest.raises(DataError, match=r"no column 'nmae'\. Did you mean 'name'\?"):
        Linkage(ten_people(), who="nmae")


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(DataError, match="list of people is empty"):
        Linkage(ten_people().head(0))


def test_a_person_outside_the_list_is_refused() -> None:
    with pytest.raises(PolicyError, match="about must be a row of the list"):
        Linkage(ten_people(), about=10)


def test_a_label_without_a_meaning_is_refused() -> None:
    data = pl.DataFrame({"age": ["[20, 30)"], "ill": ["flu"]})
    with pytest.raises(DataError, match="has the label '\\[20, 30\\)', whose meaning was not published"):
        AdversaryView.in_rows(data, None, {name: {"age": {}}[name] for name in ["age"]}, ["ill"])


def test_numbers_in_the_other_list_may_be_text_and_the_other_way_round() -> None:
    people = ten_people().with_columns(pl.col("age").cast(pl.String), pl.col("zip").cast(pl.Int64))
    assert attack(ten_people_table(), Linkage(people))[0].hits == 10
    assert attack(published(ten_people_table(), (1, 1, 0)), Linkage(people))[0].details["matched"] == 10
    assert np.isclose(attack(ten_people_table(), Linkage(people))[0].share, 1.0)


def test_somebody_with_several_rows_is_still_one_person() -> None:
    frame = pl.DataFrame({"id": [1, 1, 2, 3], "zip": ["a", "a", "b", "b"], "ill": ["flu", "gout", "flu", "flu"]})
    table = Table(frame, quasi=["zip"], sensitive="ill", key="id", unit="person")
    findings = attack(table, Linkage({"zip": ["a", "b"]}, about=0))[0]
    assert findings.hits == 1
    assert findings.hit == "match exactly one person"
    assert findings.details["learned"] == 1
    assert findings.example == (
        "A person with a matches exactly one person with 2 different values of ill; "
        "the best guess, 'flu', is right with a probability of 50%."
    )
    unknown = attack(table, Linkage({"zip": ["a", None]}, about=1))[0]
    assert unknown.example.startswith(
        "A person about whom nothing is known matches 3 people with 2 different values of ill"
    )
    shared = attack(table, Homogeneity())[0]
    assert (shared.hits, shared.people) == (2, 3)
