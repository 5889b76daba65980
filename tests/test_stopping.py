"""Questions that may take long stop when they are asked to, at every step, and give the same answer while somebody listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.belief import beliefs_of
from reticent.errors import Cancelled
from reticent.table import Hierarchy, Table
from reticent.views.checker import Checker, prepare
from reticent.views.matrix import Matrix

PEOPLE = pl.DataFrame(
    {
        "name": ["Al", "Bo", "Cy", "Di", "Ed", "Flo"],
        "age": [21, 22, 34, 35, 47, 48],
        "illness": ["flu", "hiv", "flu", "gout", "flu", "hiv"],
    }
)


def _table() -> Table:
    return Table(
        PEOPLE,
        quasi={"age": Hierarchy.intervals([20], origin=20, domain=(20, 59))},
        sensitive="illness",
        identifiers=["name"],
    )


def _views(context: Context) -> Any:
    return rt.views.check("S(x,w) :- R(x,y), R(y,z), R(z,w)", "V(x) :- R(x,y), R(y,x), Q(x)", context=context).status


def _matrix(context: Context) -> Any:
    texts = ["S(x) :- R(x,y), Q(y)", "T(y) :- R(x,y)", "V(y) :- R(x,y)", "W(x) :- P(x)"]
    schema, queries = prepare(texts, None, "set")
    return Matrix.of(Checker(schema, context=context), queries[:2], queries[2:]).rows()


def _beliefs(form: str) -> Callable[[Context], Any]:
    def asked(context: Context) -> Any:
        release = rt.publish(_table(), rt.DistinctLDiversity(2), rt.Lattice(format=form))
        return beliefs_of(release, PEOPLE.drop("name"), context=context)

    return asked


def _what_if(context: Context) -> Any:
    facts = ["Al=flu -> Bo=flu", "Cy=flu -> Di=gout"]
    return rt.knowledge.what_if(_table(), facts, "Bo=hiv", levels={"age": 1}, context=context)


def _estimate(context: Context) -> Any:
    facts = ["Al=flu -> Bo=flu"]
    return rt.knowledge.what_if(_table(), facts, "Bo=hiv", levels={"age": 1}, budget=1, context=context)


def _log(context: Context) -> Any:
    log = [({0, 1, 2}, "sum", 7), ({1, 2, 3}, "max", 4), ({0, 3}, "sum", 5)]
    return rt.audit.check_log(log, n=4, context=context).as_dict()


QUESTIONS = {
    "views": _views,
    "matrix": _matrix,
    "beliefs in groups": _beliefs("generalize"),
    "beliefs in buckets": _beliefs("bucketize"),
    "what-if": _what_if,
    "what-if by drawing": _estimate,
    "log": _log,
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_a_question_stops_at_any_step_and_listening_changes_nothing(question: Callable[[Context], Any]) -> None:
    asked = 0

    def count() -> bool:
        nonlocal asked
        asked += 1
        return False

    events: list[Any] = []
    answered = question(Context(stop=count, listen=events.append))
    assert answered == question(Context())
    assert asked
    assert all(event.total is None or 0 <= event.done <= event.total for event in events)
    for at in {1, (asked + 1) // 2, asked}:
        left = at

        def stop() -> bool:
            nonlocal left
            left -= 1
            return left <= 0

        with pytest.raises(Cancelled, match="Stopped on request while"):
            question(Context(stop=stop))
