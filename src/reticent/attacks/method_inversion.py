"""The possible worlds in which a method chooses the published release, for an adversary who knows the method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import gcd
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.release_worlds import Part, Placed, Worlds, rows_of, shown_values
from reticent.base.context import Context
from reticent.base.packing import first_rows, number, pack
from reticent.base.randomness import Randomness
from reticent.core import AdversaryView, Groups, Histograms, SensitiveDomain
from reticent.definitions import GroupDefinition, KAnonymity
from reticent.engine import count_table
from reticent.errors import Infeasible, PolicyError
from reticent.methods.lattice import NodeSpace, objective_for, search
from reticent.release import adversary_view_of
from reticent.table import Table

_MOST_NODES = 300
_MOST_WORK = 1 << 24
_MOST_STATES = 4096
_SMALLEST, _MOST_ROWS = 20, 1000
_ROUNDING = 1e-9
_FEWEST_KEPT, _MOST_SAMPLED = 20, 60
_Levels = tuple[int, ...]
_Numbered = tuple[NDArray[Any], int]
_Tally = dict[int, int]


@dataclass(frozen=True)
class RemainingWorlds:
    """Possible worlds after exclusion: ``weights[part][w]`` assignments are left for world ``w`` of a part, including
    those of the other parts.

    The worlds may merge equivalent points; ``point_of`` maps each original point to its merged one.
    """

    point_of: NDArray[np.int64]
    worlds: Worlds
    weights: tuple[NDArray[np.object_], ...]

    @property
    def possible(self) -> int:
        """The number of remaining assignments of values to people."""
        return int(self.weights[0].sum())

    def chances(self) -> NDArray[np.object_]:
        """Return the exact probability of each combination of sensitive values (column) for every point (row).

        A point is a distinct combination of quasi-identifiers. The worlds of each part are weighted by the number of
        assignments of values that they stand for.
        """
        sizes = self.worlds.placed.sizes
        chances = np.zeros((len(sizes), self.worlds.values.height), dtype=object)
        for part, weights in zip(self.worlds.parts, self.weights, strict=True):
            # The common factor of all worlds of a part (the ways of the other parts) has thousands of digits, and
            # cancels.
            reduced = weights // max(gcd(*weights.tolist()), 1)
            weighted_counts, total = np.tensordot(reduced, part.counts.astype(object), axes=1), int(reduced.sum())
            for point, value_counts in zip(part.points.tolist(), weighted_counts, strict=True):
                chances[point] = [
                    Fraction(int(weighted_count), total * int(sizes[point])) for weighted_count in value_counts
                ]
        return chances


@dataclass(frozen=True)
class Choice:
    """A method's choice as a function of unknown values. At most ``most`` worlds are enumerated, and ``runs`` tried."""

    table: Table
    definition: GroupDefinition
    seen: AdversaryView
    placed: Placed
    most: int
    runs: int

    def by_rank(self, objective: str) -> RemainingWorlds:
        """Return the remaining worlds if nodes are tried in a fixed order: those in which every node before the published one fails.

        People whom none of these nodes distinguishes are merged. A node fails if one of its groups does, and most groups are
        inside a published one: groups that no such node merges are enumerated separately (a part), and combined by which nodes
        they make fail, as a bit mask of nodes for each world of a part.
        """
        earlier_nodes = self._earlier_nodes(objective)
        placed, point_of = self.placed.alike([ids for ids, _ in earlier_nodes])
        representatives = first_rows(point_of, len(placed.sizes))
        nodes = [(ids[representatives], count) for ids, count in earlier_nodes]
        worlds = Worlds.of(self.seen, self.table, placed, self.most)
        if all(part.local for part in self.definition.parts()):
            worlds = worlds.joined(_connected_parts(worlds, nodes), self.most)
        else:
            worlds = worlds.whole(self.most)
        failed_nodes = [np.zeros(len(part), dtype=object) for part in worlds.parts]
        for bit, (ids, _) in enumerate(nodes):
            for part, failed_of_world in zip(worlds.parts, failed_nodes, strict=True):
                failed_of_world[~self._passes(part, ids)] |= 1 << bit
        return RemainingWorlds(point_of, worlds, _completed(worlds.parts, failed_nodes, (1 << len(nodes)) - 1))

    def by_running(self, method: Any) -> RemainingWorlds:
        """Return the worlds in which the method, run on them, publishes exactly the same release."""
        # Every part has at least one world, and all together at most as many as are run.
        limit = self.runs + len(self.placed.sizes)
        try:
            worlds = Worlds.of(self.seen, self.table, self.placed, limit).whole(self.runs)
        except PolicyError:
            if not self.placed.is_complete or self.table.rows > _MOST_SAMPLED:
                raise
            worlds = Worlds.sampled(self.seen, self.table, self.placed, self.runs)
        published = self.seen.looks()
        published_totals = {
            name: _counted(spread.column.labels, spread.counts) for name, spread in self.seen.reference.items()
        }
        is_possible = []
        for world in self.frames(worlds):
            totals = {name: _counted(*world.frame[name].value_counts().get_columns()) for name in published_totals}
            is_possible.append(totals == published_totals and self._reproduces(method, world, published))
        weights = worlds.parts[0].ways * np.array(is_possible, dtype=object)
        if worlds.is_sampled and sum(is_possible) < _FEWEST_KEPT:
            raise PolicyError(
                f"Of {self.runs:,} randomly sampled tables, {sum(is_possible)} lead to this release, but an estimate needs {_FEWEST_KEPT}. Run Minimality with more runs."
            )
        return RemainingWorlds(np.arange(len(self.placed.sizes)), worlds, (weights,))

    def frames(self, worlds: Worlds) -> Iterator[Table]:
        """Yield every world as a table."""
        for frame in worlds.frames(self.table.frame):
            yield Table(frame, quasi=self.table.quasi, sensitive=self.table.sensitive, nulls=self.table.nulls)

    def _reproduces(self, method: Any, world: Table, published: list[Any]) -> bool:
        """True if the method, run on a possible world, publishes what was ``published``."""
        try:
            draft = method.draft(world, self.definition, Context(Randomness(0)))
        except Infeasible:
            return False
        if self.definition.needs_reference:
            # The certificate states the reference rows of the groups, which may depend on the values too.
            compared = "whole table" if self.seen.reference else "published rows"
            if draft.evidence.compared_with != compared:
                return False
        return adversary_view_of(draft).looks() == published

    def _earlier_nodes(self, objective: str) -> list[_Numbered]:
        """Return the nodes that precede the published one and might have passed, each as the group of every point and the number of groups."""
        space = NodeSpace((0,) * len(self.table.hierarchies), tuple(levels.height for levels in self.table.hierarchies))
        if space.size * len(self.placed.sizes) > _MOST_WORK:
            raise PolicyError(
                f"The lattice has {space.size:,} nodes and the table {len(self.placed.sizes):,} different people: too many for Minimality."
            )
        nodes = {levels: self._numbered(levels) for levels in space.nodes()}
        # Nodes with the same groups pass together, so the first of them is the chosen one.
        same_groups = [levels for levels, node in nodes.items() if self._is_published(node)]
        if not same_groups:
            raise PolicyError(
                "The release is not a generalization of the table by its hierarchies: its choice cannot be reproduced."
            )
        earlier = [levels for levels in self._cheaper(space, same_groups, objective) if self._is_large(nodes[levels])]
        if self.definition.monotone:
            # If a node fails, all finer ones do.
            earlier = [levels for levels in earlier if not any(_is_finer(levels, other) for other in earlier)]
        return [nodes[levels] for levels in earlier if not self._never_passes(nodes[levels])]

    def _numbered(self, levels: _Levels) -> _Numbered:
        """Return the group of each point at a node of the lattice (a level per column), and the number of groups."""
        bound = self.table.hierarchies
        codes_at_level = [
            hierarchy.levels[level].parts[codes]
            for hierarchy, level, codes in zip(bound, levels, self._leaves, strict=True)
        ]
        sizes = [hierarchy.levels[level].size for hierarchy, level in zip(bound, levels, strict=True)]
        return number(*pack(codes_at_level, sizes, self.placed.points.height))

    @cached_property
    def _leaves(self) -> list[NDArray[Any]]:
        return [hierarchy.codes(self.placed.points[hierarchy.column]) for hierarchy in self.table.hierarchies]

    def _cheaper(self, space: NodeSpace, same_groups: Sequence[_Levels], objective: str) -> list[_Levels]:
        """Return the nodes that precede the first of some equivalent ones: those with lower cost, or equal cost and
        lower levels.

        The cost of a node is the same in every world, because the measure ignores sensitive values. Column by column it
        is known for all nodes at once, up to rounding; where that matters, and for other measures, nodes are measured
        one by one.
        """
        cost_measure = objective_for(objective, count_table(self.table, sensitive=False))
        if not cost_measure.knows_floors and space.size > _MOST_NODES:
            raise PolicyError(
                f"The lattice has {space.size:,} nodes; with objective {objective} Minimality handles at most {_MOST_NODES}."
            )
        cost_estimates = cost_measure.floors(space)
        published = min((self._cost(levels, objective), levels) for levels in same_groups)
        cheaper = []
        for levels in space.nodes():
            estimate, tolerance = float(cost_estimates[levels]), _ROUNDING * abs(published[0])
            if cost_measure.knows_floors and abs(estimate - published[0]) > tolerance:
                comes_before = estimate < published[0]
            else:
                comes_before = (self._cost(levels, objective), levels) < published
            if comes_before:
                cheaper.append(levels)
        return cheaper

    def _cost(self, levels: _Levels, objective: str) -> float:
        """Return the value of the objective (lower is better) if the table is generalized to these hierarchy levels."""
        node = dict(zip(self.table.quasi, levels, strict=True))
        best = search(self.table, KAnonymity(1), objective=objective, node=node).best
        assert best is not None
        return float(best.objective)

    def _is_published(self, node: _Numbered) -> bool:
        """True if a node groups the same people as the release does."""
        (ids, count), groups = node, len(self.seen.true_groups)
        if count != groups:
            return False
        return number(*pack([ids, self.placed.group_of], [count, groups], len(ids)))[1] == count

    def _is_large(self, node: _Numbered) -> bool:
        """True if a node's groups have the required size, so that its failure depends on the values."""
        people = np.bincount(node[0], self.placed.sizes, node[1])
        return all(people.min() >= part.k for part in self.definition.parts() if isinstance(part, KAnonymity))

    def _never_passes(self, node: _Numbered) -> bool:
        """True if one of a node's smallest groups fails the definition for all values that are compatible with the
        release.

        ``node`` has the group of each point (distinct quasi-identifier combination), and the number of groups. Its
        failure then gives no information. If that is not detected, the failure is assumed to depend on values and
        checked in every world.
        """
        groups, local = self.seen.true_groups, all(part.local for part in self.definition.parts())
        if not local or not self.placed.is_complete:
            return False
        ids, count = node
        people = np.bincount(ids, self.placed.sizes, count).astype(np.int64)
        for group in np.argsort(people, kind="stable")[:_SMALLEST].tolist():
            value_counts = np.zeros(groups.domain.size, dtype=np.int64)
            for published_group in np.unique(self.placed.group_of[ids == group]):
                entries = slice(
                    groups.histograms.offsets[published_group], groups.histograms.offsets[published_group + 1]
                )
                value_counts[groups.histograms.values[entries]] += groups.histograms.counts[entries]
            possible_histograms = list(islice(rows_of(int(people[group]), value_counts.tolist()), _MOST_ROWS + 1))
            if (
                len(possible_histograms) <= _MOST_ROWS
                and self.definition.failing(self._judged(np.array(possible_histograms, dtype=np.int64))).all()
            ):
                return True
        return False

    def _passes(self, part: Part, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the worlds of a part in which its points, grouped by ``ids``, satisfy the definition.

        A point is a distinct quasi-identifier combination. ``part.counts[world, point, value]`` are people; they are
        added up by group.
        """
        groups, group_of_point = np.unique(ids[part.points], return_inverse=True)
        is_in_group = np.zeros((len(groups), len(group_of_point)), dtype=np.int64)
        is_in_group[group_of_point, np.arange(len(group_of_point))] = 1
        counts = np.einsum("gp,wpv->wgv", is_in_group, part.counts)
        if not all(conjunct.local for conjunct in self.definition.parts()):
            return np.array([self.definition.holds(self._judged(world)) for world in counts], dtype=bool)
        failing = self.definition.failing(self._judged(counts.reshape(-1, counts.shape[2])))
        passing: NDArray[np.bool_] = np.all(~failing.reshape(len(counts), len(groups)), axis=1)
        return passing

    def _judged(self, counts: NDArray[np.int64]) -> Groups:
        """Return groups of people with these value counts (one row each), as if all were published."""
        domain, codes = self._domain
        reference = np.zeros(domain.size, dtype=np.int64)
        reference[codes] = self.seen.true_groups.reference
        owners, values = np.nonzero(counts)
        cells = Histograms.from_cells(owners, codes[values], counts[owners, values], len(counts), domain.size)
        return Groups(counts.sum(axis=1), cells, reference, domain)

    @cached_property
    def _domain(self) -> tuple[SensitiveDomain, NDArray[np.int64]]:
        """Return the sensitive columns as the table declares them, and the index of each published value combination in them."""
        columns, values = self.table.sensitive_columns, shown_values(self.seen, self.table)
        codes = [column.codes(values[column.name]).astype(np.int64) for column in columns]
        if len(columns) == 1:
            return SensitiveDomain.single(columns[0]), codes[0]
        return SensitiveDomain(columns, np.stack(codes, axis=1).astype(np.int32)), np.arange(values.height)


def is_ranked(method: Mapping[str, Any]) -> bool:
    """True if the order of nodes does not depend on sensitive values, so that the first passing one is chosen."""
    plain = method.get("objective") not in (None, "kl") and not str(method.get("objective")).startswith("callback")
    return method.get("name") == "Lattice" and Fraction(str(method.get("suppression", "0"))) == 0 and plain


def _connected_parts(worlds: Worlds, nodes: Sequence[_Numbered]) -> NDArray[np.int64]:
    """Return for each part the number of its connected component: parts are connected if a group of some node has points of both."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    part_of_point = np.empty(len(worlds.placed.sizes), dtype=np.int64)
    for index, part in enumerate(worlds.parts):
        part_of_point[part.points] = index
    part_count, node_count = len(worlds.parts), len(worlds.parts)
    group_nodes = [np.zeros(0, dtype=np.int64)]
    for ids, count in nodes:
        group_nodes.append(ids + node_count)
        node_count += count
    # A bipartite graph: parts are connected to the groups that have their points.
    edges = (np.tile(part_of_point, len(nodes)), np.concatenate(group_nodes))
    linked = coo_array((np.ones(len(edges[0])), edges), shape=(node_count, node_count))
    return connected_components(linked, directed=False)[1][:part_count].astype(np.int64)


def _completed(
    parts: Sequence[Part], failed_nodes: Sequence[NDArray[np.object_]], all_nodes: int
) -> tuple[NDArray[np.object_], ...]:
    """Return, for each world of each part, the number of assignments of all parts in which every earlier node fails.

    A node is a generalization that the search tried before the published one; a part is a set of people whose values
    are assigned independently of the others, and its worlds are the possible assignments. A node fails if it fails in
    some part: ``failed_nodes[part][world]`` is the bit mask of these, ``all_nodes`` that of all nodes. A tally maps a
    mask to its number of assignments; those of the other parts are combined from both ends.
    """
    tallies = [_tallied(part.ways, failed_of_world) for part, failed_of_world in zip(parts, failed_nodes, strict=True)]
    tallies_after: list[_Tally] = [{0: 1}]
    for tally in reversed(tallies):
        tallies_after.append(_combined(tallies_after[-1], tally))
    weights, tally_before = [], {0: 1}
    for index, (part, failed_of_world) in enumerate(zip(parts, failed_nodes, strict=True)):
        tally_of_others = _combined(tally_before, tallies_after[len(parts) - 1 - index])
        completions = {
            own_failures: sum(
                ways for other_failures, ways in tally_of_others.items() if own_failures | other_failures == all_nodes
            )
            for own_failures in tallies[index]
        }
        weights.append(
            part.ways * np.array([completions[own_failures] for own_failures in failed_of_world.tolist()], dtype=object)
        )
        tally_before = _combined(tally_before, tallies[index])
    return tuple(weights)


def _tallied(ways: NDArray[np.object_], failed_nodes: NDArray[np.object_]) -> _Tally:
    """Return a tally of the worlds of a part: for each set of nodes (as a bit mask) how many assignments of values to
    people make exactly these fail.
    """
    tally: _Tally = {}
    for mask, count in zip(failed_nodes.tolist(), ways.tolist(), strict=True):
        tally[mask] = tally.get(mask, 0) + count
    return tally


def _combined(first: _Tally, second: _Tally) -> _Tally:
    """Return the tally of two parts together: the number of assignments by the bit mask of the nodes that fail in
    either.
    """
    tally: _Tally = {}
    for first_mask, first_ways in first.items():
        for second_mask, second_ways in second.items():
            tally[first_mask | second_mask] = tally.get(first_mask | second_mask, 0) + first_ways * second_ways
    if len(tally) > _MOST_STATES:
        raise PolicyError(
            f"Nodes can fail in more than {_MOST_STATES:,} ways; Minimality supports choices among fewer nodes only."
        )
    return tally


def _is_finer(levels: _Levels, coarser: _Levels) -> bool:
    return levels != coarser and all(
        level <= coarser_level for level, coarser_level in zip(levels, coarser, strict=True)
    )


def _counted(labels: pl.Series, counts: Any) -> dict[Any, int]:
    """Return a histogram without zero counts."""
    return {label: int(count) for label, count in zip(labels.to_list(), counts, strict=True) if count}
