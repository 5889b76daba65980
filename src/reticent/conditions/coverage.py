"""The part of a region that satisfies a condition: none, some, or all, and the share under equally likely cells.

A region is a product of labels, one per column. Parts of a condition without a common column are independent inside a
product, so shares multiply; parts with common columns are decided together over the product of their pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import prod

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import number, pack
from reticent.conditions.bounds import bounded, without_columns
from reticent.conditions.domain import Domain
from reticent.conditions.evaluation import truth
from reticent.conditions.linear import difference, threshold
from reticent.conditions.nodes import (
    And,
    Atom,
    Comparison,
    Member,
    Node,
    Number,
    Or,
    StartsWith,
    Text,
    Truth,
    atoms,
    is_linear,
    operands,
    positive,
    scope,
)
from reticent.conditions.pieces import CutPoints, Pieces, constant_of, pieces_of, pieces_of_leaves
from reticent.conditions.region_expansion import cells_in_all, expanded
from reticent.conditions.regions import Covers, LabelProducts
from reticent.table import Meaning, ValueType

_LARGEST_TABLE = 1 << 20
_LARGEST_WORK = 1 << 22
_MOST_CELLS = 1 << 25


def cut_regions(
    node: Node,
    meanings: Mapping[str, Sequence[Meaning]],
    codes: Mapping[str, NDArray[np.int64]],
    domains: Mapping[str, Domain],
    count: int,
) -> LabelProducts:
    """Return the regions with the labels of the columns in ``node`` split into pieces: sets of values on which the
    condition is constant.

    A column without meanings is published unchanged: its code is the index of its leaf.
    """
    kinds = {name: domains[name].kind for name in scope(node)}
    pieces_by_column = {}
    for name, kind in kinds.items():
        leaves = domains[name].leaves
        if name in meanings:
            pieces_by_column[name] = pieces_of(meanings[name], domains[name], _cuts(node, name, kind))
        elif leaves is not None:
            pieces_by_column[name] = pieces_of_leaves(leaves)
    return LabelProducts(pieces_by_column, {name: codes[name] for name in kinds}, count)


def covers(node: Node, regions: LabelProducts) -> Covers:
    """Decide every region."""
    return _covers(positive(node), regions)


def _covers(node: Node, regions: LabelProducts) -> Covers:
    """Return the part of every region (one label per column) that satisfies a condition.

    Parts of a conjunction or disjunction without common columns are judged separately.
    """
    if isinstance(node, And | Or):
        components = list(_independent(node.parts))
        if len(components) > 1:
            parts_covered = [_covers(_joined(node, parts), regions) for parts in components]
            return _all_of(parts_covered) if isinstance(node, And) else _any_of(parts_covered)
        if len(node.parts) == 1:
            return _covers(node.parts[0], regions)
    return _connected(node, regions)


def _joined(node: And | Or, parts: tuple[Node, ...]) -> Node:
    return parts[0] if len(parts) == 1 else type(node)(parts)


def _independent(parts: Sequence[Node]) -> Iterator[tuple[Node, ...]]:
    """Group the parts so that no column occurs in two groups."""
    groups: list[tuple[set[str], list[Node]]] = []
    for part in parts:
        names, members = set(scope(part)), [part]
        disjoint = []
        for other in groups:
            if other[0] & names:
                names, members = other[0] | names, other[1] + members
            else:
                disjoint.append(other)
        groups = [*disjoint, (names, members)]
    return (tuple(members) for _, members in groups)


def _all_of(covers: Sequence[Covers]) -> Covers:
    """Return the parts of the regions that satisfy a conjunction of conditions without common columns: shares are
    multiplied.
    """
    possible = np.logical_and.reduce([cover.possible for cover in covers])
    certain = np.logical_and.reduce([cover.certain for cover in covers])
    share = np.prod([cover.share for cover in covers], axis=0)
    measured = np.logical_and.reduce([cover.measured for cover in covers]) | ~possible
    return Covers(share, possible, certain, measured)


def _any_of(covers: Sequence[Covers]) -> Covers:
    """Return the parts of the regions that satisfy a disjunction of conditions without common columns: shares of the
    complements are multiplied.
    """
    possible = np.logical_or.reduce([cover.possible for cover in covers])
    certain = np.logical_or.reduce([cover.certain for cover in covers])
    share = 1 - np.prod([1 - cover.share for cover in covers], axis=0)
    measured = np.logical_and.reduce([cover.measured for cover in covers]) | certain
    return Covers(share, possible, certain, measured)


def _connected(node: Node, regions: LabelProducts) -> Covers:
    """Return the part of every region that satisfies a condition whose columns cannot be judged separately.

    By a table over the classes of values that the condition distinguishes, by enumeration, or, if both are too large,
    by bounds.
    """
    names = scope(node)
    if not names:
        constant_mask = np.full(regions.count, without_columns(node))
        return Covers(
            constant_mask.astype(np.float64), constant_mask, constant_mask, np.ones(regions.count, dtype=bool)
        )
    crossing = {name for literal in _literals(node) if len(scope(literal)) > 1 for name in scope(literal)}
    classes = {name: _classes(node, name, regions.pieces[name], name in crossing) for name in names}
    sizes = [count for _, count in classes.values()]
    is_complete = all(regions.pieces[name].complete for name in crossing | _behind_functions(node))
    if is_complete and prod(sizes) > _LARGEST_TABLE and cells_in_all(regions, names) <= _MOST_CELLS:
        return expanded(node, regions)
    if not is_complete or prod(sizes) > _LARGEST_TABLE:
        return bounded(node, regions)
    return _by_table(_table(node, classes, regions), names, classes, regions)


def _behind_functions(node: Node) -> set[str]:
    """The columns whose values a literal distinguishes by a function: no constant splits them into pieces of constant truth."""
    return {name for literal in _literals(node) if not is_linear(literal) for name in scope(literal)}


def _literals(node: Node) -> Iterator[Node]:
    """Yield the atoms of a condition in negation normal form, each with its ``not``."""
    if isinstance(node, And | Or):
        for part in node.parts:
            yield from _literals(part)
    else:
        yield node


Classes = tuple[NDArray[np.int64], int]


def _classes(node: Node, name: str, pieces: Pieces, crossing: bool) -> Classes:
    """Return a class id for every piece (value on which the condition is constant), and the number of classes: pieces
    that no literal of this column alone distinguishes share one.

    If the column is compared with others (``crossing``), each piece is a class.
    """
    size = len(pieces.values)
    if crossing:
        return np.arange(size), size
    own_literals = dict.fromkeys(literal for literal in _literals(node) if scope(literal) == (name,))
    truth_columns = [_true_for(literal, {name: pieces.values}).astype(np.int64) for literal in own_literals]
    ids, count = number(*pack(truth_columns, [2] * len(truth_columns), size))
    return ids.astype(np.int64), count


def _true_for(literal: Node, columns: Mapping[str, pl.Series]) -> NDArray[np.bool_]:
    frame = pl.DataFrame([series.alias(name) for name, series in columns.items()])
    return truth(literal, frame).fill_null(False).to_numpy()


def _table(node: Node, classes: Mapping[str, Classes], regions: LabelProducts) -> NDArray[np.bool_]:
    """Return the truth of a condition for every combination of classes of values, one axis per column."""
    names = list(classes)
    values = {}
    for name, (ids, count) in classes.items():
        firsts = np.zeros(count, dtype=np.int64)
        firsts[ids[::-1]] = np.arange(len(ids))[::-1]
        values[name] = regions.pieces[name].values.gather(firsts)

    def fill(part: Node) -> NDArray[np.bool_]:
        """Return the truth of a part, with an axis of length 1 for each column that it does not involve."""
        if isinstance(part, And | Or):
            return reduce(np.logical_and if isinstance(part, And) else np.logical_or, map(fill, part.parts))
        involved = [name for name in names if name in scope(part)]
        if not involved:
            return np.full((1,) * len(names), without_columns(part))
        shape = tuple(len(values[name]) for name in involved)
        grids = np.indices(shape).reshape(len(involved), -1)
        columns = {name: values[name].gather(grid) for name, grid in zip(involved, grids, strict=True)}
        spread = tuple(len(values[name]) if name in involved else 1 for name in names)
        return _true_for(part, columns).reshape(spread)

    return np.broadcast_to(fill(node), tuple(count for _, count in classes.values()))


def _by_table(
    table: NDArray[np.bool_], names: Sequence[str], classes: Mapping[str, Classes], regions: LabelProducts
) -> Covers:
    """Return the parts of all regions that satisfy a condition, from its truth ``table``: weights and numbers of values
    are summed over the labels of each region.

    Regions with equal labels are summed once.
    """
    matrices = {name: regions.pieces[name].matrix(*classes[name]) for name in names}
    ids, firsts = regions.distinct(names)
    labels = [regions.codes[name][firsts] for name in names]
    weighted, possible, total, pieces = (np.empty(len(firsts)) for _ in range(4))
    step = max(1, _LARGEST_WORK // max(table.size // table.shape[0], 1))
    for low in range(0, len(firsts), step):
        rows = slice(low, low + step)
        weights = [matrices[name][0][label[rows]] for name, label in zip(names, labels, strict=True)]
        counts = [matrices[name][1][label[rows]] for name, label in zip(names, labels, strict=True)]
        weighted[rows], total[rows] = _contract(table, weights), prod(weight.sum(axis=1) for weight in weights)
        possible[rows], pieces[rows] = _contract(table, counts), prod(count.sum(axis=1) for count in counts)
    is_possible, is_certain = possible > 0, possible == pieces
    is_measured_label = reduce(
        np.logical_and, (regions.pieces[name].measured[label] for name, label in zip(names, labels, strict=True))
    )
    measured = is_measured_label | is_certain | ~is_possible
    share = np.where(is_certain, 1.0, np.where(is_possible, np.where(measured, weighted / total, 0.5), 0.0))
    return Covers(share[ids], is_possible[ids], is_certain[ids], measured[ids])


def _contract(table: NDArray[np.bool_], rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return for every region the sum over the table of the product of its rows (one weight vector per column), axis by
    axis.
    """
    partial_sums = rows[0] @ table.reshape(table.shape[0], -1).astype(np.float64)
    for row in rows[1:]:
        partial_sums = np.einsum("gcr,gc->gr", partial_sums.reshape(len(row), row.shape[1], -1), row)
    return partial_sums.reshape(len(rows[0]))


def _cuts(node: Node, name: str, kind: ValueType) -> CutPoints:
    """Return the constants and prefixes that a condition compares a column with."""
    constants: list[object] = []
    prefixes: list[str] = []
    for atom in atoms(node):
        if scope(atom) != (name,) or not is_linear(atom):
            continue
        if isinstance(atom, StartsWith):
            prefixes.append(atom.prefix)
        elif kind.is_numeric:
            constants += _numeric_cuts(atom)
        else:
            constants += [side.value for side in operands(atom) if isinstance(side, Text | Truth)]
    return CutPoints(tuple(constant_of(value, kind) for value in dict.fromkeys(constants)), tuple(prefixes))


def _numeric_cuts(atom: Atom) -> list[object]:
    """Return the numbers at which a comparison, or the membership in a list, changes its truth."""
    if isinstance(atom, Comparison):
        pairs = [(atom.left, atom.right)]
    elif isinstance(atom, Member):
        pairs = [(atom.operand, value) for value in atom.values if isinstance(value, Number)]
    else:
        return []
    forms = [difference(left, right) for left, right in pairs]
    return [threshold(form, "=")[2] for form in forms if form.coefficients]
