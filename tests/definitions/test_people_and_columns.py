"""People with several rows, of whom an adversary knows some columns: any few of them, or all but one; by enumeration of sets, cells, fitting rows and worlds."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.core import Evidence
from reticent.definitions import (
    AnyColumns,
    DistinctLDiversity,
    InTurn,
    KAnonymity,
    ProbabilisticLDiversity,
    known_rows,
)
from reticent.engine import count_table
from reticent.errors import Infeasible
from tests.oracles import known_columns as oracle
from tests.sampling import examples

NAMES = "abc"
METHODS = pytest.mark.parametrize("method", [rt.Lattice(), rt.Mondrian(values="sets")], ids=["lattice", "mondrian"])


@st.composite
def visits(draw, most_rows=14):
    """Rows of (owner, a, b, ...), of whom at least one person has two."""
    width = draw(st.integers(2, 3))
    row = st.tuples(st.integers(0, 5), *[st.integers(0, 2)] * width)
    rows = draw(st.lists(row, min_size=2, max_size=most_rows))
    return [rows[0], *rows]


def table_of(rows, **changes):
    width = len(rows[0]) - 1
    frame = pl.DataFrame(
        [(*row, place) for place, row in enumerate(rows)], schema=["who", *NAMES[:width], "n"], orient="row"
    )
    return rt.Table(
        frame, quasi=list(NAMES[:width]), key="who", declared={"n": "a number that nobody knows"}, **changes
    )


def hidden_among(rows, owners, fitting):
    """For one cell: its owners, and its rows for each row of one owner that fits it."""
    return min(len({owners[place] for place in rows}), len(rows) // max(Counter(fitting).values()))


def hidden(labels, raw, owners, known):
    """The least number of people among whom a record is hidden, over every set of at most so many columns and every cell; a label is a set of values."""
    found = []
    for chosen in oracle.sets_of_columns(len(raw[0]), known):
        for cell in oracle.cells(labels, chosen):
            shown = labels[cell[0]]
            fits = [owners[place] for place, row in enumerate(raw) if all(row[c] in shown[c] for c in chosen)]
            found.append(hidden_among(cell, owners, fits))
    return min(found)


def published(release, rows):
    """What a release shows of every row, as sets of values, by the number that it carries; generalized here are only whole numbers, as sets or as anything."""
    width = len(rows[0]) - 1
    frame = release.frame.sort("n")
    shown = frame.select(list(NAMES[:width])).rows()
    labels = [
        tuple(
            frozenset(range(3)) if str(cell) == "*" else frozenset(map(int, re.findall(r"\d", str(cell))))
            for cell in row
        )
        for row in shown
    ]
    return labels, frame["n"].to_list()


@examples(200, few=40)
@given(rows=visits(), known=st.integers(1, 3), k=st.integers(1, 4))
def test_people_are_counted_in_every_cell(rows, known, k):
    raw, owners = [row[1:] for row in rows], [row[0] for row in rows]
    exact = [tuple(frozenset({value}) for value in row) for row in raw]
    found = rt.assess(table_of(rows), AnyColumns(known, KAnonymity(k)))
    least = hidden(exact, raw, owners, known)
    assert (found.holds, found.value) == (least >= k, least)
    every = oracle.sets_of_columns(len(raw[0]), known)
    failing = {
        place
        for chosen in every
        for cell in oracle.cells(raw, chosen)
        if hidden_among(cell, owners, [owners[each] for each in cell]) < k
        for place in cell
    }
    if found.holds:
        assert not failing
    else:
        assert set(found.failing_rows().tolist()) <= failing


@METHODS
@examples(120, few=25)
@given(rows=visits(), known=st.integers(1, 2), k=st.integers(2, 3))
def test_what_is_published_hides_rows_among_people_whichever_columns_are_known(method, rows, known, k):
    """Counted by the rows that fit, which is what an adversary goes by who knows all rows of all people in these columns."""
    definition = AnyColumns(known, KAnonymity(k))
    try:
        release = rt.publish(table_of(rows), definition, method=method)
    except Infeasible:
        return
    labels, places = published(release, rows)
    raw, owners = [rows[place][1:] for place in places], [rows[place][0] for place in places]
    least = hidden(labels, raw, owners, known)
    assert least >= k
    assert rt.assess(release, definition).value == least


@examples(150, few=25)
@given(rows=visits(most_rows=5), known=st.integers(1, 2), k=st.integers(2, 3))
def test_no_world_gives_a_record_to_somebody_beyond_the_promise(rows, known, k):
    """Every way to give the published records to known rows that fit them in some columns: no record is one person's in more than one world of k."""
    try:
        release = rt.publish(table_of(rows), AnyColumns(known, KAnonymity(k)), method=rt.Mondrian(values="sets"))
    except Infeasible:
        return
    labels, places = published(release, rows)
    raw, owners = [rows[place][1:] for place in places], [rows[place][0] for place in places]
    for chosen in oracle.sets_of_columns(len(raw[0]), known):
        worlds, whose = 0, Counter()
        for world in permutations(range(len(raw))):
            if all(raw[known_row][c] in labels[record][c] for record, known_row in enumerate(world) for c in chosen):
                worlds += 1
                whose.update((record, owners[known_row]) for record, known_row in enumerate(world))
        assert max(whose.values()) * k <= worlds


