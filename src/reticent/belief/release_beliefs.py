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
        """Check the parameters, and store them in their exact or normalized form."""
        for name in ("delta", "epsilon"):
            threshold = getattr(self, name)
            if threshold is not None:
                object.__setattr__(self, name, exact(threshold, name, low=0, high=1))
        if self.rho is not None:
            object.__setattr__(self, "rho", bounds(*self.rho))

    def failing(self, belief: Belief, rows: Mapping[Value, int] | None = None) -> tuple[str, ...]:
        """Return the names of the tests that a belief fails. Values that were and stay impossible are not a disclosure.

        With the ``rows`` of such people in the table, only disclosures about existing people count: a positive one
        needs a row with the value, a negative one a row without it.
        """
        may_have = rows is None or rows.get(belief.value, 0) > 0
        may_lack = rows is None or any(count for value, count in rows.items() if value != belief.value)
        failed = []
        if self.delta is not None and may_have and positive(belief, self.delta):
            failed.append("positive")
        if self.epsilon is not None and may_lack and belief.prior > 0 and negative(belief, self.epsilon):
            failed.append("negative")
        if self.rho is not None and breach(belief, *self.rho):
            failed.append("breach")
        return tuple(failed)

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
    view = adversary_view_of(target)
    quasi, column = view.names, _sensitive(view, sensitive)
    people = _read_alike(people_of(population), _types(view, column))
    model = PopulationModel.from_frame(people, quasi, column)
    points = people.group_by(quasi).agg(pl.len().alias(_PEOPLE)).sort(quasi)
    is_requested = _asked(points, quasi, where or {})
    if view.is_row_by_row:
        implied = _from_groups(view, model, points, column, is_requested, context)
    else:
        implied = _from_buckets(view, model, points, column, context)
    table_counts = None
    if table is not None:
        rows = _read_alike(table.frame, {name: people.schema[name] for name in (*quasi, column)})
        table_counts = PopulationModel.from_frame(rows, quasi, column).counts
    return tuple(
        Person(
            dict(zip(quasi, row[:-1], strict=True)),
            row[-1],
            groups=implication.groups,
            beliefs=beliefs(model, row[:-1], implication.chances),
            exact=implication.exact,
            rows=None
            if table_counts is None
            else {value: int(count) for value, count in table_counts.get(row[:-1], {}).items()},
        )
        for row, is_wanted in zip(points.iter_rows(), is_requested, strict=True)
        if is_wanted and (implication := implied.get(row[:-1])) is not None
    )


@dataclass(frozen=True)
class _Told:
    """What a release implies about people with given quasi-identifiers."""

    groups: tuple[int, ...]
    chances: Mapping[Value, Fraction]
    exact: bool


def _from_groups(
    view: AdversaryView,
    model: PopulationModel,
    points: pl.DataFrame,
    column: str,
    is_requested: Sequence[bool],
    context: Context,
) -> dict[Quasi, _Told]:
    """Return the beliefs if rows have labels and values together: the groups that cover a person, combined."""
    quasi, marginal = view.names, view.true_groups.marginal(column)
    pairs = zip(*(indices.tolist() for indices in view.covering(points.select(quasi))), strict=True)
    rows = points.select(quasi).rows()
    covered: dict[int, list[Quasi]] = {}
    groups_of_point: dict[int, list[int]] = {}
    for point, group in pairs:
        covered.setdefault(group, []).append(rows[point])
        groups_of_point.setdefault(point, []).append(group)
    if not groups_of_point:
        raise DataError(
            f"No group covers anyone in the population: no group contains its values of {', '.join(quasi)}. Check that they are spelled as in the table."
        )
    groups: dict[int, ReleasedGroup] = {}
    implied: dict[Quasi, _Told] = {}
    for index, (point, group_indices) in enumerate(groups_of_point.items()):
        context.step(_STAGE, index, len(groups_of_point))
        if not is_requested[point]:
            continue
        for group in group_indices:
            if group not in groups:
                description = ", ".join(f"{name}={value}" for name, value in zip(quasi, rows[point], strict=True))
                name = f"the group that covers {description}"
                groups[group] = ReleasedGroup.of(model, covered[group], _histogram(marginal, group), name)
        released_groups = [groups[group] for group in group_indices]
        if may_be_among(model, rows[point], released_groups):
            chances = posterior_among(model, rows[point], released_groups)
            implied[rows[point]] = _Told(tuple(group_indices), chances, len(group_indices) == 1)
    return implied


def _histogram(groups: Groups, group: int) -> Histogram:
    """Return how many rows of a group have each value, as published."""
    labels, cells = groups.domain.columns[0].labels, groups.histograms
    inside = slice(cells.offsets[group], cells.offsets[group + 1])
    return Counter(dict(zip(labels.gather(cells.values[inside]).to_list(), cells.counts[inside].tolist(), strict=True)))


