"""Statistics as a method: a table and a definition of differential privacy become counts, sums, means, variances and quantiles with noise and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from reticent.base.context import Context
from reticent.base.exact import one_of
from reticent.base.privacy_cost import UNITS, DeclaredBudget, ProtectedUnit
from reticent.core import Draft, Evidence, Kind
from reticent.definitions import Definition, ExpectedError
from reticent.errors import PolicyError, did_you_mean
from reticent.methods.noisy_columns import (
    DPTarget,
    NoisyCuts,
    ProtectedRecords,
    PublicColumn,
    account_cost,
    declared_columns,
    unfit,
)
from reticent.methods.statistics.declared_bounds import NoisyBounds, check_numbers, declared_bounds
from reticent.methods.statistics.details import PublicFacts, StatisticsDetails
from reticent.methods.statistics.linear_regression import coefficient_error
from reticent.methods.statistics.noisy_answers import NoisyAnswers
from reticent.methods.statistics.plan import StatisticStep
from reticent.methods.statistics.published_tables import measurement_table, statistic_table
from reticent.methods.statistics.statistic_query import MOST_QUERIES, StatisticQuery
from reticent.noise import LEAVES, Bounds, WholeNoise, least_scale
from reticent.table import FrameRows, Table, Value, ValueType

FORMAT = "noisy statistics"
_NOISY = "noisy"
_ON_BOUNDS = Fraction(1, 2)


@dataclass(frozen=True)
class Statistics:
    """Publish counts, sums, means, variances, quantiles and regression coefficients with noise, each with its standard error and a 95 % interval.

    Guarantee: UnboundedDP, BoundedDP or ConcentratedDP for one record, or for all records of a person where the table bounds them (``rows_per_person=`` of the table).
    Adversary: the definition's. Cells of groups and bounds of numbers are public: declared, or chosen with noise that the budget pays for.
    Cost: one pass over the records for each query. Intervals are about noise alone: they hold the statistic of the records that were counted, with values clamped to their bounds.
    Source: Dwork and others 2006; keys by thresholds: Korolova and others 2009, Gaussian: Rogers 2023; means: Fieller 1954; regression from noisy sums of products: Wang 2018; noise and thresholds by OpenDP.

    Parameters:
        queries: a list (by default the number of records alone), such as ``{"statistic": "mean", "column": "income", "by": ["region"], "where": "age >= 18"}``. Statistics are count, sum, mean, variance, quantile (with ``"at": [0.5]``) and linear (``{"statistic": "linear", "outcome": "income", "on": ["age", "sex"]}``: the coefficients of least squares); a
            histogram is a count ``by`` a column with bins. ``"weight"`` gives a query more of the budget.
        domain: the cells of every column that groups, as for Marginals: a list, a range, cuts, bins, a level of its hierarchy; or ``"noisy"``: those values whose noisy count reaches a threshold (needs a delta).
        bounds: for every column of numbers ``[low, high]``, to which values are clamped; or ``{"low": 0, "high": 10000000, "chosen": "noisy"}``: the middle 99 % of the values by noisy counts.
        unit: ``"row"``, ``"person"`` or ``"household"``; by default that of the table.
        budget: the totals that all noisy releases of the data set may cost together, such as ``{"epsilon": 3, "delta": "1e-5"}``.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58] * 50, "income": [20, 30, 40, 50] * 50}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="income")
        >>> method = rt.Statistics([{"statistic": "mean", "column": "income"}], bounds={"income": [0, 100]})
        >>> release = rt.publish(table, rt.UnboundedDP(1), method, insecure_seed=1)
        >>> release.frame.columns[:3]
        ['query', 'statistic', 'column']
    """

    queries: Sequence[Mapping[str, Any]] = ({"statistic": "count"},)
    domain: Mapping[str, Any] | None = None
    bounds: Mapping[str, Any] | None = None
    unit: ProtectedUnit | None = None
    budget: Mapping[str, Any] | None = None

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False
    format: ClassVar[str] = FORMAT

    def __post_init__(self) -> None:
        _ = self.asked
        if self.unit is not None:
            one_of(self.unit, "Statistics: unit", UNITS)
        for setting, entries, example in (
            ("domain", self.domain, "{'region': ['north', 'south']}"),
            ("bounds", self.bounds, "{'income': [0, 100000]}"),
        ):
            if entries is not None and not isinstance(entries, Mapping):
                raise PolicyError(
                    f"Statistics: {setting} must map names of columns, such as {example}, but it is {entries!r}.",
                    setting=(setting,),
                    value=entries,
                )
        for name in self.bounds or {}:
            declared_bounds(str(name), (self.bounds or {})[name])
        DeclaredBudget.of(self.budget, "Statistics")

    @property
    def asked(self) -> tuple[StatisticQuery, ...]:
        """The queries."""
        queries = self.queries
        if (
            isinstance(queries, str | Mapping)
            or not isinstance(queries, Sequence)
            or not 0 < len(queries) <= MOST_QUERIES
        ):
            raise PolicyError(
                f"Statistics: queries must be a list of 1 to {MOST_QUERIES:,} queries, such as {{'statistic': 'count'}}.",
                setting=("queries",),
            )
        return tuple(StatisticQuery.of(entry, number) for number, entry in enumerate(queries, 1))

    @property
    def _keyed(self) -> tuple[str, ...]:
        """Columns whose keys are chosen with noise."""
        return tuple(name for name, entry in (self.domain or {}).items() if isinstance(entry, str) and entry == _NOISY)

    @property
    def _placed(self) -> tuple[str, ...]:
        """Columns whose bounds are placed by noisy counts."""
        entries = (self.bounds or {}).items()
        return tuple(name for name, entry in entries if isinstance(declared_bounds(name, entry), NoisyBounds))

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why this method refuses, or None. It needs one definition of differential privacy, and a table without weights that bounds the records of a unit."""
        reason = unfit(table, definition, ProtectedRecords.of(table, self.unit), "Statistics")
        if reason is not None:
            return reason
        target = DPTarget.of(definition)
        if self._keyed and (target.currency == "epsilon" or not target.delta or "rho" in definition.parameters()):
            return (
                f"Keys of {self._keyed[0]!r} that are chosen with noise may show one that a single {ProtectedRecords.of(table, self.unit).unit} has, with a small chance. Allow for it with a delta, "
                "UnboundedDP(1, '1e-6'), or declare the keys in domain."
            )
        public = (*table.quasi, *table.sensitive, *table.declared)
        for setting, entries in (("bounds", self.bounds), ("domain", self.domain)):
            for name in entries or {}:
                if name not in public:
                    return f"Statistics: {setting} names the column {name!r}, which is not published: only quasi, sensitive and declared columns are.{did_you_mean(name, public)}"
        grouping = {name for query in self.asked for name in query.by}
        numeric = {name for query in self.asked for name in (query.column, *query.on)}
        unused = [
            *(name for name in self._keyed if name not in grouping),
            *(name for name in self._placed if name not in numeric),
        ]
        if unused:
            return f"The budget would pay for noisy keys or bounds of {unused[0]!r}, which no query uses. Omit them, or ask for a statistic of the column."
        for query in self.asked:
            for name in query.columns:
                if name not in public:
                    return f"The {query.words()} reads the column {name!r}, which is not published: only quasi, sensitive and declared columns are.{did_you_mean(name, public)}"
            for name in query.by:
                if name not in (self.domain or {}):
                    return f"The {query.words()} groups by {name!r}, whose cells are not declared. Declare them, domain={{{name!r}: [...]}}, or have them chosen: domain={{{name!r}: 'noisy'}}."
            for name in query.on:
                if name not in (self.bounds or {}) and (self.domain or {}).get(name, _NOISY) == _NOISY:
                    return f"The {query.words()} needs bounds of {name!r} if it is a number, bounds={{{name!r}: [low, high]}}, or else its cells, domain={{{name!r}: [...]}}; both must be public."
            if query.statistic != "count" and query.column not in (self.bounds or {}):
                return f"The {query.words()} needs bounds of {query.column!r}: bounds={{{query.column!r}: [low, high]}}, which must be public."
            if query.statistic == "count" and self._facts(table, definition).count_known(replace(query, column=None)):
                return "The number of records is public where one is replaced by another (BoundedDP): no noisy count of all records is needed. Ask for counts with where or by."
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """The noisy numbers and the statistics that follow from them, with the plan of all noisy steps as their evidence."""
        context = context or Context()
        reason = self.refusal(table, definition)
        if reason is not None:
            raise PolicyError(reason, setting=("method", "name"))
        target = DPTarget.of(definition, failing=bool(self._keyed))
        records, queries = ProtectedRecords.of(table, self.unit), self.asked
        context.step("counting rows")
        check_numbers(table.frame, self.bounds or {})
        noisy = NoisyAnswers(table.frame, target.currency, target.total, records.most, target.relation, context)
        facts, share_of_budget = self._facts(table, definition), target.total / self._parts()
        columns, bounds = dict(facts.columns), dict(facts.bounds)
        for name in self._keyed:
            context.step("choosing keys")
            keys = noisy.keys(name, share_of_budget, target.failure / len(self._keyed))
            if not keys:
                raise PolicyError(
                    f"No key of {name!r} has a noisy count that reaches the threshold, so that nothing can be published by it. Allow a larger epsilon or delta, or declare the keys.",
                    setting=("domain",),
                )
            columns[name] = PublicColumn(
                name, ValueType.of(table.schema[name], name), tuple(Value(value) for value in keys)
            )
        for name, public_bounds in sorted((facts.outer or {}).items()):
            context.step("placing bounds")
            bounds[name] = noisy.bounds(name, public_bounds, share_of_budget * _ON_BOUNDS)
        facts = replace(facts, columns=columns, bounds=bounds)
        for number, query in enumerate(queries):
            context.step("answering", number, len(queries), query.words())
            kinds = facts.kinds(query)
            for kind in kinds:
                noisy.answer(kind, query, facts, share_of_budget * query.weight / len(kinds))
        details = StatisticsDetails(queries, facts, records.unit, records.most, target.currency, tuple(noisy.noise))
        return Draft(
            format=FORMAT,
            tables={
                "measurements": FrameRows(measurement_table(details, noisy.numbers)),
                "statistics": FrameRows(statistic_table(details, noisy.numbers)),
            },
            evidence=Evidence(plan=details.plan),
            method=self.describe(),
            details=details.as_json(),
            search={"queries": [query.words() for query in queries]},
            cost=account_cost(details.plan, target, records, "statistics with noise", facts.total),
            budget=DeclaredBudget.of(self.budget, "Statistics"),
            insecure=not context.randomness.is_secure,
            unit=records.unit,
        )

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """The standard deviation of the noise on every count, sum and mean, from the plan alone; means and variances at the number of records of the table."""
        target = DPTarget.of(definition, failing=bool(self._keyed))
        records, facts = ProtectedRecords.of(table, self.unit), self._facts(table, definition)
        figures: dict[str, float] = {}
        for number, query in enumerate(self.asked, 1):
            kinds = facts.kinds(query)
            cost = target.total / self._parts() * query.weight / len(kinds)
            kind = kinds[-1]
            contribution = facts.contribution(kind, query)

            def price(scale: Fraction, kind: Any = kind, contribution: Any = contribution) -> Fraction:
                return StatisticStep(kind, scale, contribution).cost(target.currency, records.most, target.relation)

            deviation = WholeNoise(target.currency, least_scale(price, target.currency, cost)).deviation
            groups = int(np.prod([facts.columns[name].size if name in facts.columns else 1 for name in query.by]))
            bounds = facts.bounds.get(str(query.column), Bounds(Fraction(0), Fraction(2**16)))
            unit = 1.0 if query.statistic == "count" else float(bounds.unit)
            records_per_group = max(1.0, table.frame.height / groups)
            figures[f"{number}: {query.words()}"] = (
                deviation
                if query.statistic == "count"
                else deviation * unit
                if query.statistic == "sum"
                else deviation * unit / records_per_group
                if query.statistic == "mean"
                else deviation * unit**2 / records_per_group
                if query.statistic == "variance"
                else coefficient_error(deviation, records_per_group, (bounds.high - bounds.low) / 2)
                if query.statistic == "linear"
                else 4 * deviation / records_per_group
            )
        first = next(iter(figures))
        return ExpectedError(
            {"standard_error": figures[first], **figures},
            f"Noise with a standard deviation of {figures[first]:,.4g} on the {first.partition(': ')[2]}{f', and {len(figures) - 1} more statistics' if len(figures) > 1 else ''}. For means and "
            f"variances it is computed for groups of equal size, for regression it is that of a coefficient per half the range of an evenly spread covariate, for quantiles the share of the records ({LEAVES} steps between the bounds).",
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters; cells and bounds are in the details of the release."""
        parameters = {"queries": [query.as_json() for query in self.asked], "unit": self.unit}
        return {"name": "Statistics", **{name: value for name, value in parameters.items() if value is not None}}

    def _parts(self) -> Fraction:
        """The sum of the weights of all steps that share the budget."""
        return (
            sum((query.weight for query in self.asked), Fraction(0)) + len(self._keyed) + _ON_BOUNDS * len(self._placed)
        )

    def _facts(self, table: Table, definition: Definition) -> PublicFacts:
        """The declared facts, before noisy selection: keys to be selected are missing, and bounds to be placed are the outer ones."""
        declared = {name: entry for name, entry in (self.domain or {}).items() if name not in self._keyed}
        columns: dict[str, PublicColumn] = {}
        for column in declared_columns(table, declared) if declared else ():
            if isinstance(column, NoisyCuts):
                raise PolicyError(
                    f"domain[{column.grid.name!r}]: cuts at noisy quantiles are for Marginals. Declare the cuts, or ask for quantiles.",
                    setting=("domain",),
                )
            columns[column.name] = column
        bounds: dict[str, Bounds] = {}
        public_bounds: dict[str, Bounds] = {}
        for name, entry in (self.bounds or {}).items():
            declared_entry = declared_bounds(str(name), entry)
            if isinstance(declared_entry, NoisyBounds):
                public_bounds[name] = declared_entry.outer
            bounds[name] = declared_entry.outer if isinstance(declared_entry, NoisyBounds) else declared_entry
        records = ProtectedRecords.of(table, self.unit)
        return PublicFacts(
            columns,
            bounds,
            self._keyed,
            public_bounds,
            table.nulls == "category",
            records.total(table, DPTarget.of(definition).relation),
        )
