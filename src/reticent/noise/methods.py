"""CentralCounts and JointCounts: how a table and :class:`NoisyCounts` become a draft of noisy counts, by a trusted curator or by parties who trust nobody."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import Context, Draft, Evidence, FrameRows, Kind, Rows, Table
from reticent.definitions import Definition, NoisyCounts
from reticent.errors import PolicyError
from reticent.exact import Number, exact
from reticent.giving import Spending
from reticent.noise.central import central_noise
from reticent.noise.details import NOISY_COUNT, CountsDetails, check_size
from reticent.randomize import ViewDomain, declared_domain

_Counts = NDArray[np.int64]


@dataclass(frozen=True)
class NoisyCells:
    """Noisy counts of all cells, and how they came about; ``private`` tables and ``told`` figures stay with the steward."""

    details: CountsDetails
    counts: _Counts
    private: Mapping[str, Rows]
    told: Mapping[str, Any]
    secure: bool


class _CountsMethod(ABC):
    """What both methods do: lay the domain over the rows, have noise added, and draft the cells."""

    domain: Mapping[str, Any] | None
    budget_epsilon: Number | None
    budget_delta: Number | None

    format: ClassVar[str] = "noisy counts"
    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.domain is not None:
            _declared(self.domain, name)
        for field in ("budget_epsilon", "budget_delta"):
            if getattr(self, field) is not None:
                exact(getattr(self, field), f"{name}: {field}", low=0)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Both keep NoisyCounts, which protects rows, and nothing else."""
        if not isinstance(definition, NoisyCounts):
            return f"{type(self).__name__} keeps NoisyCounts(epsilon, delta), not {definition}. Choose a grouping method for that."
        if table.unit == "person":
            return (
                f"{type(self).__name__} protects one row, and people of this table may have several. Keep one row for each person, or count visits with unit='row' "
                "if that is what may be protected."
            )
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """The cells with their noisy counts, and the law of the noise as their evidence."""
        refused = self.refusal(table, definition)
        if refused is not None or not isinstance(definition, NoisyCounts):
            raise PolicyError(refused or str(definition))
        context = context or Context()
        domain = declared_domain(table, self.domain)
        if NOISY_COUNT in domain.names:
            raise PolicyError(
                f"Noisy counts are published in a column {NOISY_COUNT!r}. Rename the column of that name."
            )
        check_size(domain)
        context.step("counting rows")
        cells = domain.pack(domain.frame_columns(table.frame))
        made = self.counted(table, domain, cells, definition, context)
        shown = domain.unpack(np.arange(domain.size)).with_columns(pl.Series(NOISY_COUNT, made.counts, pl.Int64))
        return Draft(
            format=self.format,
            tables={"cells": FrameRows(shown)},
            evidence=Evidence(plan=made.details.plan),
            method=self.describe(),
            details=made.details.as_json(),
            private=made.private,
            search=made.told,
            spend=self._spend(definition),
            insecure=not made.secure,
        )

    @abstractmethod
    def counted(
        self, table: Table, domain: ViewDomain, cells: _Counts, definition: NoisyCounts, context: Context
    ) -> NoisyCells:
        """The noisy counts, given the cell of every row."""

    def _spend(self, definition: NoisyCounts) -> tuple[Spending, ...]:
        """What goes out of the data set's budgets for noise; without a declared total the first release spends all there is."""
        epsilon, delta = definition.amounts
        totals = {"epsilon": self.budget_epsilon, "delta": self.budget_delta}
        return tuple(
            Spending(name, amount, "noisy counts", total=amount if totals[name] is None else totals[name])
            for name, amount in (("epsilon", epsilon), ("delta", delta))
            if amount
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        given = {
            "domain": None if self.domain is None else ViewDomain.of(self.domain).as_json(),
            "budget_epsilon": None if self.budget_epsilon is None else str(self.budget_epsilon),
            "budget_delta": None if self.budget_delta is None else str(self.budget_delta),
        }
        return {"name": type(self).__name__, **{name: value for name, value in given.items() if value is not None}}


@dataclass(frozen=True)
class CentralCounts(_CountsMethod):
    """Publish how many rows lie in each cell of a public domain, with noise that a trusted curator adds.

    Guarantee: NoisyCounts(epsilon, 0): discrete Laplace noise of scale 2/epsilon on each cell, since replacing a row moves two cells (E12).
    Adversary: anybody who sees the counts; not the curator. ``domain`` lists the values of every column; without it they are the leaves of declared hierarchies.
    ``budget_epsilon`` and ``budget_delta`` are what all noisy counts of the data set may spend together. Cost: one draw a cell.
    """

    domain: Mapping[str, Any] | None = None
    budget_epsilon: Number | None = None
    budget_delta: Number | None = None

    def counted(
        self, table: Table, domain: ViewDomain, cells: _Counts, definition: NoisyCounts, context: Context
    ) -> NoisyCells:
        noise = central_noise(2, definition.amounts[0])
        details = CountsDetails(domain, noise.law, noise.law)
        true = np.bincount(cells, minlength=domain.size)
        context.step("adding noise")
        seed = context.randomness.insecure_seed
        if seed is None:
            counts = np.array(noise.added(true.tolist()), dtype=np.int64)
        else:
            counts = true + _seeded(float(noise.law.scale), domain.size, seed)
        return NoisyCells(details, counts, {}, {}, seed is None)


def _seeded(scale: float, cells: int, seed: int) -> _Counts:
    """Repeatable noise of the same law, for tests: the difference of two geometric numbers."""
    draws = np.random.default_rng(seed).geometric(1 - np.exp(-1 / scale), (2, cells))
    drawn: _Counts = draws[0] - draws[1]
    return drawn


def _declared(domain: Any, name: str) -> ViewDomain:
    try:
        return ViewDomain.of(domain)
    except PolicyError as problem:
        raise PolicyError(f"{name}: {problem}", setting=(name, "domain"), value=domain) from None
