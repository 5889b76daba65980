"""The size and overlap monitor."""

from __future__ import annotations

import pytest

import reticent as rt
from reticent.audit import OverlapMonitor


def block(index, size=10):
    return range(index * size, (index + 1) * size)


def test_the_nineteenth_query_of_ten_people_is_refused():
    monitor = OverlapMonitor(1000, size=10, overlap=1)
    assert [monitor.ask(block(index)) for index in range(20)] == [True] * 18 + [False] * 2
    assert monitor.would_answer(block(50)).rule == "too-many"


def test_values_the_attacker_has_shorten_the_session():
    monitor = OverlapMonitor(1000, size=10, overlap=2, known=3)
    assert sum(monitor.ask(block(index)) for index in range(20)) == 7


def test_disjoint_queries_are_not_limited():
    monitor = OverlapMonitor(1000, size=10, overlap=0)
    assert all(monitor.ask(block(index)) for index in range(100))
    assert monitor.would_answer(block(3)).rule == "overlaps"


def test_refused_queries_are_forgotten():
    monitor = OverlapMonitor(100, size=5, overlap=1)
    assert monitor.would_answer(range(4)).rule == "too-small"
    assert monitor.ask(range(5))
    assert monitor.would_answer(range(3, 8)).rule == "overlaps"
    assert not monitor.ask(range(3, 8))
    assert monitor.ask(range(4, 9))
    monitor.record(range(4, 9), 7)
    monitor.extend(110)
    assert monitor.ask(range(100, 110))
    assert monitor.n == 110


def test_the_monitor_must_refuse_what_depends_on_answers():
    """QA-G5: a monitor cannot tell the two cases apart, so it denies both."""
    monitor = OverlapMonitor(5, size=2, overlap=0)
    assert monitor.ask(range(5))
    assert not monitor.ask({0, 1, 2})
    assert not monitor.ask({2, 3})


@pytest.mark.parametrize("wrong", [{"size": 0}, {"overlap": -1}, {"known": True}, {"size": 2.5}])
def test_parameters_that_make_no_sense_are_named(wrong):
    with pytest.raises(rt.PolicyError, match=f"{next(iter(wrong))} must be"):
        OverlapMonitor(10, **{"size": 2, "overlap": 1, **wrong})


def test_people_cannot_leave():
    with pytest.raises(rt.PolicyError, match="cannot fall"):
        OverlapMonitor(10, size=2, overlap=1).extend(9)
