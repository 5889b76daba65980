"""Max and min auditors where people may share a value: goldens, Algorithms 1 and 2, enumeration."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.audit import AggregateQuery, MaxAuditor, MinAuditor, QueryHistory
from tests.oracles import audit_maxima as oracle
from tests.sampling import examples


def told(n, answered, *, duplicates=True):
    """An auditor that has answered (members counted from 1, answer) pairs."""
    auditor = MaxAuditor(n, duplicates=duplicates)
    for members, answer in answered:
        auditor.record({person - 1 for person in members}, answer)
    return auditor


def members(*people):
    return {person - 1 for person in people}


@pytest.mark.parametrize("duplicates", [True, False])
def test_three_of_four_are_denied_whatever_the_data(duplicates):
    """QA-G2: after the maximum of all four, any three are denied."""
    for top in (9, 4, -3, Fraction(7, 2)):
        auditor = told(4, [((1, 2, 3, 4), top)], duplicates=duplicates)
        assert not auditor.ask(members(1, 3, 4))
        assert not auditor.ask(members(1, 2, 3))


def test_the_decision_depends_on_past_answers_only_where_it_must():
    """QA-G5."""
    everybody = ((1, 2, 3, 4, 5), 10)
    assert told(5, [everybody, ((1, 2, 3), 10)]).ask(members(3, 4))
    assert not told(5, [everybody, ((1, 2, 3), 8)]).ask(members(3, 4))
    for second in (10, 8):
        assert not told(5, [everybody, ((1, 2, 3), second)], duplicates=False).ask(members(3, 4))


def test_the_printed_condition_turns_false_again_above_the_top():
    """QA-G6, E5: with the literal condition D the scan would answer; D' denies."""
    history = [(frozenset(members(1, 2, 6)), 5), (frozenset(members(3, 4, 5)), 10)]
    query = frozenset(members(1, 3))
    assert oracle.candidates(history, query) == [4, 5, Fraction(15, 2), 10, 11]
    table = oracle.columns(history, query)
    shown = {name: "".join("FT"[value] for value in column) for name, column in table.items()}
    assert shown == {"A": "FFFFF", "B": "FFFFT", "C": "FFFFF", "D'": "FFTTT", "literal D": "FFTTF"}
    assert not told(6, [((1, 2, 6), 5), ((3, 4, 5), 10)]).ask(query)
    assert not oracle.algorithm_1(history, query)
    assert not oracle.algorithm_2(history, query)


@st.composite
def sessions(draw, most=6, values=5):
    """Data with repeats, and query sets."""
    n = draw(st.integers(1, most))
    data = draw(st.lists(st.integers(0, values), min_size=n, max_size=n))
    queries = st.frozensets(st.integers(0, n - 1), min_size=1)
    return data, draw(st.lists(queries, max_size=10))


@given(sessions())
@examples(250)
def test_the_linear_auditor_agrees_with_algorithms_1_and_2(session):
    """P2; the history is that of a real data set, so answers repeat."""
    data, queries = session
    auditor, history = MaxAuditor(len(data)), []
    for query in queries:
        decision = auditor.ask(query)
        assert decision == oracle.algorithm_1(history, query) == oracle.algorithm_2(history, query)
        if decision:
            answer = max(data[person] for person in query)
            auditor.record(query, answer)
            history.append((query, answer))


@given(sessions(most=4, values=2))
@examples(40)
def test_the_linear_auditor_agrees_with_enumeration(session):
    """Data on {2, 4, 6}, worlds on 0..8: a grid value lies in every gap. Also P3, nobody is exposed at the end."""
    data, queries = session
    values = [2 + 2 * value for value in data]
    auditor, history, grid = MaxAuditor(len(values)), [], range(9)
    for query in queries[:5]:
        decision = auditor.ask(query)
        assert decision == oracle.enumerated(history, query, len(values), grid)
        if decision:
            answer = max(values[person] for person in query)
            auditor.record(query, answer)
            history.append((query, answer))
    assert all(len(found) != 1 for found in oracle.extremes(history))


