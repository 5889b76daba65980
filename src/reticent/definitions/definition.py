"""The interface of privacy definitions: frozen values that judge evidence exactly and word their guarantee."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reticent.base.cards import Card, CardTable, ShownAsCard, tone_of
from reticent.core import (
    Columns,
    Evidence,
    Groups,
    Kind,
    MechanismPlan,
    Owners,
    Patterns,
    ReleaseHistory,
    SensitiveDomain,
)
from reticent.definitions.claim_scope import GENERAL, ClaimScope, Openness
from reticent.definitions.exchanges import Exchanges, Rejudged
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.table import Table

_MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class Witness:
    """Why a definition fails: the group that violates it, and one sentence for the steward."""

    group: int
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Assessment(ShownAsCard):
    """The verdict of a definition: whether it holds, the value achieved, and a witness if it fails.

    ``diagnostics`` are statistics of the confidential table, for the steward; never published. ``about`` names the
    evidence that was judged if there are several: the quasi columns known to an adversary, or the columns omitted.
    ``scope`` is for its wording. ``parts`` are the assessments of the definitions that this one consists of, and ``lister`` returns the rows
    of failing groups.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> result = rt.assess(table, rt.KAnonymity(2))
        >>> result.holds, result.value
        (False, 1)
    """

    definition: Definition
    holds: bool
    value: Any
    witness: Witness | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Assessment, ...] = ()
    about: str = ""
    lister: Callable[[], NDArray[np.int64]] | None = field(default=None, compare=False, repr=False)
    scope: ClaimScope = field(default=GENERAL, compare=False, repr=False)

    @property
    def sentence(self) -> str:
        """The statement that was judged, as in a certificate; :attr:`holds` is its truth."""
        return self.definition.meaning(self.scope)

    def card(self) -> Card:
        """The verdict, the value achieved, and the reason for a failure."""
        verdict = "holds" if self.holds else "does not hold"
        facts: dict[str, object] = {"achieved": self.value}
        if self.about:
            facts["about"] = self.about
        if self.witness is not None:
            facts["why"] = self.witness.text
        parts = [(str(part.definition), part.holds, part.value) for part in self.parts]
        listed = CardTable(("definition", "holds", "achieved"), parts)
        return Card(f"{self.definition} {verdict}", facts, tone_of(self.holds), [listed])

    def failing_rows(self) -> NDArray[np.int64]:
        """The indices (from 0, ascending) of the rows of an assessed table whose group fails; for the steward.

        With several quasi sets: rows that fail for any of them. For a definition that judges all groups together: the
        rows of the groups to suppress first.
        """
        if self.lister is None:
            raise PolicyError("Only an assessment of a table has rows. Call rt.assess(table, definition).")
        return self.lister()


class Definition(ABC):
    """A privacy definition: its name, parameters, guarantee, and what it does not cover. Pure: a verdict depends on the evidence only.

    There are three kinds, by the evidence that they judge: :class:`GroupDefinition`, :class:`PlanDefinition` and :class:`HistoryDefinition`.
    ``hides_identity``: guarantees that quasi values do not single a person out, so they must not be published exactly.
    ``needs_population``: compares with people who need not be in the table; see :meth:`prepare`.
    ``counts_people``: depends on the number of people per group, which differs from the number of rows if a person has several.
    ``shown_by_files``: whether it can be verified from published tables (with a reference, or a population).
    ``kept_by``: the methods that satisfy it, for error messages.

    Example:
        >>> import reticent as rt
        >>> private = rt.KAnonymity(5) & rt.DistinctLDiversity(3)
        >>> print(private)
        KAnonymity(k=5) & DistinctLDiversity(l=3)
    """

    kind: ClassVar[Kind]
    kept_by: ClassVar[str] = "a method of its kind"

    needs_sensitive: bool = True
    needs_reference: bool = False
    hides_identity: bool = False
    needs_population: bool = False
    counts_people: bool = False
    shown_by_files: bool = True

    @property
    def crowd(self) -> int | None:
        """The minimum number of people in the table who match an adversary's target; None if the definition bounds no such number."""
        return max((part.crowd for part in self.parts() if part is not self and part.crowd is not None), default=None)

    @abstractmethod
    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        """The guarantee for what was judged, in one plain sentence. Every text for people takes it from here."""

    @abstractmethod
    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """What the definition does not protect against, in plain sentences."""

    def guarded(self, sensitive: Columns) -> Columns:
        """The ``sensitive`` columns covered by the guarantee; all if whole records are protected."""
        return sensitive

    def leaves_open(self, column: str) -> Openness:
        """What the guarantee leaves open about a sensitive column to an adversary who sees the matching records."""
        return Openness.NOTHING

    def prepare(self, table: Table) -> Table:
        """The table with everything that the definition needs counted in addition to rows. A prepared table is returned unchanged."""
        if any(definition is self for definition in table.prepared_by):
            return table
        return self.counting(table).with_preparation(self)

    def counting(self, table: Table) -> Table:
        """The table with the population, personal preferences or other data that the definition needs; called once per table."""
        return table

    def parameters(self) -> dict[str, Any]:
        """The parameters as plain data, as policies and certificates store them. Fields excluded from comparison are omitted."""
        values = [(item, getattr(self, item.name)) for item in fields(cast(Any, self)) if item.compare]
        return {item.name: _plain(value) for item, value in values if value != item.default}

    @property
    def name(self) -> str:
        """The definition's name in policies, certificates and Python."""
        return type(self).__name__

    def parts(self) -> tuple[Definition, ...]:
        """The definitions that this one is composed of."""
        return (self,)

    def __and__(self, other: Definition) -> Definition:
        if not isinstance(other, Definition):
            return NotImplemented
        return all_of((*self.parts(), *other.parts()))

    @cached_property
    def _written(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.parameters().items())
        return f"{self.name}({inside})"

    def __str__(self) -> str:
        return self._written

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A dataclass does not generate __repr__ if the class defines one.
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """A Python expression that constructs the definition, in the namespace of ``from reticent import *``."""
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{self.name}({inside})"


