"""Queries, decisions and histories: what they accept, and how they say what they do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import reticent as rt
from reticent.audit import (
    AggregateQuery,
    Answered,
    Auditor,
    Decision,
    MaxAuditor,
    OverlapMonitor,
    QueryHistory,
    SumAuditor,
)
from reticent.audit.decision import as_members


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (set(), "at least one person"),
        (np.array([], dtype=np.int64), "at least one person"),
        ({True}, "whole number, but one is True"),
        ([0, 1.5], "whole number, but one is 1.5"),
        ([0, None], "whole number, but one is None"),
        ([0, float("nan")], "whole number, but one is nan"),
        ("01", "set of whole numbers, but they are '01'"),
        (3, "set of whole numbers, but they are 3"),
        ([-1, 2], "numbered from 0, but a member of the query is -1"),
        ([0, 2**70], "which is not the number of a person"),
        ([4, 1, 4], "person 4 is named twice"),
        (np.array([1, 4, 4]), "person 4 is named twice"),
        (np.array([0.0, 1.0]), "not an array of float64"),
        (np.array([True, False]), "numpy.flatnonzero"),
        (np.array([[0, 1]]), "2 dimensions"),
        ({0, 10}, "There are 10 people, numbered 0 to 9, but a member of the query is 10"),
    ],
    ids=str,
)
def test_members_that_make_no_sense_are_refused_by_name(members, message):
    with pytest.raises(rt.PolicyError, match=message):
        as_members(members, 10)


def test_members_may_come_in_any_iterable_and_any_integer_type():
    for members in (
        {5, 0, 2},
        [5, 0, 2],
        (2, 5, 0),
        np.array([5, 2, 0]),
        np.array([0, 2, 5], dtype=np.uint8),
        {np.int32(5), 0, 2},
    ):
        assert as_members(members, 6).tolist() == [0, 2, 5]
    assert as_members(range(3)).dtype == np.int64


def test_a_query_is_its_row_set_however_it_was_written():
    written = [
        AggregateQuery.of({3, 1}, "max"),
        AggregateQuery.of([1, 3], "max"),
        AggregateQuery.of(np.array([1, 3]), "max"),
    ]
    assert len(set(written)) == 1
    assert len({query.identity for query in written}) == 1
    assert AggregateQuery.of({1, 3}, "sum") != written[0]
    assert AggregateQuery.of({1, 3}, "sum").identity == written[0].identity
    assert AggregateQuery.of({1, 4}, "max").identity != written[0].identity
    assert len(written[0]) == 2
    assert written[0] != "a query"


def test_a_weighted_sum_with_ones_is_the_plain_sum_and_zeros_leave_people_out():
    assert AggregateQuery.linear({4: 1, 2: 1, 3: 0}) == AggregateQuery.of({2, 4})
    weighted = AggregateQuery.linear({4: -2, 2: 1})
    assert weighted.coefficients.tolist() == [1, -2]
    assert weighted.identity != AggregateQuery.of({2, 4}).identity


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AggregateQuery.of({0}, "median"), "function must be one of sum, max, min"),
        (lambda: AggregateQuery.of({0}, "maxx"), "Did you mean 'max'"),
        (lambda: AggregateQuery.linear({0: 0}), "at least one person"),
        (lambda: AggregateQuery.linear({0: 1.5}), "coefficient of person 0 must be a whole number"),
        (lambda: AggregateQuery.linear({0: True}), "coefficient of person 0 must be a whole number"),
        (lambda: AggregateQuery.linear({0: 2**59}), "between -2\\^59 and 2\\^59"),
        (lambda: AggregateQuery.linear({0: 2**70}), "between -2\\^59 and 2\\^59"),
        (lambda: AggregateQuery.linear({0: -(2**60)}), "coefficient of person 0 must be at least"),
        (lambda: AggregateQuery(np.array([0, 1]), "max", np.array([1, 2])), "coefficients belong to sums"),
        (
            lambda: AggregateQuery(np.array([0, 1]), "sum", np.array([1, 0])),
            "one non-zero whole number for each member",
        ),
        (
            lambda: AggregateQuery(np.array([0, 1]), "sum", np.array([1.0, 2.0])),
            "one non-zero whole number for each member",
        ),
        (lambda: Answered(AggregateQuery.of({0, 1}, "max")), "answer is missing"),
        (lambda: Answered(AggregateQuery.of({0, 1}, "max"), float("nan")), "answer must be a number"),
        (lambda: Answered(AggregateQuery.of({0, 1}, "max"), True), "answer must be a number"),
        (lambda: QueryHistory(0), "n must be at least 1"),
        (lambda: QueryHistory(True), "n must be a whole number"),
        (lambda: QueryHistory(3, lower=2, upper=1), "lower must be below upper"),
        (lambda: QueryHistory(3, lower="low"), "lower must be a number"),
        (lambda: QueryHistory(3, (Answered(AggregateQuery.of({3})),)), "numbered 0 to 2"),
        (
            lambda: QueryHistory(
                3, (Answered(AggregateQuery.of({0, 1})), Answered(AggregateQuery.of({0, 1}, "max"), 3))
            ),
            "one family",
        ),
    ],
)
def test_shapes_that_make_no_sense_are_refused_at_birth(make, message):
    with pytest.raises(rt.PolicyError, match=message):
        make()


def test_answers_are_exact_and_a_float_is_its_shortest_decimal():
    assert Answered(AggregateQuery.of({0, 1}, "max"), 0.1).answer == Fraction(1, 10)
    assert Answered(AggregateQuery.of({0, 1}, "max"), "2/3").answer == Fraction(2, 3)
    assert Answered(AggregateQuery.of({0, 1})).answer is None


def test_a_decision_is_true_when_it_answers():
    assert Decision(True, "fine", "safe")
    assert not Decision(False, "no", "exposes")


def test_a_history_grows_without_changing():
    empty = QueryHistory(4, duplicates=False, lower=0)
    longer = empty.followed_by(AggregateQuery.of({0, 1}, "max"), 5).followed_by(AggregateQuery.of({2, 3}, "max"), "7/2")
    assert (empty.family, longer.family, len(empty.answered)) == (None, "max", 0)
    assert [entry.answer for entry in longer.answered] == [5, Fraction(7, 2)]
    assert (longer.duplicates, longer.lower, longer.n) == (False, 0, 4)


def test_a_query_cannot_be_changed_after_it_was_asked():
    members = np.array([0, 1])
    query = AggregateQuery.of(members)
    members[0] = 5
    assert query.members.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        query.members[0] = 5


def test_the_auditors_keep_the_protocol():
    for auditor in (SumAuditor(5), SumAuditor(500), MaxAuditor(5), OverlapMonitor(5, size=2, overlap=1)):
        assert isinstance(auditor, Auditor)
