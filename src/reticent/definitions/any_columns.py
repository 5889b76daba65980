"""Any L columns: a definition that holds for every adversary who knows at most L of the quasi-identifiers, whichever these
are.

A *cell* is an equivalence class with respect to a subset of the columns: the records with equal labels there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.base.ragged import starts_of
from reticent.core import Columns, Groups, Relation, closure
from reticent.definitions.anonymity import KAnonymity
from reticent.definitions.catalogue import definition_within
from reticent.definitions.claim_scope import GENERAL, ClaimScope, column_list, plural
from reticent.definitions.column_sets import ColumnSets, LabelCells
from reticent.definitions.definition import Assessment, Definition, GroupDefinition, Witness, all_of, together
from reticent.definitions.diversity import DistinctLDiversity, ProbabilisticLDiversity
from reticent.definitions.entropy import EntropyLDiversity
from reticent.definitions.exchanges import joined
from reticent.definitions.xy_privacy import XYPrivacy
from reticent.errors import PolicyError
from reticent.table import Table, relations_in

Mask = NDArray[np.bool_]

MOST_COUNTED = 5 * 10**10
"""Maximum number of labels visited for definitions that count people (about two minutes). Above it, covering sets of columns are judged instead."""
MOST_JUDGED = 2 * 10**9
"""The same limit for definitions on sensitive values."""
_COVERING = 200
_DIVERSITY = (DistinctLDiversity, ProbabilisticLDiversity, EntropyLDiversity)


@dataclass(frozen=True)
class AnyColumns(GroupDefinition):
    """``inner`` holds for every adversary who knows at most ``known`` of the quasi columns (LKC-privacy, for any monotone definition).

    Guarantee: for every set of at most ``known`` columns, records with equal labels in these columns, and in all that can be computed from
    them (``relations``, and those that the table has), pass ``inner``. Records that are merely compatible with what is known are never counted.
    Adversary: knows the raw values of the same columns of all people, or of one person, and that the person is in the table.
    Not covered: an adversary who knows more columns, or different columns of different people.
    Source: [Mohammed2009] (LKC-privacy).

    Monotone under full-domain recoding. Widening or adding single records can break it, so it is not absorbing. If ``known`` is at least the
    number of columns, it equals ``inner``. Groups whose labels are unknown are judged by ``inner`` on all columns, which implies it.

    Where a person has several rows, cells count people: at least k of them, none of whom owns more than one in k of the rows. With local recoding, labels of some columns may overlap although those of all
    columns do not. Then a person's rows count if they are compatible with a cell, for every set: fewer known columns make more rows compatible.

    Cost: columns choose known, times distinct label combinations; above a limit, all columns together or a covering family of larger sets is judged instead,
    and only what that proves is claimed.

    Parameters:
        known: how many columns the adversary knows at most.
        inner: the definition that must hold for each such set of columns.
        relations: additional functional relations between columns.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, quasi=["a", "b"])
        >>> rt.assess(table, rt.AnyColumns(1, rt.KAnonymity(2))).holds, rt.assess(table, rt.KAnonymity(2)).holds
        (True, False)
    """

    known: int
    inner: GroupDefinition | Mapping[str, Any] | Sequence[Mapping[str, Any]]
    relations: tuple[Relation, ...] = ()

    local = False

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        whole(self.known, "AnyColumns: known", low=1)
        object.__setattr__(self, "inner", definition_within(self.inner, "AnyColumns: inner"))
        object.__setattr__(self, "relations", _relations(self.relations))
        for part in self.demand.parts():
            _require_monotone(part)
        for trait in ("needs_sensitive", "needs_reference", "hides_identity", "counts_people"):
            object.__setattr__(self, trait, getattr(self.demand, trait))

    @property
    def demand(self) -> GroupDefinition:
        """The definition that every cell must pass."""
        return cast(GroupDefinition, self.inner)

    @property
    def crowd(self) -> int | None:
        return self.demand.crowd

    def in_each_group(self) -> GroupDefinition:
        """The inner definition: cells of fewer columns are unions of groups, and it is monotone."""
        return self.demand

    def column_sets(self, groups: Groups) -> ColumnSets | None:
        """The sets of columns to judge on non-empty groups; None if the groups have no labels."""
        labels = groups.labels
        if labels is None or not labels.columns:
            return None
        return ColumnSets(groups, labels, self.known, tuple(dict.fromkeys((*self.relations, *labels.relations))))

    def failing(self, groups: Groups) -> Mask:
        failing = np.zeros(len(groups), dtype=bool)
        failing[groups.filled] = self._check(groups).failing()
        return failing

    def assess(self, groups: Groups) -> Assessment:
        return self._check(groups).assessment()

    def least_rows(self) -> int:
        return 1

    def knowledge(self, scope: ClaimScope) -> str:
        return f"{scope.known_any(self.known)}, and that the {scope.target} is in the table,"

    def knows_all(self, scope: ClaimScope) -> bool:
        return self.known >= len(scope.quasi)

    def promise(self, scope: ClaimScope) -> str:
        return self.demand.promise(scope)

    def guarded(self, sensitive: Columns) -> Columns:
        return self.demand.guarded(sensitive)

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            f"An attacker who knows more than {_columns(self.known)} of a person, or different columns of different people, may find fewer records or learn more. "
            f"{self.demand.not_covered(scope)}"
        )

    def __str__(self) -> str:
        relations = "" if not self.relations else f", relations={self.parameters()['relations']}"
        return f"AnyColumns(known={self.known}, inner={self.inner}{relations})"

    def _check(self, groups: Groups) -> _Check:
        """Return a check of all sets of known columns in the groups that have rows. Raises if people with several rows cannot be counted."""
        if groups.owners and groups.labels is None:
            raise PolicyError(
                f"{self} counts people, some people have several records here, and these groups do not have the labels of single columns. Use Lattice, or keep one row per person with "
                "rows_per_person=1."
            )
        filled = groups if len(groups.filled) == len(groups) else groups.select(groups.sizes > 0)
        return _Check(self, filled)


def closed(definition: Definition, table: Table) -> Definition:
    """Close the column sets of a definition under the table's relations: an adversary who knows columns can compute others
    from them.

    This applies to ``AnyColumns``, to ``quasi`` columns named by a part, and to sensitive columns counted as known
    (``x`` of XYPrivacy). A definition by which the table was prepared is already closed.
    """
    open_parts = [
        part for part in definition.parts() if not any(part is known_part for known_part in table.prepared_by)
    ]
    if any(isinstance(part, AnyColumns) or _names_columns(part) for part in open_parts):
        quasi = list(table.quasi)
        definition = _related(
            definition, ((relation.sources, relation.derived) for relation in relations_in(table, quasi, quasi))
        )
    if any(isinstance(part, XYPrivacy) and part.y is not None for part in open_parts):
        secret = list(table.sensitive)
        detected = relations_in(table, secret, [*table.quasi, *secret])
        relations = [(relation.sources, relation.derived) for relation in detected if relation.kind != "lookup"]
        parts = (_with_known(part, list(table.quasi), secret, relations) for part in definition.parts())
        definition = all_of(tuple(parts))
    return definition


def closed_as_claimed(definition: Definition, claims: Sequence[Definition], quasi: Columns) -> tuple[Definition, bool]:
    """The definition to judge on a release of some ``quasi`` columns with the given ``claims``, and whether it equals the
    requested one.

    An ``AnyColumns`` claim lists the relations between columns, and a claim that names columns lists all that follow
    from them. If the relations are needed but no claim lists them, a stronger definition is returned, for an adversary
    who knows all columns: published rows do not reveal which columns can be computed from others.
    """
    claimed = [part for claim in claims for part in claim.parts()]
    named = [part.relations for part in claimed if isinstance(part, AnyColumns)]
    if named:
        return _related(definition, chain.from_iterable(named)), True
    parts = [_as_claimed(part, claimed, quasi) for part in definition.parts()]
    return all_of(tuple(part for part, _ in parts)), all(as_asked for _, as_asked in parts)


def _as_claimed(part: Definition, claimed: Sequence[Definition], quasi: Columns) -> tuple[Definition, bool]:
    """Return a part in the form of the claim that it belongs to, and whether the claim states exactly the part's own columns."""
    if isinstance(part, AnyColumns):
        return (part, True) if part.relations else (part.demand, False)
    if not _names_columns(part):
        return part, True
    own_columns: Columns = getattr(part, "quasi", None) or ()
    sets = [getattr(definition, "quasi", None) or () for definition in claimed if _names_columns(definition)]
    closed_sets = [columns for columns in (*sets, quasi) if set(own_columns) <= set(columns)]
    smallest = min(closed_sets, key=len, default=quasi)
    return _extended(part, "quasi", own_columns, smallest), set(smallest) == set(own_columns)


