"""Budgeted access to records: the only queries that statistics make on the data, each one noisy, charged and recorded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.privacy_cost import Relation
from reticent.conditions import Condition
from reticent.errors import PolicyError
from reticent.methods.statistics.details import MOST_GROUPS, PublicFacts
from reticent.methods.statistics.plan import StatisticStep, StepKind, threshold_for
from reticent.methods.statistics.statistic_query import StatisticQuery
from reticent.noise import (
    LEAVES,
    TREE_LEVELS,
    Bounds,
    Contribution,
    Currency,
    WholeNoise,
    leaf_edges,
    least_scale,
    opendp_core,
    quantiles,
    tree_counts,
)
from reticent.table import Value

Whole = NDArray[np.int64]
_TAIL = 0.005


class NoisyAnswers:
    """Noisy queries on the records of a table within a budget.

    Mutable: every step is charged before it is executed; one that exceeds the budget is refused. *Guarantee*: everything that is returned costs at most ``total`` for one unit of at most ``rows`` records,
    by :class:`StatisticsPlan`, plus the delta of steps that select keys. Noise is OpenDP's, from the operating system's randomness; from a seed, for tests, it is numpy's.
    """

    def __init__(
        self, frame: pl.DataFrame, currency: Currency, total: Fraction, rows: int, relation: Relation, context: Context
    ) -> None:
        self._frame, self.currency, self.rows, self.relation = frame, currency, rows, relation
        self.left = total
        self.noise: list[tuple[Fraction, int | None]] = []
        self.numbers: list[Whole] = []
        self._source = context.randomness.repeatable()

    def keys(self, name: str, cost: Fraction, failure: Fraction) -> list[object]:
        """The values of a column whose noisy count reaches a threshold; a value of a single unit is returned with probability at most ``failure``."""
        scale = self._scale_paid("keys", Contribution(), cost)
        threshold = threshold_for(failure, scale, self.rows, self.relation)
        counted = self._frame[name].drop_nulls().value_counts(name="times")
        values, times = counted[name].to_list(), counted["times"].to_list()
        noisy = self._counts_above_threshold(dict(zip(map(str, values), times, strict=True)), scale, threshold)
        passing = sorted((value, noisy[str(value)]) for value in values if str(value) in noisy)
        self._record(scale, threshold, np.array([count for _, count in passing], dtype=np.int64))
        return [value for value, _ in passing]

    def _counts_above_threshold(self, counts: dict[str, int], scale: Fraction, threshold: int) -> dict[str, int]:
        """Add Gaussian noise to the counts of keys; return the noisy counts that reach the threshold."""
        if not counts:
            return {}
        if self._source is not None:
            noisy = WholeNoise(self.currency, scale).added(
                np.array(list(counts.values()), dtype=np.int64), self._source
            )
            return {key: int(count) for key, count in zip(counts, noisy, strict=True) if count >= threshold}
        dp = opendp_core()
        space = (
            dp.map_domain(dp.atom_domain(T="String"), dp.atom_domain(T="i64")),
            dp.l02inf_distance(dp.absolute_distance(T="i64")),
        )
        mechanism = dp.m.make_gaussian_threshold(*space, scale=float(scale), threshold=threshold)
        return {str(key): int(count) for key, count in mechanism(counts).items()}

    def bounds(self, name: str, outer: Bounds, cost: Fraction) -> Bounds:
        """Bounds within public ones such that, by noisy counts, half a percent of the values is beyond each."""
        scale = self._scale_paid("bounds", Contribution(levels=TREE_LEVELS), cost)
        leaf, is_known = self._leaves(name, outer)
        noise = WholeNoise(self.currency, scale)
        noisy = noise.added(tree_counts(leaf[is_known], np.zeros(int(is_known.sum()), dtype=np.int64), 1), self._source)
        self._record(scale, None, noisy)
        return placed_bounds(noisy, noise.deviation, outer)

    def answer(self, kind: StepKind, query: StatisticQuery, facts: PublicFacts, cost: Fraction) -> None:
        """Execute one step of a query, and record its noisy numbers."""
        contribution = facts.contribution(kind, query)
        scale = self._scale_paid(kind, contribution, cost)
        group, groups = self._groups(query, facts)
        is_counted = group >= 0
        if query.where is not None:
            is_counted &= Condition.parse(query.where).mask(self._frame).to_numpy()
        numeric = [query.column, *(name for name in query.on if name in facts.bounds)]
        for name in (column_name for column_name in numeric if column_name is not None):
            is_counted &= self._frame[name].is_not_null().to_numpy()
            if self._frame[name].dtype.is_float():
                is_counted &= ~self._frame[name].fill_null(0.0).is_nan().to_numpy()
        true = self._true_numbers(kind, query, facts, group[is_counted], groups, is_counted)
        self._record(scale, None, WholeNoise(self.currency, scale).added(true, self._source))

    def _true_numbers(
        self,
        kind: StepKind,
        query: StatisticQuery,
        facts: PublicFacts,
        group: Whole,
        groups: int,
        is_counted: NDArray[np.bool_],
    ) -> Whole:
        """Return the true numbers of a step, group by group: only the records that ``is_counted``, whose groups are ``group``."""
        if kind == "count":
            return np.bincount(group, minlength=groups).astype(np.int64)
        if kind == "products":
            return facts.design(query).sums(self._frame.filter(pl.Series(is_counted)), group, groups)
        bounds = facts.bounds[str(query.column)]
        if kind == "tree":
            leaf, _ = self._leaves(str(query.column), bounds)
            return tree_counts(leaf[is_counted], group, groups)
        units, _ = bounds.scaled(self._frame[str(query.column)])
        values = units[is_counted] if kind == "sum" else units[is_counted] - bounds.middle
        sums = np.zeros(groups, dtype=np.int64)
        np.add.at(sums, group, values**2 if kind == "squares" else values)
        return sums

    def _leaves(self, name: str, bounds: Bounds) -> tuple[Whole, NDArray[np.bool_]]:
        """Return for every record the leaf of the tree over ``bounds`` to which its value belongs, and whether it has a value."""
        units, is_known = bounds.scaled(self._frame[name])
        edges = leaf_edges(float(bounds.low), float(bounds.high))
        leaf = np.searchsorted(edges[1:-1], units * float(bounds.unit), side="right")
        return np.clip(leaf, 0, LEAVES - 1).astype(np.int64), is_known

    def _groups(self, query: StatisticQuery, facts: PublicFacts) -> tuple[Whole, int]:
        """The group of every record (-1: its key was not selected), and the number of groups."""
        codes, size = np.zeros(self._frame.height, dtype=np.int64), 1
        outside = np.zeros(self._frame.height, dtype=np.bool_)
        for name in query.by:
            column = facts.columns[name]
            size *= column.size
            if size > MOST_GROUPS:
                raise PolicyError(
                    f"The {query.words()} has more than {MOST_GROUPS:,} groups. Group by less.", setting=("queries",)
                )
            if name in facts.chosen:
                keys = [cell.value for cell in column.cells if isinstance(cell, Value)]
                listed = pl.DataFrame(
                    {"key": keys, "code": range(column.size)},
                    schema={"key": self._frame.schema[name], "code": pl.Int64},
                )
                joined = self._frame.select(pl.col(name).alias("key")).join(
                    listed, on="key", how="left", maintain_order="left"
                )["code"]
                outside |= joined.is_null().to_numpy()
                column_codes = joined.fill_null(0).to_numpy().astype(np.int64)
            else:
                column_codes = column.encode(self._frame[name])
            codes = codes * column.size + column_codes
        return np.where(outside, -1, codes), size

    def _scale_paid(self, kind: StepKind, contribution: Contribution, cost: Fraction) -> Fraction:
        """Pay ``cost`` for a step; return the least scale of noise that it buys. Raises if the budget is used up."""
        threshold = 1 if kind == "keys" else None

        def price(scale: Fraction) -> Fraction:
            return StatisticStep(kind, scale, contribution, threshold).cost(self.currency, self.rows, self.relation)

        scale = least_scale(price, self.currency, cost)
        if price(scale) > self.left:
            raise PolicyError("The budget of this release cannot pay for another noisy step.")
        self.left -= price(scale)
        return scale

    def _record(self, scale: Fraction, threshold: int | None, numbers: Whole) -> None:
        self.noise.append((scale, threshold))
        self.numbers.append(numbers)


def placed_bounds(noisy: Whole, deviation: float, outer: Bounds) -> Bounds:
    """The bounds from noisy counts of a tree: edges of its leaves around the middle 99 % of the values."""
    edges = leaf_edges(float(outer.low), float(outer.high))
    low = quantiles(noisy.reshape(1, -1), deviation, _TAIL, edges, 1.0).value[0]
    high = quantiles(noisy.reshape(1, -1), deviation, 1 - _TAIL, edges, 1.0).value[0]
    step = edges[1] - edges[0]
    first, last = float(low - step / 2), float(max(high, low) + step / 2)
    return Bounds(max(outer.low, Fraction(first)), min(outer.high, Fraction(last)))
