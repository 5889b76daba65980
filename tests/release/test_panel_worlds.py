"""Small panels and households, published: every way to give the published records to the known rows of everybody, compared with what the certificate says."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import Infeasible
from tests.oracles.sentence_reader import read_sentence
from tests.sampling import examples

METHODS = [rt.Lattice(), rt.Mondrian(values="sets"), rt.Mondrian(values="hierarchy")]


def worlds(register, records, fits):
    """For every world the owner of each record: all ways to give each known row another record that fits it."""
    return [
        [register[known][0] for known in given_to]
        for given_to in permutations(range(len(register)))
        if all(fits(register[known], record) for record, known in zip(records, given_to, strict=True))
    ]


def label_set(text):
    """The whole numbers that a label stands for; a star stands for all."""
    return {0, 1, 2} if "*" in str(text) else set(map(int, re.findall(r"\d", str(text))))


def in_labels(row, record):
    return all(value in label_set(label) for value, label in zip(row[1:3], record[:2], strict=True))


@st.composite
def panels(draw):
    """Rows of (person, a, b, value): the value is the same in all rows of a person; people two by two in a household."""
    people = draw(st.integers(2, 4))
    values = draw(st.lists(st.sampled_from("vw"), min_size=people, max_size=people))
    rows = []
    for person in range(people):
        for _ in range(draw(st.integers(1, 2))):
            rows.append((person, draw(st.integers(0, 2)), draw(st.integers(0, 2)), values[person]))
    return rows[:6] if len({row[0] for row in rows[:6]}) < len(rows[:6]) else [rows[0], *rows][:6]


def published(rows, definition, method, **more):
    frame = pl.DataFrame([(*row, row[0] // 2) for row in rows], schema=["who", "a", "b", "value", "home"], orient="row")
    if more.get("household") is None:
        frame = frame.drop("home")
    table = rt.Table(frame, quasi=["a", "b"], sensitive="value", key="who", **more)
    return rt.publish(table, definition, method)


@pytest.mark.parametrize("unit", ["person", "household"])
@pytest.mark.parametrize("method", METHODS, ids=["lattice", "sets", "nodes"])
@examples(80, few=12)
@given(rows=panels(), k=st.integers(1, 2), share=st.sampled_from(["1", "4/3", "3/2", "2"]))
def test_no_world_says_more_than_the_certificate(method, unit, rows, k, share):
    """No record is one owner's in more than one world of k; what is promised of a static value for several known rows bounds shares of people, or chances where that was judged."""
    definition = rt.KAnonymity(k) & rt.ProbabilisticLDiversity(share)
    try:
        release = published(rows, definition, method, household="home" if unit == "household" else None)
    except Infeasible:
        return
    records = release.frame.select("a", "b", "value").rows()
    owners = [(row[0] if unit == "person" else row[0] // 2, *row[1:]) for row in rows]
    every = worlds(owners, records, in_labels)
    assert every
    chances = Counter((place, owner) for world in every for place, owner in enumerate(world))
    assert max(chances.values()) * k <= len(every)
    known = release.public.manifest.known_rows
    told = read_sentence(release.certificate["claims"][1]["covers"])
    assert told.rows == known.rows
    if unit == "household" or known.rows == 1:
        return
    # Everybody whose records look like the known ones, each with one value.
    cell_of = {place: record[:2] for place, record in enumerate(records)}
    truth = next(iter(placed(owners, records)))
    profiles: dict[int, Counter] = defaultdict(Counter)
    for place, owner in enumerate(truth):
        profiles[owner][cell_of[place]] += 1
    value = {row[0]: row[3] for row in rows}
    for profile in profiles.values():
        parts = [profile] if known.rows is None else []
        for part in parts:
            sharing = [value[other] for other, each in profiles.items() if not part - each]
            assert max(Counter(sharing).values()) * Fraction(share) <= len(sharing)
    if known.judged == "chances":
        static = [
            world
            for world in every
            if all(
                len({records[place][2] for place, whose in enumerate(world) if whose == owner}) == 1 for owner in value
            )
        ]
        for owner in value:
            believed = Counter(
                next(records[place][2] for place, whose in enumerate(world) if whose == owner) for world in static
            )
            assert max(believed.values()) * Fraction(share) <= len(static)


def placed(owners, records):
    """The true world: each record the row that it was made from, as far as equal records can tell."""
    for given_to in permutations(range(len(owners))):
        if all(
            in_labels(owners[known], record) and owners[known][3] == record[2]
            for record, known in zip(records, given_to, strict=True)
        ):
            yield [owners[known][0] for known in given_to]


@examples(60, few=12)
@given(
    people=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from("vw")), min_size=4, max_size=5),
    share=st.sampled_from(["1", "4/3", "2"]),
)
def test_linked_sequences_leave_a_person_among_k_in_all_worlds(people, share):
    """Two waves of each person, linked by a pseudonym: whoever knows all values of everybody gives no pseudonym to anybody in more than one world of two."""
    rows = [(who, wave, (a, b)[wave], value) for who, (a, b, value) in enumerate(people) for wave in range(2)]
    frame = pl.DataFrame(rows, schema=["who", "wave", "a", "value"], orient="row")
    table = rt.Table(frame, quasi=["wave", "a"], sensitive="value", identifiers=["who"], pseudonyms=["who"])
    try:
        release = rt.publish(table, rt.KAnonymity(2) & rt.ProbabilisticLDiversity(share), rt.Panel(wave="wave"))
    except Infeasible:
        return
    sequences: dict[str, dict] = defaultdict(dict)
    for row in release.frame.iter_rows(named=True):
        sequences[row["pseudonym"]][int(row["wave"])] = row
    names = sorted(sequences)
    count = 0
    whose: Counter = Counter()
    believed: dict[int, Counter] = defaultdict(Counter)
    for world in permutations(range(len(people)), len(names)):
        fits = all(
            people[who][wave] in label_set_of(sequences[name][wave]["a"])
            for name, who in zip(names, world, strict=True)
            for wave in sequences[name]
        )
        if fits:
            count += 1
            for name, who in zip(names, world, strict=True):
                whose[name, who] += 1
                believed[who][sequences[name][0]["value"]] += 1
    assert count
    assert max(whose.values()) * 2 <= count
    for values in believed.values():
        assert max(values.values()) * Fraction(share) <= count


def label_set_of(text):
    """A range or a set of whole numbers."""
    numbers = [int(each) for each in re.findall(r"\d", str(text))]
    return set(range(numbers[0], numbers[-1] + 1)) if str(text).startswith("[") else set(numbers)


def test_nodes_that_too_many_rows_of_a_household_fit_are_refused_with_a_way_out():
    """Cut by leaves the groups pass; as nodes are shown, rows of a household fit the group of the other."""
    rows = [(0, 0, 0, "v"), (1, 0, 1, "v"), (2, 0, 2, "v"), (2, 0, 0, "v")]
    with pytest.raises(Infeasible, match=r"too many rows of one person match them\. Use Lattice, .* values='ranges'"):
        published(rows, rt.KAnonymity(2), rt.Mondrian(values="hierarchy"), household="home")
    assert published(rows, rt.KAnonymity(2), rt.Lattice(), household="home").frame.height == 4
