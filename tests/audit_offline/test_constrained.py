"""Bounded columns and mixed logs: floating solvers propose, fractions decide."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit import check_log
from reticent.audit.offline.answer_region import Region
from reticent.audit.offline.argument import ByHolder, Goal, Leaf, proves
from reticent.errors import PolicyError
from tests.oracles import audit_offline_brute as brute
from tests.sampling import examples

PEOPLE = 4
SETS = st.lists(st.frozensets(st.integers(0, PEOPLE - 1), min_size=1), min_size=1, max_size=4)
VALUES = st.lists(st.integers(0, 4), min_size=PEOPLE, max_size=PEOPLE)


@examples(40)
@given(SETS, VALUES)
def test_the_intervals_of_a_bounded_column_are_those_of_linear_programs(sets, data):
    log = [(members, "sum", sum(data[j] for j in members)) for members in sets]
    report = check_log(log, n=PEOPLE, lower=0, upper=4)
    assert report.consistent
    assert not report.undecided
    for person in range(PEOPLE):
        low, high = brute.range_by_program(log, PEOPLE, person, 0, 4)
        assert [float(end) for end in report.intervals[person]] == pytest.approx([low, high], abs=1e-6)
        assert (person in report.exposed) == (high - low < 1e-6)
    assert all(report.certificate[person].holds(report.log) for person in report.exposed)


@examples(30)
@given(SETS, st.lists(st.integers(-1, 9), min_size=4, max_size=4))
def test_a_bounded_log_contradicts_itself_iff_no_program_is_feasible(sets, answers):
    log = [(members, "sum", answer) for members, answer in zip(sets, answers, strict=False)]
    report = check_log(log, n=PEOPLE, lower=0, upper=4)
    possible = brute.range_by_program(log, PEOPLE, 0, 0, 4) is not None
    assert report.consistent == possible
    if not possible:
        assert report.contradiction.holds(report.log)


@examples(40)
@given(SETS, st.lists(st.sampled_from(["sum", "max", "min"]), min_size=4, max_size=4), VALUES)
def test_mixed_logs_expose_whom_the_mixed_integer_solver_exposes(sets, functions, data):
    log = [
        (members, function, brute.FUNCTIONS[function](data[j] for j in members))
        for members, function in zip(sets, functions, strict=False)
    ]
    report = check_log(log, n=PEOPLE)
    assert report.consistent
    assert not report.undecided
    for person in range(PEOPLE):
        low, high = brute.range_by_milp(log, PEOPLE, person)
        assert (person in report.exposed) == (high - low < 1e-4), (log, person, low, high)
    assert all(data[person] == value for person, value in report.exposed.items())
    assert all(report.certificate[person].holds(report.log) for person in report.exposed)


@examples(30)
@given(
    SETS,
    st.lists(st.sampled_from(["sum", "max", "min"]), min_size=4, max_size=4),
    st.lists(st.integers(0, 6), min_size=4, max_size=4),
)
def test_mixed_logs_with_any_answers_contradict_themselves_iff_the_mixed_integer_solver_says_so(
    sets, functions, answers
):
    log = list(zip(sets, functions, answers, strict=False))
    report = check_log(log, n=PEOPLE)
    assert report.consistent == (brute.range_by_milp(log, PEOPLE, 0) is not None)
    if not report.consistent:
        assert report.contradiction.holds(report.log)


def test_who_holds_a_maximum_is_argued_case_by_case():
    log = [({0, 1}, "max", 5), ({0, 2}, "sum", 6), ({1, 2}, "sum", 6), ({0, 3}, "sum", 7)]
    report = check_log(log, n=4)
    assert dict(report.exposed) == {0: 5, 1: 5, 2: 1, 3: 2}
    assert all(report.certificate[person].holds(report.log) for person in range(4))
    text = "\n".join(report.lines())
    assert "Some person in query 1 has 5." in text
    assert "If it is person 0:" in text


def test_an_argument_that_leaves_out_a_case_or_a_weight_proves_nothing():
    log = [({0, 1}, "max", 5), ({0, 2}, "sum", 6), ({1, 2}, "sum", 6)]
    report = check_log(log, n=3)
    region = Region.of(report.log)
    proof = report.certificate[2]
    assert isinstance(proof.upper, ByHolder)
    goal = Goal(int(region.head[2]), 1, Fraction(1))
    assert proves(region, goal, proof.upper)
    assert not proves(region, goal, dataclasses.replace(proof.upper, cases=proof.upper.cases[:1]))
    assert not proves(region, goal, Leaf(()))
    assert not dataclasses.replace(proof, value=Fraction(2)).holds(report.log)


def test_one_sided_bounds_are_used_and_the_open_end_stays_open():
    report = check_log([({0, 1, 2}, "sum", 10), ({0, 1}, "sum", 0)], n=4, lower=0)
    assert dict(report.exposed) == {0: 0, 1: 0, 2: 10}
    assert report.intervals[3] == (0, None)
    assert report.as_dict()["intervals"]["3"] == ["0", None]


def test_decimal_answers_of_bounded_columns_stay_exact():
    report = check_log([({0, 1}, "sum", "0.3"), ({1, 2}, "sum", "100.15")], n=3, lower=0, upper=100)
    assert report.intervals[0] == (0, Fraction("0.15"))
    assert report.intervals[1] == (Fraction("0.15"), Fraction("0.3"))
    assert report.intervals[2] == (Fraction("99.85"), 100)


def test_large_classes_are_bundles_and_stay_cheap():
    n = 30_000
    report = check_log([(np.arange(n), "sum", 0), (np.arange(10), "max", 0)], n=n, lower=0)
    assert len(report.exposed) == n
    assert report.certificate[n - 1].holds(report.log)
    assert "the same queries as person 10" in report.certificate[n - 1].lines(report.log)[0]


def test_distinct_values_in_a_mixed_log_are_refused_by_name():
    with pytest.raises(PolicyError, match="duplicates=False is decided for logs of one function only"):
        check_log([({0, 1}, "sum", 3), ({0, 1}, "max", 2)], n=2, duplicates=False)
