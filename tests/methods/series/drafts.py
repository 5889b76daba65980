"""Series in memory: releases drafted one after the other, without files or a ledger, and random tables that change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

import reticent as rt
from reticent.base.context import Context
from reticent.base.disclosures import unjudged
from reticent.base.randomness import Randomness
from reticent.methods.series import PublishedSeries
from reticent.methods.series.method import PublishedChange, SeriesPosition, outcome_of
from reticent.methods.series.state import HistoryState, PersonMarks


@dataclass
class DraftedSeries:
    """The states of a series, release by release."""

    m: int
    domain: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    k: int = 0
    states: list[HistoryState] = field(default_factory=list)
    changes: list[PublishedChange] = field(default_factory=list)

    @property
    def definition(self) -> Any:
        baseline = self.options.get("baseline")
        if baseline == "m-invariance":
            return rt.MInvariance(self.m)
        found = rt.TauSafety(self.m, hardened=baseline is None)
        return found & rt.KAnonymity(self.k) if self.k else found

    def publish(self, frame: pl.DataFrame, seed: int) -> Any:
        before = self.states[-1] if self.states else None
        place = SeriesPosition(before, None, PersonMarks(bytes(32)), unjudged)
        method = rt.Republish(self.domain, _place=place, **self.options)
        table = rt.Table(frame, quasi=["age", "town"], sensitive="job", identifiers=["id"], key="id")
        draft = method.draft(table, self.definition, Context(Randomness(seed)))
        self.states.append(outcome_of(draft).after)
        self.changes.append(outcome_of(draft).change)
        return draft

    @property
    def series(self) -> PublishedSeries:
        releases = tuple(state.release for state in self.states)
        return PublishedSeries(tuple(self.domain), self.m, "job", self.states[-1].orders, releases)


def random_months(seed: int, people: int, months: int, values: int) -> tuple[list[str], list[pl.DataFrame]]:
    """A table that changes at random: people leave, return, arrive, and change their values."""
    rng = np.random.default_rng(seed)
    domain = [f"v{number}" for number in range(values)]
    rows = {number: _person(rng, domain) for number in range(people)}
    away: dict[int, list[Any]] = {}
    found, following = [], people
    for _ in range(months):
        found.append(_frame(rows))
        for person in list(rows):
            draw = rng.random()
            if draw < 0.12:
                away[person] = rows.pop(person)
            elif draw < 0.24:
                rows[person][2] = domain[rng.integers(values)]
            elif draw < 0.34:
                rows[person][0] = int(rng.integers(0, 60))
        for person in [person for person in away if rng.random() < 0.3]:
            rows[person] = away.pop(person)
            if rng.random() < 0.4:
                rows[person][2] = domain[rng.integers(values)]
        for _ in range(int(rng.integers(0, people // 4 + 2))):
            rows[following] = _person(rng, domain)
            following += 1
    return domain, found


def _person(rng: np.random.Generator, domain: list[str]) -> list[Any]:
    return [int(rng.integers(0, 60)), ["Aix", "Apt", "Arles"][rng.integers(3)], domain[rng.integers(len(domain))]]


def _frame(rows: dict[int, list[Any]]) -> pl.DataFrame:
    order = sorted(rows)
    return pl.DataFrame(
        {
            "id": order,
            "age": [rows[each][0] for each in order],
            "town": [rows[each][1] for each in order],
            "job": [rows[each][2] for each in order],
        },
        schema={"id": pl.Int64, "age": pl.Int64, "town": pl.String, "job": pl.String},
    )