@given(sessions())
@examples(100)
def test_every_refusal_has_a_consistent_answer_that_exposes_somebody(session):
    """P4; a refused person's own maximum is its value."""
    data, queries = session
    auditor, history = MaxAuditor(len(data)), []
    for query in queries:
        if auditor.ask(query):
            answer = max(data[person] for person in query)
            auditor.record(query, answer)
            history.append((query, answer))
            continue
        tried = oracle.candidates(history, query) or [0]
        sizes = [[len(found) for found in oracle.extremes([*history, (query, answer)])] for answer in tried]
        assert any(min(found) == 1 for found in sizes)


@pytest.mark.parametrize("sessions_played", [400, pytest.param(12_000, marks=pytest.mark.slow)])
def test_long_sessions_with_arrivals_agree_with_algorithm_1(sessions_played):
    generator, decisions = random.Random(3), 0
    for _ in range(sessions_played):
        data = [generator.randint(0, 6) for _ in range(generator.randint(2, 8))]
        auditor, history = MaxAuditor(len(data)), []
        for _ in range(15):
            if generator.random() < 0.08:
                data.append(generator.randint(0, 6))
                auditor.extend(len(data))
            query = frozenset(generator.sample(range(len(data)), generator.randint(1, len(data))))
            decision = auditor.ask(query)
            decisions += 1
            assert decision == oracle.algorithm_1(history, query)
            if decision:
                answer = max(data[person] for person in query)
                auditor.record(query, answer)
                history.append((query, answer))
    assert decisions == 15 * sessions_played


def test_neighbouring_doubles_are_kept_apart():
    """Float midpoints of adjacent doubles collapse; exact answers do not."""
    low = 0.1
    high = math.nextafter(low, 1)
    auditor = told(6, [((1, 2, 3), low), ((4, 5, 6), high)])
    assert not auditor.would_answer(members(1, 4))
    assert not auditor.would_answer(members(1, 2, 4))
    same = told(6, [((1, 2, 3), low), ((4, 5, 6), low)])
    assert not same.would_answer(members(1, 2, 4, 5))
    assert told(8, [((1, 2, 3, 7), low), ((4, 5, 6, 8), low)]).would_answer(members(1, 2, 4, 5))


def test_a_minimum_is_the_maximum_of_negated_values():
    generator = random.Random(8)
    for _ in range(150):
        data = [generator.randint(-3, 3) for _ in range(6)]
        for duplicates in (True, False):
            values = data if duplicates else generator.sample(range(-9, 9), 6)
            low, high = MinAuditor(6, duplicates=duplicates), MaxAuditor(6, duplicates=duplicates)
            for _ in range(8):
                query = generator.sample(range(6), generator.randint(1, 6))
                assert low.would_answer(query) == high.would_answer(query)
                if low.ask(query):
                    low.record(query, min(values[person] for person in query))
                    high.record(query, max(-values[person] for person in query))


def test_a_repeated_query_is_known_already():
    for duplicates in (True, False):
        auditor = told(6, [((1, 2, 3, 4), 7)], duplicates=duplicates)
        assert auditor.would_answer(members(1, 2, 3, 4)).rule == "implied"
        assert auditor.would_answer(members(5, 6)).rule == "safe"
        assert auditor.would_answer(members(5)).rule == "single"
        assert auditor.would_answer(members(4, 5)).rule == "exposes"


def test_an_answer_must_be_recorded_before_the_next_question():
    auditor = MaxAuditor(4)
    assert auditor.ask({0, 1})
    for ask in (auditor.ask, auditor.would_answer):
        with pytest.raises(rt.PolicyError, match="not recorded yet"):
            ask({2, 3})
    with pytest.raises(rt.PolicyError, match="names other people"):
        auditor.record({2, 3}, 5)
    auditor.record([1, 0], 5)
    assert auditor.ask({2, 3})


