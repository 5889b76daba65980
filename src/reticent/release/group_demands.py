"""Requirements of a definition on groups, for the lower bound on the loss of releases that satisfy it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import WEIGHT, Draft, FrequencySet, Groups, Histograms
from reticent.definitions import AnyColumns, Definition, DistinctLDiversity, GroupDefinition, all_of, by_set
from reticent.table import Table
from reticent.utility import (
    THOROUGH,
    BoundEffort,
    GroupDemand,
    LowerBound,
    MeasuredUtility,
    is_quick,
    loss_bound,
    utility_of,
)

Ids = NDArray[np.int64]


def measured_utility(table: Table, definition: Definition, draft: Draft) -> tuple[MeasuredUtility, Mapping[str, float]]:
    """The utility measures of a draft, with the lower bound on the loss of releases by groups under the definition if it exists; and the loss of each quasi column.

    There is no bound for definitions of mechanisms and of histories, and if no loss is measured. If quasi values are published unchanged, as in buckets, the loss and the
    bound are 0.
    """
    utility = utility_of(draft)
    figures, losses, frequencies = dict(utility), utility.loss_by_column, draft.counted
    if "loss" not in figures or frequencies is None or not isinstance(definition, GroupDefinition):
        return MeasuredUtility(figures), losses
    summary = utility.summary
    is_lossless = summary is not None and summary.exact
    lower_bound = _nothing_lost if is_lossless else partial(bound_under, table, definition, frequencies)
    return MeasuredUtility(figures, lower_bound, is_quick(frequencies)), losses


def bound_under(
    table: Table,
    definition: GroupDefinition,
    counted: FrequencySet,
    ranges: bool = False,
    effort: BoundEffort = THOROUGH,
    context: Context | None = None,
) -> LowerBound:
    """Return the lower bound on the loss of any release by groups of a table (as its frequency set ``counted``) under a
    definition.

    With ``ranges``, of a release that publishes numbers and dates as ranges; ``effort`` and ``context`` as in
    :func:`loss_bound`.
    """
    judged = _judged_alone(table, definition, counted)
    failing = None if judged is None else partial(_failing, judged)
    demands = list(_demands(table, definition, counted))
    return loss_bound(counted, demands, ranges=ranges, failing=failing, effort=effort, context=context)


def _nothing_lost(ranges: bool, effort: BoundEffort, context: Context) -> LowerBound:
    return LowerBound(0.0, exact=True)


def _demands(table: Table, definition: GroupDefinition, counted: FrequencySet) -> Iterator[GroupDemand]:
    """Yield the requirements on the groups in each adversary's view. For adversaries who know any subset of a given size, disjoint subsets of that size are used."""
    index_of = {name: index for index, name in enumerate(table.quasi)}
    sets = table.quasi_sets if table.quasi_sets is not None else (tuple(table.quasi),)
    for names, required in by_set(definition, sets):
        columns = tuple(dict.fromkeys(index_of[name] for name in names))
        for conjunct in required.parts():
            if isinstance(conjunct, AnyColumns):
                rows, values = conjunct.demand.least_rows(), _values(conjunct.demand, counted)
                for start in range(0, len(columns), conjunct.known):
                    yield GroupDemand(columns[start : start + conjunct.known], rows, values)
        yield GroupDemand(columns, required.least_rows(), _values(required, counted))


def _values(definition: GroupDefinition, counted: FrequencySet) -> Mapping[str, int]:
    """The minimum number of distinct values per group for each sensitive column."""
    minimum_by_column: dict[str, int] = {}
    relaxed = definition.relaxation()
    for part in () if relaxed is None else relaxed.parts():
        if isinstance(part, DistinctLDiversity):
            names = [column.name for column in counted.domain.columns] if part.column is None else [part.column]
            minimum_by_column.update({name: max(part.l, minimum_by_column.get(name, 1)) for name in names})
    return minimum_by_column


def _judged_alone(table: Table, definition: GroupDefinition, counted: FrequencySet) -> GroupDefinition | None:
    """The parts of a definition that judge a group of records by its sensitive values alone; None if adversaries know several sets of columns, people have several rows, or groups are judged by further counts."""
    if table.quasi_sets is not None or counted.owners or set(counted.extras) - {WEIGHT}:
        return None
    parts = tuple(
        part
        for part in definition.parts()
        if part.local and part.quasi is None and not (part.needs_population or part.needs_raw or part.own_family)
    )
    return all_of(parts) if parts else None


def _failing(
    definition: GroupDefinition, points: FrequencySet, groups: Ids, values: Ids, count: int
) -> NDArray[np.bool_]:
    """Return a mask of the groups of records that fail the definition; record ``i`` belongs to ``groups[i]`` (below
    ``count``) and has the joint sensitive value ``values[i]``.
    """
    histograms = Histograms.from_cells(groups, values, None, count, points.domain.size)
    sizes = np.bincount(groups, minlength=count)
    return definition.failing(Groups(sizes, histograms, points.reference, points.domain))
