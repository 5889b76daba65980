"""Logs of maxima or minima: who alone can hold an extreme."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit import check_log
from tests.oracles import audit_offline_brute as brute
from tests.sampling import examples

PEOPLE = 3
QUESTIONS = st.lists(
    st.tuples(st.frozensets(st.integers(0, PEOPLE - 1), min_size=1), st.sampled_from([2, 4, 6])), max_size=4
)
# Room below and between the answers, so that the floor of the grid exposes nobody.
GRID = range(-3, 8)


@examples(50)
@given(QUESTIONS, st.sampled_from(["max", "min"]), st.booleans())
def test_exposed_people_are_those_of_enumeration(questions, function, duplicates):
    sign = 1 if function == "max" else -1
    log = [(members, function, sign * answer) for members, answer in questions]
    report = check_log(log, n=PEOPLE, duplicates=duplicates)
    expected = brute.exposed_over(log, PEOPLE, [sign * value for value in GRID], distinct=not duplicates)
    assert report.consistent == (expected is not None)
    if expected is None:
        assert report.contradiction.holds(report.log)
    else:
        assert dict(report.exposed) == expected
        assert all(report.certificate[person].holds(report.log) for person in report.exposed)


def test_the_proof_names_who_is_kept_away_by_which_question():
    report = check_log([(range(5), "max", 10), ({0, 1, 2}, "max", 8), ({2, 3}, "max", 9)], n=5)
    assert report.certificate[4].lines(report.log) == [
        "Some person in query 1 has its maximum, 10.",
        "Not people 0, 1, 2: at most 8 by query 2.",
        "Not person 3: at most 9 by query 3.",
        "So it is person 4, whose value is 10.",
    ]
    assert report.as_dict()["certificate"]["4"]["excluded"] == {"2": [0, 1, 2], "3": [3]}


def test_a_proof_that_forgets_somebody_or_cites_the_wrong_question_does_not_hold():
    report = check_log([(range(3), "max", 10), ({0}, "max", 8), ({1}, "max", 9)], n=3)
    proof = report.certificate[2]
    assert proof.holds(report.log)
    assert not dataclasses.replace(proof, excluded=proof.excluded[:1]).holds(report.log)
    assert not dataclasses.replace(proof, excluded=((2, (0, 1)),)).holds(report.log)
    assert not dataclasses.replace(proof, person=None).holds(report.log)


def test_equal_answers_share_a_holder_only_where_values_are_distinct():
    log = [({0, 1}, "max", 5), ({1, 2}, "max", 5)]
    assert check_log(log, n=3).ok
    assert check_log(log, n=3, duplicates=False).exposed == {1: 5}


@pytest.mark.parametrize("duplicates", [True, False])
def test_nobody_left_to_hold_an_extreme_is_a_contradiction(duplicates):
    report = check_log([({0, 1}, "max", 5), ({0, 1, 2}, "max", 4)], n=3, duplicates=duplicates)
    assert report.consistent is False
    assert "No one is left to have it." in report.contradiction.lines(report.log)
