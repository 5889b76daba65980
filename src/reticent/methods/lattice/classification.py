"""Classify all nodes as passing or failing: by predictive tagging, by Incognito, or one by one.

The three agree wherever all apply; tests check this. They provide what branch and bound does not: the number of passing
nodes, and the minimal ones.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.core import NodeLevels
from reticent.errors import PolicyError
from reticent.methods.lattice.node_evaluation import Evaluator
from reticent.methods.lattice.node_space import NodeSpace


def exhaustive(evaluator: Evaluator) -> NDArray[np.bool_]:
    """Mask the passing nodes by evaluating every node, inferring nothing."""
    passing = np.zeros(evaluator.space.shape, dtype=bool)
    for levels in evaluator.space.nodes():
        passing[evaluator.space.at(levels)] = evaluator.evaluate(levels).passes
    return passing


def tagging(evaluator: Evaluator) -> NDArray[np.bool_]:
    """Mask the passing nodes by predictive tagging: for a monotone definition a result is inferred for generalizations
    and specializations; otherwise nodes are evaluated one by one.

    Each round evaluates the node whose outcome settles the most others in the worse case.
    """
    space = evaluator.space
    passing = np.zeros(space.shape, dtype=bool)
    unknown = np.ones(space.shape, dtype=bool)
    while unknown.any():
        flat = np.flatnonzero(unknown)
        if evaluator.monotone:
            settled = np.minimum(space.count_below(unknown), space.count_above(unknown)).ravel()[flat]
            levels = space.node(int(flat[np.argmax(settled)]))
        else:
            levels = space.node(int(flat[-1]))
        evaluation = evaluator.evaluate(levels)
        unknown[space.at(levels)] = False
        passing[space.at(levels)] = evaluation.passes
        if evaluation.passes and evaluator.monotone:
            passing[space.above(levels)] = True
            unknown[space.above(levels)] = False
        if evaluation.hopeless:
            unknown[space.below(levels)] = False
    return passing


def incognito(evaluator: Evaluator) -> NDArray[np.bool_]:
    """Mask the passing nodes by Incognito: over growing sets of columns ([LeFevre2005]).

    A node over some columns represents the node of the whole lattice that suppresses all others; dropping a column only
    merges groups, so what fails on a set of columns fails on every larger one. Needs a hierarchy with a single-value
    top in every column, and a definition that allows pruning.
    """
    space, hierarchies = evaluator.space, evaluator.frequencies.hierarchies
    if not evaluator.monotone:
        raise PolicyError(
            "Incognito prunes, which is only correct for a monotone definition without suppression or an absorbing one with it. "
            "Use the default search, which is exact for every definition."
        )
    open_ended = [h.column for h in hierarchies if h.levels[-1].size > 1]
    if open_ended:
        raise PolicyError(
            f"Incognito needs hierarchies with a single top node, but that of {open_ended[0]!r} has several."
        )
    survivors: dict[tuple[int, ...], set[NodeLevels]] = {(): {()}}
    for size in range(1, len(hierarchies) + 1):
        survivors_of_size: dict[tuple[int, ...], set[NodeLevels]] = {}
        for columns in itertools.combinations(range(len(hierarchies)), size):
            candidates = _join(columns, survivors, space)
            survivors_of_size[columns] = _survivors_of(columns, candidates, evaluator)
        survivors = survivors_of_size
    passing = np.zeros(space.shape, dtype=bool)
    for levels in survivors[tuple(range(len(hierarchies)))]:
        passing[space.at(levels)] = True
    return passing


def _join(
    columns: tuple[int, ...], survivors: dict[tuple[int, ...], set[NodeLevels]], space: NodeSpace
) -> set[NodeLevels]:
    """Return the level vectors over ``columns`` all of whose projections onto one column less survived."""
    last = columns[-1]
    extended = (
        (*levels, level)
        for levels in survivors[columns[:-1]]
        for level in range(space.floor[last], space.top[last] + 1)
    )
    drops = [(index, (*columns[:index], *columns[index + 1 :])) for index in range(len(columns) - 1)]
    return {
        levels
        for levels in extended
        if all((*levels[:index], *levels[index + 1 :]) in survivors[other_columns] for index, other_columns in drops)
    }


def _survivors_of(columns: Sequence[int], candidates: set[NodeLevels], evaluator: Evaluator) -> set[NodeLevels]:
    """Return the candidates (level vectors over ``columns``, all other columns suppressed) that pass.

    They are evaluated in order of height; generalizations of a passing candidate pass without an evaluation.
    """
    passing: set[NodeLevels] = set()
    queue = [(sum(levels), levels) for levels in candidates]
    heapq.heapify(queue)
    while queue:
        _, levels = heapq.heappop(queue)
        if levels not in passing:
            full_levels = list(evaluator.space.top)
            for column, level in zip(columns, levels, strict=True):
                full_levels[column] = level
            if not evaluator.evaluate(tuple(full_levels)).passes:
                continue
            passing.add(levels)
        for index in range(len(levels)):
            coarser = (*levels[:index], levels[index] + 1, *levels[index + 1 :])
            if coarser in candidates:
                passing.add(coarser)
    return passing