def _related(definition: Definition, relations: Iterable[Relation]) -> Definition:
    """Add relations between quasi columns to a definition: to ``AnyColumns`` and to parts that name columns."""
    pairs = tuple(relations)
    return all_of(tuple(_part_related(part, pairs) for part in definition.parts()))


def _part_related(part: Definition, relations: tuple[Relation, ...]) -> Definition:
    """Return a part with the columns closed under relations between columns."""
    if isinstance(part, AnyColumns):
        return replace(part, relations=tuple(dict.fromkeys((*part.relations, *relations))))
    if not _names_columns(part):
        return part
    named: Columns = getattr(part, "quasi", None) or ()
    return _extended(part, "quasi", named, [name for _, name in relations if name in closure(named, relations)])


def _names_columns(part: Definition) -> bool:
    """True if the part itself names the quasi columns that the adversary knows."""
    return isinstance(part, GroupDefinition) and part.quasi is not None


def _with_known(part: Definition, quasi: list[str], secret: list[str], relations: Sequence[Relation]) -> Definition:
    """Extend the known sensitive columns of a part by those that follow from them. Raises if the part also protects one of these."""
    if not isinstance(part, XYPrivacy) or part.y is None:
        return part
    known_sensitive = part.x if part.x is not None else tuple(name for name in secret if name not in part.y)
    known = closure([*quasi, *known_sensitive], relations)
    computed = next((name for name in part.y if name in known), None)
    if computed is not None:
        raise PolicyError(
            f"XYPrivacy counts {column_list((*quasi, *known_sensitive))} as known, and {computed!r}, which is in y=, can be computed from these, so it cannot be protected. Remove it from y=, "
            "or name in x= only sensitive columns from which it does not follow.",
            setting=("roles", "sensitive"),
            column=computed,
        )
    return (
        _extended(part, "x", known_sensitive, [name for name in secret if name in known])
        if part.x is not None
        else part
    )


