"""Beliefs follow from every kind of release, and from a table as it stands."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.belief import Belief, PopulationModel, ReleasedGroup, bucket_posterior, posterior_among
from reticent.belief import release_beliefs as released
from reticent.belief.bucket_beliefs import _tilted
from reticent.belief.release_beliefs import beliefs_of
from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.demo import hospital, hospital_table
from reticent.errors import DataError, PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.table import Hierarchy, Table
from tests.oracles import belief_worlds as oracle
from tests.sampling import seeds

PEOPLE = pl.DataFrame(
    {
        "age": [21, 21, 21, 34, 34, 34, 47, 47],
        "illness": ["flu", "hiv", "hiv", "flu", "flu", "hiv", "flu", "hiv"],
    }
)
SAMPLE = PEOPLE[[0, 1, 3, 5, 6]]
POPULATION = {age: Counter(PEOPLE.filter(pl.col("age") == age)["illness"].to_list()) for age in (21, 34, 47)}


def table(frame: pl.DataFrame = SAMPLE) -> Table:
    return Table(frame, quasi={"age": Hierarchy.intervals([20], origin=20, domain=(20, 59))}, sensitive="illness")


def told(found: Any) -> dict[int, dict[str, Fraction]]:
    return {person.quasi["age"]: {b.value: b.posterior for b in person.beliefs if b.posterior} for person in found}


def published(groups: dict[int, str]) -> dict[str, Counter[str]]:
    """What a release shows that puts everybody of an age into one group."""
    shown: dict[str, Counter[str]] = {}
    for age, illness in SAMPLE.iter_rows():
        shown.setdefault(groups[age], Counter())[illness] += 1
    return shown


@pytest.mark.parametrize("method", [Lattice(), Mondrian(values="ranges")], ids=["lattice", "mondrian"])
def test_groups_of_labels_are_believed_as_all_worlds_say(method: Any, tmp_path: Path) -> None:
    """Both methods keep the ages 21 and 34 together, apart from nobody or from 47."""
    release = rt.publish(table(), KAnonymity(2), method)
    release.save(tmp_path / "release")
    found = beliefs_of(release, PEOPLE)
    shown = Counter(release.frame["age"].to_list())
    groups = dict.fromkeys((21, 34, 47), "all") if len(shown) == 1 else {21: "21", 34: "34", 47: "34"}
    expected = {age: oracle.posterior(POPULATION, groups, published(groups), age) for age in told(found)}
    assert told(found) == expected
    assert set(expected) == {21, 34, 47}
    assert all(person.exact for person in found)
    assert told(beliefs_of(tmp_path / "release", PEOPLE)) == expected


def test_a_table_as_it_stands_tells_the_values_beside_each_point() -> None:
    found = beliefs_of(table(), PEOPLE)
    own = {21: "21", 34: "34", 47: "47"}
    assert told(found) == {age: oracle.posterior(POPULATION, own, published(own), age) for age in own}
    assert told(found)[47] == {"flu": 1}


def test_buckets_are_believed_as_all_worlds_say() -> None:
    release = rt.publish(table(), DistinctLDiversity(2), Lattice(format="bucketize"))
    buckets = dict(release.tables["quasi"].select("age", "bucket").unique().iter_rows())
    shown = published(buckets)
    people = Counter(SAMPLE["age"].to_list())
    found = beliefs_of(release, PEOPLE)
    assert told(found) == {
        age: oracle.posterior_in_buckets(POPULATION, buckets, people, shown, age) for age in (21, 34, 47)
    }
    assert all(person.exact for person in found)


@pytest.mark.parametrize("seed", seeds(10))
def test_a_bucket_is_weighed_as_all_worlds_are(seed: int) -> None:
    rng = random.Random(seed)
    population = {q: {s: rng.choice([0, 0, 1, 1, 2]) for s in "abc"} for q in ("q1", "q2", "q3")}
    while sum(sum(row.values()) for row in population.values()) > 7:
        population[rng.choice(["q1", "q2", "q3"])][rng.choice("abc")] = 0
    population = {q: row if any(row.values()) else {"a": 1, "b": 0, "c": 0} for q, row in population.items()}
    everybody = [(q, s) for q, row in population.items() for s, n in row.items() for _ in range(n)]
    sample = rng.sample(everybody, rng.randint(1, min(5, len(everybody))))
    people, released = Counter(q for q, _ in sample), Counter(s for _, s in sample)
    found = bucket_posterior(PopulationModel.of(population), people, released)
    assert found.exact
    for q in people:
        one = dict.fromkeys(population, "x")
        expected = oracle.posterior_in_buckets(population, one, people, {"x": released}, q)
        assert {s: p for s, p in found.chances[q].items() if p} == expected


def test_large_buckets_are_weighed_by_their_limit() -> None:
    """Twelve people of a large population: the tilted odds are close to the counted worlds, and exact where nothing depends."""
    counts = {"young": {"a": 9000, "b": 1000}, "old": {"a": 2000, "b": 8000}}
    people, released = {"young": 6, "old": 6}, {"a": 8, "b": 4}
    counted = bucket_posterior(PopulationModel.of(counts), people, released)
    assert counted.exact
    weights = bucket_posterior(
        PopulationModel.of({q: {s: f"{n / 10_000}" for s, n in row.items()} for q, row in counts.items()}),
        people,
        released,
    )
    assert not weights.exact
    for q, chances in counted.chances.items():
        for s, chance in chances.items():
            assert float(weights.chances[q][s]) == pytest.approx(float(chance), abs=0.04)
    alike = bucket_posterior(PopulationModel.of({q: {"a": ".3", "b": ".7"} for q in counts}), people, released)
    assert {s: float(p) for s, p in alike.chances["old"].items()} == pytest.approx({"a": 2 / 3, "b": 1 / 3})


def test_margins_that_cannot_be_met_are_found_out() -> None:
    import numpy as np

    assert _tilted(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1.0, 1.0]), np.array([1.0, 1.0])) is None
    assert _tilted(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0]), np.array([1.0, 2.0])) is None


def test_somebody_whom_several_groups_cover_is_believed_by_all_of_them() -> None:
    """Rows (20-30: flu, hiv) and (25-40: flu): of 21 the first group tells, of 28 both, each row among those who could be it."""
    model = PopulationModel.of({21: {"flu": 1, "hiv": 1}, 28: {"flu": 1, "hiv": 1}, 33: {"flu": 2, "hiv": 0}})
    first = ReleasedGroup.of(model, [21, 28], {"flu": 1, "hiv": 1})
    second = ReleasedGroup.of(model, [28, 33], {"flu": 1})
    assert posterior_among(model, 21, [first]) == {"flu": Fraction(1, 2), "hiv": Fraction(1, 2)}
    # flu: 1 row x 1/2 of the people + 1 row x 1/3 of them; hiv: 1 row x 1/2.
    assert posterior_among(model, 28, [first, second]) == {"flu": Fraction(5, 8), "hiv": Fraction(3, 8)}


@pytest.mark.parametrize(
    "method",
    [
        Lattice(suppression="0.1"),
        Mondrian(values="sets"),
        Mondrian(ties="divide", values="sets"),
        Lattice(suppression="0.1", format="bucketize"),
    ],
    ids=["lattice", "mondrian", "relaxed", "bucketize"],
)
def test_beliefs_about_everybody_add_up_whatever_was_published(method: Any, tmp_path: Path) -> None:
    whole = hospital_table(hospital(600))
    made = rt.publish(whole, DistinctLDiversity(3), method, ledger=tmp_path / "ledger.sqlite")
    found = beliefs_of(made, whole)
    assert sum(person.people for person in found) >= int(made.groups.sizes.sum())
    for person in found:
        assert sum(float(belief.posterior) for belief in person.beliefs) == pytest.approx(1)
        assert sum(belief.prior for belief in person.beliefs) == 1
        assert person.groups
    if method in (Lattice(suppression="0.1"), Mondrian(values="sets")):
        assert all(person.exact for person in found)


def test_a_population_that_contradicts_a_bucket_is_an_error() -> None:
    model = PopulationModel.of({"q1": {"a": 1}, "q2": {"a": 2}})
    with pytest.raises(DataError, match="No possible world fits a bucket"):
        bucket_posterior(model, {"q1": 1, "q2": 1}, {"a": 1, "b": 1})
    with pytest.raises(DataError, match="2 people but 3 sensitive values"):
        bucket_posterior(model, {"q1": 1, "q2": 1}, {"a": 3})


def test_which_secret_is_meant_must_be_said_where_there_are_several() -> None:
    frame = SAMPLE.with_columns(other=pl.Series(["x", "y", "x", "y", "x"]))
    both = Table(frame, quasi=["age"], sensitive=["illness", "other"])
    with pytest.raises(PolicyError, match="Choose a sensitive column with column=: illness, other"):
        beliefs_of(both, PEOPLE)
    assert beliefs_of(both, PEOPLE, "illness")


def test_a_disclosure_concerns_rows_of_the_table_and_is_news_only_if_it_was_not_known_before() -> None:
    """A positive one needs a row with the value, a negative one a row without it, and what was certain before is no news."""
    people = pl.DataFrame({"age": [21, 21, 34, 34, 47], "illness": ["flu", "hiv", "flu", "hiv", "flu"]})
    whole = Table(people[[0, 2, 4]], quasi=["age"], sensitive="illness")
    found = beliefs_of(whole, people, table=whole)
    tests = released.Tests(delta="0.1", epsilon="0.1")
    told = {
        (person.quasi["age"], belief.value): (tests.failing(belief, person.rows), tests.is_news(belief))
        for person in found
        for belief in person.beliefs
    }
    assert told == {
        (21, "flu"): (("positive",), True),
        (21, "hiv"): (("negative",), True),
        (34, "flu"): (("positive",), True),
        (34, "hiv"): (("negative",), True),
        (47, "flu"): (("positive",), False),
    }
    elsewhere = Table(people[[1, 3]], quasi=["age"], sensitive="illness")
    person = next(each for each in beliefs_of(whole, people, table=elsewhere) if each.quasi["age"] == 21)
    assert {b.value: tests.failing(b, person.rows) for b in person.beliefs} == {"flu": (), "hiv": ()}


def test_people_who_can_have_no_published_value_are_not_in_the_table() -> None:
    """A population is larger than the table: where all people of an age have an illness that nobody published has, they are left out."""
    larger = pl.concat([PEOPLE, pl.DataFrame({"age": [22, 22], "illness": ["measles", "measles"]})])
    release = rt.publish(table(), KAnonymity(5), Lattice())
    found = beliefs_of(release, larger)
    groups = dict.fromkeys((21, 34, 47), "all")
    assert told(found) == {age: oracle.posterior(POPULATION, groups, published(groups), age) for age in (21, 34, 47)}
    assert released.people_asked(larger, {}) - sum(person.people for person in found) == 2
    assert beliefs_of(release, larger, where={"age": "22"}) == ()


def test_a_population_that_fits_no_group_is_refused_and_does_not_look_safe() -> None:
    with pytest.raises(
        DataError,
        match=r"No group covers anyone in the population: no group contains its values of age.* spelled as in the table",
    ):
        beliefs_of(table(), PEOPLE.with_columns(age=pl.col("age") + 100))


def test_a_population_that_contradicts_a_group_is_told_where() -> None:
    with pytest.raises(DataError, match=r"shows 'flu', .* no one in the group that covers age=47 who could have it"):
        beliefs_of(table(), PEOPLE.filter((pl.col("age") != 47) | (pl.col("illness") != "flu")))


@pytest.mark.parametrize(
    ("before", "after", "news"),
    [
        ("0.95", "0.01", True),  # from nearly certain to nearly excluded: both were disclosures, but not the same
        ("0.01", "0.95", True),
        ("0.95", "0.99", False),
        ("0.02", "0.01", False),
        ("0.5", "0.99", True),
        ("0.5", "0.5", False),
    ],
)
def test_a_disclosure_is_news_unless_the_same_was_there_before(before: str, after: str, news: bool) -> None:
    belief = Belief("q", "s", Fraction(before), Fraction(after))
    assert released.Tests(delta="0.1", epsilon="0.05").is_news(belief) is news


def test_news_that_concerns_nobody_of_the_table_is_none() -> None:
    belief = Belief("q", "flu", Fraction(1, 2), Fraction(1))
    assert released.Tests(delta="0.1").is_news(belief, {"flu": 1})
    assert not released.Tests(delta="0.1").is_news(belief, {"hiv": 1})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delta": 2}, "delta must be at most 1, but it is 2"),
        ({"epsilon": "-0.1"}, "epsilon must be at least 0"),
        ({"rho": ("x", "0.5")}, "rho1 must be a number"),
        ({"rho": ("0.6", "0.3")}, "rho1 must be at most rho2 = 0.3, but it is 0.6"),
    ],
)
def test_tests_that_make_no_sense_are_refused_before_anything_is_looked_at(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        released.Tests(**given)


def test_columns_of_the_population_may_be_written_in_another_type(tmp_path: Path) -> None:
    """Ages as text, and illnesses as numbers here and text there, are the same values; a missing one stays missing."""
    codes = {"flu": 1, "hiv": 2}
    coded = table(SAMPLE.with_columns(illness=pl.col("illness").replace_strict(codes)))
    texts = PEOPLE.with_columns(
        age=pl.col("age").cast(pl.String), illness=pl.col("illness").replace_strict(codes).cast(pl.String)
    )
    own = {21: "21", 34: "34", 47: "47"}
    expected = {
        age: {codes[value]: chance for value, chance in oracle.posterior(POPULATION, own, published(own), age).items()}
        for age in own
    }
    assert told(beliefs_of(coded, texts)) == expected
    release = rt.publish(coded, KAnonymity(5))
    numbers = texts.with_columns(age=pl.col("age").cast(pl.Int64))
    plain = PEOPLE.with_columns(illness=pl.col("illness").replace_strict(codes))
    assert told(beliefs_of(release, numbers)) == told(beliefs_of(release, plain))
    with_a_gap = pl.concat([numbers, pl.DataFrame({"age": [21], "illness": [None]}, schema=numbers.schema)])
    prior = beliefs_of(release, with_a_gap, where={"age": "21"})[0].beliefs
    assert {belief.value: belief.prior for belief in prior} == {
        1: Fraction(1, 4),
        2: Fraction(1, 2),
        None: Fraction(1, 4),
    }


def test_a_population_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(
        DataError,
        match=r"Column 'age' of the population has type String, but that of the table Int64. Read both with the same type",
    ):
        beliefs_of(table(), PEOPLE.with_columns(age=pl.lit("old")))
    with pytest.raises(
        PolicyError, match="Expected a table, a draft, a release or the folder of one, but got a NoneType"
    ):
        beliefs_of(None, PEOPLE)


def test_rows_of_the_table_are_found_whatever_type_their_columns_have() -> None:
    """The steward's table has ages as text, the list of the population as numbers."""
    raw = Table(SAMPLE.with_columns(age=pl.col("age").cast(pl.String)), quasi=["age"], sensitive="illness")
    found = beliefs_of(rt.publish(table(), KAnonymity(5)), PEOPLE, table=raw)
    assert {person.quasi["age"]: dict(person.rows or {}) for person in found} == {
        21: {"flu": 1, "hiv": 1},
        34: {"flu": 1, "hiv": 1},
        47: {"flu": 1},
    }


def test_a_randomized_release_has_no_groups_and_says_so(tmp_path: Path) -> None:
    values = {"age": list(range(20, 60)), "illness": ["flu", "hiv", "cold", "measles"]}
    plan = rt.randomize.plan(n=5, domain={name: len(each) for name, each in values.items()}, k=2, gamma="1/2")
    rt.randomize.publish(SAMPLE, plan, domain=values).save(tmp_path / "view")
    with pytest.raises(
        PolicyError, match=r"has no groups of people who look alike.* `reticent verify` checks its plan"
    ):
        beliefs_of(tmp_path / "view", PEOPLE)
    with pytest.raises(PolicyError, match="KAnonymity judges groups of rows, not how a release is made"):
        rt.assess(tmp_path / "view", KAnonymity(2))