NOT_WITH_SETS = (
    "itself fixes which of the quasi columns an adversary knows, but the table names sets of them. Remove quasi_sets."
)


class CountedRows(Protocol):
    """Whether a definition is absorbing depends on these, for any grouping: the sensitive columns, and whether a person has several rows."""

    @property
    def domain(self) -> SensitiveDomain:
        """The sensitive columns."""

    @property
    def owners(self) -> tuple[Owners, ...]:
        """The owners of the rows, if a person can have several."""


class GroupDefinition(Definition):
    """A definition that judges groups: the equivalence classes of a release.

    ``monotone``: if all groups of a grouping pass, so do the groups of every coarser grouping.
    ``absorbing``: a passing group passes whatever rows join it. Stronger than monotone. It makes pruning exact in a
    search with suppression: rows that fail in a coarser grouping also fail in every finer one. On a sensitive column it
    assumes a table without other sensitive columns: see :meth:`absorbing_on`.
    ``local``: judged group by group. Otherwise there is one verdict on all groups together.
    ``quasi``: the columns that its adversary knows, if the definition names them; None: each set that the table names.
    ``needs_raw``: uses the raw values of quasi columns, which groups have in addition to their labels.
    ``own_family``: itself fixes which quasi columns an adversary knows, so it is not combined with sets that the table
    names.
    """

    kind: ClassVar[Kind] = "groups"
    kept_by: ClassVar[str] = "a grouping method such as Lattice() or Mondrian()"

    monotone: bool = True
    absorbing: bool = False
    local: bool = True
    needs_raw: bool = False
    own_family: bool = False
    quasi: tuple[str, ...] | None = None

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return f"An attacker who knows {self.knowledge(scope)} {self.promise(scope)}."

    def knowledge(self, scope: ClaimScope) -> str:
        """What the attacker knows, as the words before the promise."""
        return f"{scope.known(self.quasi)}, and that the {scope.target} is in the table,"

    def knows_all(self, scope: ClaimScope) -> bool:
        """True if the attacker is assumed to know every column that is neither confidential nor declared."""
        return scope.covers_all(self.quasi)

    @abstractmethod
    def promise(self, scope: ClaimScope) -> str:
        """What that attacker achieves at most, as the words after "an attacker who knows ...". Names the columns concerned."""

    def guarded(self, sensitive: Columns) -> Columns:
        return sensitive if self.needs_sensitive else ()

    @property
    def convex(self) -> bool:
        """True if it depends on shares of values only, and every weighted mixture of passing shares passes. Proved where it is overridden."""
        return False

    @abstractmethod
    def assess(self, groups: Groups) -> Assessment:
        """Judge the groups: the exact verdict, the achieved value, a witness, diagnostics."""

    @abstractmethod
    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask of the failing groups, exactly; for a definition that is not local, the groups to suppress next."""

    def absorbing_on(self, counted: CountedRows) -> bool:
        """True if more such rows never make a passing group fail.

        With several rows per person they can: a new owner of most rows breaks a group of k people.
        """
        return self.absorbing and not (self.counts_people and counted.owners)

    def relaxation(self) -> GroupDefinition | None:
        """Return a weaker definition such that more rows never make a passing group fail (absorbing); itself if it is
        so, None if none is known.
        """
        return self if self.absorbing else None

    def doomed(self, groups: Groups) -> NDArray[np.float64]:
        """Return, by group, a lower bound on the rows that fail however the group is split further; guides a search.

        If a group fails the weaker condition of :meth:`relaxation`, which no subset of a failing group satisfies, all
        its rows do.
        """
        relaxed = self.relaxation()
        if relaxed is None:
            return np.zeros(len(groups))
        return np.where(relaxed.failing(groups), groups.sizes, 0).astype(np.float64)

    def hopeless(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask of groups that no passing grouping contains. If groups are judged together, combinations of other groups may fail too."""
        return self.failing(groups) if self.local else np.zeros(len(groups), dtype=bool)

    def exchanges(self, rest: Groups, before: Groups, after: Groups) -> Exchanges:
        """An incremental verdict on replacing many groups by finer ones; for definitions that are not local."""
        return Rejudged(self, rest, before, after)

    def least_rows(self) -> int:
        """The minimum number of rows of a passing group; tightens the bounds of a search."""
        relaxed = self.relaxation()
        return 1 if relaxed is None or relaxed is self else relaxed.least_rows()

    def holds(self, groups: Groups) -> bool:
        """The verdict alone."""
        return not self.failing(groups).any()

    def counting(self, table: Table) -> Table:
        if self.own_family and table.quasi_sets is not None:
            raise PolicyError(f"{self} {NOT_WITH_SETS}")
        return table

    def not_shown(self, evidence: Evidence) -> str | None:
        """Why public evidence does not suffice to verify it; None if it does."""
        return None

    def in_each_group(self) -> GroupDefinition:
        """A definition that judges groups one by one and implies this one; itself unless it is about subsets of the columns."""
        return self

    def parts(self) -> tuple[GroupDefinition, ...]:
        return (self,)

    @overload
    def __and__(self, other: GroupDefinition) -> GroupDefinition: ...
    @overload
    def __and__(self, other: Definition) -> Definition: ...
    def __and__(self, other: Definition) -> Definition:
        return super().__and__(other)


