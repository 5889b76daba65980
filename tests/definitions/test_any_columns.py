"""Any L columns: the goldens, the exact check against all sets by brute force, what fits against what is equal, and the way through a policy and a certificate."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.core import closure
from reticent.definitions import (
    AnyColumns,
    AverageRisk,
    DistinctLDiversity,
    EpsilonMAnonymity,
    KAnonymity,
    KMap,
    ProbabilisticLDiversity,
    TCloseness,
    any_columns,
    definition_from,
)
from reticent.engine import count_table
from reticent.errors import Infeasible, PolicyError
from reticent.policy import Policy
from reticent.policy.expressions import definition_from_text
from reticent.propose.exposure import exposures
from reticent.release.claims import check_claims
from reticent.table import FrameRows
from tests.oracles import known_columns as oracle
from tests.sampling import examples

NAMES = "abcde"


def table_of(rows, secret=None):
    frame = pl.DataFrame(rows, schema=list(NAMES[: len(rows[0])]), orient="row")
    if secret is None:
        return rt.Table(frame, quasi=frame.columns)
    return rt.Table(frame.with_columns(s=pl.Series(secret)), quasi=frame.columns, sensitive="s")


@st.composite
def tables(draw, most_rows=12, most_columns=5):
    width = draw(st.integers(1, most_columns))
    values = draw(st.lists(st.tuples(*[st.integers(0, 2)] * width), min_size=1, max_size=most_rows))
    return [tuple(map(str, row)) for row in values]


@st.composite
def relations_of(draw, width):
    found = []
    for _ in range(draw(st.integers(0, 3))):
        target = draw(st.integers(0, width - 1))
        others = [column for column in range(width) if column != target]
        if others:
            sources = draw(st.lists(st.sampled_from(others), min_size=1, max_size=2, unique=True))
            found.append((tuple(sorted(sources)), target))
    return found


def test_a_cube_has_cells_of_four_two_and_one():
    table = table_of([tuple(map(str, corner)) for corner in product((0, 1), repeat=3)])
    assert [rt.assess(table, AnyColumns(known, KAnonymity(2))).value for known in (1, 2, 3, 4)] == [4, 2, 1, 1]
    release = rt.publish(table, AnyColumns(2, KAnonymity(2)), method=rt.Lattice())
    assert release.utility["loss"] == 0
    assert rt.publish(table, KAnonymity(2), method=rt.Lattice()).utility["loss"] > 0


def test_labels_that_overlap_are_no_company():
    """Two records that fit, of which a register leaves one: the world is decided, although two fit."""
    labels = [(frozenset({1, 2}),), (frozenset({2, 3}),)]
    people = [(1,), (2,)]
    assert sum(2 in label for (label,) in labels) == 2
    assert oracle.worlds(people, labels, [0]) == [(0, 1)]
    starred = [(frozenset("a"), frozenset("bc")), (frozenset("a"), frozenset("b"))]
    assert oracle.worlds([("a", "c"), ("a", "b")], starred, [0, 1]) == [(0, 1)]
    shown = table_of([("a", "*"), ("a", "b")])
    found = rt.assess(shown, AnyColumns(2, KAnonymity(2)))
    assert (found.holds, found.value) == (False, 1)


def test_different_columns_of_different_people_are_not_covered():
    """Records ax, ay, bx, by: any one column finds two, but p has a, and q and q' have x."""
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert rt.assess(table_of(rows), AnyColumns(1, KAnonymity(2))).holds
    left = {
        p
        for p, q, other in product(range(4), repeat=3)
        if len({p, q, other}) == 3 and rows[p][0] == "a" and rows[q][1] == rows[other][1] == "x"
    }
    assert left == {1}
    assert "different columns of different people" in AnyColumns(1, KAnonymity(2)).not_covered()