def _from_buckets(
    view: AdversaryView, model: PopulationModel, points: pl.DataFrame, column: str, context: Context
) -> dict[Quasi, _Told]:
    """Return the beliefs if quasi-identifiers and sensitive values are separate: each bucket by itself, and people with
    rows in several by their share.
    """
    marginal, rows_of = view.true_groups.marginal(column), points.select(view.names).rows()
    numbers = view.called.to_list() if view.called is not None else list(range(len(marginal)))
    # Published people who are not in the population get a dummy entry without any value.
    point_of: list[Quasi] = [("not in the population", cell) for cell in range(len(view.sizes))]
    for point, cell in zip(*(indices.tolist() for indices in view.covering(points.select(view.names))), strict=True):
        point_of[cell] = rows_of[point]
    people: dict[int, dict[Quasi, int]] = {}
    rows_by_bucket: dict[Quasi, dict[int, int]] = {}
    for point, group, size in zip(point_of, view.group_of.tolist(), view.sizes.tolist(), strict=True):
        people.setdefault(group, {})[point] = size
        rows_by_bucket.setdefault(point, {})[group] = size
    beliefs_by_bucket = {}
    for index, (number, bucket_people) in enumerate(people.items()):
        context.step(_STAGE, index, len(people))
        beliefs_by_bucket[number] = bucket_posterior(model, bucket_people, _histogram(marginal, number))
    implied: dict[Quasi, _Told] = {}
    for quasi_values, buckets in rows_by_bucket.items():
        rows = sum(buckets.values())
        chances: dict[Value, Fraction] = {}
        for number, bucket_rows in buckets.items():
            for value, chance in beliefs_by_bucket[number].chances[quasi_values].items():
                chances[value] = chances.get(value, Fraction(0)) + chance * Fraction(bucket_rows, rows)
        # People of several buckets who cannot be distinguished make the buckets dependent.
        is_distinguishable = all(len(rows_by_bucket[other]) == 1 for number in buckets for other in people[number])
        exact = is_distinguishable and all(beliefs_by_bucket[number].exact for number in buckets)
        implied[quasi_values] = _Told(tuple(numbers[number] for number in buckets), chances, exact)
    return implied


def _types(view: AdversaryView, column: str) -> dict[str, pl.DataType]:
    """Return the types in which values are compared: those of the table's columns, and of values published unchanged."""
    sensitive_type = {column: view.true_groups.marginal(column).domain.columns[0].labels.dtype}
    return (
        sensitive_type
        if view.made is not None
        else {**{column_seen.name: column_seen.labels.dtype for column_seen in view.columns}, **sensitive_type}
    )


def _read_alike(people: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the population with its columns converted to these types: '7' in one file and 7 in another are equal. Missing values stay missing."""
    converted = {}
    for name, dtype in types.items():
        if name in people.columns and people.schema[name] != dtype:
            present_rows = people[name].is_not_null().arg_true()
            typed = as_type_of(people[name].drop_nulls(), dtype)
            converted[name] = (
                pl.Series(name, [None], dtype=dtype).new_from_index(0, people.height).scatter(present_rows, typed)
            )
    return people.with_columns(**converted)


def _sensitive(view: AdversaryView, requested: str | None) -> str:
    """Return the sensitive column to use."""
    sensitive_names = tuple(column.name for column in view.true_groups.domain.columns)
    if requested is None:
        if len(sensitive_names) != 1:
            raise PolicyError(
                f"Choose a sensitive column with column=: {', '.join(sensitive_names) or 'there is none'}."
            )
        return sensitive_names[0]
    if requested not in sensitive_names:
        raise PolicyError(
            f"There is no sensitive column {requested!r}.{did_you_mean(requested, sensitive_names)} There are: {', '.join(sensitive_names) or 'none'}."
        )
    return requested


def people_asked(population: pl.DataFrame, where: Mapping[str, str]) -> int:
    """Return how many people of a population ``where`` selects, whether the release covers them or not."""
    return int(_matching(population, where).sum())


def _asked(points: pl.DataFrame, quasi: tuple[str, ...], where: Mapping[str, str]) -> list[bool]:
    """Return which points were requested; refused if none is."""
    for name in where:
        if name not in quasi:
            raise PolicyError(f"There is no quasi column {name!r}.{did_you_mean(name, quasi)}")
    is_requested = _matching(points, where)
    if not is_requested.any():
        raise DataError(
            f"The population has no one with {', '.join(f'{name}={text}' for name, text in where.items())}."
        )
    return is_requested.to_list()


def _matching(rows: pl.DataFrame, where: Mapping[str, str]) -> pl.Series:
    """Return a mask of the rows with these values, compared as text."""
    matching = pl.Series([True]).new_from_index(0, rows.height)
    for name, text in where.items():
        matching = matching & (rows[name].cast(pl.String) == text).fill_null(False)
    return matching
