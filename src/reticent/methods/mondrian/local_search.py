"""Local search over groups: neighbourhoods of groups are rebuilt and their units exchanged while that lowers the loss.

A split is one hyperplane through a whole group; with dozens of columns it separates units that differ in one column only. The groups of the search may be any sets of
units, and their boxes may overlap. The guarantee is not affected: definitions judge the records that have the same labels, and every new group is judged by the definition itself; what the
compiled loops check of it only saves work. No group fails that did not fail before, and the loss is never above that of the splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.packing import number
from reticent.core import FrequencySet
from reticent.methods.grouping import CellStyle, Ids
from reticent.methods.mondrian import _kernels
from reticent.methods.mondrian.allowed_cuts import CutJudge
from reticent.methods.mondrian.box_points import BoxPoints
from reticent.methods.mondrian.partition import Choice, Partition

Effort = Literal["quick", "good", "best"]
ROUNDS: Mapping[Effort, int] = {"good": 5, "best": 40}
"""Rounds of the search without a time limit. In a round nearly every group belongs to one neighbourhood."""

_BLOCK = 20_000
"""Approximate number of rows of a block, within which units are grouped: the time for a block grows with the square of its units."""

_WIDEST = 4
_MOST_UNITS = 120
"""Maximum groups (beside the first) and units of a neighbourhood: larger ones take longer without lowering the loss further."""

_GREEDY_SECONDS = 2e-9
"""Approximate seconds of the greedy construction of groups, by the square of the units of a block."""

_PATIENCE = 20
"""The search ends after this many rounds without a gain."""


@dataclass(frozen=True)
class LocalSearch:
    """A search for groups of ``units`` that are published as ``values``; ``weights`` are the weights of the columns in the loss.

    ``choice`` is the split criterion of the partition that it starts from.
    """

    units: FrequencySet
    judge: CutJudge
    choice: Choice
    values: CellStyle
    weights: NDArray[np.float64]
    context: Context

    def run(self, group: Ids, rounds: int, seconds: float | None = None) -> Ids:
        """Return groups that cost at most as much as those of ``group``, after ``rounds`` rounds or, if given, after ``seconds``.

        Deterministic if the number of rounds is given.
        """
        context = replace(self.context, deadline=self.context.until(seconds))
        points = BoxPoints.of(self.units, self.values, self.judge.definition, self.weights)
        blocks, chance, idle = list(self._blocks(points, group, context, seconds)), np.random.default_rng(0), 0
        for rounds_done in islice(count(), rounds if seconds is None else None):
            context.step("improving groups", rounds_done, rounds if seconds is None else None)
            gains = [not context.late and block.round(self.judge, chance) for block in blocks]
            idle = 0 if any(gains) else idle + 1
            if context.late or idle > _PATIENCE:
                break
        searched, offset = np.empty(len(self.units), dtype=np.int64), 0
        for block in blocks:
            searched[block.members] = offset + block.group
            offset += int(block.group.max()) + 1
        return min(
            group,
            searched,
            key=lambda groups: _failing_rows_and_cost(points, np.arange(len(self.units)), groups, self.judge),
        )

    def _blocks(self, points: BoxPoints, group: Ids, context: Context, seconds: float | None) -> Iterator[GroupBlock]:
        """Blocks of neighbouring units, each with initial groups: those of the splits, or greedy ones where these cost less and would not take most of the ``seconds``."""

        def split(start: tuple[Ids, int] | None, minimum_rows: int) -> Ids:
            """Return the groups of Mondrian's splits, starting from some groups or from one."""
            settings = (self.choice, False, self.values, context)
            return Partition(
                self.units, self.judge, *settings, weights=self.weights, start=start, least=minimum_rows
            ).run()

        blocks = split(None, _BLOCK // 2)
        block_count = int(blocks.max()) + 1
        groups = group if block_count == 1 else split((blocks, block_count), 1)
        pairs_of_units = float((np.bincount(blocks).astype(np.float64) ** 2).sum())
        try_greedy = seconds is None or 2 * _GREEDY_SECONDS * pairs_of_units <= seconds
        for block in range(block_count):
            members = np.flatnonzero(blocks == block)
            yield GroupBlock.of(points.only(members), members, groups[members], self.judge, try_greedy)


class GroupBlock:
    """Some units (``members``) and their current groups. Mutable: state of a running search."""

    def __init__(self, points: BoxPoints, members: Ids, group: Ids) -> None:
        self.points, self.members, self.group = points, members, group

    @classmethod
    def of(cls, points: BoxPoints, members: Ids, group: Ids, judge: CutJudge, greedy: bool = True) -> GroupBlock:
        """The groups of the splits, or ``greedy`` ones where these cost less."""
        split_groups, greedy_groups = np.unique(group, return_inverse=True)[1], np.zeros(len(members), dtype=np.int64)
        alternatives = [split_groups.astype(np.int64)]
        if greedy and _kernels.gather(points, np.arange(len(members)), 0, greedy_groups):
            alternatives.append(_with_failing_merged(points, members, greedy_groups, judge))
        return cls(
            points,
            members,
            min(alternatives, key=lambda alternative: _failing_rows_and_cost(points, members, alternative, judge)),
        )

    def round(self, judge: CutJudge, chance: np.random.Generator) -> bool:
        """Rebuild disjoint neighbourhoods of groups and accept those that cost less and satisfy the definition; return whether any was."""
        size, count = len(self.group), int(self.group.max()) + 1
        order = np.argsort(self.group, kind="stable")
        starts = np.searchsorted(self.group[order], np.arange(count + 1))
        seeds, widths = chance.permutation(size), chance.integers(1, _WIDEST, size, endpoint=True)
        firsts = chance.integers(0, _MOST_UNITS, size)
        pool, label = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
        _kernels.rebuild(self.points, self.group, order, starts, seeds, widths, firsts, _MOST_UNITS, pool, label)
        changed = np.flatnonzero(pool >= 0)
        new_group, new_count = number(pool[changed] * _MOST_UNITS + label[changed], size * _MOST_UNITS)
        failing = judge.failing(self.members[changed], new_group, new_count)
        is_refused = np.zeros(size, dtype=bool)
        is_refused[pool[changed[failing[new_group]]]] = True
        accepted = ~is_refused[pool[changed]]
        self.group[changed[accepted]] = count + new_group[accepted]
        self.group = number(self.group, count + new_count)[0].astype(np.int64)
        return bool(accepted.any())


def _with_failing_merged(points: BoxPoints, members: Ids, group: Ids, judge: CutJudge) -> Ids:
    """Return the group of every unit after merging failing groups with their nearest groups until none fails or one group is left."""
    count = int(group.max()) + 1
    while count > 1:
        failing = np.flatnonzero(judge.failing(members, group, count))
        if not len(failing):
            break
        merged_into = np.arange(count)
        _kernels.pair_up(points, group, count, failing, merged_into)
        group = number(merged_into[group], count)[0].astype(np.int64)
        count = int(group.max()) + 1
    return group


def _failing_rows_and_cost(points: BoxPoints, members: Ids, group: Ids, judge: CutJudge) -> tuple[int, float]:
    """Sort key of partitions: rows in failing groups, then cost."""
    count = int(group.max()) + 1
    failing = judge.failing(members, group, count)[group]
    return int(points.rows[:-1][failing].sum()), _kernels.partition_cost(points, np.arange(len(group)), group, count)
