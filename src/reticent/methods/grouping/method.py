"""The template of grouping methods: from a table and a definition over groups and recoded rows to a draft."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from reticent.base.context import Context
from reticent.base.parameters import described
from reticent.core import (
    Draft,
    Evidence,
    FrequencySet,
    Kind,
    Levels,
    PublishedCells,
    Recoding,
    Regions,
    declared_domains,
)
from reticent.definitions import Definition, GroupDefinition, of_groups
from reticent.engine import engine_of
from reticent.errors import PolicyError
from reticent.methods.grouping.buckets import value_meanings
from reticent.methods.grouping.quasi_sets import Columns, adversary_sets
from reticent.methods.typical import FORMAT as TYPICAL
from reticent.methods.typical import level_regions, with_groups
from reticent.table import Meaning, Table


class GroupMethod(ABC):
    """A method that partitions records into groups. Subclasses define what they refuse and how they group; the rest of the way to a draft is shared.

    ``judges_columns``: the method judges the view of every set of columns, so that a definition about some columns is satisfied as stated; other methods satisfy it for all columns together.
    ``knows_raw_values``: groups keep the quasi values behind their labels.
    """

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups"})
    streams: ClassVar[bool] = False
    knows_raw_values: ClassVar[bool] = False

    @property
    def judges_columns(self) -> bool:
        return False

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """The draft of a release: groups that satisfy the definition for every set of columns that an adversary may know, and the recoded rows."""
        run = GroupRun.of(self, table, definition, context)
        return self.grouped(run).draft(run)

    @abstractmethod
    def grouped(self, run: GroupRun) -> Grouping:
        """Groups of the rows that satisfy the definition of the run; :class:`Infeasible` where there are none."""

    @abstractmethod
    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why this method cannot publish the table under the definition, or None. Decided from their declarations, without reading rows."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return described(self)


@dataclass(frozen=True)
class GroupRun:
    """Input of a grouping method: the prepared ``table``, the ``definition`` that the groups must satisfy, the requested definition (``asked``), which it implies, and the ``sets`` of columns that adversaries may know."""

    method: GroupMethod
    table: Table
    definition: GroupDefinition
    asked: Definition
    sets: list[Columns]
    context: Context

    @classmethod
    def of(cls, method: GroupMethod, table: Table, definition: Definition, context: Context | None = None) -> GroupRun:
        """The run of a method; raises :class:`PolicyError` if the method refuses the table or the definition."""
        name = type(method).__name__
        group_definition = of_groups(definition, name)
        reason = method.refusal(table, group_definition)
        if reason is None and group_definition.needs_raw and not (method.judges_columns or method.knows_raw_values):
            part = next(part for part in group_definition.parts() if part.needs_raw)
            reason = f"{name} does not keep the raw values of its groups, which {part} judges. Use Lattice or Mondrian."
        if reason is not None:
            raise PolicyError(reason)
        judged = group_definition if method.judges_columns else group_definition.in_each_group()
        sets = adversary_sets(table)
        return cls(method, judged.prepare(table), judged, definition, sets, context or Context())


@dataclass(frozen=True)
class Grouping:
    """Result of a grouping method: the ``recoding`` of the rows, the ``evidence`` of its groups, the frequency set that was ``counted`` and its published ``cells``.

    ``search`` describes the search for the steward. ``meanings`` are those of the labels (None: values are published unchanged). ``table`` holds the published rows if these are not all.
    ``completed`` adds to the draft what the format needs beyond recoded rows: additional tables and entries for the ledger.
    """

    counted: FrequencySet
    recoding: Recoding
    evidence: Evidence
    cells: Callable[[], PublishedCells]
    search: Mapping[str, Any]
    meanings: Mapping[str, Mapping[str, Meaning]] | None = None
    format: str = "generalize"
    details: Mapping[str, Any] = field(default_factory=dict)
    table: Table | None = None
    completed: Callable[[Draft], Draft] = lambda draft: draft

    def draft(self, run: GroupRun) -> Draft:
        """The draft of a run. If the method publishes typical values, each group has one value per column, and a second table has the labels of the groups."""
        table, recoding, form, meanings = self.table or run.table, self.recoding, self.format, self.meanings
        if getattr(run.method, "values", None) == "typical" and isinstance(recoding, Levels):
            recoding = level_regions(table, self.counted, recoding)
        recoded = engine_of(table, run.context).recode(table, recoding, run.context)
        tables = recoded.tables
        if isinstance(recoding, Regions) and recoding.is_typical:
            form, meanings, tables = TYPICAL, recoding.meanings, with_groups(tables, recoding)
        return self.completed(
            Draft(
                format=form,
                recoding=recoding,
                evidence=self.evidence,
                tables=tables,
                meanings=value_meanings(table, recoded) if meanings is None else meanings,
                details=self.details,
                suppressed=self.counted.rows - int(self.evidence.published.sizes.sum()),
                method=run.method.describe(),
                counted=self.counted,
                cells=self.cells,
                search=self.search,
                domains=declared_domains(table.hierarchies),
                private=recoded.private,
                insecure=not run.context.randomness.is_secure,
            )
        )
