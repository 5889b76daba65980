"""decide(history, query) is the one entry: no handle to the data, equal to the auditors, simulatable (P1)."""

from __future__ import annotations

import inspect
import random
import sys
from fractions import Fraction

import pytest

import reticent as rt
from reticent.audit import AggregateQuery, MaxAuditor, MinAuditor, QueryHistory, SumAuditor, decide
from reticent.baselines.leaky_auditors import AuditedGate
from tests.oracles import audit_maxima, audit_sums
from tests.sampling import campaign

MAKERS = {"sum": SumAuditor, "max": MaxAuditor, "min": MinAuditor}


def test_deciding_takes_a_history_and_a_query_and_nothing_else():
    assert list(inspect.signature(decide).parameters) == ["history", "query"]
    assert {name for maker in MAKERS.values() for name in inspect.signature(maker).parameters} == {
        "n",
        "duplicates",
        "insecure_seed",
    }


@pytest.mark.parametrize("function", ["sum", "max", "min"])
@pytest.mark.parametrize("duplicates", [True, False])
def test_the_auditors_are_the_fast_equivalent_of_decide(function, duplicates):
    generator = random.Random(6)
    for n in [5] * (25 if campaign() else 8) + [120]:
        data = generator.sample(range(3 * n), n)
        auditor = SumAuditor(n) if function == "sum" else MAKERS[function](n, duplicates=duplicates)
        history = QueryHistory(n, duplicates=duplicates)
        for _ in range(10):
            query = AggregateQuery.of(generator.sample(range(n), generator.randint(1, 5)), function)
            decision = decide(history, query)
            assert decision == auditor.would_answer(query)
            if auditor.ask(query):
                answer = {"sum": sum, "max": max, "min": min}[function](data[person] for person in query.members)
                auditor.record(query, answer)
                history = history.followed_by(query, answer)


def test_a_column_is_locked_to_the_family_of_its_first_answer():
    """QA-G1, service side: after a sum every maximum is refused by rule, whatever the data."""
    history = QueryHistory(3).followed_by(AggregateQuery.of({0, 1, 2}), 15)
    for function in ("max", "min"):
        decision = decide(history, AggregateQuery.of({0, 1, 2}, function))
        assert not decision
        assert decision.rule == "other-family"
    assert (
        decide(QueryHistory(3).followed_by(AggregateQuery.of({0, 1, 2}, "max"), 5), AggregateQuery.of({0, 1, 2})).rule
        == "other-family"
    )


def test_bounded_values_are_refused_and_pointed_elsewhere():
    """QA-G16: for values in [0, 100] even the sum over everyone is refused, since all could be 0."""
    bounded = QueryHistory(50, lower=0, upper=100)
    for function in ("sum", "max", "min"):
        decision = decide(bounded, AggregateQuery.of(range(50), function))
        assert not decision
        assert decision.rule == "bounded"
        assert "probabilistic" in decision.reason
    assert decide(QueryHistory(50, lower=0), AggregateQuery.of(range(50))).rule == "bounded"
    assert decide(QueryHistory(50, lower=0), AggregateQuery.of(range(50), "max")).rule == "bounded"
    assert decide(QueryHistory(50, lower=0), AggregateQuery.of(range(50), "min"))
    assert decide(QueryHistory(50, upper=100), AggregateQuery.of(range(50), "max"))
    assert decide(QueryHistory(50), AggregateQuery.of(range(50)))


def test_bounds_expose_by_enumeration_what_classical_safety_ignores():
    """The reason for the refusal: with values in 0..3, some answer to a sum or a maximum leaves one world."""
    from itertools import product

    worlds = list(product(range(4), repeat=3))
    for aggregate, refused in ((sum, True), (max, True), (min, True)):
        counts = [sum(aggregate(world) == answer for world in worlds) for answer in range(10)]
        assert (1 in counts) == refused


def test_people_outside_are_named():
    with pytest.raises(rt.PolicyError, match="There are 3 people"):
        decide(QueryHistory(3), AggregateQuery.of({3}))


class Guarded(list):
    """Values that count how often somebody looked."""

    looks = 0

    def __getitem__(self, index):
        Guarded.looks += 1
        return super().__getitem__(index)

    def __iter__(self):
        Guarded.looks += 1
        return super().__iter__()


@pytest.mark.parametrize("function", ["sum", "max"])
def test_the_data_are_touched_only_after_the_decision_to_answer(function):
    gate, generator = AuditedGate([3, 9, 5, 7, 1]), random.Random(2)
    gate._values = Guarded(gate._values)
    refused = 0
    for _ in range(40):
        query = generator.sample(range(5), generator.randint(1, 5))
        Guarded.looks = 0
        foreseen = gate.foreseen(query, function)
        assert Guarded.looks == 0
        answered = gate.answer(query, function) is not None
        assert answered == foreseen
        assert (Guarded.looks > 0) == answered
        refused += not answered
    assert 0 < refused < 40


def calls_of(work):
    """The functions of the room that ran, in order: the code path of a decision."""
    seen = []

    def note(frame, event, _argument):
        if event == "call" and "/audit/" in frame.f_code.co_filename:
            seen.append((frame.f_code.co_filename, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(None)
    return result, seen


def played(values, queries, function, *, duplicates):
    """Answers, decisions and code paths of a session."""
    gate = AuditedGate(values, duplicates=duplicates)
    rounds = []
    for query in queries:
        foreseen, path = calls_of(lambda query=query: gate.foreseen(query, function))
        rounds.append((foreseen, path, gate.answer(query, function)))
    return rounds


def twin_for_sums(values, queries, generator):
    """Other values with the same answers: a random null vector of the answered sums is added."""
    n = len(values)
    rows = [audit_sums.indicator(query, n) for query in queries]
    basis = audit_sums.null_space(rows, n)
    twin = list(map(Fraction, values))
    for vector in basis:
        factor = generator.randint(-5, 5)
        twin = [value + factor * step for value, step in zip(twin, vector, strict=True)]
    return twin


def twin_for_maxima(values, history, generator):
    """Other values with the same answers: everybody as large as the answers allow, or a little less where nobody needs it."""
    bound = dict.fromkeys(range(len(values)), generator.randint(20, 30))
    for query, answer in history:
        for person in query:
            bound[person] = min(bound[person], answer)
    return [bound[person] for person in range(len(values))]


def test_two_data_sets_with_the_same_past_answers_get_the_same_decisions():
    """P1, on the same code path."""
    generator, different = random.Random(12), 0
    for _ in range(40):
        n = generator.randint(3, 7)
        values = [generator.randint(0, 9) for _ in range(n)]
        queries = [frozenset(generator.sample(range(n), generator.randint(1, n))) for _ in range(8)]
        for function in ("sum", "max"):
            first = played(values, queries, function, duplicates=True)
            history = [
                (query, answer) for query, (_, _, answer) in zip(queries, first, strict=True) if answer is not None
            ]
            if function == "sum":
                twin = twin_for_sums(values, [query for query, _ in history], generator)
            else:
                twin = twin_for_maxima(values, history, generator)
            different += twin != values
            assert played(twin, queries, function, duplicates=True) == first
            if function == "max":
                assert all(len(found) > 1 for found in audit_maxima.extremes(history))
    assert different > 60
