"""Synthetic as a method: a table with public groups and a :class:`ProbabilisticDP` become a draft of sampled rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.base.exact import Number, exact
from reticent.base.privacy_cost import DeclaredBudget, LossBound, PrivacyCost
from reticent.base.ragged import places_in
from reticent.base.randomness import WordStream
from reticent.core import Draft, Evidence, Kind
from reticent.definitions import Definition, ExpectedError, ProbabilisticDP
from reticent.errors import PolicyError
from reticent.methods.synthesize.counts import GroupedCounts
from reticent.methods.synthesize.declared import (
    GROUP_KEEP,
    KEEP,
    KEEP_OF,
    SIZE,
    WEIGHT,
    DeclaredDomain,
    DeclaredGroups,
    DeclaredParts,
)
from reticent.methods.synthesize.details import SynthesisDetails
from reticent.methods.synthesize.domain_reduction import draw_dropped
from reticent.methods.synthesize.groupwise_plan import AnyPlan, GroupwisePlan, parts_of, planned_by_group
from reticent.methods.synthesize.keep_probabilities import BY_VALUE
from reticent.methods.synthesize.plan import (
    DeltaScope,
    NoiseMode,
    PlanOptions,
    SynthesisPlan,
)
from reticent.methods.synthesize.rejection import draw_screened
from reticent.methods.synthesize.urn import Ints, Pools, draw_urns
from reticent.table import DrawnRows, FrameRows, Rows, Table

FORMAT = "synthetic"
_ROWS_AT_ONCE = 500_000
_HELD = 2_000_000


@dataclass(frozen=True)
class Synthetic:
    """Replace the value of every row by a sample from a Polya urn of the group's values plus noise.

    Quasi columns define the groups, which are published with their sizes; the one sensitive column is sampled.
    ``groups`` declares every group with its public size: a file or frame with the group's columns and ``size``, or a
    mapping. ``domain`` declares every possible value: a file or frame, a list, or a mapping to public weights. Both
    must come from public sources, which ``public`` names: sizes that are not already public, or values collected from
    the rows, void the guarantee. Rows whose value is missing or not in the domain are published as the values
    ``missing`` and ``elsewhere`` of the domain, or refused; no row is ever dropped. A weight is the multiplicity of a
    row.

    ``parts`` is a public partition of the values: the part of each value is sampled and published instead of the value,
    which needs much less noise (:func:`reticent.methods.synthesize.refine` samples values inside parts afterwards); the
    domain then consists of the parts. ``screen`` rejects samples that are not representative of the table or a
    neighbour; ``keep`` retains values that nobody in a group has only with this public probability, which reduces the
    noise: one for all values, or one for each (a mapping, or ``"by value"`` and a column ``keep`` of the domain). With
    ``"by group"`` groups differ, by the distance to a value, for example: the domain has several columns ``keep_NAME``,
    and a column ``keep`` of the groups names one of them for each. The probabilities are published with the domain.

    ``drawn`` samples another number of rows than a group has: a public share of its size (``"1/2"``, ``2``), or a mapping
    from sizes; the noise is certified for that number.

    ``mode`` is ``"tight"``, the least noise that exact tails certify, or ``"thesis"``, the published closed criterion. ``delta_scope`` is
    whose risk delta bounds: that of each person (``"per_person"``), or that any person is disclosed (``"whole_release"``).

    Guarantee: ProbabilisticDP(epsilon, delta) for a person with at most ``rows_per_person`` rows, certified by exact tail probabilities.
    Adversary: the definition's.
    Cost: O(rows); a plan for a few hundred sizes of groups takes a second or two.
    Source: [Machanavajjhala2008b]; [Machanavajjhala2008], chapter 4, with corrections.

    One sample per plan: it is recorded before it is disclosed, and another one is another release. Epsilon and delta of
    all releases of a named data set are charged to its budget, whose totals ``budget`` declares (``{"epsilon": 10,
    "delta": "1e-4"}``); without it the first release uses up the budget.

    Example:
        >>> import reticent as rt
        >>> rows = {"work": ["mill"] * 40 + ["port"] * 60, "home": ["Aix", "Apt", "Arles", "Gap"] * 25}
        >>> table = rt.Table(rows, quasi=["work"], sensitive="home")
        >>> method = rt.Synthetic(groups={"mill": 40, "port": 60}, domain=["Aix", "Apt", "Arles", "Gap"])
        >>> release = rt.publish(table, rt.ProbabilisticDP(4, "1e-3"), method, insecure_seed=1)
        >>> release.frame.height
        100
    """

    groups: int | str | Path | Mapping[Any, int] | None = None
    domain: str | Path | list[Any] | Mapping[Any, Any] | None = None
    mode: NoiseMode = "tight"
    delta_scope: DeltaScope = "per_person"
    rows_per_person: int = 1
    screen: bool = False
    keep: str | float | Mapping[Any, Any] | None = None
    parts: str | Path | Mapping[Any, Any] | None = None
    drawn: Number | Mapping[int, int] | None = None
    elsewhere: str | None = None
    missing: str | None = None
    public: str | None = None
    budget: Mapping[str, Any] | None = None

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = True
    format: ClassVar[str] = FORMAT
    counts_weights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self.options
        if self.groups is not None and (isinstance(self.groups, bool | list | tuple) or not _is_input(self.groups)):
            raise PolicyError(
                f"Synthetic: groups must be a file, a frame, a mapping from groups to sizes, or one number, but it is {self.groups!r}.",
                setting=("groups",),
                value=self.groups,
            )
        nested = isinstance(self.domain, list | tuple) and any(
            isinstance(listed_value, list | tuple) for listed_value in self.domain
        )
        if self.domain is not None and (nested or isinstance(self.domain, int) or not _is_input(self.domain)):
            raise PolicyError(
                f"Synthetic: domain must be a file, a frame, a list of values, or a mapping from values to weights, but it is {self.domain!r}.",
                setting=("domain",),
                value=self.domain,
            )
        if self.parts is not None and (isinstance(self.parts, int | list | tuple) or not _is_input(self.parts)):
            raise PolicyError(
                f"Synthetic: parts must be a file, a frame, or a mapping from values to parts, but it is {self.parts!r}.",
                setting=("parts",),
                value=self.parts,
            )
        for name in ("elsewhere", "missing", "public"):
            if not isinstance(getattr(self, name), str | None):
                raise PolicyError(
                    f"Synthetic: {name} must be a text, but it is {getattr(self, name)!r}.",
                    setting=(name,),
                    value=getattr(self, name),
                )
        DeclaredBudget.of(self.budget, "Synthetic")
        if self.drawn is not None and not isinstance(self.drawn, Mapping):
            exact(self.drawn, "Synthetic: drawn", above=0)

    @property
    def options(self) -> PlanOptions:
        """The options of the plan."""
        keep: Any = BY_VALUE if self._lists_keep else self.keep
        return PlanOptions(self.mode, self.delta_scope, self.rows_per_person, self.screen, keep)

    @property
    def _lists_keep(self) -> bool:
        """True if ``keep`` itself has a probability for every value."""
        return isinstance(self.keep, Mapping) or hasattr(self.keep, "columns")

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported: it needs ProbabilisticDP, public groups, one sensitive column and all rows."""
        if not isinstance(definition, ProbabilisticDP):
            return (
                f"Synthetic supports ProbabilisticDP(epsilon, delta), not {definition}. Sampled rows belong to nobody, so nothing about groups of people can be "
                "claimed for them; choose a grouping method for that."
            )
        if len(table.sensitive) != 1:
            return f"Synthetic samples one sensitive column, but the table has {len(table.sensitive) or 'none'}. Give one column the role sensitive."
        if table.nulls == "drop":
            return "The table drops rows with missing values, which discloses their number. Set nulls='category', and missing= in Synthetic."
        if table.several_rows and self.rows_per_person == 1:
            return "Rows of this table may belong to one person. Pass the maximum number of rows per person: Synthetic(rows_per_person=...)."
        if self.parts is not None and self.domain is not None:
            return "With parts=, the parts are the domain. Remove domain."
        for name, declaration in (
            ("groups", self.groups),
            ("domain", self.domain if self.parts is None else self.parts),
        ):
            if declaration is None:
                return f"Synthetic needs {name}: declare them from public sources, not from the rows."
        reserved = [
            name for name in table.schema if name in (SIZE, WEIGHT, KEEP, GROUP_KEEP) or name.startswith(KEEP_OF)
        ]
        if reserved:
            return f"A synthetic release reserves the column name {reserved[0]!r}. Rename the column of the table."
        return None

    def declared(self, table: Table) -> tuple[DeclaredGroups, DeclaredDomain, DeclaredParts | None]:
        """Return the declared groups, the declared domain and, if given, the partition of the values, in the types of the
        table's columns; with a partition, the domain consists of its parts.
        """
        value = next(iter(table.sensitive))
        added = [extra_value for extra_value in (self.elsewhere, self.missing) if extra_value is not None]
        groups = DeclaredGroups.of(self.groups, list(table.quasi), table.schema)
        keep = self.keep if self._lists_keep else None
        if self.parts is None:
            return groups, DeclaredDomain.of(self.domain, value, table.schema[value], added, keep), None
        parts = DeclaredParts.of(self.parts, value, table.schema[value])
        return groups, parts.domain(added, keep), parts

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return a draft that samples the rows, with the plan as evidence."""
        context = context or Context()
        reason = self.refusal(table, definition)
        if reason is not None:
            raise PolicyError(reason, setting=("method", "name"))
        assert isinstance(definition, ProbabilisticDP)
        groups, domain, parts = self.declared(table)
        context.step("planning")
        plan = self._planned(groups, domain, definition)
        context.step("counting rows")
        counts = GroupedCounts.of(table, groups, domain, self.elsewhere, self.missing, self.rows_per_person, parts)
        by_group = plan.plans if isinstance(plan, GroupwisePlan) else {}
        details = SynthesisDetails(
            domain.values.name,
            plan.promise,
            plan.options,
            plan.alpha if isinstance(plan, SynthesisPlan) else {},
            self.elsewhere,
            self.missing,
            self.public,
            table.weight is not None,
            plan.drawn,
            {name: part_plan.alpha for name, part_plan in by_group.items()},
        )
        return Draft(
            format=FORMAT,
            tables={
                "domain": FrameRows(domain.table()),
                "groups": FrameRows(groups.frame),
                FORMAT: _drawn(counts, plan, groups, domain, context),
            },
            evidence=Evidence(plan=plan),
            method=self.describe(),
            details=details.as_json(),
            search={"real_share": plan.real_share},
            cost=self.cost(table, plan),
            budget=DeclaredBudget.of(self.budget, "Synthetic"),
            insecure=not context.randomness.is_secure,
        )

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """Return how many rows would repeat real ones, and the standard error of a count that half of all rows meet."""
        assert isinstance(definition, ProbabilisticDP)
        groups, domain, _ = self.declared(table)
        return self._planned(groups, domain, definition).expected_error()

    def _planned(self, groups: DeclaredGroups, domain: DeclaredDomain, definition: ProbabilisticDP) -> AnyPlan:
        return planned_by_group(groups, domain, definition, self.options, self.drawn)

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters; groups and domain are tables of the release."""
        drawn = (
            {str(size): rows for size, rows in self.drawn.items()} if isinstance(self.drawn, Mapping) else self.drawn
        )
        parameters = {"elsewhere": self.elsewhere, "missing": self.missing, "public": self.public, "drawn": drawn}
        return {
            "name": "Synthetic",
            **self.options.as_json(),
            **({"parts": True} if self.parts is not None else {}),
            **{
                name: parameter if isinstance(parameter, dict) else str(parameter)
                for name, parameter in parameters.items()
                if parameter is not None
            },
        }

    def cost(self, table: Table, plan: AnyPlan) -> PrivacyCost:
        """Return the cost for values replaced within their group: groups are published with their sizes. The plan protects all rows of a person."""
        unit = "person" if table.unit == "row" and self.rows_per_person > 1 else table.unit
        return PrivacyCost("a synthetic release", {"replace": LossBound(plan.epsilon, plan.delta)}, unit)


