"""The definitions: verdicts, suppression, composition, searches, the running tally."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

import reticent as rt
from reticent.core import Groups, Histograms, SensitiveDomain
from reticent.definitions.anonymity import KAnonymity
from reticent.definitions.background_knowledge import NegatedKnowledge, WorstCaseKnowledge
from reticent.engine import count_table
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.methods.lattice import search
from reticent.worst_case import curve, negation_curve
from tests.knowledge.conftest import FIXTURES, golden
from tests.worst_case.strategies import bucket_lists, given

FIGURE_3 = [
    {"Flu": 2, "LungCancer": 2, "Mumps": 1},
    {"Flu": 2, "BreastCancer": 1, "HeartDisease": 1, "OvarianCancer": 1},
]


def flu_table(**roles) -> rt.Table:
    quasi = {
        "zip": rt.Hierarchy.masking(digits=5),
        "age": rt.Hierarchy.intervals(widths=[5, 10], origin=0, domain=(20, 29)),
        "sex": rt.Hierarchy.suppression(["F", "M"]),
    }
    frame = pl.read_csv(FIXTURES / "flu.csv")
    return rt.Table(frame, quasi=quasi, sensitive="disease", **{"identifiers": ["name"], **roles})


def test_the_verdict_is_strict_and_exact():
    groups = Groups.from_histograms(FIGURE_3)
    broken = WorstCaseKnowledge("2/3", 1).assess(groups)
    assert (broken.holds, broken.value) == (False, Fraction(2, 3))
    assert broken.witness is not None
    assert broken.witness.group == 0
    assert broken.witness.text == (
        "An attacker who knows person 1 of group 0 does not have LungCancer is 0.6667 (2/3) sure that person 1 of group 0 has Flu; "
        "that must stay below 2/3."
    )
    kept = WorstCaseKnowledge("0.67", 1).assess(groups)
    assert (kept.holds, kept.value, kept.witness) == (True, Fraction(2, 3), None)
    assert kept.diagnostics["curve"] == [Fraction(2, 5), Fraction(2, 3)]
    assert kept.diagnostics["negation_curve"] == [Fraction(2, 5), Fraction(2, 3)]
    assert kept.diagnostics["margin"] == Fraction(67, 100) - Fraction(2, 3)
    assert (kept.diagnostics["breaking_point"], kept.diagnostics["certainty_point"]) == (2, 2)


def test_floats_are_read_as_their_shortest_decimal():
    assert WorstCaseKnowledge(0.6, 3) == WorstCaseKnowledge("3/5", 3)
    assert WorstCaseKnowledge(0.6, 3).parameters() == {"c": "3/5", "k": 3}


@given(bucket_lists, st.integers(0, 3), st.data())
def test_both_definitions_agree_with_the_curves(histograms, k, data):
    groups = Groups.from_histograms(histograms)
    known, negated = curve(histograms, k)[k], negation_curve(histograms, k)[k]
    threshold = data.draw(st.one_of(st.sampled_from([known, negated]), st.fractions(0, 1)))
    for definition, value in ((WorstCaseKnowledge(threshold, k), known), (NegatedKnowledge(threshold, k), negated)):
        assessed = definition.assess(groups)
        assert assessed.value == value
        assert assessed.holds == definition.holds(groups) == (value < threshold)
        assert (assessed.witness is None) == assessed.holds
        assert definition.failing(groups).any() == (not assessed.holds)


@given(bucket_lists, st.integers(0, 2), st.fractions("1/5", 1), count=60)
def test_removing_the_named_groups_again_and_again_ends_in_a_safe_rest(histograms, k, c):
    definition = WorstCaseKnowledge(c, k)
    groups = Groups.from_histograms(histograms)
    while len(groups):
        failing = definition.failing(groups)
        if not failing.any():
            assert definition.holds(groups)
            return
        groups = groups.select(~failing)


@given(bucket_lists, st.integers(0, 2), st.fractions("1/5", 1), count=60)
def test_groups_that_fail_the_relaxation_can_be_in_no_safe_release(histograms, k, c):
    for definition in (WorstCaseKnowledge(c, k), NegatedKnowledge(c, k)):
        relaxed = definition.relaxation()
        assert relaxed is not None
        groups = Groups.from_histograms(histograms)
        for place, hopeless in enumerate(relaxed.failing(groups)):
            if hopeless:
                assert not definition.holds(Groups.from_histograms([histograms[place]]))


def test_a_cross_group_threat_names_the_group_of_the_target():
    groups = Groups.from_histograms([(8, 8, 1, 1, 1), (8, 5, 1, 1, 1, 1, 1)])
    definition = WorstCaseKnowledge("0.83", 2)
    assert definition.failing(groups).tolist() == [False, True]
    assert definition.assess(groups).witness.details["groups"] == [0, 1]
    assert NegatedKnowledge("0.83", 2).holds(groups)


def test_groups_without_rows_are_passed_over():
    column = Groups.from_histograms(FIGURE_3).domain
    cells = Histograms.from_cells(np.array([0, 0, 2, 2]), np.array([0, 1, 0, 1]), np.array([2, 2, 3, 2]), 3, 5)
    groups = Groups(np.array([4, 0, 5]), cells, cells.total(5), column)
    assert WorstCaseKnowledge("0.61", 0).holds(groups)
    assert WorstCaseKnowledge("0.6", 0).failing(groups).tolist() == [False, False, True]
    assert WorstCaseKnowledge("0.6", 0).assess(groups).witness.group == 2
    assert not WorstCaseKnowledge("0.6", 0).failing(groups.select(np.array([False, True, False]))).any()


def test_people_with_several_rows_are_refused():
    visits = {"who": [1, 1, 2, 3], "age": [30, 31, 30, 31], "ill": ["flu", "cold", "flu", "cold"]}
    with pytest.raises(DataError, match="one row per person"):
        rt.assess(rt.Table(visits, quasi=["age"], sensitive="ill", key="who"), WorstCaseKnowledge("0.9", 1))


@pytest.mark.parametrize(("c", "k"), [("1.5", 1), (-1, 1), ("0.5", -1), ("0.5", 1.5), ("x", 1)])
def test_bad_parameters_are_refused_by_name(c, k):
    with pytest.raises(PolicyError, match=r"WorstCaseKnowledge: (c|k) must"):
        WorstCaseKnowledge(c, k)
    with pytest.raises(PolicyError, match=r"NegatedKnowledge: (c|k) must"):
        NegatedKnowledge(c, k)


def test_a_table_without_a_sensitive_column_is_refused():
    groups = Groups(
        np.array([3]),
        Histograms.from_cells(np.zeros(3, int), np.zeros(3, int), None, 1, 1),
        np.array([3]),
        SensitiveDomain.none(),
    )
    with pytest.raises(PolicyError, match="sensitive"):
        WorstCaseKnowledge("0.5", 1).assess(groups)


def test_every_definition_says_what_it_means_and_what_it_does_not_cover():
    for definition in (WorstCaseKnowledge("0.6", 1), NegatedKnowledge("0.6", 3)):
        assert "0.6" in definition.meaning()
        assert definition.not_covered()
        assert definition.monotone
        assert not definition.absorbing
    assert "any 1 fact of" in WorstCaseKnowledge("0.6", 1).meaning()
    assert not WorstCaseKnowledge.local
    assert NegatedKnowledge.local


@pytest.mark.parametrize("case", golden("lattice")["minimal"], ids=lambda case: f"{case['c']}, {case['k']}")
def test_the_full_domain_search_finds_the_golden_nodes(case):
    found = search(flu_table(), WorstCaseKnowledge(case["c"], case["k"]))
    assert [tuple(node.values()) for node in found.minimal or []] == [tuple(node) for node in case["nodes"]]
    assert (found.best is None) == (not case["nodes"])


@pytest.mark.parametrize("strategy", ["default", "exhaustive", "incognito"])
def test_it_combines_with_other_definitions_in_every_search(strategy):
    definition = KAnonymity(5) & WorstCaseKnowledge("0.7", 1) & NegatedKnowledge("0.7", 1)
    found = search(flu_table(), definition, strategy=strategy)
    assert found.best.levels == {"zip": 1, "age": 2, "sex": 0}


def test_suppression_removes_the_groups_that_the_worst_facts_point_at():
    found = search(flu_table(), WorstCaseKnowledge("0.6", 1), suppression="0.5")
    assert found.best is not None
    assert found.best.suppressed in (0, 5)


def test_publishing_verifies_and_infeasible_promises_say_so(tmp_path):
    release = rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1))
    release.save(tmp_path / "release")
    assert rt.verify(tmp_path / "release").holds
    with pytest.raises(Infeasible):
        rt.publish(flu_table(), WorstCaseKnowledge("1/2", 1))


def test_a_bucketized_release_keeps_exact_values_and_shuffles_the_diseases():
    from reticent.methods.lattice import Lattice

    release = rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1), method=Lattice(format="bucketize"))
    assert sorted(release.tables["quasi"]["age"].to_list()) == [21, 22, 23, 24, 24, 25, 26, 27, 28, 29]
    shown = release.tables["sensitive"].group_by("bucket").agg(pl.col("disease").sort())
    assert sorted(map(tuple, shown["disease"].to_list())) == sorted(
        tuple(sorted(value for value, count in each.items() for _ in range(count))) for each in FIGURE_3
    )


def test_several_sensitive_columns_are_each_protected_within_the_other():
    frame = pl.DataFrame({"q": ["a"] * 6, "x": list("uvwuvw"), "y": ["p"] * 3 + ["q"] * 3})
    table = rt.Table(frame, quasi=["q"], sensitive=["x", "y"])
    groups = count_table(table).groups()
    assert WorstCaseKnowledge("0.5", 0, column="x").holds(groups)
    assert not WorstCaseKnowledge("0.5", 1, column="x").holds(groups)
    assert not WorstCaseKnowledge("0.5", 0).holds(groups)
