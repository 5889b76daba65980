"""Beliefs about the people of a release, for a listed population: what everybody could conclude about everybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reticent.belief.bayes import Belief, PopulationModel, believe, breach, negative, positive
from reticent.data.keys import first_rows
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.exact import Number
from reticent.release import PublicSide
from reticent.release.population import people_of, places
from reticent.release.rows import group_rows


@dataclass(frozen=True)
class Person:
    """The beliefs about people with certain quasi values, and how many of the population they are."""

    quasi: Mapping[str, Any]
    people: int
    group: int
    beliefs: tuple[Belief, ...]

    def surest(self) -> Belief:
        """The value that is believed most after the release."""
        return max(self.beliefs, key=lambda belief: belief.posterior)


@dataclass(frozen=True)
class Tests:
    """Which disclosures to look for (R-LD-7): positive(delta), negative(epsilon), and a (rho1, rho2)-breach."""

    delta: Number | None = None
    epsilon: Number | None = None
    rho: tuple[Number, Number] | None = None

    def failing(self, belief: Belief) -> tuple[str, ...]:
        """The names of the tests that a belief fails. Values that were impossible before and stay so are no disclosure."""
        found = []
        if self.delta is not None and positive(belief, self.delta):
            found.append("positive")
        if self.epsilon is not None and belief.prior > 0 and negative(belief, self.epsilon):
            found.append("negative")
        if self.rho is not None and breach(belief, *self.rho):
            found.append("breach")
        return tuple(found)


def beliefs_of(
    side: PublicSide, population: Any, sensitive: str | None = None, where: Mapping[str, str] | None = None
) -> tuple[Person, ...]:
    """What somebody with the release and the population's joint counts believes about everybody who fits a published group.

    The population lists quasi columns and the sensitive column, one row a person. ``where`` looks at people with certain quasi values
    only. People whom no group covers, or several, have no belief from one group and are left out.
    """
    if side.format != "generalize":
        raise PolicyError("Beliefs are computed for generalized releases; this one publishes buckets.")
    column = _sensitive(side, sensitive)
    quasi = side.manifest.named("quasi")
    people = people_of(population)
    model = PopulationModel.from_frame(people, quasi, column)
    data = side.frame
    ids, count = group_rows([data[name] for name in quasi], data.height)
    labels = data.select(quasi)[first_rows(ids, count)]
    histograms: list[Counter[Any]] = [Counter() for _ in range(count)]
    for group, value in zip(ids.tolist(), data[column].to_list(), strict=True):
        histograms[group][value] += 1
    points = people.group_by(quasi).agg(pl.len().alias("people of the point")).sort(quasi)
    inside = places(points, labels, side.meanings)
    fitting = {group: [points.row(i)[:-1] for i in np.flatnonzero(inside == group).tolist()] for group in range(count)}
    asked = _asked(points, quasi, where or {})
    found = []
    for number, (row, group) in enumerate(zip(points.iter_rows(), inside.tolist(), strict=True)):
        if group >= 0 and asked[number]:
            beliefs = believe(model, row[:-1], fitting[group], histograms[group])
            found.append(Person(dict(zip(quasi, row[:-1], strict=True)), row[-1], group, beliefs))
    return tuple(found)


def _sensitive(side: PublicSide, given: str | None) -> str:
    named = side.manifest.named("sensitive")
    if given is None:
        if len(named) != 1:
            raise PolicyError(f"Say which sensitive column: {', '.join(named) or 'the release has none'}.")
        return named[0]
    if given not in named:
        raise PolicyError(f"There is no sensitive column {given!r}.{did_you_mean(given, named)}")
    return given


def _asked(points: pl.DataFrame, quasi: tuple[str, ...], where: Mapping[str, str]) -> list[bool]:
    for name in where:
        if name not in quasi:
            raise PolicyError(f"There is no quasi column {name!r}.{did_you_mean(name, quasi)}")
    asked = pl.Series([True] * points.height)
    for name, text in where.items():
        asked = asked & (points[name].cast(pl.String) == text)
    if not asked.any():
        raise DataError(
            f"The population has nobody with {', '.join(f'{name}={text}' for name, text in where.items())}."
        )
    return asked.to_list()
