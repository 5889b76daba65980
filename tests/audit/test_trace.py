"""Trace classes are the people whom no answered query tells apart."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit import AggregateQuery
from reticent.audit.trace import Traces
from tests.sampling import examples


@st.composite
def sessions(draw):
    n = draw(st.integers(1, 9))
    weights = st.integers(-2, 3) if draw(st.booleans()) else st.integers(0, 1)
    row = st.dictionaries(st.integers(0, n - 1), weights, min_size=1).filter(lambda found: any(found.values()))
    return n, draw(st.lists(row, max_size=8))


@given(sessions())
@examples(150)
def test_classes_are_the_people_with_the_same_coefficients_in_every_query(session):
    n, rows = session
    traces, people = Traces(n), [()] * n
    for row in rows:
        query = AggregateQuery.linear(row)
        refinement = traces.refine(query)
        before = len(set(people))
        people = [(*trace, row.get(person, 0)) for person, trace in enumerate(people)]
        cut = traces.cut(refinement)
        assert len(cut.new) == len(set(people)) - before
        assert [cut.coefficient[traces.labels[person]] for person in range(n)] == [
            row.get(person, 0) for person in range(n)
        ]
    classes = {}
    for person, trace in enumerate(people):
        classes.setdefault(trace, set()).add(person)
    found = [set(np.flatnonzero(traces.labels == label).tolist()) for label in range(traces.count)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, classes.values()))
    assert traces.sizes.tolist() == [len(people) for people in found]


def test_new_people_join_those_nobody_asked_about():
    traces = Traces(4)
    traces.cut(traces.refine(AggregateQuery.of({0, 1})))
    assert traces.extend(6) is None
    assert traces.labels.tolist() == [1, 1, 0, 0, 0, 0]
    traces.cut(traces.refine(AggregateQuery.of({2, 3, 4, 5})))
    assert traces.extend(6) is None
    assert traces.extend(8) == 2
    assert traces.labels.tolist() == [1, 1, 0, 0, 0, 0, 2, 2]
    assert traces.sizes.tolist() == [4, 2, 2]