def _is_input(declaration: Any) -> bool:
    """Return whether a declaration is a file, a mapping, a list, or a frame."""
    return isinstance(declaration, int | str | Path | Mapping | list | tuple | pl.Series | np.ndarray) or hasattr(
        declaration, "columns"
    )


def _drawn(
    counts: GroupedCounts, plan: AnyPlan, groups: DeclaredGroups, domain: DeclaredDomain, context: Context
) -> Rows:
    """Return the synthetic rows, sampled one range of groups after the other: at once if they fit in memory, otherwise while they are written."""
    group_frame = groups.frame.select(groups.columns)
    schema = pl.Schema({**group_frame.schema, domain.values.name: domain.values.dtype})

    def chunks() -> Iterator[pl.DataFrame]:
        """Yield the sampled rows of one range of groups after the other."""
        words = context.randomness.words()
        for start, stop in counts.stretches(_ROWS_AT_ONCE):
            context.step("drawing", int(counts.sizes[:start].sum()), plan.rows)
            drawn = np.array([plan.rows_drawn(size) for size in counts.sizes[start:stop].tolist()], dtype=np.int64)
            codes = _of_stretch(counts.pools(start, stop), plan, groups, start, drawn, words)
            rows = np.repeat(np.arange(start, stop), drawn)
            # Sorted within groups, so that the sampling order discloses nothing.
            draw_order = np.lexsort((codes, rows))
            yield pl.DataFrame(
                [*(column.gather(rows) for column in group_frame), domain.values.gather(codes[draw_order])]
            )

    if plan.synthetic_rows <= _HELD:
        return FrameRows(pl.concat(chunks()))
    return DrawnRows(schema, chunks())


