"""From sampled tuples to a draft: a one-pass row source in domain order, with its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.base.disclosures import PriorCheck, SeriesState, alone
from reticent.base.privacy_cost import DeclaredBudget
from reticent.core import Draft, Evidence, Kind
from reticent.definitions import Definition
from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize.details import Details, ViewManifest
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.instance import full_domain, instance_of
from reticent.methods.randomize.plans import Plan
from reticent.methods.randomize.reference_noise import NoiseSource
from reticent.methods.randomize.sampler import ListedKeys, sample
from reticent.methods.randomize.view_domain import Keys, ViewDomain
from reticent.table import DrawnRows, FrameRows, Rows, Table

# About this many tuples are held in memory; more are sampled while they are written.
_HELD = 2_000_000
_MOST_ROWS = 10**10
Kept = TypeVar("Kept", bound=Details)


@dataclass(frozen=True)
class DrawnTuples(Generic[Kept]):
    """Sampled tuples, chunk by chunk in domain order, with their manifest details. Implements the method interface: its draft is ready.

    About ``expected`` tuples are produced. ``state`` and ``beside`` belong to a series, if there is one, and ``series``
    is its name: a series is charged once.
    """

    details: Kept
    chunks: Iterator[Keys] = field(repr=False)
    secure: bool
    expected: float
    method: Mapping[str, Any]
    state: SeriesState | None = None
    beside: PriorCheck = alone
    series: str | None = None
    budget: DeclaredBudget | None = None

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = True

    def keys(self, context: Context | None = None) -> Keys:
        """Return all tuples at once; can be called once."""
        return np.concatenate(list(self._drawing(context)))

    def _drawing(self, context: Context | None) -> Iterator[Keys]:
        """Yield the tuples with progress reports; a stop request takes effect here."""
        yielded = 0
        for keys in self.chunks:
            yielded += len(keys)
            if context is not None:
                context.step("drawing", yielded, self.expected)
            yield keys

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return None: the plan was judged when it was made."""
        return None

    def describe(self) -> dict[str, Any]:
        """The method that drew them."""
        return dict(self.method)

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return the draft: few tuples are held in memory, many are sampled while they are written."""
        domain = self.details.domain
        if self.expected <= _HELD:
            rows: Rows = FrameRows(domain.unpack(self.keys(context)))
        else:
            schema = pl.Schema({attribute.name: attribute.listed.dtype for attribute in domain.attributes})
            rows = DrawnRows(schema, (domain.unpack(keys) for keys in self._drawing(context)))
        return Draft(
            format=self.details.format,
            tables={self.details.format: rows},
            evidence=Evidence(plan=self.details.plan),
            method=self.method,
            details=self.details.as_json(),
            search={"worst_posterior": self.details.definition.assess(self.details.plan).value},
            insecure=not self.secure,
            outcome=self.state,
            beside=self.beside,
            cost=self.details.cost(table.unit, self.series),
            budget=self.budget,
        )


def draw(
    frame: Any,
    plan: Plan,
    domain: ViewDomain | Mapping[str, Any] | None = None,
    *,
    duplicates: str = "refuse",
    source: NoiseSource | Mapping[str, Any] | None = None,
    method: Mapping[str, Any] | None = None,
    insecure_seed: int | None = None,
) -> DrawnTuples[ViewManifest]:
    """Prepare the sampling of a single view; nothing is recorded or released."""
    if plan.views > 1:
        raise PolicyError(
            f"The plan is for a series of {plan.views} views. Publish them with rt.randomize.Series, which keeps the earlier views."
        )
    space = full_domain(plan, domain)
    listed = plan.on(space) if source is None else plan.on(space).with_source(source)
    check_size(listed)
    true = instance_of(frame, listed, space, duplicates)
    draws = Draws(insecure_seed)
    if listed.source_rates is not None:
        chunks = iter([listed.source_rates.sample(true, draws)])
    else:
        chunks = sample(space, [ListedKeys(true, plan.s)], plan.beta, draws)
    details = ViewManifest(listed, 1, duplicates)
    return DrawnTuples(details, chunks, draws.is_secure, float(listed.expected_rows), method or {"name": "AlphaBeta"})


def check_size(plan: Plan) -> None:
    """Refuse a plan whose views would be too large to write, before sampling."""
    if plan.expected_rows > _MOST_ROWS:
        raise Infeasible(
            f"The view would have about {float(plan.expected_rows):.3g} rows. Choose a smaller k, a larger gamma, or coarser columns."
        )