@pytest.mark.parametrize("duplicates", [True, False])
def test_an_answer_that_contradicts_earlier_ones_is_refused_and_forgotten(duplicates):
    for answer in (11, 9):
        auditor = told(4, [((1, 2, 3, 4), 10)], duplicates=duplicates)
        with pytest.raises(rt.DataError, match=f"The answer {answer} contradicts"):
            auditor.record(members(1, 2, 3, 4), answer)
        assert auditor.would_answer(members(1, 2, 3, 4)).rule == "implied"
    auditor = told(6, [((1, 2, 3), 10)], duplicates=duplicates)
    with pytest.raises(rt.DataError, match="contradicts"):
        auditor.record(members(1, 2, 3, 4), 9)
    auditor.record(members(1, 2, 3, 4), 10)


@pytest.mark.parametrize("answer", [float("nan"), float("-inf"), True, "high", None])
def test_an_answer_that_is_no_number_is_refused(answer):
    with pytest.raises(rt.PolicyError, match="answer must be a number"):
        MaxAuditor(4).record({0, 1}, answer)


def test_bad_questions_are_refused():
    auditor = MaxAuditor(4)
    for query, message in (
        (set(), "at least one person"),
        ({4}, "There are 4 people"),
        ({-1, 2}, "numbered from 0"),
        ({0.0}, "whole number"),
        (AggregateQuery.of({0, 1}, "sum"), "cannot decide on a sum"),
        (AggregateQuery.of({0, 1}, "min"), "cannot decide on a min"),
    ):
        with pytest.raises(rt.PolicyError, match=message):
            auditor.ask(query)
    for duplicates in ("perhaps", 1, None):
        with pytest.raises(rt.PolicyError, match="duplicates must be True"):
            MaxAuditor(4, duplicates=duplicates)
    with pytest.raises(rt.PolicyError, match="cannot continue a history of linear queries"):
        MaxAuditor.of(QueryHistory(4).followed_by(AggregateQuery.of({0, 1})))
    with pytest.raises(rt.PolicyError, match="cannot fall"):
        auditor.extend(3)
    with pytest.raises(rt.PolicyError, match="n must be"):
        MaxAuditor(0)


def test_a_restarted_auditor_decides_as_before():
    generator = random.Random(4)
    for duplicates in (True, False):
        data = generator.sample(range(50), 12)
        first, history = MaxAuditor(12, duplicates=duplicates), QueryHistory(12, duplicates=duplicates)
        for _ in range(30):
            query = AggregateQuery.of(generator.sample(range(12), generator.randint(2, 12)), "max")
            if first.ask(query):
                answer = max(data[person] for person in query.members)
                first.record(query, answer)
                history = history.followed_by(query, answer)
        second = MaxAuditor.of(history)
        for _ in range(200):
            query = generator.sample(range(12), generator.randint(1, 12))
            assert first.would_answer(query) == second.would_answer(query)


def test_chains_of_links_survive_growth_and_cleaning():
    """Thousands of falling answers leave dead links behind; dropping them changes no decision."""
    n, generator = 60, np.random.default_rng(1)
    values = generator.integers(0, 40, n)
    auditor, history = MaxAuditor(n), []
    for _ in range(250):
        query = np.flatnonzero(generator.random(n) < 0.8)
        if auditor.ask(query):
            answer = int(values[query].max())
            auditor.record(query, answer)
            history.append((frozenset(query.tolist()), answer))
    for size in (2, 5, 20, 50):
        for _ in range(20):
            query = frozenset(generator.permutation(n)[:size].tolist())
            assert bool(auditor.would_answer(query)) == oracle.algorithm_1(history, query)
    assert len(history) > 10


def test_the_words_of_the_spec_declare_duplicates_too():
    assert MaxAuditor(4, duplicates="allowed").duplicates is True
    assert MinAuditor(4, duplicates="distinct").duplicates is False