def _of_stretch(
    pools: Pools, plan: AnyPlan, groups: DeclaredGroups, start: int, drawn: Ints, words: WordStream
) -> Ints:
    """Return ``drawn`` sampled value codes for each group from ``start`` on, one group after the other."""
    if isinstance(plan, SynthesisPlan):
        return _values(pools, plan, drawn, words)
    drawn_values = np.empty(int(drawn.sum()), dtype=np.int64)
    first_draw = np.cumsum(drawn) - drawn
    for group_indexes, part_plan in parts_of(plan, groups):
        indexes_here = group_indexes[(group_indexes >= start) & (group_indexes < start + len(drawn))] - start
        if len(indexes_here):
            drawn_values[places_in(first_draw[indexes_here], drawn[indexes_here])] = _values(
                pools.some(indexes_here), part_plan, drawn[indexes_here], words
            )
    return drawn_values


def _values(pools: Pools, plan: SynthesisPlan, drawn: Ints, words: WordStream) -> Ints:
    """Return ``drawn`` sampled value codes for each of some groups, with the noise and the sampler that the plan names."""
    alphas, prior = [plan.alpha[size] for size in pools.sizes.tolist()], plan.prior
    if prior.kept is not None:
        return draw_dropped(pools, alphas, drawn, prior, words)
    if plan.options.screen:
        return draw_screened(pools, alphas, drawn, prior, plan.gamma, words)
    return draw_urns(pools, alphas, drawn, [prior.total] * len(alphas), words, prior.weights)