class PlanDefinition(Definition):
    """A definition that judges how a release is made: a mechanism's plan, before the data are read."""

    kind: ClassVar[Kind] = "plan"
    needs_sensitive = False

    @abstractmethod
    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge the plan exactly. Raises :class:`PolicyError` if :meth:`fits` returns a reason."""

    @abstractmethod
    def fits(self, plan: MechanismPlan) -> str | None:
        """Why a plan cannot be judged, or None."""


class HistoryDefinition(Definition):
    """A definition that judges all releases of a changing table together.

    ``judged_alone``: the public files of one release are judged as far as possible without the earlier ones.
    """

    kind: ClassVar[Kind] = "history"
    judged_alone: ClassVar[bool] = False

    @abstractmethod
    def assess(self, history: ReleaseHistory) -> Assessment:
        """Judge the history: the exact verdict, the achieved value, a witness."""

    def shown_part(self) -> ShownPart | None:
        """The part of the definition that public files prove; None if they prove all of it."""
        return None


@dataclass(frozen=True)
class ShownPart:
    """What public files prove of a definition, as a sentence, and why they do not prove the rest (``hidden``)."""

    shown: str
    hidden: str


@runtime_checkable
class JudgesPatterns(Protocol):
    """A definition of groups that is proved for overlapping groups as well; the proof is in the docstring of ``assess_patterns``."""

    def assess_patterns(self, patterns: Patterns) -> Assessment:
        """Judge overlapping groups."""


_EVERY = ("shown_by_files",)
_SOME = ("needs_sensitive", "needs_reference", "hides_identity", "needs_population", "counts_people")


@dataclass(frozen=True)
class Several(Definition):
    """A conjunction of definitions of different kinds, each judged on the evidence of its kind. Written ``first & second``."""

    members: tuple[Definition, ...]

    def __post_init__(self) -> None:
        if not self.members:
            raise PolicyError("A definition needs at least one part.")
        _adopt(self, self.members, _EVERY, _SOME)

    @property
    def name(self) -> str:
        """The same name as :class:`All`: policies and certificates store a list of parts of any kind."""
        return "All"

    def prepare(self, table: Table) -> Table:
        return reduce(lambda prepared, member: member.prepare(prepared), self.members, table)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return " ".join(member.meaning(scope) for member in self.members)

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return " ".join(dict.fromkeys(member.not_covered(scope) for member in self.members))

    def guarded(self, sensitive: Columns) -> Columns:
        return tuple(name for name in sensitive if any(name in member.guarded(sensitive) for member in self.members))

    def leaves_open(self, column: str) -> Openness:
        return max(member.leaves_open(column) for member in self.members)

    def parts(self) -> tuple[Definition, ...]:
        return self.members

    def parameters(self) -> dict[str, Any]:
        return {"all": [{"name": member.name, **member.parameters()} for member in self.members]}

    def __str__(self) -> str:
        return " & ".join(str(member) for member in self.members)

    def __repr__(self) -> str:
        return " & ".join(repr(member) for member in self.members)


@dataclass(frozen=True)
class All(Several, GroupDefinition):
    """A conjunction of group definitions, itself a group definition. Written ``first & second``."""

    members: tuple[GroupDefinition, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _adopt(self, self.members, ("monotone", "absorbing", "local"), ("needs_raw",))

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return Several.meaning(self, scope)

    def promise(self, scope: ClaimScope) -> str:
        return ", and ".join(member.promise(scope) for member in self.members)

    def guarded(self, sensitive: Columns) -> Columns:
        return Several.guarded(self, sensitive)

    def assess(self, groups: Groups) -> Assessment:
        return together(self, tuple(member.assess(groups) for member in self.members))

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask the groups that fail any part."""
        mask = np.zeros(len(groups), dtype=bool)
        for member in self._apart:
            mask |= member.failing(groups)
        for member, columns in self._by_counts.items():
            mask |= member.failing_for(groups, columns)
        return mask

    def holds(self, groups: Groups) -> bool:
        return all(member.holds(groups) for member in self._apart) and not any(
            member.failing_for(groups, columns).any() for member, columns in self._by_counts.items()
        )

    @cached_property
    def _by_counts(self) -> dict[SensitiveDefinition, list[str]]:
        """Members that place the same requirement on several columns and depend on counts only, with their columns.
        Judging them together is much faster on wide tables.
        """
        columns_by_demand: dict[SensitiveDefinition, list[str]] = {}
        for member in self.members:
            if _is_by_counts(member):
                requirement: Any = member
                columns_by_demand.setdefault(replace(requirement, column=None), []).append(requirement.column)
        return columns_by_demand

    @cached_property
    def _apart(self) -> tuple[GroupDefinition, ...]:
        """The remaining members."""
        return tuple(member for member in self.members if not _is_by_counts(member))

    def absorbing_on(self, counted: CountedRows) -> bool:
        return all(member.absorbing_on(counted) for member in self.members)

    def relaxation(self) -> GroupDefinition | None:
        """Return the conjunction of the members' weaker conditions; None if no member has one."""
        relaxations = [relaxed for member in self.members if (relaxed := member.relaxation()) is not None]
        if not relaxations:
            return None
        return relaxations[0] if len(relaxations) == 1 else All(tuple(relaxations))

    def doomed(self, groups: Groups) -> NDArray[np.float64]:
        bounds: NDArray[np.float64] = np.max([member.doomed(groups) for member in self.members], axis=0)
        return bounds

    def least_rows(self) -> int:
        return max(member.least_rows() for member in self.members)

    def not_shown(self, evidence: Evidence) -> str | None:
        return next((reason for member in self.members if (reason := member.not_shown(evidence)) is not None), None)

    def in_each_group(self) -> GroupDefinition:
        return all_of(tuple(part for member in self.members for part in member.in_each_group().parts()))

    def parts(self) -> tuple[GroupDefinition, ...]:
        return self.members


