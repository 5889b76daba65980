"""CentralCounts and JointCounts: from a table and :class:`NoisyCounts` to a draft of noisy counts, by a trusted curator or
by parties who do not trust each other.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.disclosures import PriorCheck, alone
from reticent.base.exact import one_of, whole
from reticent.base.parameters import described, parameter
from reticent.base.privacy_cost import DeclaredBudget, LossBound, PrivacyCost, Relation
from reticent.core import Draft, Evidence, Kind
from reticent.definitions import Definition, ExpectedError, NoisyCounts
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.methods.counts.details import NOISY_COUNT, CountsDetails, JointRun, check_size
from reticent.methods.randomize import ViewDomain, declared_domain
from reticent.noise import LAWS, LEVELS, BinomialLaw, JointAnswer, NoiseLaw, NoisePlan, central_noise, plan, run_local
from reticent.table import FrameRows, Rows, Table

_Counts = NDArray[np.int64]


@dataclass(frozen=True)
class NoisyCells:
    """Noisy counts of all cells, and their origin; ``private`` tables and ``told`` figures are for the steward."""

    details: CountsDetails
    counts: _Counts
    private: Mapping[str, Rows]
    told: Mapping[str, Any]
    secure: bool


class _CountsMethod(ABC):
    """Base of both methods: apply the domain to the rows, add noise, and draft the cells."""

    domain: Mapping[str, Any] | None
    budget: Mapping[str, Any] | None

    format: ClassVar[str] = "noisy counts"
    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.domain is not None:
            _declared(self.domain, name)
        DeclaredBudget.of(self.budget, name)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported: both satisfy only NoisyCounts, which protects rows."""
        if not isinstance(definition, NoisyCounts):
            return f"{type(self).__name__} supports NoisyCounts(epsilon, delta), not {definition}. Choose a grouping method for that."
        if table.several_rows or (table.key is not None and (table.rows_per_person or 1) > 1):
            return (
                f"{type(self).__name__} protects one row, but people of this table may have several. Keep one row for each person, or count visits with unit='row' "
                "if that is what may be protected."
            )
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return the cells with their noisy counts, with the noise distribution as evidence."""
        refusal = self.refusal(table, definition)
        if refusal is not None or not isinstance(definition, NoisyCounts):
            raise PolicyError(refusal or str(definition))
        context = context or Context()
        domain = self._cells(table)
        context.step("counting rows")
        cells = domain.pack(domain.frame_columns(table.frame))
        noisy_cells = self.counted(table, domain, cells, definition, context)
        cost, budget = self.cost(table, definition), DeclaredBudget.of(self.budget, type(self).__name__)
        return replace(_drafted(noisy_cells, self.describe(), alone), cost=cost, budget=budget)

    @abstractmethod
    def cost(self, table: Table, definition: NoisyCounts) -> PrivacyCost:
        """Return the cost charged to the account of the data set."""

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """Return the standard error of the noise on each cell."""
        assert isinstance(definition, NoisyCounts)
        domain, deviation = self._cells(table), math.sqrt(float(self.noise(table, definition).variance))
        return ExpectedError(
            {"cells": domain.size, "standard_error": deviation},
            f"Each of the {domain.size:,} cells would be the true number of rows plus noise with a standard deviation of {deviation:,.1f}; a sum of m cells has "
            f"{deviation:,.1f} x sqrt(m).",
        )

    def _cells(self, table: Table) -> ViewDomain:
        """Return the public cells, if they can be published."""
        domain = declared_domain(table, self.domain)
        if NOISY_COUNT in domain.names:
            raise PolicyError(
                f"Noisy counts are published in a column {NOISY_COUNT!r}. Rename the table's column of that name."
            )
        check_size(domain)
        return domain

    @abstractmethod
    def noise(self, table: Table, definition: NoisyCounts) -> NoiseLaw:
        """Return the distribution of the noise on each cell."""

    @abstractmethod
    def counted(
        self, table: Table, domain: ViewDomain, cells: _Counts, definition: NoisyCounts, context: Context
    ) -> NoisyCells:
        """Return the noisy counts, given the cell of every row."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return described(self)


