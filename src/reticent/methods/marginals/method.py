"""Marginals as a method: a table and a definition of differential privacy become noisy marginals, and synthetic records that fit them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.exact import one_of, whole
from reticent.base.privacy_cost import (
    UNITS,
    DeclaredBudget,
    ProtectedUnit,
)
from reticent.core import Draft, Evidence, Kind
from reticent.definitions import Definition, ExpectedError
from reticent.errors import PolicyError, did_you_mean
from reticent.methods.marginals.details import MarginalsDetails, excluded
from reticent.methods.marginals.graphical_model import ImpossibleCells
from reticent.methods.marginals.junction_tree import Clique
from reticent.methods.marginals.marginal_table import OWN_COLUMNS, marginal_table
from reticent.methods.marginals.noisy_table import NoisyTable
from reticent.methods.marginals.selection import (
    AdaptiveIterations,
    FixedWorkload,
    MarginalSelection,
    MaximumSpanningTree,
    PublicInputs,
)
from reticent.methods.noisy_columns import (
    DPTarget,
    NoisyCuts,
    ProtectedRecords,
    PublicColumn,
    account_cost,
    declared_columns,
    unfit,
)
from reticent.table import FrameRows, Table

FORMAT = "marginals"
_ON_CUTS = Fraction(1, 20)
_MOST_PAIRS = 500


@dataclass(frozen=True)
class Marginals:
    """Measure marginals with noise, fit a model to them, and publish the noisy marginals and synthetic records drawn from the model.

    Guarantee: UnboundedDP, BoundedDP or ConcentratedDP for one record, or for all records of a person where the table bounds them (``rows_per_person=`` of the table).
    Adversary: the definition's. The cells of all columns must be public: declared, never read off the data.
    Cost: AIM on 30,000 records with nine columns takes some seconds, MST and a fixed list about one.
    Source: select, measure, generate [McKenna2021]; AIM [McKenna2022]; inference [McKenna2019]; noise and noisy maxima by OpenDP.

    Parameters:
        select: ``"aim"`` (chooses marginals of up to ``degree`` columns, one after the other, where the model is worst), ``"mst"`` (a tree of pairs), or a list of marginals to measure.
        domain: for every published column a list of values, a range, ``{"from": 17, "to": 90, "step": 1}``, ``{"cuts": [0, 20, 40]}``, ``{"low": 0, "high": 90, "bins": 9}``, the same with
            ``"cuts": "noisy"``, or ``{"level": 1}`` of its hierarchy. Without it, the declared leaves of all hierarchies.
        unit: ``"row"``, ``"person"`` or ``"household"``; by default that of the table.
        impossible: conditions that no record can meet, such as ``"age < 15 and children > 0"``; declared before the data are looked at.
        rows: how many synthetic records to draw; by default the noisy estimate of their number, or the number itself where it is public.
        degree: the largest number of columns of a marginal that AIM chooses; with 3 models learned from the records predict better, and pairs are worse by a twentieth.
        megabytes: the largest model that AIM builds.
        budget: the totals that all noisy releases of the data set may cost together, such as ``{"epsilon": 3, "delta": "1e-5"}``.

    Example:
        >>> import reticent as rt
        >>> method = rt.Marginals(select=[["sex", "ill"]], domain={"sex": ["f", "m"], "ill": ["no", "yes"]})
        >>> method.describe()["select"]
        [['sex', 'ill']]
    """

    select: str | Sequence[Sequence[str]] = "aim"
    domain: Mapping[str, Any] | None = None
    unit: ProtectedUnit | None = None
    impossible: Sequence[str] = ()
    rows: int | None = None
    degree: int = 2
    megabytes: float = 16.0
    budget: Mapping[str, Any] | None = None

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False
    format: ClassVar[str] = FORMAT

    def __post_init__(self) -> None:
        _ = self.selection
        if self.unit is not None:
            one_of(self.unit, "Marginals: unit", UNITS)
        if self.rows is not None:
            whole(self.rows, "Marginals: rows", low=1)
        if isinstance(self.impossible, str):
            raise PolicyError("Marginals: impossible is a list of conditions, not one text.", setting=("impossible",))
        DeclaredBudget.of(self.budget, "Marginals")

    @property
    def selection(self) -> MarginalSelection:
        """The selection strategy of marginals."""
        if isinstance(self.select, str):
            one_of(self.select, "Marginals: select", ("aim", "mst"))
            if self.select == "mst":
                return MaximumSpanningTree()
            whole(self.degree, "Marginals: degree", low=1, high=5)
            return AdaptiveIterations(self.degree, float(self.megabytes))
        if (
            not isinstance(self.select, Sequence)
            or not self.select
            or any(isinstance(clique, str) for clique in self.select)
        ):
            raise PolicyError(
                f"Marginals: select must be 'aim', 'mst' or a list of lists of columns, but it is {self.select!r}.",
                setting=("select",),
                value=self.select,
            )
        return FixedWorkload(tuple(tuple(map(str, clique)) for clique in self.select))

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why this method refuses, or None. It needs one definition of differential privacy, and a table without weights that bounds the records of a unit."""
        reason = unfit(table, definition, self._records(table), "Marginals")
        if reason is not None:
            return reason
        colliding = [name for name in OWN_COLUMNS if name in table.schema]
        if colliding:
            return f"A release of marginals has a column {colliding[0]!r} of its own. Rename the column of that name."
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Noisy marginals and synthetic records, with the plan of all noisy steps as their evidence."""
        context = context or Context()
        reason = self.refusal(table, definition)
        if reason is not None:
            raise PolicyError(reason, setting=("method", "name"))
        target = DPTarget.of(definition)
        declared = declared_columns(table, self.domain)
        self._check_names([column.grid.name if isinstance(column, NoisyCuts) else column.name for column in declared])
        context.step("counting rows")
        noisy = self._noisy_table(table, declared, target, context)
        columns = self._cut_columns(table, declared, noisy, context)
        records = self._records(table)
        total = records.total(table, target.relation)
        excluded_cells = tuple(ImpossibleCells(*excluded(columns, condition)) for condition in self.impossible)
        public = PublicInputs(columns, None if total is None else float(total), excluded_cells)
        fit = self.selection.fit(noisy, public, context)
        details = MarginalsDetails(
            columns,
            noisy.plan,
            self.selection.name,
            records.unit,
            total,
            tuple(self.impossible),
            fit.compression.groups,
        )
        context.step("drawing records")
        count = self.rows or total or max(1, round(fit.model.total))
        seed = int(context.randomness.integers(2**32, 1)[0])
        codes = fit.records(count, seed)
        source = np.random.default_rng(seed)
        drawn = pl.DataFrame([column.decode(codes[column.name], source) for column in columns])
        return Draft(
            format=FORMAT,
            tables={
                "marginals": FrameRows(marginal_table(fit.measurements, details.counted_columns)),
                "records": FrameRows(drawn.sort(drawn.columns, nulls_last=False)),
            },
            evidence=Evidence(plan=details.plan),
            method=self.describe(),
            details=details.as_json(),
            measured=_errors(noisy, codes),
            search={"measured": [" x ".join(measurement.columns) for measurement in fit.measurements]},
            cost=account_cost(details.plan, target, records, "synthetic records from marginals", total),
            budget=DeclaredBudget.of(self.budget, "Marginals"),
            insecure=not context.randomness.is_secure,
            unit=records.unit,
        )

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """The noise on each cell of single columns and pairs, and the share of records that it moves, from the plan alone."""
        target = DPTarget.of(definition)
        declared = declared_columns(table, self.domain)
        sizes = {
            column.name if isinstance(column, PublicColumn) else column.grid.name: _size(column) for column in declared
        }
        noisy = NoisyTable(
            {}, sizes, target.currency, target.total, self._records(table).most, target.relation, Context()
        )
        deviation = noisy.deviation(noisy.scale("measure", self.selection.first_cost(target.total, sizes)))
        records = max(1, table.frame.height)
        moved = {
            name: min(1.0, deviation * math.sqrt(2 / math.pi) * size / (2 * records)) for name, size in sizes.items()
        }
        worst = max(moved, key=lambda name: moved[name])
        return ExpectedError(
            {"standard_error": deviation, **{f"error of {name}": share for name, share in moved.items()}},
            f"Each cell of a first measured marginal would get noise with a standard deviation of {deviation:,.1f}: of single columns it moves at most {moved[worst]:.1%} of the records "
            f"({worst!r}). Marginals of more columns have more cells and move more.",
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters; cells are in the details of the release."""
        parameters = {
            "select": self.select if isinstance(self.select, str) else [list(item) for item in self.select],
            "unit": self.unit,
            "impossible": list(self.impossible) or None,
            "rows": self.rows,
            "degree": self.degree if self.select == "aim" and self.degree != 2 else None,
        }
        return {"name": "Marginals", **{name: item for name, item in parameters.items() if item is not None}}

    def _records(self, table: Table) -> ProtectedRecords:
        return ProtectedRecords.of(table, self.unit)

    def _check_names(self, names: Sequence[str]) -> None:
        """Raise if a listed marginal names a column that the domain does not have."""
        if isinstance(self.select, str):
            return
        for name in (column for clique in self.select for column in clique):
            if name not in names:
                raise PolicyError(
                    f"select names the column {name!r}, which the domain does not have.{did_you_mean(name, names)}",
                    setting=("select",),
                )

    def _noisy_table(
        self, table: Table, declared: Sequence[PublicColumn | NoisyCuts], target: DPTarget, context: Context
    ) -> NoisyTable:
        """Return the table of the declared columns, on their finest grids, of which only noisy counts can be read, as the budget pays for them."""
        fine = [column.grid if isinstance(column, NoisyCuts) else column for column in declared]
        codes = {column.name: column.encode(table.frame[column.name]) for column in fine}
        sizes = {column.name: column.size for column in fine}
        return NoisyTable(
            codes, sizes, target.currency, target.total, self._records(table).most, target.relation, context
        )

    def _cut_columns(
        self, table: Table, declared: Sequence[PublicColumn | NoisyCuts], noisy: NoisyTable, context: Context
    ) -> tuple[PublicColumn, ...]:
        """The columns, with bins at noisy quantiles if requested: a twentieth of the budget for all of them."""
        uncut = [column_or_cuts for column_or_cuts in declared if isinstance(column_or_cuts, NoisyCuts)]
        share = noisy.total * _ON_CUTS / max(1, len(uncut))
        columns = []
        for column_or_cuts in declared:
            if isinstance(column_or_cuts, NoisyCuts):
                context.step("placing bins")
                measured = noisy.measured((column_or_cuts.grid.name,), share, "cut")
                column = column_or_cuts.cut(measured.counts.astype(np.float64))
                column = column.with_missing() if table.nulls == "category" else column
                noisy.replaced(column.name, column.encode(table.frame[column.name]), column.size)
                columns.append(column)
            else:
                columns.append(column_or_cuts)
        return tuple(columns)


def _size(column: PublicColumn | NoisyCuts) -> int:
    return column.size if isinstance(column, PublicColumn) else column.bins


def _errors(noisy: NoisyTable, codes: Mapping[str, NDArray[np.int64]]) -> dict[str, float]:
    """The mean total variation distance between true and synthetic marginals of one and of two columns; for the steward alone."""
    synthetic = NoisyTable(codes, noisy.sizes, noisy.currency, noisy.total, 1, noisy.relation, Context())
    names = list(noisy.sizes)
    pairs = [pair for pair in combinations(names, 2) if noisy.cells(pair) <= 10**7][:_MOST_PAIRS]
    cliques_by_figure: dict[str, Sequence[Clique]] = {
        "one_way_error": [(name,) for name in names],
        "two_way_error": pairs,
    }
    return {
        figure: float(np.mean([_variation(noisy.exact(clique), synthetic.exact(clique)) for clique in cliques]))
        for figure, cliques in cliques_by_figure.items()
        if cliques
    }


def _variation(true: NDArray[np.int64], drawn: NDArray[np.int64]) -> float:
    return float(np.abs(true / max(1, true.sum()) - drawn / max(1, drawn.sum())).sum()) / 2
