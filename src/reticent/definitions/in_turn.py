"""In turn: what the other columns disclose about a quasi-identifier that some adversaries know and others must not learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from reticent.core import Columns, Evidence, Groups
from reticent.definitions.catalogue import definition_within
from reticent.definitions.claim_scope import GENERAL, ClaimScope, column_list
from reticent.definitions.definition import Assessment, GroupDefinition, Witness
from reticent.definitions.diversity import DistinctLDiversity, ProbabilisticLDiversity
from reticent.definitions.entropy import EntropyLDiversity
from reticent.definitions.recursive import RecursiveLDiversity
from reticent.definitions.value_sets import named_columns
from reticent.errors import PolicyError, did_you_mean

if TYPE_CHECKING:
    from reticent.table import Table


@dataclass(frozen=True)
class InTurn(GroupDefinition):
    """For each of some quasi ``columns``: among records that are alike in all *other* quasi columns, its raw values pass ``inner``.

    Guarantee: an adversary who knows all other quasi columns of a person does not learn this one beyond what ``inner`` allows. Use it for a
    column that is a quasi-identifier for some adversaries and confidential to others. Not implied by k-anonymity: all matching people may
    share one race.
    Adversary: knows all quasi values but one, of all people. Monotone: merging labels merges records. Generalizing the column itself
    changes nothing, since its raw values are judged; generalizing the others does.
    Not covered: if a person has several rows, shares are those of records. An adversary who knows several records of the person learns more
    about a value that is constant in them. An adversary who knows the column of some people may infer more about others.
    Source: our definition; ``inner`` is any published one.

    The published files prove it if each label of the column represents one value, or if disjoint labels are diverse enough. Otherwise the
    release states it on the publisher's word, and its headline says so.

    Parameters:
        columns: the quasi columns that are confidential to some adversaries.
        inner: the definition that the values of each must satisfy among records with equal other labels.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"zip": [1, 1, 1, 1], "race": ["w", "b", "w", "b"]}, quasi=["zip", "race"])
        >>> rt.assess(table, rt.InTurn(["race"], rt.ProbabilisticLDiversity(2))).holds
        True
    """

    columns: tuple[str, ...]
    inner: GroupDefinition | Mapping[str, Any] | Sequence[Mapping[str, Any]]

    local = False
    needs_sensitive = False
    needs_raw = True
    hides_identity = True
    own_family = True

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        columns = (self.columns,) if isinstance(self.columns, str) else self.columns
        object.__setattr__(self, "columns", named_columns(columns, "InTurn: columns"))
        object.__setattr__(self, "inner", definition_within(self.inner, "InTurn: inner"))
        for part in self.demand.parts():
            _require_about_values(part)

    @property
    def demand(self) -> GroupDefinition:
        """The definition that the values of each column must pass."""
        return cast(GroupDefinition, self.inner)

    def counting(self, table: Table) -> Table:
        """Return the table to count. Raises for a column that is not a quasi-identifier."""
        for name in self.columns:
            if name not in table.quasi:
                raise PolicyError(
                    f"InTurn names {name!r}, which is not a quasi column.{did_you_mean(name, table.quasi)} A sensitive column is protected by "
                    f"{self.demand} itself."
                )
        return super().counting(table)

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Return a mask of the groups that violate the definition."""
        failing = np.zeros(len(groups), dtype=bool)
        for cells in self._cells(groups):
            failing |= self.demand.failing(cells.groups)[cells.ids]
        return failing & (groups.sizes > 0)

    def assess(self, groups: Groups) -> Assessment:
        """Return the assessment of ``demand`` on each column in turn, judged as a sensitive one among records that
        agree in all others (cells).
        """
        assessments: dict[str, Assessment] = {}
        for cells in self._cells(groups):
            # Definite failures are reported before possible passes.
            certain_failures = self._wrong(cells)
            judged, ids = cells.groups, cells.ids
            if certain_failures.any():
                judged = judged.select(certain_failures)
                renumbered = np.cumsum(certain_failures) - 1
                ids = np.where(certain_failures[ids], renumbered[ids], -1)
            assessment = assessments[cells.name] = self.demand.assess(judged)
            if assessment.witness is not None:
                assessments[cells.name] = replace(
                    assessment, witness=_named(assessment.witness, cells.name, groups, ids)
                )
        first = next(
            (assessment.witness for assessment in assessments.values() if assessment.witness is not None), None
        )
        values = {name: assessment.value for name, assessment in assessments.items()}
        value = values if len(values) > 1 else next(iter(values.values()))
        return Assessment(
            self, first is None, value, first, parts=tuple(assessments.values()) if len(assessments) > 1 else ()
        )

    def in_each_group(self) -> GroupDefinition:
        """A definition on groups one by one that implies this one: records with equal other labels are unions of groups."""
        return RawValuesInGroups(self.columns, self.demand)

    def not_shown(self, evidence: Evidence) -> str | None:
        """Why public evidence does not suffice: labels represent several values, and disjoint labels alone neither prove
        nor refute it.

        Raw values are at least as diverse as labels without a common value, so a pass or failure by these is proved.
        """
        # If identity is judged on other groups than sensitive values, use the latter.
        for groups in (evidence.alike or evidence).groups.values():
            if groups.labels is None:
                return "It depends on the labels of single columns, and the published files have none."
            for name in self.columns:
                column = groups.labels.column(name)
                if column.raw is None and (column.classes is None or not self._is_about_spread()):
                    return f"It depends on the raw values of {name!r}, and published labels of that column represent several values."
            judged = list(self._cells(groups))
            if any(self._wrong(cells).any() for cells in judged):
                return None
            for cells in judged:
                failing = self.demand.failing(cells.groups)
                if failing.any():
                    records, all_records = int(cells.groups.sizes[failing].sum()), int(cells.groups.sizes.sum())
                    return (
                        f"It depends on the raw values of {cells.name!r}, and published labels of that column represent several values: for {records:,} of "
                        f"{all_records:,} records they do not prove it."
                    )
        return None

    def _is_about_spread(self) -> bool:
        """True if the inner definition holds for every refinement of values for which it holds."""
        return all(
            isinstance(part, DistinctLDiversity | ProbabilisticLDiversity)
            or (isinstance(part, EntropyLDiversity | RecursiveLDiversity) and not part.dont_care)
            for part in self.demand.parts()
        )

    def _wrong(self, cells: _CellsInTurn) -> NDArray[np.bool_]:
        """Mask of cells that fail for all raw values that their labels may represent; none if all cells have raw values, which decide anyway."""
        return self.demand.failing(cells.groups) & cells.certain

    def least_rows(self) -> int:
        return 1

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return " ".join(self._sentence(name, scope) for name in self.columns)

    def promise(self, scope: ClaimScope) -> str:
        return self.demand.promise(replace(scope, sensitive=self.columns))

    def guarded(self, sensitive: Columns) -> Columns:
        return ()

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        secret = replace(scope, sensitive=self.columns)
        return (
            f"An attacker who knows some people's {column_list(self.columns, 'or')} already may conclude more about the others. "
            f"{self.demand.not_covered(secret)}"
        )

    def __str__(self) -> str:
        return f"InTurn(columns={list(self.columns)}, inner={self.inner})"

    def _sentence(self, name: str, scope: ClaimScope) -> str:
        """Return the guarantee for one column in a sentence."""
        others = tuple(column for column in scope.quasi if column != name)
        rows = scope.rows if scope.unit == "record" else 1
        about = replace(scope, quasi=others, sets=None, sensitive=(name,), declared=(*scope.declared, name), rows=rows)
        known = about.known() if others else f"the other columns of a {scope.target}"
        return (
            f"An attacker who knows {known}, and that the {scope.target} is in the table, {self.demand.promise(about)}."
        )

    def _cells(self, groups: Groups) -> Iterator[_CellsInTurn]:
        """For every column, the records with equal labels in the others."""
        if groups.labels is None:
            raise PolicyError(f"{self} needs the labels and raw values of columns, and these groups have none.")
        for name in self.columns:
            column = groups.labels.column(name)
            ids, count = groups.labels.cells([other for other in groups.labels.names if other != name])
            if column.raw is not None:
                yield _CellsInTurn(name, ids, column.raw().merged(ids, count), np.ones(count, dtype=bool))
            elif column.classes is not None:
                classes = column.classes()
                cells = classes.counted.merged(ids, count)
                several = ~classes.single[cells.histograms.values]
                yield _CellsInTurn(
                    name, ids, cells, np.bincount(cells.histograms.owners[several], minlength=count) == 0
                )
            else:
                raise PolicyError(f"{self} needs the raw values of {name!r}, and these groups have only its labels.")


