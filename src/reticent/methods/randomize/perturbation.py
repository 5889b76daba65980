"""Perturbation (randomized response), the baseline: every sensitive value is kept with one probability, and otherwise
sampled from all values; other columns are unchanged.

With d values, each kept with probability p, a row shows its own value with g = p + (1 - p)/d and any other with q = (1
- p)/d: the arithmetic is that of :class:`FrappPlan` over the one column. If o of n published rows have a value, (o - n
(1 - p)/d)/p is an unbiased estimate of the true count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.base.disclosures import Judgement, PriorDisclosure, allow, alone
from reticent.base.exact import Number, exact, whole
from reticent.base.parameters import described, exact_text, parameter
from reticent.base.privacy_cost import DeclaredBudget, PrivacyCost
from reticent.core import Draft, Evidence, Kind
from reticent.definitions import BoundedBelief, Definition, ExpectedError, LocalDP, highest_allowed, ratio_within
from reticent.errors import DataError, PolicyError
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.frapp import FrappPlan
from reticent.methods.randomize.kept_draws import DrawnValues
from reticent.methods.randomize.view_domain import Attribute, Codes, ViewDomain
from reticent.table import FrameRows, Hierarchy, Table, to_plain

FORMAT = "perturbed"


@dataclass(frozen=True)
class PerturbedManifest:
    """Manifest details: how values were sampled, and the name of the ``memory`` if samples are memoized."""

    plan: FrappPlan
    memory: str | None = None

    @property
    def column(self) -> Attribute:
        """The column whose values were sampled."""
        return self.plan.domain.attributes[0]

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        return {
            "n": self.plan.n,
            "domain": to_plain(self.plan.domain.as_json()),
            "kept": str(self.plan.kept),
            "memory": self.memory,
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> PerturbedManifest:
        """The details that :meth:`as_json` wrote."""
        domain = ViewDomain.from_json(written["domain"])
        if len(domain.attributes) != 1:
            raise DataError("The domain of perturbed values must have one column.")
        plan = FrappPlan(whole(written["n"], "n", low=1), domain, exact(written["kept"], "kept", below=1))
        memory = written["memory"]
        return cls(plan, None if memory is None else str(memory))


@dataclass(frozen=True)
class Perturbation:
    """Keep every sensitive value with probability ``keep``, otherwise sample it from all ``values``, independently of the other columns.

    The default of ``keep`` is the largest probability that the definition allows. ``values`` are the possible values of
    the column; they must not be derived from the data (default: the declared domain). ``memory`` is a private file of
    samples by person (the table's key) and value: a later release repeats the sample, so it discloses nothing new about
    a person whose value did not change. Sampling again each time would multiply epsilon. ``budget`` is the total
    privacy cost allowed for all noisy releases of the data set.

    Guarantee: that of the definition (LocalDP, or BoundedBelief about records), judged exactly on the rates. Adversary:
    the definition's; knows everybody's other values. Not covered: the other columns, which are published unchanged.
    Cost: O(n).

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> release = rt.publish(table, rt.LocalDP(2), method=rt.Perturbation(values=["flu", "cold"]), insecure_seed=1)
        >>> release.frame.height
        4
    """

    keep: Number | None = parameter(None, written=exact_text)
    values: Sequence[Any] | None = parameter(None, written=lambda values: to_plain(list(values)))
    memory: str | Path | None = parameter(None, stated="never")
    budget: Mapping[str, Any] | None = parameter(None, stated="never")

    format: ClassVar[str] = FORMAT
    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.keep is not None:
            exact(self.keep, "Perturbation: keep", above=0, below=1)
        DeclaredBudget.of(self.budget, "Perturbation")
        values = [] if self.values is None else list(self.values)
        if isinstance(self.values, str) or any(
            isinstance(value, Sequence) and not isinstance(value, str) for value in values
        ):
            raise PolicyError(
                f"Perturbation: values must be a list of values, but it is {self.values!r}.",
                setting=("values",),
                value=self.values,
            )

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the table cannot be published under the definition, from declarations alone, without reading a row."""
        wrong = next((part for part in definition.parts() if not is_local(part)), None)
        if wrong is not None:
            return f"Perturbation supports LocalDP(epsilon) and BoundedBelief(d, gamma, 'record'), not {wrong}. Choose a grouping method for that."
        if len(table.sensitive) != 1:
            return f"Perturbation randomizes one sensitive column, and this table has {len(table.sensitive)}. Give one column that role."
        if table.several_rows:
            return "Perturbation needs one row per person: every further row of a person would add its epsilon. Keep one row for each person."
        if table.pseudonyms:
            return "Perturbation does not publish pseudonyms. Remove pseudonyms=."
        if self.memory is not None and table.key is None:
            return "Perturbation: memory= must identify people. Pass key= to the table."
        if self.values is None and not _declared(table):
            return f"Declare the values that the sensitive column {next(iter(table.sensitive))!r} can take: values=[...] of the method. Which of them occur must not be disclosed."
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return the rows with sampled values, and the rates."""
        reason = self.refusal(table, definition)
        if reason is not None:
            raise PolicyError(reason)
        context = context or Context()
        plan = self.plan(table, definition)
        column, draws = plan.domain.attributes[0], Draws(context.randomness.insecure_seed)
        context.step("drawing values")
        true = column.encode(table.frame[column.name])
        sample = partial(drawn, plan, draws)
        memory = None if self.memory is None else DrawnValues(Path(self.memory), fingerprint(plan))
        published, name = (sample(true), None) if memory is None else memory.recalled(_people(table), true, sample)
        unchanged = [table.frame[name_kept] for name_kept in (*table.quasi, *table.declared)]
        details = PerturbedManifest(plan, name)
        return Draft(
            format=FORMAT,
            tables={"data": FrameRows(pl.DataFrame([*unchanged, column.decode(published).alias(column.name)]))},
            evidence=Evidence(plan=plan),
            method=self.describe(),
            details=details.as_json(),
            noted={} if name is None else {"memory": name},
            beside=alone if name is None else partial(_beside, name),
            cost=self.cost(table, plan, name),
            budget=DeclaredBudget.of(self.budget, "Perturbation"),
            insecure=not draws.is_secure,
        )

    def cost(self, table: Table, plan: FrappPlan, memory: str | None) -> PrivacyCost:
        """Return the privacy cost for replacing a person's value; the other columns are published unchanged, so participation is not hidden.

        Samples in a memory are charged once: an unchanged value repeats its sample.
        """
        once = None if memory is None else f"memory {memory}"
        return PrivacyCost("perturbed values", {"replace": plan.loss}, table.unit, once=once)

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """Return the standard error of the estimated count of one value."""
        return self.plan(table, definition).expected_error("value")

    def plan(self, table: Table, definition: Definition) -> FrappPlan:
        """Return the plan with the given retention probability, or the largest that the definition allows."""
        column = next(iter(table.sensitive))
        values = table.sensitive_columns[0].labels if self.values is None else self.values
        domain = ViewDomain.of({column: values})
        size = domain.size
        if size < 2:
            raise PolicyError(
                f"Column {column!r} can take only {size} value, so nothing could be hidden.", setting=("values",)
            )
        ratio = min(_allowed(part) for part in definition.parts())
        largest = (ratio - 1) / (ratio - 1 + size)
        probability = largest if self.keep is None else exact(self.keep, "keep")
        plan = FrappPlan(table.rows, domain, probability + (1 - probability) / size)
        violated = [
            part
            for part in definition.parts()
            if isinstance(part, LocalDP | BoundedBelief) and not part.assess(plan).holds
        ]
        if self.keep is not None and violated:
            raise PolicyError(
                f"Perturbation: keep = {self.keep} is more than {violated[0]} allows: about {float(largest):.4f} for a column of {size} values. Omit keep to use the maximum "
                "allowed, or weaken the definition.",
                setting=("keep",),
                value=self.keep,
            )
        return plan

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return described(self)


def is_local(part: Definition) -> bool:
    """True if a definition bounds what a sampled value discloses about the true value."""
    return isinstance(part, LocalDP) or (isinstance(part, BoundedBelief) and part.adversary == "record")


def drawn(plan: FrappPlan, draws: Draws, true: Codes) -> Codes:
    """Return values kept with probability p, otherwise sampled from all of them, the true one included."""
    size = plan.domain.size
    # g = p + (1 - p)/d, so that p = (d g - 1)/(d - 1).
    is_kept = draws.coins((size * plan.kept - 1) / (size - 1), len(true))
    return np.where(is_kept, true, draws.below(size, len(true)))


def fingerprint(plan: FrappPlan) -> str:
    """Return an identifier of the sampling: the column, its values, and the probability."""
    payload = {"domain": to_plain(plan.domain.as_json()), "kept": str(plan.kept)}
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


def _allowed(part: Definition) -> Fraction:
    """Return the largest likelihood ratio that a definition allows."""
    if isinstance(part, BoundedBelief):
        return highest_allowed(exact(part.d, "d"), exact(part.gamma, "gamma"))
    assert isinstance(part, LocalDP)
    return ratio_within(exact(part.epsilon, "epsilon"))


def _declared(table: Table) -> bool:
    """True if the values of the sensitive column were declared, not derived from the data."""
    (kind,) = table.sensitive.values()
    if isinstance(kind, Hierarchy):
        tree = table.sensitive_columns[0].hierarchy
        return tree is not None and not tree.data_dependent
    return kind is not None


def _people(table: Table) -> pl.Series:
    assert table.key is not None  # required by refusal
    return table.frame[table.key].cast(pl.String)


def _beside(memory: str, prior: Sequence[PriorDisclosure]) -> Judgement:
    """Allow a release beside prior ones that used the same memory of samples: a repeated sample discloses nothing new."""
    if all(entry.details.get("memory") == memory for entry in prior):
        return allow("Draws are kept: whoever's value did not change shows the same in all releases." if prior else "")
    return alone(prior)
