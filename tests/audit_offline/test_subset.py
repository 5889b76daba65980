"""The largest part of a log that exposes nobody, against all parts."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit import check_log, largest_safe_subset
from reticent.errors import Infeasible
from tests.oracles import audit_offline_brute as brute
from tests.sampling import examples

PEOPLE = 5
SETS = st.lists(st.frozensets(st.integers(0, PEOPLE - 1), min_size=1), max_size=7)


def largest_by_enumeration(log) -> int:
    for size in range(len(log), -1, -1):
        for part in combinations(log, size):
            if not brute.exposed_by_elimination(list(part), PEOPLE):
                return size
    raise AssertionError("no questions expose nobody")


@examples(25)
@given(SETS, st.lists(st.integers(-5, 5), min_size=PEOPLE, max_size=PEOPLE))
def test_as_many_questions_are_kept_as_by_enumeration(sets, data):
    log = [(members, "sum", sum(data[j] for j in members)) for members in sets]
    found = largest_safe_subset(log, n=PEOPLE)
    assert found.optimal
    assert len(found.kept) == largest_by_enumeration(log)
    assert sorted([*found.kept, *found.dropped]) == list(range(1, len(log) + 1))
    assert check_log([log[number - 1] for number in found.kept], n=PEOPLE).ok


def test_maxima_are_kept_by_the_answers_they_had():
    log = [(range(5), "max", 10), ({0, 1, 2}, "max", 8), ({2, 3}, "max", 9), ({0, 1}, "max", 8)]
    found = largest_safe_subset(log, n=5)
    assert found.dropped in ((2,), (3,)), "without either of them, two people can hold the 10"
    kept, dropped = list(found.kept), list(found.dropped)
    assert found.as_json() == {"kept": kept, "dropped": dropped, "optimal": True, "label": "largest possible"}


def test_many_questions_are_taken_greedily_and_labelled_so():
    log = [({j, j + 1}, "sum", 1) for j in range(20)] + [({0, 2}, "sum", 0), ({3}, "sum", 1)]
    found = largest_safe_subset(log, n=21)
    assert found.dropped == (21, 22)
    assert not found.optimal
    assert found.label == "not proved largest; a larger subset may exist"


def test_a_log_that_contradicts_itself_has_no_safe_part():
    with pytest.raises(Infeasible, match="contradicts itself"):
        largest_safe_subset([({0, 1}, "sum", 1), ({0, 1}, "sum", 2)], n=2)
