"""AlphaBeta and Frapp as methods: how a table with roles and a :class:`BoundedBelief` become a randomized view.

They group nothing, so they return a view (or perturbed records) instead of a draft; ``publish`` of the release room hands over to :meth:`view`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from reticent.data import Kind, Table
from reticent.definitions import Definition
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import PolicyError
from reticent.exact import whole
from reticent.giving import alone, unjudged
from reticent.randomize.domain import ViewDomain
from reticent.randomize.frapp import FrappPlan
from reticent.randomize.plans import Plan, plan
from reticent.randomize.published import Signer
from reticent.randomize.publishing import digest_of, opened, publish
from reticent.randomize.records import FrappView, perturb
from reticent.randomize.storing import certificate_of
from reticent.randomize.view import View


class _Mechanism(ABC):
    """What both methods do with a table: plan, draw, record, and state what is claimed."""

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Both keep BoundedBelief and nothing else."""
        if isinstance(definition, BoundedBelief):
            return None
        return f"{type(self).__name__} keeps BoundedBelief(d, gamma, adversary), not {definition}. Choose a grouping method for that."

    def view(
        self,
        table: Table,
        definition: Definition,
        *,
        ledger: Any = None,
        again: bool = False,
        insecure_seed: int | None = None,
        files: str = "csv",
        signer: Signer | None = None,
    ) -> View | FrappView:
        """The release, recorded in the ledger when the table's data set has a name; ``signer`` signs it when it is saved."""
        made = self._drawn(table, _belief(definition, type(self).__name__), ledger, again, insecure_seed)
        return replace(made, certificate=certificate_of(made.manifest, table.dataset), files=files, signer=signer)

    @abstractmethod
    def _drawn(
        self, table: Table, promise: BoundedBelief, ledger: Any, again: bool, insecure_seed: int | None
    ) -> View | FrappView: ...


@dataclass(frozen=True)
class AlphaBeta(_Mechanism):
    """Alpha-beta publishing (3.2): true tuples with probability s, all others of the public domain with beta.

    Guarantee: that of the definition, verified on the rates exactly. Adversary: the definition's.
    ``domain`` lists the values of every column; without it they are the leaves of declared hierarchies. Cost: O(n + beta m).
    """

    preset: str = "tight"
    domain: Mapping[str, Any] | None = None
    n_public: int | None = None
    duplicates: str = "refuse"
    floor: str | None = None
    source: Mapping[str, Any] | None = None

    def plan(self, table: Table, definition: Definition) -> Plan:
        """The plan for a table: its size is taken as public, or ``n_public`` instead."""
        promise = _belief(definition, type(self).__name__)
        return plan(
            n=table.rows,
            domain=_domain(table, self.domain),
            d=promise.d,
            gamma=promise.gamma,
            preset=self.preset,
            adversary=promise.adversary,
            floor=self.floor,
            n_public=self.n_public,
            source=self.source,
        )

    def _drawn(self, table: Table, promise: BoundedBelief, ledger: Any, again: bool, insecure_seed: int | None) -> View:
        return publish(
            table.frame,
            self.plan(table, promise),
            dataset=table.dataset,
            duplicates=self.duplicates,
            ledger=ledger,
            again=again,
            insecure_seed=insecure_seed,
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return {"name": "AlphaBeta", "preset": self.preset, "duplicates": self.duplicates}


@dataclass(frozen=True)
class Frapp(_Mechanism):
    """FRAPP (3.9): every record kept with one probability, else replaced by a uniform other tuple. The baseline.

    Guarantee: BoundedBelief(d, gamma, "record"): beliefs about one record. It does not hide that a tuple exists.
    """

    domain: Mapping[str, Any] | None = None
    n_public: int | None = None

    def plan(self, table: Table, definition: Definition) -> FrappPlan:
        """The plan for a table, verified on the definition."""
        promise = _belief(definition, type(self).__name__)
        rows = table.rows if self.n_public is None else whole(self.n_public, "n_public", low=table.rows)
        return FrappPlan.for_belief(rows, _domain(table, self.domain), promise)

    def _drawn(
        self, table: Table, promise: BoundedBelief, ledger: Any, again: bool, insecure_seed: int | None
    ) -> FrappView:
        made = perturb(table.frame, self.plan(table, promise), insecure_seed=insecure_seed)
        if table.dataset is not None:
            digest = digest_of(made.keys)
            with opened(ledger) as book:
                book.record(
                    table.dataset,
                    digest,
                    lambda entry: digest,
                    kind=made.manifest.format,
                    beside=unjudged if again else alone,
                    details=promise.parameters(),
                )
        return made

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return {"name": "Frapp"}


def _belief(definition: Definition, method: str) -> BoundedBelief:
    if not isinstance(definition, BoundedBelief):
        raise PolicyError(
            f"{method} keeps BoundedBelief(d, gamma, adversary), not {definition}. Choose a grouping method for that."
        )
    return definition


def _domain(table: Table, declared: Mapping[str, Any] | None) -> ViewDomain:
    """The public domain: what was given, or the declared leaves of the quasi columns; never what occurs in the data."""
    if declared is not None:
        made = ViewDomain.of(declared)
        for name in made.names:
            if name not in (*table.quasi, *table.sensitive, *table.other):
                raise PolicyError(
                    f"domain names the column {name!r}, which the table does not publish: only quasi, sensitive and other columns can be in a view. "
                    "Leave it out of the domain, or give it one of these roles."
                )
        return made
    found: dict[str, Any] = {}
    for hierarchy in table.hierarchies:
        if hierarchy.data_dependent:
            raise PolicyError(
                f"The values of column {hierarchy.column!r} are known from the data only. Declare its domain: domain={{...}} of the method, or a "
                "hierarchy with declared leaves."
            )
        found[hierarchy.column] = hierarchy.leaves
    for name in table.sensitive:
        raise PolicyError(
            f"Say which values the sensitive column {name!r} can take: domain={{{name!r}: [...], ...}} of the method."
        )
    return ViewDomain.of(found)
