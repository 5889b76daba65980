"""The details of statistics in the manifest: the queries, the cells and bounds of their columns, and the noise of every step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from reticent.base.exact import whole
from reticent.base.privacy_cost import UNITS, ProtectedUnit
from reticent.errors import DataError
from reticent.methods.noisy_columns import ProtectedRecords, PublicColumn, cell_labels
from reticent.methods.statistics.linear_regression import RegressionDesign
from reticent.methods.statistics.plan import (
    StatisticsPlan,
    StatisticStep,
    StepKind,
)
from reticent.methods.statistics.statistic_query import StatisticQuery
from reticent.noise import TREE_LEVELS, Bounds, Contribution, Currency, tree_nodes
from reticent.table import to_plain

MOST_GROUPS = 1_000_000


@dataclass(frozen=True)
class PublicFacts:
    """Public facts about the columns: the cells of grouping columns, the bounds of numbers, whether values may be ``missing``, and the number of records if it is the same in neighbouring tables (``total``).

    The cells of ``chosen`` columns are keys selected by noisy counts, so other keys may occur; bounds of columns in ``outer`` were placed by noisy counts within those outer bounds.
    """

    columns: Mapping[str, PublicColumn]
    bounds: Mapping[str, Bounds]
    chosen: tuple[str, ...] = ()
    outer: Mapping[str, Bounds] | None = None
    missing: bool = False
    total: int | None = None

    def groups(self, query: StatisticQuery) -> list[str]:
        """The label of every group of a query; one empty label if it does not group."""
        return cell_labels([self.columns[name] for name in query.by]) if query.by else [""]

    def count_known(self, query: StatisticQuery) -> bool:
        """Whether the number of values of a query is public."""
        return self.total is not None and not (query.by or query.where or self.missing)

    def kinds(self, query: StatisticQuery) -> tuple[StepKind, ...]:
        """The steps that answer a query."""
        if query.statistic in ("count", "sum"):
            return ("count",) if query.statistic == "count" else ("sum",)
        if query.statistic == "quantile":
            return ("tree",)
        if query.statistic == "linear":
            return ("products",)
        counted: tuple[StepKind, ...] = () if self.count_known(query) else ("count",)
        return (*counted, "centred") if query.statistic == "mean" else (*counted, "centred", "squares")

    def contribution(self, kind: StepKind, query: StatisticQuery | None = None) -> Contribution:
        """The contribution of one record to the numbers of a step: of a query, or of a column whose keys or bounds are selected."""
        if query is None:
            return Contribution(levels=TREE_LEVELS if kind == "bounds" else 1)
        single = not query.by
        optional = bool(self.missing or query.where or any(name in self.chosen for name in query.by))
        if kind == "count":
            return Contribution(0, 1, single, True)
        if kind == "tree":
            return Contribution(0, 1, False, True, TREE_LEVELS)
        if kind == "products":
            return self.design(query).contribution(single, optional)
        bounds = self.bounds[str(query.column)]
        low, high = bounds.ends
        if kind == "sum":
            return Contribution(low, high, single, optional)
        low, high = low - bounds.middle, high - bounds.middle
        if kind == "centred":
            return Contribution(low, high, single, optional)
        return Contribution(0, max(low**2, high**2), single, True)

    def design(self, query: StatisticQuery) -> RegressionDesign:
        """The variables of a linear regression."""
        return RegressionDesign.of(query, self.bounds, self.columns)

    def numbers(self, kind: StepKind, about: str | int, queries: tuple[StatisticQuery, ...]) -> int:
        """The number of noisy numbers of a step."""
        if isinstance(about, str):
            return self.columns[about].size if kind == "keys" else tree_nodes().shape[0]
        query = queries[about - 1]
        groups = int(np.prod([self.columns[name].size for name in query.by], dtype=object))
        if kind == "products":
            return groups * len(self.design(query).pairs)
        return groups * (tree_nodes().shape[0] if kind == "tree" else 1)

    def unnoised_steps(self, queries: tuple[StatisticQuery, ...]) -> Iterator[tuple[StepKind, str | int, Contribution]]:
        """Every step in order: its kind, its subject (a column, or a query by its number from 1), and the contribution of one record."""
        for name in self.chosen:
            yield "keys", name, self.contribution("keys")
        # JSON objects have no order.
        for name in sorted(self.outer or {}):
            yield "bounds", name, self.contribution("bounds")
        for number, query in enumerate(queries, 1):
            for kind in self.kinds(query):
                yield kind, number, self.contribution(kind, query)


@dataclass(frozen=True)
class StatisticsDetails:
    """The ``queries``, what is public (``facts``), whose records are protected (``unit``, at most ``rows`` of each), and the scale of noise of every step, with its threshold where it chooses keys."""

    queries: tuple[StatisticQuery, ...]
    facts: PublicFacts
    unit: ProtectedUnit
    rows: int
    currency: Currency
    noise: tuple[tuple[Fraction, int | None], ...]

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise DataError(f"The unit must be one of {', '.join(UNITS)}, but it is {self.unit!r}.")
        if self.facts.total is not None:
            whole(self.facts.total, "total", low=0)
        for query in self.queries:
            missing = [name for name in query.by if name not in self.facts.columns]
            missing += [name for name in query.on if name not in self.facts.columns and name not in self.facts.bounds]
            if missing or (query.statistic != "count" and query.column not in self.facts.bounds):
                raise DataError(f"The details lack cells or bounds for the {query.words()}.")
        if len(self.noise) != len(list(self.facts.unnoised_steps(self.queries))):
            raise DataError("The details do not state the noise of every step.")
        _ = self.plan

    @cached_property
    def plan(self) -> StatisticsPlan:
        """Every step with its noise."""
        steps = tuple(
            StatisticStep(kind, scale, contribution, threshold)
            for (kind, _, contribution), (scale, threshold) in zip(
                self.facts.unnoised_steps(self.queries), self.noise, strict=True
            )
        )
        return StatisticsPlan(self.currency, self.rows, steps)

    @property
    def about(self) -> list[str | int]:
        """The subject of each step: a column, or the number of a query."""
        return [about for _, about, _ in self.facts.unnoised_steps(self.queries)]

    def words(self) -> str:
        """A description of the release for the public."""
        protected = ProtectedRecords(self.unit, self.rows).words()
        total_words = "" if self.facts.total is None else f" The number of records ({self.facts.total:,}) is public."
        query_words = "; ".join(query.words() for query in self.queries[:6])
        more = f" and {len(self.queries) - 6} more" if len(self.queries) > 6 else ""
        return f"Statistics with noise, each with its 95 % interval: {query_words}{more}. Noise hides {protected}.{total_words}"

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        facts = self.facts
        return {
            "queries": [query.as_json() for query in self.queries],
            "columns": {name: to_plain(column.as_json()) for name, column in facts.columns.items()},
            "bounds": {name: bounds.as_json() for name, bounds in facts.bounds.items()},
            "chosen_keys": list(facts.chosen),
            "chosen_bounds": {name: bounds.as_json() for name, bounds in (facts.outer or {}).items()},
            "missing": facts.missing,
            "total": facts.total,
            "unit": self.unit,
            "rows": self.rows,
            "currency": self.currency,
            "noise": [
                {"scale": str(scale)} if threshold is None else {"scale": str(scale), "threshold": threshold}
                for scale, threshold in self.noise
            ],
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> StatisticsDetails:
        """The details that :meth:`as_json` wrote."""
        facts = PublicFacts(
            {name: PublicColumn.from_json(name, column) for name, column in written["columns"].items()},
            {name: Bounds.from_json(bounds) for name, bounds in written["bounds"].items()},
            tuple(map(str, written["chosen_keys"])),
            {name: Bounds.from_json(bounds) for name, bounds in written["chosen_bounds"].items()},
            bool(written["missing"]),
            written["total"],
        )
        return cls(
            tuple(StatisticQuery.from_json(query) for query in written["queries"]),
            facts,
            written["unit"],
            written["rows"],
            written["currency"],
            tuple((Fraction(step["scale"]), step.get("threshold")) for step in written["noise"]),
        )