def _extended(part: Definition, parameter: str, named: Columns, more: Iterable[str]) -> Definition:
    """Add columns to one parameter of a part; returns the part unchanged if there are none to add."""
    columns = tuple(dict.fromkeys((*named, *more)))
    return part if columns == named else replace(cast(Any, part), **{parameter: columns})


class _Check:
    """The verdict on non-empty groups: exact, or from larger sets of columns that imply it if exact judgement takes too long."""

    def __init__(self, definition: AnyColumns, groups: Groups) -> None:
        self.definition, self.groups = definition, groups
        self.sets = definition.column_sets(groups)

    def failing(self) -> Mask:
        """Return a mask of the groups that are in a failing cell (records with equal labels in some column set that an
        adversary may know).
        """
        inner, sets = self.definition.demand, self.sets
        failing_groups = inner.failing(self.groups)
        if sets is None or not (failing_groups.any() or any(_by_fits(part, sets) for part in inner.parts())):
            # Cells of fewer columns are unions of groups, which pass where all of these do.
            return failing_groups
        failing = np.zeros(len(self.groups), dtype=bool)
        for part in inner.parts():
            if _is_counted(part, sets):
                failing |= sets.smallest(part.least_rows()).failing
                continue
            for cells in _cells(part, sets, part.holds):
                failing |= part.failing(cells.groups)[cells.ids]
        return failing

    def assessment(self) -> Assessment:
        """Return the assessment over all column sets that an adversary may know, with the worst value and a failing
        cell as the witness.
        """
        assessments = tuple(self._assessed(part) for part in self.definition.demand.parts())
        if len(assessments) > 1:
            return together(self.definition, assessments)
        return replace(assessments[0], definition=self.definition)

    def _assessed(self, part: GroupDefinition) -> Assessment:
        """Return the assessment of a part of the definition on every column set that an adversary may know, with a
        witness from the worst set.

        Only the sets that are worst so far are kept; their groups are assessed together.
        """
        if self.sets is None:
            return part.assess(self.groups)
        if _is_counted(part, self.sets):
            return self._counted(part, self.sets)
        worst: list[LabelCells] = []
        result: Assessment | None = None
        for cells in _cells(part, self.sets):
            combined = part.assess(joined([*(kept_cells.groups for kept_cells in worst), cells.groups]))
            if result is not None and (combined.holds, combined.value) == (result.holds, result.value):
                continue
            # With several sensitive columns, different sets may be the worst for different columns.
            is_replacing = result is None or part.assess(cells.groups).value == combined.value
            worst, result = [cells] if is_replacing else [*worst, cells], combined
            if isinstance(part, _DIVERSITY) and result.value == 1 and not result.holds:
                # A cell with one value has minimum diversity.
                break
        assert result is not None
        if result.witness is None:
            return result
        result = part.assess(joined([worst_cells.groups for worst_cells in worst]))
        assert result.witness is not None
        cell, starts = result.witness.group, starts_of([len(worst_cells.groups) for worst_cells in worst])
        index = int(np.searchsorted(starts, cell, side="right")) - 1
        group = int(np.argmax(worst[index].ids == cell - starts[index]))
        exact = _exact(part, self.sets)
        return replace(result, witness=self._witness(worst[index].columns, group, result.witness.text, exact=exact))

    def _counted(self, part: GroupDefinition, sets: ColumnSets) -> Assessment:
        """Judge a part that depends on counts alone by the smallest cell over all sets of columns."""
        minimum = part.least_rows()
        cell = sets.smallest(minimum)
        figures = {
            "failing_groups": int(cell.failing.sum()),
            "failing_rows": int(self.groups.sizes[cell.failing].sum()),
        }
        if cell.people >= minimum:
            return Assessment(part, True, cell.people, None, figures)
        text = f"only {cell.people} of at least {minimum} people"
        return Assessment(part, False, cell.people, self._witness(cell.columns, cell.group, text), figures)

    def _witness(self, columns: tuple[str, ...], group: int, text: str, *, exact: bool = True) -> Witness:
        """The cell of a group in some columns, as a sentence and as plain data."""
        assert self.sets is not None
        labels = self.sets.labels
        shown_labels = {name: labels.column(name).texts[int(labels.column(name).codes[group])] for name in columns}
        cells = self.sets.cells(columns)
        count = int(cells.groups.people[cells.ids[group]])
        known = " and ".join(f"{name} = {label}" for name, label in shown_labels.items()) or "no column"
        caveat = (
            ""
            if exact
            else (
                f" There are too many sets of {self.definition.known} columns to check each, and the larger sets that would imply it fail: it may hold, "
                "but is not proven. Lower known=, or publish fewer columns."
            )
        )
        return Witness(
            group, f"{known}: {text}.{caveat}", {"columns": list(columns), "labels": shown_labels, "count": count}
        )


