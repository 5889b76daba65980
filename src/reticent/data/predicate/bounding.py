"""The fallback for conditions across columns whose pieces are too many to go through: bounds that are certain, a share that is sampled.

``possible`` and ``certain`` follow from the ends of the labels and err on the safe side only: a region is called possible or not
certain when the ends do not decide. The share is the mean over an even grid of the region.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data.predicate.domain import at_place, place, series_of
from reticent.data.predicate.evaluation import truth
from reticent.data.predicate.kinds import Kind
from reticent.data.predicate.linear import LinearForm, difference
from reticent.data.predicate.nodes import And, Column, Comparison, Node, Operator, Or, scope
from reticent.data.predicate.pieces import Pieces
from reticent.data.predicate.regions import Covers, Regions

_GRID = 4096


@dataclass(frozen=True)
class _Side:
    """One column of one region: its pieces, and the ends of its values where they have an order."""

    pieces: Pieces
    label: int
    kind: Kind

    @property
    def values(self) -> pl.Series:
        return self.pieces.values.gather(self.pieces.held(self.label))

    @property
    def may_be_null(self) -> bool:
        return self.values.null_count() > 0

    def ends(self) -> tuple[float | Fraction, float | Fraction, bool, bool] | None:
        """Lowest and highest value and whether they are attained; nothing for text or a label that holds only null."""
        if self.kind in (Kind.TEXT, Kind.TRUTH):
            return None
        part = self.pieces.stretches.get(self.label)
        if part is not None:
            low = -math.inf if part.low is None else _exactly(part.low)
            high = math.inf if part.high is None else _exactly(part.high)
            return low, high, part.low_closed, part.high_closed
        low, high = self.values.min(), self.values.max()  # type: ignore[assignment]  # numbers or dates, placed below
        if low is None:
            return None
        return _exactly(place(low, self.kind)), _exactly(place(high, self.kind)), True, True

    def samples(self, count: int) -> tuple[pl.Series, bool]:
        """At most ``count`` values spread evenly, and whether they say something about the share."""
        part = self.pieces.stretches.get(self.label)
        if part is None or part.low is None or part.high is None:
            values = self.values
            chosen = np.unique(np.linspace(0, len(values) - 1, min(count, len(values))).round().astype(np.int64))
            return values.gather(chosen), part is None and bool(self.pieces.measured[self.label])
        steps = (np.arange(count) + 0.5) / count
        places = float(part.low) + steps * (float(part.high) - float(part.low))
        return series_of([at_place(where, self.kind) for where in places.tolist()], self.kind), True


def bounded(node: Node, regions: Regions) -> Covers:
    """Decide every region as far as the ends of its labels do, and sample its share."""
    names = scope(node)
    ids, firsts = regions.distinct(names)
    share, possible = np.empty(len(firsts)), np.empty(len(firsts), dtype=bool)
    certain, measured = possible.copy(), possible.copy()
    kinds = {name: Kind.of(regions.pieces[name].values.dtype, name) for name in names}
    truths: dict[tuple[Node, str], NDArray[np.bool_]] = {}
    for position, region in enumerate(firsts.tolist()):
        sides = {name: _Side(regions.pieces[name], int(regions.codes[name][region]), kinds[name]) for name in names}
        possible[position], certain[position] = _decide(node, sides, truths)
        share[position], measured[position] = _sample(node, sides)
    decided = certain | ~possible
    share = np.where(certain, 1.0, np.where(possible, np.where(measured, share, 0.5), 0.0))
    return Covers(share[ids], possible[ids], certain[ids], (measured | decided)[ids])


def without_columns(node: Node) -> bool:
    """Whether a condition that speaks about no column is true."""
    return bool(truth(node, pl.DataFrame({"row": [0]})).fill_null(False)[0])


def _decide(
    node: Node, sides: Mapping[str, _Side], truths: dict[tuple[Node, str], NDArray[np.bool_]]
) -> tuple[bool, bool]:
    """Whether a node may be true somewhere in the region, and whether it must be true everywhere."""
    if isinstance(node, And | Or):
        found = [_decide(part, sides, truths) for part in node.parts]
        gather = all if isinstance(node, And) else any
        return gather(may for may, _ in found), gather(must for _, must in found)
    names = scope(node)
    if not names:
        return (without_columns(node),) * 2
    if len(names) == 1:
        side = sides[names[0]]
        known = truths.get((node, names[0]))
        if known is None:
            frame = pl.DataFrame([side.pieces.values.alias(names[0])])
            known = truths[node, names[0]] = truth(node, frame).fill_null(False).to_numpy()
        held = known[side.pieces.held(side.label)]
        return bool(held.any()), bool(held.all())
    if not isinstance(node, Comparison) or (form := _form(node, sides)) is None:
        return True, False
    return _compare(form, node.operator, sides)


def _form(node: Comparison, sides: Mapping[str, _Side]) -> LinearForm | None:
    """The comparison as ``form operator 0``; days and moments as places on their line; nothing for text."""
    kinds = {sides[name].kind for name in scope(node)}
    if all(kind.is_numeric for kind in kinds):
        return difference(node.left, node.right)
    if len(kinds) == 1 and kinds.pop().is_temporal and isinstance(node.left, Column) and isinstance(node.right, Column):
        return LinearForm({node.left.name: Fraction(1), node.right.name: Fraction(-1)}, Fraction(0))
    return None


def _compare(form: LinearForm, operator: Operator, sides: Mapping[str, _Side]) -> tuple[bool, bool]:
    low: Any = form.constant
    high: Any = form.constant
    low_attained = high_attained = True
    for name, factor in form.coefficients.items():
        ends = sides[name].ends()
        if ends is None:
            return False, False
        bottom, top, bottom_closed, top_closed = ends if factor > 0 else (ends[1], ends[0], ends[3], ends[2])
        low, high = low + factor * bottom, high + factor * top
        low_attained, high_attained = low_attained and bottom_closed, high_attained and top_closed
    never_null = not any(sides[name].may_be_null for name in sides)
    below = low < 0 or (low == 0 and low_attained and operator in ("<=", ">=", "="))
    match operator:
        case "<":
            return low < 0, never_null and (high < 0 or (high == 0 and not high_attained))
        case "<=":
            return below, never_null and high <= 0
        case ">":
            return high > 0, never_null and (low > 0 or (low == 0 and not low_attained))
        case ">=":
            return high > 0 or (high == 0 and high_attained), never_null and low >= 0
        case "=":
            return below and (high > 0 or (high == 0 and high_attained)), never_null and low == high == 0
        case "<>":
            apart = low > 0 or high < 0 or (low == 0 and not low_attained) or (high == 0 and not high_attained)
            return not low == high == 0, never_null and apart


def _sample(node: Node, sides: Mapping[str, _Side]) -> tuple[float, bool]:
    """The share over an even grid of the region's product, and whether it says something."""
    count = max(2, int(_GRID ** (1 / len(sides))))
    drawn = {name: side.samples(count) for name, side in sides.items()}
    grids = np.indices([len(values) for values, _ in drawn.values()]).reshape(len(drawn), -1)
    columns = [values.gather(grid).alias(name) for (name, (values, _)), grid in zip(drawn.items(), grids, strict=True)]
    found = truth(node, pl.DataFrame(columns)).fill_null(False)
    return float(found.to_numpy().mean()), all(known for _, known in drawn.values())


def _exactly(where: float | Fraction) -> float | Fraction:
    return where if isinstance(where, float) and math.isinf(where) else Fraction(where)