@dataclass(frozen=True)
class CentralCounts(_CountsMethod):
    """Publish the number of rows in each cell of a public domain, with noise added by a trusted curator.

    Guarantee: NoisyCounts(epsilon, 0): discrete Laplace noise of scale 2/epsilon on each cell, since replacing a row
    changes two cells. Adversary: sees the counts; the curator is trusted. Source: [Dwork2006]; [Ghosh2012]. ``domain``
    lists the values of every column; without it they are the leaves of declared hierarchies. ``budget`` is the total
    privacy cost allowed for all noisy releases of the data set, such as ``{"epsilon": 3, "delta": "1e-5"}``. Cost: one
    sample per cell.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> release = rt.publish(table, rt.NoisyCounts(1), method=rt.CentralCounts(domain={"illness": ["flu", "cold"]}), insecure_seed=1)
        >>> release.frame.columns
        ['illness', 'noisy_count']
    """

    domain: Mapping[str, Any] | None = parameter(None, written=lambda domain: ViewDomain.of(domain).as_json())
    budget: Mapping[str, Any] | None = parameter(None, stated="never")

    def cost(self, table: Table, definition: NoisyCounts) -> PrivacyCost:
        """Return the cost: replacing a row changes two cells by one, which noise of scale 2/epsilon hides at epsilon;
        adding or removing one changes one cell, at half of it. No exact number is published.
        """
        epsilon = definition.amounts[0]
        losses: dict[Relation, LossBound] = {"replace": LossBound(epsilon), "add/remove": LossBound(epsilon / 2)}
        return PrivacyCost("noisy counts", losses, table.unit)

    def noise(self, table: Table, definition: NoisyCounts) -> NoiseLaw:
        return central_noise(2, definition.amounts[0]).law

    def counted(
        self, table: Table, domain: ViewDomain, cells: _Counts, definition: NoisyCounts, context: Context
    ) -> NoisyCells:
        """Return the counts of all cells with noise that one curator adds."""
        noise = central_noise(2, definition.amounts[0])
        details = CountsDetails(domain, noise.law, noise.law)
        true = np.bincount(cells, minlength=domain.size)
        context.step("adding noise")
        counts = np.array(noise.added(true.tolist(), context.randomness.repeatable()), dtype=np.int64)
        return NoisyCells(details, counts, {}, {}, context.randomness.is_secure)


