"""AlphaBeta and Frapp as methods: from a table with roles and a :class:`BoundedBelief` to a draft of sampled tuples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from reticent.base.context import Context
from reticent.base.exact import whole
from reticent.base.parameters import described, parameter
from reticent.base.privacy_cost import DeclaredBudget
from reticent.core import Draft, Kind
from reticent.definitions import BoundedBelief, Definition, ExpectedError
from reticent.errors import PolicyError
from reticent.methods.randomize.details import FrappManifest, ViewManifest
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.frapp import FrappPlan
from reticent.methods.randomize.plans import Plan, plan
from reticent.methods.randomize.tuple_draft import DrawnTuples, draw
from reticent.methods.randomize.view_domain import ViewDomain
from reticent.table import Table


class _Mechanism(ABC):
    """Base of both methods: plan, sample, and draft the samples."""

    budget: Mapping[str, Any] | None

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False

    def __post_init__(self) -> None:
        DeclaredBudget.of(self.budget, type(self).__name__)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the definition is not supported: both methods satisfy only BoundedBelief."""
        if isinstance(definition, BoundedBelief):
            return None
        return f"{type(self).__name__} supports BoundedBelief(d, gamma, adversary), not {definition}. Choose a grouping method for that."

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return a draft that samples the tuples, with the plan as evidence."""
        seed = None if context is None else context.randomness.insecure_seed
        draft = self._drawn(table, definition, seed).draft(table, definition, context)
        return replace(draft, budget=DeclaredBudget.of(self.budget, type(self).__name__))

    @abstractmethod
    def _drawn(self, table: Table, definition: Definition, insecure_seed: int | None) -> DrawnTuples[Any]: ...

    @abstractmethod
    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """Return the standard error of counts estimated from the published tuples."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return described(self)


@dataclass(frozen=True)
class AlphaBeta(_Mechanism):
    """Alpha-beta publishing: include true tuples with probability s, all other tuples of the public domain with beta.

    Guarantee: that of the definition, verified exactly on the rates. Adversary: the definition's. Source:
    [Rastogi2007]. ``domain`` lists the values of every column; without it they are the leaves of declared hierarchies.
    ``count`` adds a column with the multiplicity of a tuple, capped at ``count`` (with ``duplicates="count"``), so that
    people can be counted. ``preset`` names how s and beta are chosen: ``"tight"``, ``"max-utility"``, ``"paper"``, or ``"floor"`` with
    s = 1 - ``floor``. ``n_public`` is an upper bound of the number of rows n that is published instead of it. ``source`` is a public
    distribution that other tuples are sampled from. ``budget`` is the total privacy cost allowed for all noisy releases of the data
    set. Cost: O(n + beta m) for a domain of m tuples.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": list(range(30, 50))}, quasi=["age"])
        >>> method = rt.AlphaBeta(domain={"age": list(range(30, 630))})
        >>> release = rt.publish(table, rt.BoundedBelief("1/30", "1/5"), method, insecure_seed=1)
        >>> release.format, release.frame.columns
        ('view', ['age'])
    """

    preset: str = parameter("tight", stated="always")
    domain: Mapping[str, Any] | None = parameter(None, written=lambda domain: ViewDomain.of(domain).as_json())
    n_public: int | None = None
    duplicates: str = parameter("refuse", stated="always")
    floor: str | None = None
    source: Mapping[str, Any] | None = parameter(None, stated="never")
    count: int | None = None
    budget: Mapping[str, Any] | None = parameter(None, stated="never")

    format: ClassVar[str] = ViewManifest.format

    def plan(self, table: Table, definition: Definition) -> Plan:
        """Return the plan for a table: its size is taken as public, or ``n_public`` instead."""
        promise = _belief(definition, type(self).__name__)
        return plan(
            n=table.rows,
            domain=declared_domain(table, self.domain),
            d=promise.d,
            gamma=promise.gamma,
            preset=self.preset,
            adversary=promise.adversary,
            floor=self.floor,
            n_public=self.n_public,
            source=self.source,
            count=self.count,
        )

    def _drawn(self, table: Table, definition: Definition, insecure_seed: int | None) -> DrawnTuples[ViewManifest]:
        """Return the sampling of a view of a table, by a plan for its number of rows."""
        view_plan = self.plan(table, definition)
        return draw(
            table.frame, view_plan, duplicates=self.duplicates, method=self.describe(), insecure_seed=insecure_seed
        )

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """Return the expected number of tuples and standard errors of counts, from the plan alone."""
        view_plan = self.plan(table, definition)
        figures = {sample.name: sample.standard_error for sample in view_plan.samples}
        figure_list = "; ".join(f"{name}: {value:,.1f}" for name, value in figures.items())
        return ExpectedError(
            {"expected_rows": float(view_plan.expected_rows), "standard_error": figures["one tuple"], **figures},
            f"About {float(view_plan.expected_rows):,.0f} tuples would be published, of which about {float(view_plan.s * view_plan.n):,.0f} are true. Standard errors of counts, by the part of the domain that meets "
            f"the condition: {figure_list}.",
        )


