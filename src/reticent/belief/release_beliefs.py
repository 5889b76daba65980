"""Beliefs about the people of a release or an unmodified table, for a listed population."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.base.context import Context
from reticent.base.exact import Number, exact
from reticent.base.frames import as_type_of
from reticent.belief.bayes import (
    Belief,
    PopulationModel,
    Quasi,
    ReleasedGroup,
    Value,
    beliefs,
    bounds,
    breach,
    may_be_among,
    negative,
    positive,
    posterior_among,
)
from reticent.belief.bucket_beliefs import bucket_posterior
from reticent.core import AdversaryView, Groups
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.io import people_of
from reticent.release import adversary_view_of
from reticent.table import Table

_PEOPLE = "people of the point"
_STAGE = "computing posterior beliefs"
Histogram = Counter[Value]


@dataclass(frozen=True)
class Person:
    """The beliefs about people with given quasi-identifiers, and their number in the population.

    ``groups`` are those that they may be in. ``exact`` is true if all worlds were counted: not if labels overlap, or
    buckets are large. ``rows`` counts the values of such people in the table itself, if the steward provided it.
    """

    quasi: Mapping[str, Any]
    people: int
    groups: tuple[int, ...]
    beliefs: tuple[Belief, ...]
    exact: bool = True
    rows: Mapping[Value, int] | None = None

    def surest(self) -> Belief:
        """The value with the highest posterior."""
        return max(self.beliefs, key=lambda belief: belief.posterior)


@dataclass(frozen=True)
class Tests:
    """The disclosures to test: positive(delta), negative(epsilon), and a (rho1, rho2)-breach."""

    delta: Number | None = None
    epsilon: Number | None = None
    rho: tuple[Number, Number] | None = None

    def __post_init__(self) -> None:
        for name in ("delta", "epsilon"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, exact(given, name, low=0, high=1))
        if self.rho is not None:
            object.__setattr__(self, "rho", bounds(*self.rho))

    def failing(self, belief: Belief, rows: Mapping[Value, int] | None = None) -> tuple[str, ...]:
        """Return the names of the tests that a belief fails. Values that were and stay impossible are not a disclosure.

        With the ``rows`` of such people in the table, only disclosures about existing people count: a positive one
        needs a row with the value, a negative one a row without it.
        """
        has = rows is None or rows.get(belief.value, 0) > 0
        lacks = rows is None or any(count for value, count in rows.items() if value != belief.value)
        found = []
        if self.delta is not None and has and positive(belief, self.delta):
            found.append("positive")
        if self.epsilon is not None and lacks and belief.prior > 0 and negative(belief, self.epsilon):
            found.append("negative")
        if self.rho is not None and breach(belief, *self.rho):
            found.append("breach")
        return tuple(found)

    def is_news(self, belief: Belief, rows: Mapping[Value, int] | None = None) -> bool:
        """True if a disclosure is new: nothing is learned if the prior was as extreme."""
        before = Belief(belief.quasi, belief.value, belief.prior, belief.prior)
        return not set(self.failing(belief, rows)) <= set(self.failing(before, rows))


def beliefs_of(
    target: Any,
    population: Any,
    sensitive: str | None = None,
    where: Mapping[str, str] | None = None,
    table: Table | None = None,
    context: Context | None = None,
) -> tuple[Person, ...]:
    """Return the beliefs of an adversary with the release and the population's joint counts about all people who may be
    in it.

    ``target`` is a release, its folder, or an unmodified table. The population lists quasi-identifiers and the
    sensitive column, one row per person. ``where`` selects people by quasi-identifiers. People whom no group covers are
    skipped, and so are those who can have none of the values of their groups: they are not in the table. ``table`` is
    the table itself, in which the rows of such people are counted.
    """
    context = context or Context()
    seen = adversary_view_of(target)
    quasi, column = seen.names, _sensitive(seen, sensitive)
    people = _read_alike(people_of(population), _types(seen, column))
    model = PopulationModel.from_frame(people, quasi, column)
    points = people.group_by(quasi).agg(pl.len().alias(_PEOPLE)).sort(quasi)
    asked = _asked(points, quasi, where or {})
    if seen.is_row_by_row:
        found = _from_groups(seen, model, points, column, asked, context)
    else:
        found = _from_buckets(seen, model, points, column, context)
    held = None
    if table is not None:
        rows = _read_alike(table.frame, {name: people.schema[name] for name in (*quasi, column)})
        held = PopulationModel.from_frame(rows, quasi, column).counts
    return tuple(
        Person(
            dict(zip(quasi, row[:-1], strict=True)),
            row[-1],
            told.groups,
            beliefs(model, row[:-1], told.chances),
            told.exact,
            None if held is None else {value: int(count) for value, count in held.get(row[:-1], {}).items()},
        )
        for row, wanted in zip(points.iter_rows(), asked, strict=True)
        if wanted and (told := found.get(row[:-1])) is not None
    )


@dataclass(frozen=True)
class _Told:
    """What a release implies about people with given quasi-identifiers."""

    groups: tuple[int, ...]
    chances: Mapping[Value, Fraction]
    exact: bool


def _from_groups(
    seen: AdversaryView,
    model: PopulationModel,
    points: pl.DataFrame,
    column: str,
    asked: Sequence[bool],
    context: Context,
) -> dict[Quasi, _Told]:
    """Return the beliefs if rows have labels and values together: the groups that cover a person, combined."""
    quasi, shown = seen.names, seen.true_groups.marginal(column)
    pairs = zip(*(each.tolist() for each in seen.covering(points.select(quasi))), strict=True)
    rows = points.select(quasi).rows()
    covered: dict[int, list[Quasi]] = {}
    mine: dict[int, list[int]] = {}
    for point, group in pairs:
        covered.setdefault(group, []).append(rows[point])
        mine.setdefault(point, []).append(group)
    if not mine:
        raise DataError(
            f"No group covers anyone in the population: no group contains its values of {', '.join(quasi)}. Check that they are spelled as in the table."
        )
    groups: dict[int, ReleasedGroup] = {}
    found: dict[Quasi, _Told] = {}
    for done, (point, places) in enumerate(mine.items()):
        context.step(_STAGE, done, len(mine))
        if not asked[point]:
            continue
        for group in places:
            if group not in groups:
                somebody = ", ".join(f"{name}={value}" for name, value in zip(quasi, rows[point], strict=True))
                name = f"the group that covers {somebody}"
                groups[group] = ReleasedGroup.of(model, covered[group], _histogram(shown, group), name)
        around = [groups[group] for group in places]
        if may_be_among(model, rows[point], around):
            chances = posterior_among(model, rows[point], around)
            found[rows[point]] = _Told(tuple(places), chances, len(places) == 1)
    return found


def _histogram(groups: Groups, group: int) -> Histogram:
    """Return how many rows of a group have each value, as published."""
    labels, cells = groups.domain.columns[0].labels, groups.histograms
    inside = slice(cells.offsets[group], cells.offsets[group + 1])
    return Counter(dict(zip(labels.gather(cells.values[inside]).to_list(), cells.counts[inside].tolist(), strict=True)))


def _from_buckets(
    seen: AdversaryView, model: PopulationModel, points: pl.DataFrame, column: str, context: Context
) -> dict[Quasi, _Told]:
    """Return the beliefs if quasi-identifiers and sensitive values are separate: each bucket by itself, and people with
    rows in several by their share.
    """
    shown, rows_of = seen.true_groups.marginal(column), points.select(seen.names).rows()
    numbers = seen.called.to_list() if seen.called is not None else list(range(len(shown)))
    # Published people who are not in the population get a dummy entry without any value.
    point_of: list[Quasi] = [("not in the population", cell) for cell in range(len(seen.sizes))]
    for point, cell in zip(*(each.tolist() for each in seen.covering(points.select(seen.names))), strict=True):
        point_of[cell] = rows_of[point]
    people: dict[int, dict[Quasi, int]] = {}
    spread: dict[Quasi, dict[int, int]] = {}
    for point, group, size in zip(point_of, seen.group_of.tolist(), seen.sizes.tolist(), strict=True):
        people.setdefault(group, {})[point] = size
        spread.setdefault(point, {})[group] = size
    believed = {}
    for done, (number, inside) in enumerate(people.items()):
        context.step(_STAGE, done, len(people))
        believed[number] = bucket_posterior(model, inside, _histogram(shown, number))
    found: dict[Quasi, _Told] = {}
    for quasi_values, buckets in spread.items():
        rows = sum(buckets.values())
        chances: dict[Value, Fraction] = {}
        for number, mine in buckets.items():
            for value, chance in believed[number].chances[quasi_values].items():
                chances[value] = chances.get(value, Fraction(0)) + chance * Fraction(mine, rows)
        # People of several buckets who cannot be distinguished make the buckets dependent.
        alone = all(len(spread[other]) == 1 for number in buckets for other in people[number])
        exact = alone and all(believed[number].exact for number in buckets)
        found[quasi_values] = _Told(tuple(numbers[number] for number in buckets), chances, exact)
    return found


def _types(seen: AdversaryView, column: str) -> dict[str, pl.DataType]:
    """Return the types in which values are compared: those of the table's columns, and of values published unchanged."""
    own = {column: seen.true_groups.marginal(column).domain.columns[0].labels.dtype}
    return own if seen.made is not None else {**{each.name: each.labels.dtype for each in seen.columns}, **own}