@dataclass(frozen=True)
class JointCounts(_CountsMethod):
    """Publish the number of rows of several parties in each cell of a public domain, with jointly generated noise that nobody knows.

    Guarantee: NoisyCounts(epsilon, delta), also against up to ``faults`` of the parties together (default: as many as
    the protocol tolerates). Adversary: fewer than a third of the parties, who may lie, collude or crash; with
    ``level="semi-honest"`` fewer than half, who follow the protocol. Source: [Dwork2006b]. Here every party is a
    process on this machine and ``party`` the column with the owner of each row: for a trial, or for data sets of one
    owner. On several hosts use ``reticent noise party``. The number of rows of each party is disclosed to the others.
    ``law`` is the law of the noise, ``"binomial"`` or ``"exponential"``; ``domain`` and ``budget`` are as for CentralCounts. Noise comes from the parties' own randomness; it cannot be
    seeded. Cost: :func:`reticent.noise.plan`.

    Example:
        >>> import reticent as rt
        >>> rows = {"site": ["Anna", "Bruno", "Clara", "Doris"], "age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness", private=["site"])
        >>> method = rt.JointCounts("site", domain={"illness": ["flu", "cold"]}, level="semi-honest")
        >>> release = rt.publish(table, rt.NoisyCounts(4, "1e-2"), method)
        >>> release.frame["illness"].to_list()
        ['flu', 'cold']
    """

    party: str = parameter("party", stated="always")
    domain: Mapping[str, Any] | None = parameter(None, written=lambda domain: ViewDomain.of(domain).as_json())
    faults: int | None = None
    law: str = parameter("binomial", stated="always")
    level: str = parameter("byzantine", stated="always")
    budget: Mapping[str, Any] | None = parameter(None, stated="never")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.party, str):
            raise PolicyError(
                f"JointCounts: party must be the name of a column, but it is {self.party!r}.",
                setting=("JointCounts", "party"),
                value=self.party,
            )
        if self.faults is not None:
            whole(self.faults, "JointCounts: faults", low=0)
        for name, options in (("law", LAWS), ("level", LEVELS)):
            one_of(getattr(self, name), f"JointCounts: {name}", options)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why this method refuses, or None."""
        if isinstance(definition, NoisyCounts) and not definition.amounts[1]:
            return "JointCounts needs a delta above 0: the noise is made of finitely many coins. Use NoisyCounts(1, '1e-6'), or CentralCounts."
        if self.party not in table.schema:
            return f"JointCounts: the table has no column {self.party!r} with the owner of each row.{did_you_mean(self.party, list(table.schema))}"
        return super().refusal(table, definition)

    def cost(self, table: Table, definition: NoisyCounts) -> PrivacyCost:
        """Return the cost for replaced rows only: the number of rows is disclosed to the parties."""
        return PrivacyCost("joint noise", {"replace": LossBound(*definition.amounts)}, table.unit)

    def noise(self, table: Table, definition: NoisyCounts) -> NoiseLaw:
        """Return the distribution of the noise in each published count."""
        parties = len(self._owners(table).unique())
        return plan(
            *definition.amounts, parties, self._faults(parties), "histogram", self.law, level=self.level
        ).published_law

    def _owners(self, table: Table) -> pl.Series:
        """Return the owner of each row."""
        owners = table.frame[self.party]
        if owners.null_count():
            raise DataError(
                f"Column {self.party!r} has no owner in {owners.null_count():,} rows. Fill it in, or drop these rows.",
                column=self.party,
            )
        return owners

    def _faults(self, parties: int) -> int:
        share = 3 if self.level == "byzantine" else 2
        return max(1, (parties - 1) // share) if self.faults is None else self.faults

    def counted(
        self, table: Table, domain: ViewDomain, cells: _Counts, definition: NoisyCounts, context: Context
    ) -> NoisyCells:
        """Count the rows of all parties jointly on this machine, with noise that none of them knows."""
        owners = self._owners(table)
        names = owners.unique().sort()
        rows = [cells[(owners == name).to_numpy()].tolist() for name in names]
        epsilon, delta = definition.amounts
        context.step("computing jointly")
        answer = run_local(
            rows,
            epsilon,
            delta,
            self._faults(len(rows)),
            "histogram",
            domain.size,
            law=self.law,
            level=self.level,
            context=context,
        )
        context.step("joint noise is added")
        blamed = {str(names[party - 1]): reason for party, reason in answer.blamed.items()}
        assert isinstance(answer.total, list)
        return joint_cells(
            answer.plan, answer, answer.total, _rounds(answer), domain, {"blamed": blamed, "seconds": answer.seconds}
        )


class JointOutcome(Protocol):
    """Result of the parties: of one of them, or of all on this machine."""

    @property
    def coins(self) -> int:
        """Number of coins in each number."""

    @property
    def included(self) -> tuple[int, ...]:
        """The parties whose rows are counted."""

    @property
    def transcript(self) -> tuple[Mapping[str, Any], ...]:
        """Everything that was broadcast, step by step."""


def joint_cells(
    plan: NoisePlan,
    outcome: JointOutcome,
    numbers: Sequence[int],
    rounds: int,
    domain: ViewDomain,
    figures: Mapping[str, Any],
    clients: Sequence[int] = (),
) -> NoisyCells:
    """Return the joint result as cells: the distribution of all coins, and of those unknown to malicious parties.
    ``clients`` share rows but no coins.
    """
    noise_parties = set(outcome.included) - set(clients)
    run = JointRun(plan.parties, max(1, plan.faults), plan.level, rounds, plan.parties - len(noise_parties))
    law = hidden = plan.published_law
    if plan.law == "binomial":
        law, hidden = BinomialLaw(outcome.coins), BinomialLaw((plan.parties - run.faults) * plan.quota)
    details = CountsDetails(domain, law, hidden, run)
    transcript = pl.DataFrame(
        {
            "step": [str(entry["step"]) for entry in outcome.transcript],
            "said": [json.dumps(entry["said"], sort_keys=True) for entry in outcome.transcript],
        },
        schema={"step": pl.String, "said": pl.String},
    )
    return NoisyCells(details, np.array(numbers, dtype=np.int64), {"transcript": FrameRows(transcript)}, figures, True)


@dataclass(frozen=True)
class ComputedCounts:
    """Counts computed by parties on several hosts, as a method whose draft is ready; each party charged its budget before they were opened."""

    made: NoisyCells
    described: Mapping[str, Any]
    beside: PriorCheck

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return None: it was planned before it was computed."""
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return the computed cells; their cost is already in the ledger."""
        return _drafted(self.made, self.described, self.beside)

    def describe(self) -> dict[str, Any]:
        """How they were computed."""
        return dict(self.described)


def _drafted(noisy_cells: NoisyCells, method: Mapping[str, Any], beside: PriorCheck) -> Draft:
    """Return the cells of a domain, in order, with their noisy counts."""
    domain = noisy_cells.details.domain
    cell_rows = domain.unpack(np.arange(domain.size)).with_columns(pl.Series(NOISY_COUNT, noisy_cells.counts, pl.Int64))
    return Draft(
        format="noisy counts",
        tables={"cells": FrameRows(cell_rows)},
        evidence=Evidence(plan=noisy_cells.details.plan),
        method=method,
        details=noisy_cells.details.as_json(),
        private=noisy_cells.private,
        search=noisy_cells.told,
        beside=beside,
        insecure=not noisy_cells.secure,
    )


def _rounds(answer: JointAnswer) -> int:
    """Return the number of rounds, as counted by most parties."""
    round_counts = [int(result.figures["rounds"]) for result in answer.results if "rounds" in result.figures]
    return max(set(round_counts), key=round_counts.count) if round_counts else answer.plan.rounds


def _declared(domain: Any, name: str) -> ViewDomain:
    """Return a declared domain. Raises for an invalid one, naming the method."""
    try:
        return ViewDomain.of(domain)
    except PolicyError as problem:
        raise PolicyError(f"{name}: {problem}", setting=(name, "domain"), value=domain) from None