def _is_by_counts(definition: Definition) -> bool:
    return isinstance(definition, SensitiveDefinition) and definition.by_counts and definition.column is not None


@overload
def all_of(parts: tuple[GroupDefinition, ...]) -> GroupDefinition: ...
@overload
def all_of(parts: tuple[Definition, ...]) -> Definition: ...
def all_of(parts: tuple[Definition, ...]) -> Definition:
    """The conjunction of some definitions: a single one unchanged, :class:`All` if all judge groups, otherwise :class:`Several`."""
    if len(parts) == 1:
        return parts[0]
    grouped = tuple(part for part in parts if isinstance(part, GroupDefinition))
    return All(grouped) if len(grouped) == len(parts) else Several(parts)


def together(definition: Definition, parts: tuple[Assessment, ...]) -> Assessment:
    """Combine the assessments of a definition's parts: it holds if all do, and the first failing part supplies the witness."""
    witness = next((part.witness for part in parts if not part.holds), None)
    values = {str(part.definition): part.value for part in parts}
    return Assessment(definition, all(part.holds for part in parts), values, witness, parts=parts)


def _adopt(
    definition: Definition, members: Sequence[Definition], traits_of_all: Sequence[str], traits_of_any: Sequence[str]
) -> None:
    """Adopt the traits of the members: those in ``traits_of_all`` if all have them, those in ``traits_of_any`` if any has."""
    for trait in traits_of_all:
        object.__setattr__(definition, trait, all(getattr(member, trait) for member in members))
    for trait in traits_of_any:
        object.__setattr__(definition, trait, any(getattr(member, trait) for member in members))