def _is_counted(part: GroupDefinition, sets: ColumnSets) -> bool:
    """True if a part only counts people. These counts add up when groups merge, so it can be checked exactly."""
    return isinstance(part, KAnonymity) and not sets.groups.owners and _exact(part, sets)


def _by_fits(part: GroupDefinition, sets: ColumnSets) -> bool:
    """True if a part counts people whose rows may be compatible with cells that they do not belong to."""
    return part.counts_people and bool(sets.groups.owners) and sets.labels.fitting is not None


def _exact(part: GroupDefinition, sets: ColumnSets) -> bool:
    """True if there is time to assess the part on every column set that an adversary may know; otherwise it is assessed
    on fewer, larger sets.
    """
    if _by_fits(part, sets):
        return sets.fitted_visits <= MOST_JUDGED
    counted = isinstance(part, KAnonymity) and not sets.groups.owners
    return sets.visits <= (MOST_COUNTED if counted else MOST_JUDGED)


def _cells(
    part: GroupDefinition, sets: ColumnSets, passes: Callable[[Groups], bool] | None = None
) -> Iterator[LabelCells]:
    """Yield, for each column set that an adversary may know, the groups of records with equal labels there (cells); of
    too many sets, for larger ones that cover them all.
    """
    fits = _by_fits(part, sets)
    if _exact(part, sets):
        yield from sets.every() if fits else sets.largest(passes)
        return
    cells = sets.bounded if fits else sets.cells
    whole_table = cells(sets.labels.names)
    if part.holds(whole_table.groups):
        yield whole_table
        return
    for names in sets.covering(_COVERING):
        yield cells(names)


def _require_monotone(part: GroupDefinition) -> None:
    """Raise unless the part is monotone and judged on single groups of records."""
    if part.monotone and part.local and part.quasi is None and part.shown_by_files and not part.needs_population:
        return
    raise PolicyError(
        f"AnyColumns: {part} cannot be used for any columns. Use a definition that is monotone (it holds for the union of two groups if it holds for both) and "
        "judges single groups of records: KAnonymity, ConfidenceBounding, diversity, closeness.",
        setting=("inner",),
    )


def _relations(entries: Iterable[Any]) -> tuple[Relation, ...]:
    """Normalize relations to pairs of source columns and target column."""
    pairs = []
    for relation in entries:
        match relation:
            case [str() as source, str() as target]:
                pairs.append(((source,), target))
            case [[*sources], str() as target] if sources and all(isinstance(name, str) for name in sources):
                pairs.append((tuple(sources), target))
            case _:
                raise PolicyError(
                    f"AnyColumns: a relation is a list of columns and the column that follows from them, such as "
                    f"[['admitted', 'discharged'], 'stay'], but it is {relation!r}.",
                    setting=("relations",),
                )
    return tuple(pairs)


def _columns(known: int) -> str:
    return f"{known} {plural(known, 'column')}"