def test_labels_of_few_columns_let_more_rows_of_a_person_fit():
    """Boxes that part the rows in both columns together overlap in one of them: by what is in each cell nobody has more than one row of two, by what fits somebody has two of two."""
    rows = [("p", 0, 0), ("q", 1, 0), ("p", 1, 1), ("r", 1, 1)]
    labels = [(frozenset({0, 1}), frozenset({0}))] * 2 + [(frozenset({1}), frozenset({1}))] * 2
    raw, owners = [row[1:] for row in rows], [row[0] for row in rows]
    in_cells = [hidden_among(cell, owners, [owners[each] for each in cell]) for cell in oracle.cells(labels, (0,))]
    assert in_cells == [2, 2]
    assert hidden(labels, raw, owners, 1) == 1
    table = table_of(rows)
    assert rt.publish(table, KAnonymity(2), method=rt.Mondrian(values="sets")).groups.sizes.tolist() == [2, 2]
    with pytest.raises(Infeasible, match=r"too many rows of one person match them\. Use Lattice"):
        rt.publish(table, AnyColumns(1, KAnonymity(2)), method=rt.Mondrian(values="sets"))
    assert rt.assess(rt.publish(table, AnyColumns(1, KAnonymity(2))), AnyColumns(1, KAnonymity(2))).holds


@METHODS
@examples(80, few=15)
@given(rows=visits(), bound=st.sampled_from(["1", "3/2", "2"]))
def test_in_turn_counts_the_records_of_people(method, rows, bound):
    """The share of the most frequent raw value among records that are alike in the other columns, whoever's they are."""
    table, definition = table_of(rows), InTurn("a", ProbabilisticLDiversity(bound)) & KAnonymity(2)

    def worst(labels, raw):
        cells = oracle.cells(labels, range(1, len(raw[0])))
        return max(Fraction(max(Counter(raw[each][0] for each in cell).values()), len(cell)) for cell in cells)

    raw = [row[1:] for row in rows]
    assert rt.assess(table, definition.parts()[0]).holds is (worst(raw, raw) * Fraction(bound) <= 1)
    try:
        release = rt.publish(table, definition, method=method)
    except Infeasible:
        return
    labels, places = published(release, rows)
    assert worst(labels, [raw[place] for place in places]) * Fraction(bound) <= 1


def test_sentences_say_of_how_many_records_columns_are_known(tmp_path):
    rows = [(who, who % 2, visit % 2, who // 2 % 2) for who in range(16) for visit in range(2)]
    table = table_of(rows)
    wanted = AnyColumns(2, KAnonymity(2)) & InTurn("b", DistinctLDiversity(2))
    release = rt.publish(table, wanted, method=rt.Lattice())
    told = [claim["covers"] for claim in release.certificate["claims"]]
    assert told[0].startswith("An attacker who knows any 2 of 'a', b and c of a person")
    assert "matching records of at least 2 people" in told[0]
    assert told[1].startswith("An attacker who knows 'a' and c of one record of a person")
    assert any("one record of a person" in reason for reason in release.headline.reasons)
    found = rt.verify(release.save(tmp_path / "release"))
    assert found.holds
    assert ("people", "not re-checked") in [(check.name, check.status) for check in found.checks]
    assert found.headline.reasons == release.headline.reasons


@examples(150, few=30)
@given(
    people=st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=3), st.sampled_from("vw")
        ),
        min_size=2,
        max_size=6,
    ),
    share=st.sampled_from(["4/3", "3/2", "2"]),
)
def test_rows_that_may_be_known_are_counted_for_every_set_of_columns(people, share):
    """A value that is the same in all rows of a person: for every column, every part of every profile in it, counted by hand."""
    rows = [(who, *cell, value) for who, (cells, value) in enumerate(people) for cell in cells]
    if len(rows) == len(people):
        return
    frame = pl.DataFrame(rows, schema=["who", "b", "c", "value"], orient="row")
    table = rt.Table(frame, quasi=["b", "c"], sensitive="value", key="who")
    definition = AnyColumns(1, ProbabilisticLDiversity(share))

    def passes(profiles, known):
        sharing = [who for who, profile in enumerate(profiles) if not known - profile]
        most = max(Counter(people[who][1] for who in sharing).values())
        return most * Fraction(share) <= len(sharing)

    longest = max(len(cells) for cells, _ in people)
    holding = longest
    for chosen in ((), (0,), (1,)):
        profiles = [Counter(tuple(cell[c] for c in chosen) for cell in cells) for cells, _ in people]
        for size in range(1, longest + 1):
            parts = {part for profile in profiles for part in combinations(sorted(profile.elements()), size)}
            if not all(passes(profiles, Counter(part)) for part in parts):
                holding = min(holding, size - 1)
                break
    groups = {("b", "c"): count_table(definition.prepare(table)).groups()}
    found = known_rows(definition, Evidence(groups))
    expected = (None, "people") if holding == longest else (holding, "people") if holding else (1, "records")
    assert (found.rows, "people" if found.judged == "chances" else found.judged) == expected
