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
        """Return the exact probability of each combination of values (column) for every point of the worlds (row)."""
        sizes = self.worlds.placed.sizes
        chances = np.zeros((len(sizes), self.worlds.values.height), dtype=object)
        for part, weights in zip(self.worlds.parts, self.weights, strict=True):
            # The common factor of all worlds of a part (the ways of the other parts) has thousands of digits, and
            # cancels.
            small = weights // max(gcd(*weights.tolist()), 1)
            sums, total = np.tensordot(small, part.counts.astype(object), axes=1), int(small.sum())
            for point, row in zip(part.points.tolist(), sums, strict=True):
                chances[point] = [Fraction(int(amount), total * int(sizes[point])) for amount in row]
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
        """Return the remaining worlds if nodes are tried in a fixed order: those in which every node before the
        published one fails.

        People whom none of these nodes distinguishes are merged. A node fails if one of its groups does, and most
        groups are inside a published one: groups that no such node merges are enumerated separately, and combined by
        which nodes they make fail.
        """
        before = self._before(objective)
        placed, point_of = self.placed.alike([ids for ids, _ in before])
        firsts = first_rows(point_of, len(placed.sizes))
        nodes = [(ids[firsts], count) for ids, count in before]
        worlds = Worlds.of(self.seen, self.table, placed, self.most)
        if all(part.local for part in self.definition.parts()):
            worlds = worlds.joined(_hanging_together(worlds, nodes), self.most)
        else:
            worlds = worlds.whole(self.most)
        sets = [np.zeros(len(part), dtype=object) for part in worlds.parts]
        for bit, (ids, _) in enumerate(nodes):
            for part, failed in zip(worlds.parts, sets, strict=True):
                failed[~self._passes(part, ids)] |= 1 << bit
        return RemainingWorlds(point_of, worlds, _completed(worlds.parts, sets, (1 << len(nodes)) - 1))

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
        counted = {name: _counted(spread.column.labels, spread.counts) for name, spread in self.seen.reference.items()}
        is_possible = []
        for world in self.frames(worlds):
            totals = {name: _counted(*world.frame[name].value_counts().get_columns()) for name in counted}
            is_possible.append(totals == counted and self._makes(method, world, published))
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

    def _makes(self, method: Any, world: Table, published: list[Any]) -> bool:
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

    def _before(self, objective: str) -> list[_Numbered]:
        """Return how the nodes that precede the published one, and could have passed, group people."""
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
        """Return the points numbered by the groups of a node."""
        bound = self.table.hierarchies
        parts = [
            hierarchy.levels[level].parts[codes]
            for hierarchy, level, codes in zip(bound, levels, self._leaves, strict=True)
        ]
        sizes = [hierarchy.levels[level].size for hierarchy, level in zip(bound, levels, strict=True)]
        return number(*pack(parts, sizes, self.placed.points.height))

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
        measure = objective_for(objective, count_table(self.table, sensitive=False))
        if not measure.knows_floors and space.size > _MOST_NODES:
            raise PolicyError(
                f"The lattice has {space.size:,} nodes; with objective {objective} Minimality handles at most {_MOST_NODES}."
            )
        estimates = measure.floors(space)
        chosen = min((self._cost(levels, objective), levels) for levels in same_groups)
        cheaper = []
        for levels in space.nodes():
            estimate, tolerance = float(estimates[levels]), _ROUNDING * abs(chosen[0])
            if measure.knows_floors and abs(estimate - chosen[0]) > tolerance:
                comes_before = estimate < chosen[0]
            else:
                comes_before = (self._cost(levels, objective), levels) < chosen
            if comes_before:
                cheaper.append(levels)
        return cheaper

    def _cost(self, levels: _Levels, objective: str) -> float:
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
        """True if one of a node's smallest groups fails for all values compatible with the release.

        Then its failure gives no information. If that is not detected, the failure is assumed to depend on values and
        checked in every world.
        """
        groups, local = self.seen.true_groups, all(part.local for part in self.definition.parts())
        if not local or not self.placed.is_complete:
            return False
        ids, count = node
        people = np.bincount(ids, self.placed.sizes, count).astype(np.int64)
        for group in np.argsort(people, kind="stable")[:_SMALLEST].tolist():
            available = np.zeros(groups.domain.size, dtype=np.int64)
            for group_published in np.unique(self.placed.group_of[ids == group]):
                entries = slice(
                    groups.histograms.offsets[group_published], groups.histograms.offsets[group_published + 1]
                )
                available[groups.histograms.values[entries]] += groups.histograms.counts[entries]
            rows = list(islice(rows_of(int(people[group]), available.tolist()), _MOST_ROWS + 1))
            if len(rows) <= _MOST_ROWS and self.definition.failing(self._judged(np.array(rows, dtype=np.int64))).all():
                return True
        return False

    def _passes(self, part: Part, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Return in which worlds of a part its points, grouped by ``ids``, satisfy the definition."""
        groups, group_of = np.unique(ids[part.points], return_inverse=True)
        membership = np.zeros((len(groups), len(group_of)), dtype=np.int64)
        membership[group_of, np.arange(len(group_of))] = 1
        counts = np.einsum("gp,wpv->wgv", membership, part.counts)
        if not all(part_definition.local for part_definition in self.definition.parts()):
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


def _hanging_together(worlds: Worlds, nodes: Sequence[_Numbered]) -> NDArray[np.int64]:
    """Return the connected components of parts that some node merges."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    part_of = np.empty(len(worlds.placed.sizes), dtype=np.int64)
    for index, part in enumerate(worlds.parts):
        part_of[part.points] = index
    parts, total = len(worlds.parts), len(worlds.parts)
    groups = [np.zeros(0, dtype=np.int64)]
    for ids, count in nodes:
        groups.append(ids + total)
        total += count
    edges = (np.tile(part_of, len(nodes)), np.concatenate(groups))
    linked = coo_array((np.ones(len(edges[0])), edges), shape=(total, total))
    return connected_components(linked, directed=False)[1][:parts].astype(np.int64)


def _completed(
    parts: Sequence[Part], sets: Sequence[NDArray[np.object_]], everything: int
) -> tuple[NDArray[np.object_], ...]:
    """Return, for every world of a part, the assignments of all parts in which every node fails in some part."""
    tallies = [_tallied(part.ways, failed) for part, failed in zip(parts, sets, strict=True)]
    ahead: list[_Tally] = [{0: 1}]
    for tally in reversed(tallies):
        ahead.append(_either(ahead[-1], tally))
    weights, behind = [], {0: 1}
    for index, (part, failed) in enumerate(zip(parts, sets, strict=True)):
        other_tallies = _either(behind, ahead[len(parts) - 1 - index])
        remaining = {
            failed_here: sum(
                ways for failed_elsewhere, ways in other_tallies.items() if failed_here | failed_elsewhere == everything
            )
            for failed_here in tallies[index]
        }
        weights.append(part.ways * np.array([remaining[failed_here] for failed_here in failed.tolist()], dtype=object))
        behind = _either(behind, tallies[index])
    return tuple(weights)


def _tallied(ways: NDArray[np.object_], sets: NDArray[np.object_]) -> _Tally:
    """Return how many assignments make each set of nodes fail."""
    tally: _Tally = {}
    for failed, count in zip(sets.tolist(), ways.tolist(), strict=True):
        tally[failed] = tally.get(failed, 0) + count
    return tally


def _either(first: _Tally, second: _Tally) -> _Tally:
    """Return the tally of two parts: a node fails in either of them."""
    tally: _Tally = {}
    for failed_first, ways in first.items():
        for failed_second, other_ways in second.items():
            tally[failed_first | failed_second] = tally.get(failed_first | failed_second, 0) + ways * other_ways
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
