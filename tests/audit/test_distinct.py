"""Maxima of distinct values: the arrays of the product against sets, and against enumeration."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit import MaxAuditor
from tests.oracles import audit_distinct as synopses
from tests.oracles import audit_maxima as oracle
from tests.sampling import examples


@st.composite
def sessions(draw, most=7):
    n = draw(st.integers(1, most))
    data = draw(st.permutations(range(n)))
    return list(data), draw(st.lists(st.frozensets(st.integers(0, n - 1), min_size=1), max_size=10))


@given(sessions())
@examples(250)
def test_the_auditor_agrees_with_the_synopsis_in_sets(session):
    data, queries = session
    auditor, synopsis = MaxAuditor(len(data), duplicates=False), []
    for query in queries:
        decision = auditor.ask(query)
        assert decision == synopses.answers(synopsis, query)
        if decision:
            answer = max(data[person] for person in query)
            auditor.record(query, answer)
            synopsis = synopses.update(synopsis, query, answer)
    assert all(len(people) > 1 for people, sign, _ in synopsis if sign == "=")


@given(sessions(most=3))
@examples(30)
def test_the_auditor_agrees_with_enumeration(session):
    """Values two apart or more, so that every gap of the grid holds enough distinct values."""
    data, queries = session
    values = [4 + 4 * value for value in data]
    auditor, history, grid = MaxAuditor(len(values), duplicates=False), [], range(17)
    for query in queries[:4]:
        decision = auditor.ask(query)
        assert decision == oracle.enumerated(history, query, len(values), grid, distinct=True)
        if decision:
            answer = max(values[person] for person in query)
            auditor.record(query, answer)
            history.append((query, answer))


@pytest.mark.parametrize("count", [300, pytest.param(8000, marks=pytest.mark.slow)])
def test_long_sessions_with_arrivals_agree_with_the_synopsis_in_sets(count):
    generator, rules = random.Random(7), set()
    for _ in range(count):
        data = generator.sample(range(100), generator.randint(2, 9))
        auditor, synopsis = MaxAuditor(len(data), duplicates=False), []
        for _ in range(15):
            if generator.random() < 0.08:
                data.append(generator.choice([max(data) + 1, min(data) - 1]))
                auditor.extend(len(data))
            query = frozenset(generator.sample(range(len(data)), generator.randint(1, len(data))))
            decision = auditor.would_answer(query)
            rules.add(decision.rule)
            assert decision.answer == synopses.answers(synopsis, query)
            if decision:
                answer = max(data[person] for person in query)
                auditor.record(query, answer)
                synopsis = synopses.update(synopsis, query, answer)
    assert rules == {"single", "safe", "exposes", "implied"}


def test_a_value_that_has_an_owner_cannot_be_answered_for_others():
    """After max{0,1,2} = 9 and max{0,1} = 9, person 2 lies below 9; a query with 2 alone among the three may not yield 9 again."""
    auditor = MaxAuditor(6, duplicates=False)
    auditor.record({0, 1, 2, 3}, 9)
    auditor.record({0, 1}, 9)
    assert not auditor.would_answer({0, 2})
    assert auditor.would_answer({2, 3})
    auditor.record({2, 3}, 5)
    assert auditor.would_answer({2, 3}).rule == "implied"