def test_what_can_be_computed_is_known():
    """a = 0..3 shown as {0,1} and {2,3}, b, and c = a mod 2: every pair has two records, and whoever knows a and b knows c."""
    rows = [("{0,1}" if a < 2 else "{2,3}", str(b), str(a % 2)) for a in range(4) for b in (0, 1)]
    groups = count_table(table_of(rows)).groups()
    assert AnyColumns(2, KAnonymity(2)).assess(groups).value == 2
    closed = AnyColumns(2, KAnonymity(2), relations=[["a", "c"]]).assess(groups)
    assert (closed.holds, closed.value) == (False, 1)
    assert set(closed.witness.details["columns"]) == {"a", "b", "c"}


def nearly_added_table() -> rt.Table:
    """c = a + b in all but three of 200 rows: every two columns are shared by ten rows and more, and all three make three rows unique."""
    rows = [(i % 5, i // 5 % 4, i % 5 + i // 5 % 4) for i in range(200)]
    rows[0], rows[6], rows[2] = (0, 0, 3), (1, 1, 4), (2, 0, 3)
    return rt.Table(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"), quasi=["a", "b", "c"])


def test_assess_search_preview_and_publish_know_the_same_relations():
    table, wanted = nearly_added_table(), AnyColumns(2, KAnonymity(2))
    groups = count_table(table).groups()
    assert wanted.assess(groups).value >= 2, "without the relation it would hold"
    found = rt.assess(table, wanted)
    assert (found.holds, found.value) == (False, 1)
    assert (("a", "b"), "c") in found.definition.relations
    assert not rt.search(table, wanted, node={}).minimal
    release = rt.publish(table, wanted, method=rt.Lattice())
    assert release.utility["loss"] == rt.preview(table, wanted, rt.Lattice()).utility["loss"] > 0
    assert rt.assess(release, wanted).holds
    (exposed,) = exposures(table, [wanted])
    assert not exposed.assessments[0].holds


def test_a_release_that_states_no_relations_is_assessed_by_all_columns(tmp_path: Path):
    table, wanted = nearly_added_table(), AnyColumns(2, KAnonymity(2))
    plain = rt.publish(table, KAnonymity(1), method=rt.Lattice())
    for subject in (plain, plain.save(tmp_path / "plain")):
        found = rt.assess(subject, wanted)
        assert (found.holds, found.value, found.definition) == (False, 1, wanted)
        assert "published rows do not show which columns can be computed" in found.witness.text
    assert rt.assess(rt.publish(table, KAnonymity(2), method=rt.Lattice()), wanted).holds


def test_a_source_that_shows_nothing_still_gives_what_follows_from_it():
    rows = [("*", weekday, month) for weekday in ("mo", "tu") for month in ("1", "2")]
    groups = count_table(table_of(rows)).groups()
    day = (("a",), "b"), (("a",), "c")
    assert AnyColumns(1, KAnonymity(2)).assess(groups).value == 2
    assert AnyColumns(1, KAnonymity(2), relations=day).assess(groups).value == 1


@examples(300)
@given(data=st.data(), rows=tables(), known=st.integers(1, 5), k=st.integers(1, 4))
def test_the_check_is_that_of_all_sets_of_columns(data, rows, known, k):
    relations = data.draw(relations_of(len(rows[0])))
    named = [(tuple(NAMES[each] for each in sources), NAMES[target]) for sources, target in relations]
    table = table_of(rows)
    definition = AnyColumns(known, KAnonymity(k), relations=named)
    found = rt.assess(table, definition)
    least = oracle.smallest(rows, known, relations)
    assert (found.holds, found.value) == (least >= k, least)
    failing = oracle.failing(rows, known, lambda cell: len(cell) >= k, relations)
    assert set(found.failing_rows().tolist()) == failing
    if not found.holds:
        details = found.witness.details
        columns = [NAMES.index(name) for name in details["columns"]]
        labels = tuple(details["labels"].values())
        assert sum(tuple(row[c] for c in columns) == labels for row in rows) == details["count"] == least


@examples(200, few=20)
@given(data=st.data(), rows=tables(most_columns=4), known=st.integers(1, 4), bound=st.integers(2, 3))
def test_sensitive_values_are_judged_in_every_cell(data, rows, known, bound):
    secret = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    table = table_of(rows, secret)

    def values(cell):
        return [secret[record] for record in cell]

    def shares(cell):
        return max(Fraction(values(cell).count(value), len(cell)) for value in values(cell))

    every = [cell for chosen in oracle.sets_of_columns(len(rows[0]), known) for cell in oracle.cells(rows, chosen)]
    for inner, passes, achieved in (
        (
            DistinctLDiversity(bound),
            lambda cell: len(set(values(cell))) >= bound,
            min(len(set(values(c))) for c in every),
        ),
        (ProbabilisticLDiversity(bound), lambda cell: shares(cell) * bound <= 1, 1 / max(map(shares, every))),
    ):
        found = rt.assess(table, AnyColumns(known, inner))
        failing = oracle.failing(rows, known, passes)
        assert (found.holds, found.value) == (not failing, achieved)
        # Rows are named by the largest sets: a cell of fewer columns fails only if one of its parts there does.
        largest = [
            chosen for chosen in oracle.sets_of_columns(len(rows[0]), known) if len(chosen) >= min(known, len(rows[0]))
        ]
        parts = [cell for chosen in largest for cell in oracle.cells(rows, chosen)]
        assert set(found.failing_rows().tolist()) == {row for cell in parts if not passes(cell) for row in cell}
    both = rt.assess(table, AnyColumns(known, KAnonymity(2) & DistinctLDiversity(bound)))
    failing = oracle.failing(rows, known, lambda cell: len(cell) >= 2 and len(set(values(cell))) >= bound)
    assert both.holds is (not failing)


@examples(100)
@given(data=st.data(), rows=tables(most_rows=10), known=st.integers(1, 3))
def test_merging_labels_for_all_records_never_lowers_a_verdict(data, rows, known):
    column = data.draw(st.integers(0, len(rows[0]) - 1))
    merged = [tuple("0" if (c == column and label == "1") else label for c, label in enumerate(row)) for row in rows]
    before, after = (rt.assess(table_of(each), AnyColumns(known, KAnonymity(2))).value for each in (rows, merged))
    assert after >= before


@examples(100)
@given(rows=tables(most_rows=10), more=tables(most_rows=10), known=st.integers(1, 3))
def test_blocks_that_pass_pass_together(rows, more, known):
    """The composition lemma, and the superset lemma: all columns imply any of them, more columns imply fewer."""
    width = min(len(rows[0]), len(more[0]))
    first, second = ([row[:width] for row in each] for each in (rows, more))
    one, other, both = (
        rt.assess(table_of(each), AnyColumns(known, KAnonymity(1))).value for each in (first, second, first + second)
    )
    assert both >= min(one, other)
    table = table_of(first)
    values = [rt.assess(table, AnyColumns(each, KAnonymity(1))).value for each in range(1, width + 1)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == rt.assess(table, KAnonymity(1)).value


def test_widening_single_records_can_break_it():
    assert rt.assess(table_of([("a",)] * 5), AnyColumns(1, KAnonymity(5))).holds
    assert not rt.assess(table_of([("a",)] * 4 + [("*",)]), AnyColumns(1, KAnonymity(5))).holds
    assert not AnyColumns(1, KAnonymity(5)).absorbing


@examples(60)
@given(data=st.data())
def test_cells_worlds_and_fits_are_in_this_order(data):
    """g <= h <= f: the own cell, the records that some world gives her, and those that fit."""
    size = data.draw(st.integers(2, 5))
    domain = data.draw(st.sampled_from(["01", "012"]))
    people = data.draw(st.lists(st.tuples(*[st.sampled_from(domain)] * 2), min_size=size, max_size=size))
    labels = [
        tuple(frozenset(data.draw(st.sets(st.sampled_from(domain)))) | {value} for value in person) for person in people
    ]
    texts = [tuple("".join(sorted(label)) for label in row) for row in labels]
    for columns in ((0,), (1,), (0, 1)):
        every = oracle.worlds(people, labels, columns)
        for person in range(size):
            own = next(cell for cell in oracle.cells(texts, columns) if person in cell)
            possible = {world[person] for world in every}
            fits = {r for r in range(size) if all(people[person][c] in labels[r][c] for c in columns)}
            assert set(own) <= possible <= fits
            # No record is likelier hers than one of its cell's share.
            for record in possible:
                cell = next(cell for cell in oracle.cells(texts, columns) if record in cell)
                share = Fraction(sum(world[person] == record for world in every), len(every))
                assert share <= Fraction(1, len(cell))


@examples(100)
@given(data=st.data(), chosen=st.sets(st.sampled_from(NAMES)))
def test_a_closure_is_closed(data, chosen):
    relations = [(tuple(NAMES[s] for s in sources), NAMES[t]) for sources, t in data.draw(relations_of(len(NAMES)))]
    once = closure(chosen, relations)
    assert chosen <= once
    assert closure(once, relations) == once
    assert closure(chosen | {"a"}, relations) >= once


def test_many_columns_are_told_apart():
    """More combinations of labels than a word can number."""
    draw = np.random.default_rng(2)
    frame = pl.DataFrame({f"c{place}": draw.integers(0, 3, 60) for place in range(50)})
    table = rt.Table(frame.with_columns(s=pl.Series(draw.integers(0, 3, 60))), quasi=frame.columns, sensitive="s")
    rows, secret = frame.rows(), table.frame["s"].to_list()
    for inner, passes in (
        (KAnonymity(3), lambda cell: len(cell) >= 3),
        (DistinctLDiversity(2), lambda cell: len({secret[row] for row in cell}) >= 2),
    ):
        found = rt.assess(table, AnyColumns(2, inner))
        assert set(found.failing_rows().tolist()) == oracle.failing(rows, 2, passes)


def test_larger_sets_are_judged_where_there_are_too_many(monkeypatch):
    rows = [tuple(map(str, corner)) for corner in product((0, 1), repeat=5)]
    twice = table_of(rows + rows)
    exact = {known: rt.assess(twice, AnyColumns(known, KAnonymity(2))).value for known in (2, 3)}
    assert exact == {2: 16, 3: 8}
    monkeypatch.setattr(any_columns, "MOST_COUNTED", 0)
    monkeypatch.setattr(any_columns, "_COVERING", 3)
    assert rt.assess(twice, AnyColumns(2, KAnonymity(2))).holds
    covered = rt.assess(twice, AnyColumns(2, KAnonymity(4)))
    assert (covered.holds, covered.value) == (True, 4)
    unproven = rt.assess(twice, AnyColumns(2, KAnonymity(16)))
    assert not unproven.holds
    assert "may hold, but is not proven" in unproven.witness.text


def test_the_sets_of_a_covering_hold_every_set():
    rows = [tuple(map(str, corner)) for corner in product((0, 1), repeat=5)]
    groups = count_table(table_of(rows)).groups()
    for known, most in product((1, 2, 3), (1, 3, 8, 50)):
        sets = any_columns.ColumnSets(groups, groups.labels, known).covering(most)
        assert len(sets) <= max(most, 1)
        for chosen in oracle.sets_of_columns(5, known):
            assert any({NAMES[each] for each in chosen} <= set(columns) for columns in sets)


@pytest.mark.parametrize(
    "method",
    [rt.Lattice(), rt.Mondrian(values="sets"), rt.Mondrian(split="loss", values="ranges"), rt.Suppress()],
    ids=str,
)
def test_releases_of_every_method_pass_by_brute_force(method, tmp_path):
    draw = np.random.default_rng(5)
    frame = pl.DataFrame({name: draw.integers(0, 4, 60) for name in NAMES}).with_columns(
        s=pl.Series(draw.integers(0, 3, 60))
    )
    table = rt.Table(frame, quasi=list(NAMES), sensitive="s")
    definition = AnyColumns(2, KAnonymity(3) & DistinctLDiversity(2))
    release = rt.publish(table, definition, method=method)
    release.save(tmp_path / "release")
    assert rt.verify(tmp_path / "release").holds
    shown = release.frame.select(list(NAMES)).rows()
    secret = release.frame["s"].to_list()
    assert oracle.failing(shown, 2, lambda c: len(c) >= 3 and len({secret[r] for r in c}) >= 2) == set()


def test_buckets_pass_one_by_one():
    """Rows of a bucket show their exact values, so that few columns may lead to one bucket: each must be diverse by itself."""
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({name: draw.integers(0, 4, 40) for name in NAMES[:3]}).with_columns(
        s=pl.Series(draw.integers(0, 3, 40))
    )
    table = rt.Table(frame, quasi=list(NAMES[:3]), sensitive="s")
    release = rt.publish(table, AnyColumns(1, DistinctLDiversity(2)), method=rt.Lattice(format="bucketize"))
    values = release.tables["sensitive"].group_by("bucket").agg(pl.col("s").n_unique())
    assert values["s"].min() >= 2
    with pytest.raises(PolicyError, match="singled out by quasi values"):
        rt.publish(table, rt.InTurn("a", DistinctLDiversity(2)), method=rt.Lattice(format="bucketize"))


def test_a_spoiled_release_is_found_out():
    rows = [tuple(map(str, corner)) for corner in product((0, 1), repeat=3)]
    release = rt.publish(table_of(rows), AnyColumns(2, KAnonymity(2)), method=rt.Lattice())
    shown = pl.concat([release.frame[:-1], release.frame[:1]])
    spoiled = replace(release.public, rows={"data": FrameRows(shown)})
    (check,) = [each for each in check_claims(spoiled, None, None, Context()) if each.claim]
    assert (check.status, check.detail) == ("fails", "a = 1 and b = 1: only 1 of at least 2 people.")


def test_it_is_written_and_read_again():
    definition = AnyColumns(2, KAnonymity(5) & TCloseness("0.2"), relations=[[["in", "out"], "stay"]])
    plain = json.loads(json.dumps(definition.parameters()))
    assert definition_from("AnyColumns", plain) == definition
    assert definition_from_text(str(AnyColumns(2, KAnonymity(5)))) == AnyColumns(2, KAnonymity(5))
    assert definition_from_text("AnyColumns(2, KAnonymity(5) & DistinctLDiversity(2)) & KAnonymity(2)") == (
        AnyColumns(2, KAnonymity(5) & DistinctLDiversity(2)) & KAnonymity(2)
    )
    assert AnyColumns(2, [{"name": "KAnonymity", "k": 5}, {"name": "DistinctLDiversity", "l": 2}]) == (
        AnyColumns(2, KAnonymity(5) & DistinctLDiversity(2))
    )


def test_a_policy_points_at_what_is_wrong_inside(tmp_path: Path):
    text = '[roles]\nquasi = ["a"]\n[[definition]]\nname = "AnyColumns"\nknown = 2\ninner = {name = "KAnonymity", k = -1}\n'
    with pytest.raises(PolicyError, match=r"policy:6:.*k must be at least 1"):
        Policy.parse(text)
    good = Policy.parse(text.replace("-1", "3"))
    assert good.definition == AnyColumns(2, KAnonymity(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AnyColumns(0, KAnonymity(2)), "known must be at least 1"),
        (lambda: AnyColumns(2, AverageRisk("0.1")), "AverageRisk"),
        (lambda: AnyColumns(2, EpsilonMAnonymity(2, 2)), "EpsilonMAnonymity"),
        (lambda: AnyColumns(2, KAnonymity(2, quasi=["a"])), "cannot be used for any columns"),
        (lambda: AnyColumns(2, AnyColumns(1, KAnonymity(2))), "cannot be used for any columns"),
        (lambda: AnyColumns(2, KMap(2, pl.DataFrame({"a": [1]}))), "KMap"),
        (lambda: AnyColumns(2, 5), "inner must be a definition of groups"),
        (lambda: AnyColumns(2, KAnonymity(2), relations=[["a"]]), "a relation is a list of columns"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(make, message):
    with pytest.raises(PolicyError, match=message):
        make()


def test_more_people_than_there_are_is_infeasible():
    with pytest.raises(Infeasible):
        rt.publish(table_of([("a", "b")] * 3), AnyColumns(1, KAnonymity(4)), method=rt.Lattice())
