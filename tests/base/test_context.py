"""The context of a run: progress, stopping, deadlines, and one count for each table."""

from __future__ import annotations

import time

import polars as pl
import pytest

from reticent.base.context import Context, Event
from reticent.base.randomness import Randomness
from reticent.baselines.datafly import Datafly
from reticent.definitions import DistinctLDiversity, KAnonymity, KMap, PersonalPrivacy
from reticent.engine import count_table
from reticent.engine.local import LocalEngine
from reticent.errors import Cancelled, PolicyError
from reticent.methods.lattice import Lattice, search
from reticent.methods.mondrian import Mondrian
from reticent.release import publish
from reticent.table import Hierarchy, Table


class CountingEngine(LocalEngine):
    """The local engine, with a list of the counts that were asked of it."""

    def __init__(self):
        self.counts = []

    def count(self, table, *, sensitive=True, floor=None):
        self.counts.append(sensitive)
        return super().count(table, sensitive=sensitive, floor=floor)


FRAME = pl.DataFrame(
    {
        "age": [21, 22, 23, 24, 31, 32, 33, 34] * 3,
        "town": ["a", "a", "b", "b", "a", "a", "b", "b"] * 3,
        "illness": ["flu", "cold", "gout"] * 8,
        "wish": [None, "flu"] * 12,
    }
)


def table(**named):
    quasi = {"age": Hierarchy.intervals([5, 10, 20], domain=(20, 39)), "town": None}
    return Table(FRAME, quasi=quasi, sensitive="illness", private=["wish"], **named)


@pytest.mark.parametrize("method", [Lattice(), Lattice(floor={"age": 1}), Mondrian(values="sets"), Datafly()], ids=str)
def test_a_publication_counts_its_rows_once(method):
    engine = CountingEngine()
    publish(table(), KAnonymity(3) & DistinctLDiversity(2), method, context=Context(engine=engine))
    assert engine.counts == [True]


def test_a_search_for_k_counts_without_sensitive_values():
    engine = CountingEngine()
    search(table(), KAnonymity(3), context=Context(engine=engine))
    search(table(), DistinctLDiversity(2), context=Context(engine=engine))
    assert engine.counts == [False, True]


def test_a_definition_prepares_a_table_once(monkeypatch):
    prepared = []
    for kind in (KMap, PersonalPrivacy):
        monkeypatch.setattr(
            kind,
            "counting",
            lambda self, table, own=kind.counting: (prepared.append(type(self).__name__), own(self, table))[1],
        )
    definition = KMap(2, FRAME) & PersonalPrivacy("0.9", "wish")
    publish(table(), definition, Lattice())
    assert prepared == ["KMap", "PersonalPrivacy"]
    assert (
        definition.prepare(definition.prepare(table())).extra_counts.keys()
        == definition.prepare(table()).extra_counts.keys()
    )


def test_the_memo_ignores_nothing_that_is_counted():
    context, plain = Context(), table()
    wished = PersonalPrivacy("0.9", "wish").prepare(plain)
    beside = KMap(2, FRAME).prepare(plain)
    assert set(count_table(plain, context).extras) == set()
    assert set(count_table(wished, context).extras) == set(wished.extra_counts) != set()
    assert set(count_table(beside, context).extras) == {"population"}
    assert count_table(plain, context, floor=(1, 0)).levels == (1, 0)
    assert count_table(plain, context) is count_table(plain.against_all(), context)
    assert count_table(table(), context) is not count_table(plain, context)


def test_counts_without_values_come_from_counts_with_them():
    engine = CountingEngine()
    context, people = Context(engine=engine), table()
    assert count_table(people, context, sensitive=False).domain.size == 1
    whole = count_table(people, context)
    bare = count_table(people, context, sensitive=False)
    assert engine.counts == [False, True]
    assert bare.sizes.tolist() == whole.sizes.tolist()
    assert [codes.tolist() for codes in bare.codes] == [codes.tolist() for codes in whole.codes]


def test_two_contexts_share_nothing():
    first, second = Context(), Context()
    count_table(table(), first)
    assert first.memo
    assert not second.memo


def test_a_step_reports_progress_and_stops_when_asked():
    heard = []
    context = Context(listen=heard.append, stop=lambda: len(heard) > 1)
    context.step("searching", 1, 4)
    context.step("searching", 2, 4)
    with pytest.raises(Cancelled, match="while searching") as stopped:
        context.step("searching", 3, 4)
    assert stopped.value.exit_code == 130
    assert heard == [Event("searching", 1, 4), Event("searching", 2, 4)]
    assert [each.share for each in heard] == [0.25, 0.5]
    assert Event("counting").share is None


def test_the_earlier_of_deadline_and_seconds_counts():
    now = time.monotonic()
    assert Context().until(None) is None
    assert Context(deadline=now - 1).until(10) == now - 1
    assert now <= Context(deadline=now + 100).until(10) <= now + 11


def test_a_seed_and_a_context_are_not_given_together():
    with pytest.raises(PolicyError, match="in the context"):
        publish(table(), KAnonymity(2), insecure_seed=1, context=Context())


def test_a_seeded_context_is_stated_in_the_certificate():
    seeded = publish(table(), KAnonymity(2), context=Context(Randomness(1)))
    secure = publish(table(), KAnonymity(2), context=Context())
    assert [each.certificate["randomness"]["releasable"] for each in (seeded, secure)] == [False, True]
