"""From clusters to a draft: groups that satisfy the definition, their labels, centres and radii, and suppressed records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.exact import Number, exact
from reticent.base.packing import Codes, number, pack, sum_by
from reticent.core import (
    POPULATION,
    AdversaryView,
    Comparison,
    Draft,
    Evidence,
    FrequencySet,
    Groups,
    HierarchyDistance,
    MetricRecords,
    NumberDistance,
    PlaceDistance,
    RegionColumn,
    Regions,
    Shape,
)
from reticent.definitions import GroupDefinition, require_feasible
from reticent.engine import engine_of
from reticent.errors import Infeasible, PolicyError
from reticent.methods.clusters.column_ranges import (
    NumberGrid,
    ShownCategories,
    Statistic,
    category_column,
    is_line,
    range_column,
    statistic_column,
    statistics,
)
from reticent.methods.clusters.radii import OUT, Floats, Ids
from reticent.methods.clusters.shape import balls_around
from reticent.methods.clusters.units import ClusterUnits
from reticent.methods.grouping import Allocation, Grouping, PublishedGroups, SuppressedGroups, judged_sets, seen_as
from reticent.table import BoundHierarchy, FrameRows, Meaning, Rows, Table, null_label

CENTRE, RADIUS, MEMBERS = "{} (centre)", "radius", "rows"
_PAIRS_AT_ONCE = 1 << 24
_MOST_PAIRS, _WINDOW = 1 << 28, 128


@dataclass(frozen=True)
class ClusterLayout:
    """The published form of a cluster: grid steps by column, how numbers and other values are published, and whether centres are members."""

    grid: Mapping[str, Number]
    numbers: Literal["ranges", "mean", "median", "mode"]
    values: ShownCategories
    aggregate: tuple[str, ...]
    records: bool
    categories: tuple[str, ...]

    @property
    def statistic(self) -> Statistic | None:
        """The statistic published for numbers, or None."""
        return None if self.numbers == "ranges" else self.numbers


@dataclass(frozen=True, eq=False)
class ClusterDraft:
    """Clusters of a table on the way to a draft: the cluster of every unit (-1: suppressed).

    Clusters with equal labels in all columns are merged, since they cannot be distinguished.
    """

    table: Table
    units: ClusterUnits
    rows: FrequencySet
    published: ClusterLayout
    labels: Ids
    count: int

    @classmethod
    def of(
        cls, table: Table, units: ClusterUnits, published: ClusterLayout, labels: Ids, context: Context
    ) -> ClusterDraft:
        """Build from the clusters of a table's units."""
        for name in published.grid:
            if name not in table.quasi and name not in published.aggregate:
                raise PolicyError(f"grid has {name!r}, which is not a quasi column.", setting=("grid",), value=name)
        rows = engine_of(table, context).single_rows(table, np.arange(table.rows))
        return cls(table, units, rows, published, labels, int(labels.max(initial=-1)) + 1)._with_distinct_labels()

    @cached_property
    def group(self) -> Ids:
        """The cluster of every row."""
        return self.labels[self.units.owner]

    @cached_property
    def grids(self) -> dict[str, NumberGrid]:
        """The grid of every column published as ranges."""
        return {
            hierarchy.column: NumberGrid.of(hierarchy, self.published.grid.get(hierarchy.column))
            for hierarchy in self.table.hierarchies
            if is_line(hierarchy, self.published.categories)
        }

    @cached_property
    def columns(self) -> tuple[RegionColumn, ...]:
        """The labels of every cluster in each column."""
        columns = []
        for hierarchy, leaves in zip(self.table.hierarchies, self.rows.codes, strict=True):
            recipe = self.table.quasi[hierarchy.column]
            if hierarchy.column not in self.grids:
                columns.append(
                    category_column(hierarchy, recipe, leaves, self.group, self.count, self.published.values)
                )
                continue
            grid = self.grids[hierarchy.column]
            column = range_column(hierarchy, recipe, grid, leaves, self.group, self.count)
            if self.published.statistic is not None:
                column = statistic_column(column, grid, self._numbers(hierarchy, leaves, self.published.statistic))
            columns.append(column)
        return tuple(columns)

    def _numbers(self, hierarchy: BoundHierarchy, leaves: Codes, statistic: Statistic) -> Floats:
        """Return a column's statistic in every cluster, rounded to its grid; ``leaves`` is the value code of every row."""
        grid = self.grids[hierarchy.column]
        return grid.nearest(statistics(statistic, hierarchy.numbers()[leaves], self.group, self.count))

    def _with_distinct_labels(self) -> ClusterDraft:
        """Return the draft with clusters of equal labels merged, repeatedly since merging may change labels, until all differ."""
        draft = self
        while True:
            ids, count = number(
                *pack(
                    [column.of_group for column in draft.columns],
                    [len(column.shown) for column in draft.columns],
                    draft.count,
                )
            )
            if count == draft.count:
                return draft
            draft = draft.merged(ids.astype(np.int64), count)

    def merged(self, ids: Ids, count: int) -> ClusterDraft:
        """Merge cluster ``c`` into cluster ``ids[c]``."""
        labels = np.where(self.labels >= 0, ids[self.labels], OUT)
        return replace(self, labels=labels, count=count)

    @cached_property
    def groups(self) -> Groups:
        """The clusters and, last, the suppressed records, as groups."""
        group_or_last = np.where(self.group >= 0, self.group, self.count)
        all_groups = self.rows.groups().merged(group_or_last, self.count + 1)
        if self.table.population is None:
            return all_groups
        return replace(all_groups, extras={**all_groups.extras, POPULATION: np.append(self._people(), 0)})

    def _people(self) -> Ids:
        """Return the number of people of the public population table that match the labels of each cluster."""
        labels = self._labels()
        sizes = np.bincount(self.group[self.group >= 0], minlength=self.count)
        view = AdversaryView.in_rows(labels, sizes, self.meanings, []).shaped(
            dict(zip(self._texts, self.shapes, strict=True))
        )
        assert self.table.population is not None
        counted = view.with_population(self.table.population).true_groups.extras[POPULATION]
        return counted[view.of_rows(labels)]

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """Mask the groups that are not published: the last, if it has rows."""
        last: NDArray[np.bool_] = np.arange(self.count + 1) == self.count
        return last

    # Satisfying the definition.

    def passing(self, definition: GroupDefinition, failing: str, context: Context) -> ClusterDraft:
        """Return clusters that satisfy the definition: failing ones are merged with the nearest, until none fails.

        They satisfy it against an adversary who knows all quasi columns, whatever sets the table names: one who knows
        fewer sees some of the clusters merged. Suppressed records must satisfy the definition as a group, otherwise
        they are assigned to the nearest clusters.
        """
        draft = self
        while True:
            context.step("judging clusters", note=f"{draft.count:,} clusters")
            fails = draft._failing(definition)
            if not fails.any():
                return (
                    draft if draft._harmless(definition) else draft._readmitted().passing(definition, failing, context)
                )
            if failing == "refuse":
                reason = definition.assess(draft._judged(definition).select(~draft.left_out)).witness
                raise Infeasible(
                    f"{int(fails.sum())} of {draft.count} clusters do not satisfy {definition}. {'' if reason is None else reason.text} Use larger clusters, or failing='merge'."
                )
            if draft.count == 1:
                require_feasible(draft.rows.groups(), definition)
                raise Infeasible(f"Even all rows in one cluster do not satisfy {definition}.")
            draft = draft._joined(np.flatnonzero(fails))._with_distinct_labels()

    def _failing(self, definition: GroupDefinition) -> NDArray[np.bool_]:
        """Mask the clusters that fail against an adversary who knows all quasi columns, or one of the column sets of the table or the definition."""
        judged = self._judged(definition)
        fails = definition.failing(judged)[: self.count]
        for judged_set in judged_sets(self.table, definition):
            if len(judged_set.places) < len(self.columns):
                group_of, groups = self._seen(judged_set.places, ~self.left_out)
                fails |= judged_set.definition.failing(replace(groups, reference=judged.reference))[group_of]
        return fails

    def _judged(self, definition: GroupDefinition) -> Groups:
        """Return the groups as they are judged: where the definition compares each with all rows (as t-closeness does) and records are suppressed, with the published rows as the reference."""
        has_suppressed = self.groups.sizes[-1] > 0  # the last group has the suppressed records
        if not definition.needs_reference or not has_suppressed:
            return self.groups
        published = self.groups.select(~self.left_out)
        return replace(self.groups, reference=published.histograms.total(self.groups.domain.size))

    def _harmless(self, definition: GroupDefinition) -> bool:
        """True if no records are suppressed, or they satisfy the definition as a group."""
        if not self.groups.sizes[-1]:
            return True
        if any(part.needs_population for part in definition.parts()):
            return False
        return not bool(definition.failing(self._judged(definition).select(self.left_out)).any())

    def _readmitted(self) -> ClusterDraft:
        """Return the draft with suppressed records assigned to the nearest clusters."""
        suppressed = np.flatnonzero(self.labels < 0)
        labels, centres = self.labels.copy(), self.units.synthetic(self.labels, self.count)
        step = max(_PAIRS_AT_ONCE // self.count, 1)
        for start in range(0, len(suppressed), step):
            batch = suppressed[start : start + step]
            labels[batch] = np.argmin(self.units.metric.between(self.units.records.take(batch), centres), axis=1)
        return replace(self, labels=labels)._with_distinct_labels()

    def _joined(self, failing: Ids) -> ClusterDraft:
        """Return the draft in which each ``failing`` cluster is merged with the nearest one, nearest pairs first."""
        centres = self.units.synthetic(self.labels, self.count)
        nearest, distances = self._nearest(centres, failing)
        parent = np.arange(self.count)

        def root(cluster: int) -> int:
            """Return the cluster that represents all clusters merged with this one (union-find with path halving)."""
            while parent[cluster] != cluster:
                parent[cluster] = parent[parent[cluster]]
                cluster = int(parent[cluster])
            return cluster

        is_joined = np.zeros(self.count, dtype=bool)
        for index in np.lexsort((failing, distances)).tolist():
            failing_cluster, nearest_cluster = int(failing[index]), int(nearest[index])
            if not is_joined[failing_cluster]:
                parent[root(failing_cluster)] = root(nearest_cluster)
                is_joined[failing_cluster] = is_joined[nearest_cluster] = True
        roots = np.array([root(cluster) for cluster in range(self.count)])
        _, ids = np.unique(roots, return_inverse=True)
        return self.merged(ids.ravel(), int(ids.max()) + 1)

    def _nearest(self, centres: MetricRecords, failing: Ids) -> tuple[Ids, Floats]:
        """Return for each failing cluster the nearest other one and its distance; with very many clusters only those with
        close numbers, which are neighbours, are considered.
        """
        nearest, distances = np.zeros(len(failing), dtype=np.int64), np.zeros(len(failing))
        all_pairs = len(failing) * self.count <= _MOST_PAIRS
        step = max(_PAIRS_AT_ONCE // self.count, 1) if all_pairs else 64
        for start in range(0, len(failing), step):
            batch = failing[start : start + step]
            low, high = (
                (0, self.count) if all_pairs else (max(batch[0] - _WINDOW, 0), min(batch[-1] + _WINDOW, self.count))
            )
            candidates = np.arange(low, high)
            between = self.units.metric.between(centres.take(batch), centres.take(candidates))
            between[candidates[None, :] == batch[:, None]] = np.inf
            nearest[start : start + step] = candidates[np.argmin(between, axis=1)]
            distances[start : start + step] = between.min(axis=1)
        return nearest, distances

    # Published form.

    @cached_property
    def meanings(self) -> dict[str, dict[str, Meaning]]:
        """Return the meaning of each label of every column, as text."""
        return {column.name: dict(zip(_label_texts(column), column.meanings, strict=True)) for column in self.columns}

    def _labels(self) -> pl.DataFrame:
        """Return the labels of every cluster, one row each."""
        return Regions(self.columns, (), np.zeros(0, dtype=np.int64)).shown(np.arange(self.count))

    @cached_property
    def _texts(self) -> list[tuple[str, ...]]:
        """Return the labels of every cluster as text."""
        texts = [
            [labels[code] for code in column.of_group.tolist()]
            for column in self.columns
            for labels in (_label_texts(column),)
        ]
        return list(zip(*texts, strict=True))

    @cached_property
    def centres(self) -> tuple[MetricRecords, Floats]:
        """Return the published centre of every cluster, and its radius: on the grid, or members of the clusters."""
        if self.published.records:
            return self._members()
        arrays = []
        statistic = self.published.statistic
        synthetic = self.units.synthetic(self.labels, self.count)
        for column, middle, values in zip(
            self.units.metric.columns, synthetic.arrays, self.units.records.arrays, strict=True
        ):
            if middle.dtype.kind != "f":
                arrays.append(middle)
                continue
            flat, member_values = middle.reshape(self.count, -1), values.reshape(len(values), -1)
            rounded = []
            for index, name in enumerate(column.names):
                statistic_values = (
                    flat[:, index]
                    if statistic is None
                    else statistics(statistic, member_values[:, index], self.labels, self.count)
                )
                rounded.append(self.grids[name].nearest(statistic_values))
            arrays.append(np.stack(rounded, axis=1).reshape(middle.shape))
        centres = MetricRecords(tuple(arrays))
        return centres, self._rounded_up(self.units.radii(centres, self.labels))

    def _members(self) -> tuple[MetricRecords, Floats]:
        """Return the member of every cluster nearest to its synthetic centre (first of ties), and its radius."""
        synthetic = self.units.synthetic(self.labels, self.count)
        inside = np.flatnonzero(self.labels >= 0)
        distances = self.units.metric.paired(self.units.records.take(inside), synthetic.take(self.labels[inside]))
        order = np.lexsort((inside, distances, self.labels[inside]))
        first = inside[order[np.searchsorted(self.labels[inside][order], np.arange(self.count))]]
        members = self.units.records.take(first)
        return members, self._rounded_up(self.units.radii(members, self.labels))

    def _rounded_up(self, radii: Floats) -> Floats:
        """Round radii up to multiples of the distance of one grid step."""
        steps = [
            column.weight * float(self.grids[column.names[0]].step) / column.scale
            for column in self.units.metric.columns
            if isinstance(column, NumberDistance) and column.names[0] in self.grids
        ]
        step = exact(f"{min(steps):.3g}", "step") if steps else exact("0.01", "step")
        up, down = step.numerator, step.denominator
        # A radius that is a multiple up to rounding error is kept: points on the rim are inside.
        rounded: Floats = np.ceil(np.round(radii * down / up, 9)) * up / down
        return rounded

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Return every cluster as a ball: numbers, categories and places; columns with a hierarchy are bounded only by their labels."""
        records, radii = self.centres
        scales, centres_by_column, places = dict[str, float](), dict[str, list[Any]](), list[tuple[str, str]]()
        hierarchies = {hierarchy.column: hierarchy for hierarchy in self.table.hierarchies}
        for column, values in zip(self.units.metric.columns, records.arrays, strict=True):
            if isinstance(column, HierarchyDistance):
                continue
            scale = getattr(column, "scale", 1.0) / column.weight
            if isinstance(column, PlaceDistance):
                places.append((column.names[0], column.names[1]))
            for index, name in enumerate(column.names):
                scales[name] = scale
                centres_by_column[name] = _plain_centres(
                    hierarchies[name], values[:, index] if values.ndim > 1 else values
                )
        return balls_around(centres_by_column, radii.tolist(), scales, self.units.metric.norm, places)

    def clusters(self) -> pl.DataFrame:
        """Return the public table of clusters: labels, centres, radii and row counts."""
        records, radii = self.centres
        table = self._labels()
        centres = {}
        hierarchies = {hierarchy.column: hierarchy for hierarchy in self.table.hierarchies}
        for column, values in zip(self.units.metric.columns, records.arrays, strict=True):
            for index, name in enumerate(column.names):
                centres[name] = _typed_centres(hierarchies[name], values[:, index] if values.ndim > 1 else values)
        sizes = np.bincount(self.group[self.group >= 0], minlength=self.count)
        return table.with_columns(
            *(centres[name].alias(CENTRE.format(name)) for name in self.table.quasi),
            pl.Series(RADIUS, radii),
            pl.Series(MEMBERS, sizes, dtype=pl.Int64),
        )

    def details(self) -> dict[str, Any]:
        """Return the manifest details: the metric and the grid."""
        scales = {
            name: getattr(column, "scale", 1.0) / column.weight
            for column in self.units.metric.columns
            if not isinstance(column, HierarchyDistance)
            for name in column.names
        }
        return {
            "norm": self.units.metric.norm,
            "scales": scales,
            "places": [list(column.names) for column in self.units.metric.columns if isinstance(column, PlaceDistance)],
            "grid": {name: str(grid.step) for name, grid in self.grids.items()},
            "numbers": self.published.numbers,
            "centres": "records" if self.published.records else "synthetic",
            "aggregated": list(self.published.aggregate),
        }

    def grouping(self, definition: GroupDefinition, search: Mapping[str, Any]) -> Grouping:
        """Return the clusters with the evidence of their groups."""
        table = self.table
        published_groups = PublishedGroups.of(table, definition, self.groups, self._seen, table.rows)
        compared: Comparison = (
            "published rows" if definition.needs_reference and self.groups.sizes[-1] else "whole table"
        )
        regions = Regions(self.columns, self.rows.codes, self.group)
        return Grouping(
            self.rows,
            Allocation.of(table, self.columns, self.rows.codes, self.group, shapes=self.shapes),
            published_groups.evidence(SuppressedGroups(self.left_out, compared)),
            partial(regions.published_cells, self.rows.hierarchies),
            search,
            self.meanings,
            "clusters",
            self.details(),
            completed=self._completed,
        )

    def _completed(self, draft: Draft) -> Draft:
        """Return the draft with the table of clusters and, if chosen, aggregated numbers, which later rows cannot have."""
        data = self._aggregated(draft.tables["data"])
        with_clusters = replace(draft, tables={"data": data, "groups": FrameRows(self.clusters())})
        if not self.published.aggregate:
            return with_clusters
        return replace(with_clusters, recoding=None, evidence=self._of_aggregated(draft.evidence, data.frame()))

    def _of_aggregated(self, evidence: Evidence, rows: pl.DataFrame) -> Evidence:
        """Return the evidence with the published sensitive values instead of the true ones; people are counted as before."""
        clusters = self._labels()

        def shown(names: Sequence[str]) -> Groups:
            """Return the groups that an adversary who knows these columns can distinguish, with published sensitive values."""
            meanings = {name: self.meanings[name] for name in names}
            view = AdversaryView.in_rows(rows, None, meanings, list(self.table.sensitive))
            cell = view.of_rows(clusters)
            extras = {
                name: sum_by(cell, counts[: self.count], len(view.sizes)) for name, counts in self.groups.extras.items()
            }
            return replace(view.true_groups, extras=extras)

        return replace(
            evidence,
            groups={names: shown(names) for names in evidence.groups},
            named={names: shown(names) for names in evidence.named},
            finest=None if evidence.finest is None else shown(tuple(self.table.quasi)),
        )

    def _seen(self, column_indices: tuple[int, ...], is_kept: NDArray[np.bool_]) -> tuple[NDArray[Any], Groups]:
        """Return the group of each published cluster, and the groups, as an adversary sees them who knows the columns at
        ``column_indices``: clusters with equal labels there are one group. ``is_kept`` masks the published clusters.
        """
        chosen = [self.columns[index] for index in column_indices]
        codes = [np.append(column.of_group, 0) for column in chosen]
        ids, count = number(*pack(codes, [len(column.shown) for column in chosen], self.count + 1))
        group_of, _, groups = seen_as(self.groups, column_indices, ids.astype(np.int64), count, is_kept)
        return group_of, groups

    def _aggregated(self, rows: Rows) -> Rows:
        """Return rows whose sensitive numbers are replaced by the statistic of their cluster, if chosen."""
        if not self.published.aggregate:
            return rows
        frame = rows.frame()
        changed = []
        for name in self.published.aggregate:
            grid = _value_grid(frame[name], self.published.grid.get(name))
            statistic = {
                "mean": pl.col(name).mean(),
                "median": pl.col(name).median(),
                "mode": pl.col(name).mode().min(),
            }
            cluster_statistics = frame.select(
                statistic[self.published.numbers].over(list(self.table.quasi)).cast(pl.Float64)
            )
            rounded = grid.nearest(cluster_statistics.to_series().fill_null(np.nan).to_numpy())
            changed.append(pl.Series(name, rounded).fill_nan(None).cast(frame[name].dtype))
        return FrameRows(frame.with_columns(changed))


def _value_grid(values: pl.Series, step: Number | None) -> NumberGrid:
    """Return the grid of a numeric column other than a quasi column."""
    leaves = values.drop_nulls().unique().sort()
    return NumberGrid.of(BoundHierarchy(values.name, leaves, (), True), step)


def _label_texts(column: RegionColumn) -> list[str]:
    """Return the labels of a column as text."""
    texts = column.shown.cast(pl.String)
    return texts.fill_null(null_label({})).to_list()


def _plain_centres(hierarchy: BoundHierarchy, values: NDArray[Any]) -> list[Any]:
    """Return centres of one column as balls use them: numbers (dates as days), text, booleans; None if missing."""
    if values.dtype.kind == "f":
        return [None if value != value else value for value in values.tolist()]
    leaves = hierarchy.leaves.gather(values)
    return (leaves if leaves.dtype in (pl.String, pl.Boolean) else leaves.cast(pl.String)).to_list()


def _typed_centres(hierarchy: BoundHierarchy, values: NDArray[Any]) -> pl.Series:
    """Return centres of one column as values of its type."""
    if values.dtype.kind != "f":
        return hierarchy.leaves.gather(values)
    series = pl.Series(values).fill_nan(None)
    if hierarchy.leaves.dtype == pl.Date:
        return series.cast(pl.Int32).cast(pl.Date)
    return series.cast(pl.Int64) if hierarchy.leaves.dtype.is_integer() else series