@dataclass(frozen=True)
class Frapp(_Mechanism):
    """FRAPP: keep every record with one probability, otherwise replace it by a uniform other tuple. The baseline.

    Guarantee: BoundedBelief(d, gamma, "record"): beliefs about one record. It does not hide that a tuple exists.
    Adversary: ``record``. Cost: O(n). Source: [Agrawal2005]. ``domain`` and ``budget`` are as for
    AlphaBeta; ``n_public`` is a rounded upper bound that is published instead of the number of rows.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": list(range(30, 50))}, quasi=["age"])
        >>> method = rt.Frapp(domain={"age": list(range(30, 50))})
        >>> release = rt.publish(table, rt.BoundedBelief("1/5", "1/2", "record"), method, insecure_seed=1)
        >>> release.frame.height
        20
    """

    domain: Mapping[str, Any] | None = parameter(None, written=lambda domain: ViewDomain.of(domain).as_json())
    n_public: int | None = parameter(None, stated="never")
    budget: Mapping[str, Any] | None = parameter(None, stated="never")

    format: ClassVar[str] = FrappManifest.format

    def plan(self, table: Table, definition: Definition) -> FrappPlan:
        """Return the plan for a table, verified against the definition."""
        promise = _belief(definition, type(self).__name__)
        rows = table.rows if self.n_public is None else whole(self.n_public, "n_public", low=table.rows)
        return FrappPlan.for_belief(rows, declared_domain(table, self.domain), promise)

    def _drawn(self, table: Table, definition: Definition, insecure_seed: int | None) -> DrawnTuples[FrappManifest]:
        frapp_plan, draws = self.plan(table, definition), Draws(insecure_seed)
        keys = frapp_plan.perturb(table.frame, draws)
        return DrawnTuples(FrappManifest(frapp_plan), iter([keys]), draws.is_secure, frapp_plan.n, self.describe())

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        return self.plan(table, definition).expected_error("tuple")


def _belief(definition: Definition, method: str) -> BoundedBelief:
    """Return the definition if it is BoundedBelief. Raises for any other."""
    if not isinstance(definition, BoundedBelief):
        raise PolicyError(
            f"{method} supports BoundedBelief(d, gamma, adversary), not {definition}. Choose a grouping method for that."
        )
    return definition


def declared_domain(table: Table, declared: Mapping[str, Any] | None) -> ViewDomain:
    """Return the public domain: the given one, or the declared leaves of the quasi columns; never the values in the data."""
    if declared is not None:
        domain = ViewDomain.of(declared)
        for name in domain.names:
            if name not in (*table.quasi, *table.sensitive, *table.declared):
                raise PolicyError(
                    f"domain names the column {name!r}, which the table does not publish: only quasi, sensitive and declared columns can be published. "
                    "Remove it from the domain, or give it one of these roles."
                )
        return domain
    declared_values: dict[str, Any] = {}
    for hierarchy in table.hierarchies:
        if hierarchy.data_dependent:
            raise PolicyError(
                f"The values of column {hierarchy.column!r} are known from the data only. Declare its domain: domain={{...}} of the method, or a "
                "hierarchy with declared leaves."
            )
        declared_values[hierarchy.column] = hierarchy.leaves
    for name in table.sensitive:
        raise PolicyError(
            f"Declare the values that the sensitive column {name!r} can take: domain={{{name!r}: [...], ...}} of the method."
        )
    return ViewDomain.of(declared_values)