def _read_alike(people: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the population with its columns converted to these types: '7' in one file and 7 in another are equal. Missing values stay missing."""
    alike = {}
    for name, own in types.items():
        if name in people.columns and people.schema[name] != own:
            known = people[name].is_not_null().arg_true()
            read = as_type_of(people[name].drop_nulls(), own)
            alike[name] = pl.Series(name, [None], dtype=own).new_from_index(0, people.height).scatter(known, read)
    return people.with_columns(**alike)


def _sensitive(seen: AdversaryView, given: str | None) -> str:
    """Return the sensitive column to use."""
    named = tuple(column.name for column in seen.true_groups.domain.columns)
    if given is None:
        if len(named) != 1:
            raise PolicyError(f"Choose a sensitive column with column=: {', '.join(named) or 'there is none'}.")
        return named[0]
    if given not in named:
        raise PolicyError(
            f"There is no sensitive column {given!r}.{did_you_mean(given, named)} There are: {', '.join(named) or 'none'}."
        )
    return given


def people_asked(population: pl.DataFrame, where: Mapping[str, str]) -> int:
    """Return how many people of a population ``where`` selects, whether the release covers them or not."""
    return int(_matching(population, where).sum())


def _asked(points: pl.DataFrame, quasi: tuple[str, ...], where: Mapping[str, str]) -> list[bool]:
    for name in where:
        if name not in quasi:
            raise PolicyError(f"There is no quasi column {name!r}.{did_you_mean(name, quasi)}")
    asked = _matching(points, where)
    if not asked.any():
        raise DataError(
            f"The population has no one with {', '.join(f'{name}={text}' for name, text in where.items())}."
        )
    return asked.to_list()


def _matching(rows: pl.DataFrame, where: Mapping[str, str]) -> pl.Series:
    """Return a mask of the rows with these values, compared as text."""
    matching = pl.Series([True]).new_from_index(0, rows.height)
    for name, text in where.items():
        matching = matching & (rows[name].cast(pl.String) == text).fill_null(False)
    return matching
