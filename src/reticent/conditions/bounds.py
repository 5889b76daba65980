"""The fallback for conditions across columns with too many pieces to enumerate: certain bounds, and a sampled share.

``possible`` and ``certain`` follow from the ends of the labels and are conservative: if the ends do not decide, a
region is possible and not certain. The share is the mean over a regular grid of the region.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.ragged import starts_of
from reticent.conditions.evaluation import truth
from reticent.conditions.linear import LinearForm, difference
from reticent.conditions.nodes import And, Column, Comparison, Node, Operator, Or, is_linear, scope
from reticent.conditions.pieces import Pieces
from reticent.conditions.region_expansion import expanded
from reticent.conditions.regions import Covers, LabelProducts
from reticent.table import ValueType

_GRID = 4096
_MOST_CELLS = 1 << 24
# Rounding errors of sums of a few products are far below this fraction of their largest term.
_MARGIN = 1e-12

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Side:
    """One column: its pieces, and the label of every distinct region in it."""

    pieces: Pieces
    labels: NDArray[np.int64]
    kind: ValueType

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """CSR offsets of the pieces of every label among the pairs of label and piece."""
        return np.searchsorted(self.pieces.labels, np.arange(len(self.pieces.measured) + 1)).astype(np.int64)

    @cached_property
    def null(self) -> Mask:
        """Mask of regions whose values include null."""
        return self.any_of(self.pieces.values.is_null().to_numpy())

    def any_of(self, is_chosen: Mask) -> Mask:
        """Mask of regions whose label contains one of the chosen pieces (values on which the condition is constant)."""
        prefix_counts = starts_of(is_chosen[self.pieces.members])
        contains: Mask = (prefix_counts[self.begins[1:]] > prefix_counts[self.begins[:-1]])[self.labels]
        return contains

    @cached_property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64], Mask, Mask]:
        """Return, for every label, its lowest and highest coordinate and whether they are attained; NaN if it contains
        only null.
        """
        count = len(self.pieces.measured)
        low, high = np.full(count, np.inf), np.full(count, -np.inf)
        values = self.pieces.values.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()[self.pieces.members]
        if self.kind is ValueType.DATE:
            values = values + ValueType.DATE.place("1970-01-01")
        is_known = ~np.isnan(values)
        np.minimum.at(low, self.pieces.labels[is_known], values[is_known])
        np.maximum.at(high, self.pieces.labels[is_known], values[is_known])
        low, high = np.where(low > high, np.nan, low), np.where(low > high, np.nan, high)
        low_closed, high_closed = np.ones(count, dtype=bool), np.ones(count, dtype=bool)
        for label, segment in self.pieces.stretches.items():
            low[label], low_closed[label] = -np.inf if segment.low is None else segment.low, segment.low_closed
            high[label], high_closed[label] = np.inf if segment.high is None else segment.high, segment.high_closed
        return low, high, low_closed, high_closed

    def exact_ends(self, region: int) -> tuple[float | Fraction, float | Fraction, bool, bool]:
        """Return the lowest and highest value of a region exactly, and whether each belongs to it."""
        label = int(self.labels[region])
        segment = self.pieces.stretches.get(label)
        if segment is not None:
            return (
                _exactly(segment.low, -math.inf),
                _exactly(segment.high, math.inf),
                segment.low_closed,
                segment.high_closed,
            )
        label_values = self.pieces.values.gather(self.pieces.held(label))
        return _exactly(self.kind.place(label_values.min())), _exactly(self.kind.place(label_values.max())), True, True

    def sampled(self, count: int) -> Pieces:
        """Return pieces of at most ``count`` evenly spread values for every label that occurs."""
        if self.pieces.complete and np.diff(self.begins).max(initial=0) <= count:
            return self.pieces
        measured = np.zeros(len(self.pieces.measured), dtype=bool)
        samples: dict[int, pl.Series] = {}
        for label in np.unique(self.labels).tolist():
            segment = self.pieces.stretches.get(label)
            if segment is None or segment.low is None or segment.high is None:
                members = self.pieces.held(label)
                sampled_members = np.unique(
                    np.linspace(0, len(members) - 1, min(count, len(members))).round().astype(np.int64)
                )
                samples[label] = self.pieces.values.gather(members[sampled_members])
                measured[label] = segment is None and bool(self.pieces.measured[label])
            else:
                positions = float(segment.low) + (np.arange(count) + 0.5) / count * (
                    float(segment.high) - float(segment.low)
                )
                samples[label] = self.kind.series([self.kind.at_place(position) for position in positions.tolist()])
                measured[label] = True
        values = pl.concat(list(samples.values()))
        labels = np.repeat(np.array(list(samples), dtype=np.int64), [len(sample) for sample in samples.values()])
        return Pieces(values, labels, np.arange(len(values)), np.ones(len(values)), measured, True)


def bounded(node: Node, regions: LabelProducts) -> Covers:
    """Decide every region (a label in each column) as far as the ends of its labels allow, and sample the share of it
    that satisfies the condition.
    """
    names = scope(node)
    ids, firsts = regions.distinct(names)
    sides = {
        name: _Side(
            regions.pieces[name], regions.codes[name][firsts], ValueType.of(regions.pieces[name].values.dtype, name)
        )
        for name in names
    }
    possible, certain = (decided[ids] for decided in _decide(node, sides, len(firsts)))
    cells = max(_GRID >> 6, min(_GRID, _MOST_CELLS // len(firsts)))
    count = max(2, int(cells ** (1 / len(names))))
    grid = LabelProducts({name: side.sampled(count) for name, side in sides.items()}, regions.codes, regions.count)
    measured = np.logical_and.reduce([grid.pieces[name].measured[regions.codes[name]] for name in names])
    sampled_share = expanded(node, grid).share
    share = np.where(certain, 1.0, np.where(possible, np.where(measured, sampled_share, 0.5), 0.0))
    return Covers(share, possible, certain, measured | certain | ~possible)


def without_columns(node: Node) -> bool:
    """The truth of a condition without columns."""
    return bool(truth(node, pl.DataFrame({"row": [0]})).fill_null(False)[0])


def _decide(node: Node, sides: Mapping[str, _Side], count: int) -> tuple[Mask, Mask]:
    """Return masks of the regions in which a condition may be true of some value, and of those in which it must be true
    of all.
    """
    if isinstance(node, And | Or):
        decided = [_decide(part, sides, count) for part in node.parts]
        gather = np.logical_and if isinstance(node, And) else np.logical_or
        return gather.reduce([possible for possible, _ in decided]), gather.reduce([certain for _, certain in decided])
    names = scope(node)
    if not names:
        constant_mask = np.full(count, without_columns(node))
        return constant_mask, constant_mask
    if len(names) == 1:
        side = sides[names[0]]
        true = truth(node, pl.DataFrame([side.pieces.values.alias(names[0])])).fill_null(False).to_numpy()
        # If an interval has values that are not pieces, a function may be true or false of them.
        unclear = np.isin(side.labels, list(side.pieces.stretches)) & (not is_linear(node))
        return side.any_of(true) | unclear, ~side.any_of(~true) & ~unclear
    involved = {name: sides[name] for name in names}
    if not isinstance(node, Comparison) or not is_linear(node) or (form := _form(node, involved)) is None:
        return np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    return _compared(form, node.operator, involved, count)


def _form(node: Comparison, sides: Mapping[str, _Side]) -> LinearForm | None:
    """Return the comparison as a linear form compared with 0, with days and timestamps as coordinates; None for text."""
    kinds = {side.kind for side in sides.values()}
    if all(kind.is_numeric for kind in kinds):
        return difference(node.left, node.right)
    if len(kinds) == 1 and kinds.pop().is_temporal and isinstance(node.left, Column) and isinstance(node.right, Column):
        return LinearForm({node.left.name: Fraction(1), node.right.name: Fraction(-1)}, Fraction(0))
    return None


def _compared(form: LinearForm, operator: Operator, sides: Mapping[str, _Side], count: int) -> tuple[Mask, Mask]:
    """Return masks of the regions in which ``form operator 0`` may be true, and must be: in floating point if far from
    zero, exact if near.
    """
    low, high = np.full(count, float(form.constant)), np.full(count, float(form.constant))
    scale = np.abs(low)
    low_closed, high_closed = np.ones(count, dtype=bool), np.ones(count, dtype=bool)
    for name, factor in form.coefficients.items():
        bottom, top, bottom_closed, top_closed = (side[sides[name].labels] for side in sides[name].ends)
        if factor < 0:
            bottom, top, bottom_closed, top_closed = top, bottom, top_closed, bottom_closed
        low, high = low + float(factor) * bottom, high + float(factor) * top
        low_closed, high_closed = low_closed & bottom_closed, high_closed & top_closed
        for term in (float(factor) * bottom, float(factor) * top):
            scale = scale + np.where(np.isfinite(term), np.abs(term), 0.0)
    unknown = np.isnan(low) | np.isnan(high)
    possible, certain = _against_zero(operator, low, high, low_closed, high_closed)
    is_near_zero = ~unknown & ((np.abs(low) <= _MARGIN * scale) | (np.abs(high) <= _MARGIN * scale))
    for region in np.flatnonzero(is_near_zero).tolist():
        possible[region], certain[region] = _exactly_against_zero(form, operator, sides, region)
    never_null = ~np.logical_or.reduce([side.null for side in sides.values()])
    return possible & ~unknown, certain & ~unknown & never_null


def _exactly_against_zero(
    form: LinearForm, operator: Operator, sides: Mapping[str, _Side], region: int
) -> tuple[bool, bool]:
    """Return whether ``form operator 0`` may be true in one region (a label in each column), and whether it must, in
    exact arithmetic.
    """
    low: float | Fraction = form.constant
    high: float | Fraction = form.constant
    low_closed = high_closed = True
    for name, factor in form.coefficients.items():
        ends = sides[name].exact_ends(region)
        bottom, top, bottom_closed, top_closed = ends if factor > 0 else (ends[1], ends[0], ends[3], ends[2])
        low, high = low + factor * bottom, high + factor * top
        low_closed, high_closed = low_closed and bottom_closed, high_closed and top_closed
    below, above = (np.array([(end > 0) - (end < 0)], dtype=np.float64) for end in (low, high))
    possible, certain = _against_zero(operator, below, above, np.array([low_closed]), np.array([high_closed]))
    return bool(possible[0]), bool(certain[0])


def _against_zero(
    operator: Operator, low: NDArray[np.float64], high: NDArray[np.float64], low_closed: Mask, high_closed: Mask
) -> tuple[Mask, Mask]:
    """Return whether some value between two ends may satisfy a comparison with zero, and whether all must.

    A closed end belongs to the values.
    """
    reaches_down = (low < 0) | ((low == 0) & low_closed)
    reaches_up = (high > 0) | ((high == 0) & high_closed)
    below = (high < 0) | ((high == 0) & ~high_closed)
    above = (low > 0) | ((low == 0) & ~low_closed)
    zero = (low == 0) & (high == 0)
    match operator:
        case "<":
            return low < 0, below
        case "<=":
            return reaches_down, high <= 0
        case ">":
            return high > 0, above
        case ">=":
            return reaches_up, low >= 0
        case "=":
            return reaches_down & reaches_up, zero
        case "<>":
            return ~zero, below | above


def _exactly(where: float | Fraction | None, otherwise: float = math.nan) -> float | Fraction:
    return otherwise if where is None else Fraction(where)