class SensitiveDefinition(GroupDefinition):
    """A definition on a sensitive column. Without ``column`` it is applied to each.

    With several sensitive columns, a column is judged among people with equal values in the others, since an adversary
    may know these. If a definition has the parameter ``alone`` and it is true, the column is judged by itself: for
    adversaries who know quasi values only.

    Subclasses judge the histograms of one column in :meth:`failing_in` and :meth:`assess_in`.
    """

    column: str | None
    alone: bool = False

    def guarded(self, sensitive: Columns) -> Columns:
        return sensitive if self.column is None else (self.column,)

    def leaves_open(self, column: str) -> Openness:
        return self.openness if self.column in (None, column) else Openness.NOTHING

    @property
    def openness(self) -> Openness:
        """What it leaves open about the columns that it covers."""
        return Openness.NOTHING

    @abstractmethod
    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        """Mask of the failing groups of a single column's (refined) groups."""

    @abstractmethod
    def assess_in(self, groups: Groups) -> Assessment:
        """The assessment of a single column's (refined) groups."""

    def absorbing_on(self, counted: CountedRows) -> bool:
        """True if more such rows never make a passing group fail.

        False with several sensitive columns that may be known: a row with new values in the others forms a refined
        group of its own, which fails.
        """
        return super().absorbing_on(counted) and (self.alone or len(counted.domain.columns) == 1)

    @property
    def by_counts(self) -> bool:
        """True if it judges a column by itself and by the counts of values only. Several columns are then judged side by side."""
        return False

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        return self._failing_any(self._refined(groups), len(groups))

    def failing_for(self, groups: Groups, columns: Sequence[str]) -> NDArray[np.bool_]:
        """Return a mask of the groups that fail for any of some columns, for a definition that depends on counts alone;
        several columns are judged at once, as memory allows.
        """
        columns_at_once = max(_MOST_CELLS // max(len(groups.histograms.counts), 1), 1)
        blocks = (columns[start : start + columns_at_once] for start in range(0, len(columns), columns_at_once))
        side_by_side = (
            groups.marginal(block[0]) if len(block) == 1 else groups.side_by_side(block) for block in blocks
        )
        return self._failing_any(side_by_side, len(groups))

    def _failing_any(self, refined: Iterable[Groups], count: int) -> NDArray[np.bool_]:
        """Return a mask of the ``count`` groups of which some part (split by other sensitive values) fails."""
        mask = np.zeros(count, dtype=bool)
        for part in refined:
            mask[part.parents()[self.failing_in(part)]] = True
        return mask

    def doomed(self, groups: Groups) -> NDArray[np.float64]:
        """Return a lower bound of the rows of each group that fail however it is split further, for the worst of the sensitive columns."""
        doomed = np.zeros(len(groups))
        for refined in self._refined(groups):
            doomed_rows = self.doomed_in(refined)
            # Refined groups of one column are disjoint, so their rows add up; those of another column contain the same
            # rows again.
            np.maximum(doomed, np.bincount(refined.parents(), weights=doomed_rows, minlength=len(groups)), out=doomed)
        return doomed

    def doomed_in(self, groups: Groups) -> NDArray[np.float64]:
        """The doomed rows of a single column's (refined) groups.

        If the definition is monotone, the union of the passing subsets of a group passes. So it suffices to bound the
        rows that must be removed from a group before the rest passes.
        """
        relaxed = self.relaxation()
        if not isinstance(relaxed, SensitiveDefinition):
            return np.zeros(len(groups))
        return np.where(relaxed.failing_in(groups), groups.sizes, 0).astype(np.float64)

    def assess(self, groups: Groups) -> Assessment:
        """Return the assessment of the sensitive column, or one that combines those of several columns."""
        assessments = [self.assess_in(refined) for refined in self._refined(groups)]
        if len(assessments) == 1:
            return assessments[0]
        names = [column.name for column in groups.domain.columns]
        witness = next((assessment.witness for assessment in assessments if not assessment.holds), None)
        values = {name: assessment.value for name, assessment in zip(names, assessments, strict=True)}
        return Assessment(
            self, all(assessment.holds for assessment in assessments), values, witness, parts=tuple(assessments)
        )

    def _refined(self, groups: Groups) -> Iterator[Groups]:
        for name in self._names(groups):
            yield groups.marginal(name) if self.alone else groups.of(name)

    def _names(self, groups: Groups) -> list[str]:
        """Return the columns to judge: the named one, or all sensitive ones."""
        if not groups.domain.columns:
            raise PolicyError(
                f"{self.name} protects a sensitive column, but the table has none. Declare one with sensitive=, or --sensitive on the command line."
            )
        return [self.column] if self.column is not None else [column.name for column in groups.domain.columns]


def others_known(alone: bool) -> str:
    """What a definition that judges a column ``alone`` does not cover; empty for others."""
    return "An attacker who also knows a person's other confidential values may learn more. " if alone else ""


def _plain(value: Any) -> Any:
    """Return a parameter as plain data for JSON."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, Definition):
        return {"name": value.name, **value.parameters()}
    return value