@dataclass(frozen=True)
class _CellsInTurn:
    """Records with equal labels in all columns but one: the cell of each group, the values of that column per cell, and
    which cells have raw values.

    In the other cells a value is a class of overlapping labels, so raw values are at least as diverse.
    """

    name: str
    ids: NDArray[np.int64]
    groups: Groups
    certain: NDArray[np.bool_]


@dataclass(frozen=True)
class RawValuesInGroups(GroupDefinition):
    """The raw values of some quasi columns pass ``demand`` in every group: implies :class:`InTurn` where groups are judged one by one."""

    columns: tuple[str, ...]
    demand: GroupDefinition

    needs_sensitive = False
    needs_raw = True
    hides_identity = True

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        """Return a mask of the groups that violate the definition."""
        failing = np.zeros(len(groups), dtype=bool)
        for value in self._values(groups):
            failing |= self.demand.failing(value)
        return failing & (groups.sizes > 0)

    def assess(self, groups: Groups) -> Assessment:
        assessments = [self.demand.assess(value) for value in self._values(groups)]
        witness = next((assessment.witness for assessment in assessments if assessment.witness is not None), None)
        return Assessment(self, witness is None, [assessment.value for assessment in assessments], witness)

    def least_rows(self) -> int:
        return self.demand.least_rows()

    def promise(self, scope: ClaimScope) -> str:
        return self.demand.promise(replace(scope, sensitive=self.columns))

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return self.demand.not_covered(replace(scope, sensitive=self.columns))

    def _values(self, groups: Groups) -> Iterator[Groups]:
        """Yield the groups with the raw values of each column as sensitive ones."""
        everything = np.arange(len(groups))
        for name in self.columns:
            raw = None if groups.labels is None else groups.labels.column(name).raw
            if raw is None:
                raise PolicyError(f"The raw values of {name!r} are not known in these groups. Use Lattice or Mondrian.")
            yield raw().merged(everything, len(groups))


def _named(witness: Witness, name: str, groups: Groups, ids: NDArray[np.int64]) -> Witness:
    """The witness of a cell, with the labels that its records share."""
    assert groups.labels is not None
    group = int(np.argmax(ids == witness.group))
    other_columns = [column for column in groups.labels.columns if column.name != name]
    shared_labels = {column.name: column.texts[int(column.codes[group])] for column in other_columns}
    return Witness(group, witness.text, {**witness.details, "column": name, "labels": shared_labels})


def _require_about_values(part: GroupDefinition) -> None:
    """Raise unless a definition judges the values of one group, without a column, reference or population of its own."""
    fits = (
        part.needs_sensitive and part.monotone and part.local and not part.needs_reference and not part.needs_population
    )
    if fits and getattr(part, "column", None) is None and part.quasi is None and part.shown_by_files:
        return
    raise PolicyError(
        f"InTurn: {part} cannot be used for a quasi column. Use a definition on the values of a group that names no column, such as DistinctLDiversity(2) "
        "or ProbabilisticLDiversity(2).",
        setting=("inner",),
    )
