"""The publisher as a black box in memory, and small histories of people for it: who comes, changes, leaves and returns."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from reticent.base.context import Context
from reticent.base.disclosures import alone
from reticent.base.randomness import Randomness
from reticent.definitions import Definition, KAnonymity
from reticent.errors import Infeasible
from reticent.methods.series import MInvariance, PublishedSeries, Republish, SeriesRelease, TauSafety
from reticent.methods.series.method import SeriesPosition, outcome_of
from reticent.methods.series.state import HistoryState, PersonMarks
from reticent.table import Table

QUASI = ("age", "place")


@dataclass
class MemoryPublisher:
    """A series that is kept in memory only: nothing but the method runs."""

    m: int
    domain: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    states: list[HistoryState] = field(default_factory=list)

    def publish(self, frame: pl.DataFrame, seed: int | None) -> SeriesRelease:
        """The next release, or :class:`Infeasible`."""
        baseline = self.options.get("baseline")
        definition: Definition = TauSafety(self.m, hardened=baseline is None)
        if baseline == "m-invariance":
            definition = MInvariance(self.m)
        options = dict(self.options)
        k = options.pop("k", 0)
        if k:
            definition = definition & KAnonymity(k)
        before = self.states[-1] if self.states else None
        place = SeriesPosition(before, None, PersonMarks(b"0" * 32), alone)
        table = Table(
            frame, quasi=dict.fromkeys(QUASI), sensitive="illness", identifiers=["id"], key="id", dataset="memory"
        )
        method = Republish(self.domain, _place=place, **options)
        draft = method.draft(table, definition, Context(Randomness(seed)))
        self.states.append(outcome_of(draft).after)
        return outcome_of(draft).after.release

    @property
    def series(self) -> PublishedSeries:
        last = self.states[-1]
        return PublishedSeries(
            last.domain, self.m, "illness", last.orders, tuple(state.release for state in self.states)
        )


def random_months(seed: int, people: int = 6, months: int = 4, values: int = 5) -> list[pl.DataFrame]:
    """Tables of a few people over some months: about a quarter changes the value, some leave, some return."""
    draw = random.Random(seed)
    domain = "abcdefghij"[:values]
    now: dict[str, dict[str, Any]] = {}
    away: dict[str, dict[str, Any]] = {}
    made = []
    for month in range(months):
        for name in sorted(now):
            chance = draw.random()
            if chance < 0.15:
                away[name] = now.pop(name)
            elif chance < 0.4:
                now[name]["illness"] = draw.choice(domain)
            elif chance < 0.55:
                now[name]["age"] = draw.randrange(20, 60)
        for name in sorted(away):
            if draw.random() < 0.5:
                now[name] = away.pop(name)
                if draw.random() < 0.3:
                    now[name]["illness"] = draw.choice(domain)
        for number in range(people):
            name = f"p{number}"
            if name not in now and name not in away and draw.random() < (0.75 if month == 0 else 0.4):
                now[name] = {
                    "id": name,
                    "age": draw.randrange(20, 60),
                    "place": draw.randrange(10),
                    "illness": draw.choice(domain),
                }
        made.append(pl.DataFrame(list(now.values()), schema={"id": str, "age": int, "place": int, "illness": str}))
    return made


def published(
    months: list[pl.DataFrame], seed: int | None, m: int = 2, values: int = 5, **options: Any
) -> PublishedSeries | None:
    """The series of these months as far as it can be published; None if not even the first release can."""
    publisher = MemoryPublisher(m, tuple("abcdefghij"[:values]), options)
    for number, month in enumerate(months):
        if not month.height:
            continue
        try:
            publisher.publish(month, None if seed is None else 1000 * seed + number)
        except Infeasible:
            break
    return publisher.series if publisher.states else None
