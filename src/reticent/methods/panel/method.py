"""The method ``Panel``: people are grouped by all of their rows, and all rows of a group at one wave have equal labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from reticent.base.context import Context
from reticent.base.exact import Number, exact, one_of
from reticent.base.parameters import exact_text, parameter
from reticent.definitions import AnyColumns, Definition, GroupDefinition, own_sets
from reticent.engine import engine_of
from reticent.errors import Infeasible
from reticent.methods.grouping import (
    Grouping,
    GroupMethod,
    GroupRun,
    Ids,
    PublishedGroups,
    SuppressedGroups,
    cells_of,
)
from reticent.methods.mondrian import Choice, CutJudge, Partition
from reticent.methods.panel.sequences import OUT, PersonSequences
from reticent.methods.panel.wave_definition import EveryWave
from reticent.methods.panel.wave_pattern import wave_column, wave_patterns
from reticent.table import Table

FORMAT = "panel"


@dataclass(frozen=True)
class Panel(GroupMethod):
    """Group people with rows at the same waves by the values of all of their rows; a row has the labels of its group at
    its wave, the wave itself and the number of the group.

    Guarantee: an adversary who knows all rows of a person, and of everybody else, can narrow a person down to the group
    only: at every wave it has as many records as people, which satisfy the definition, and values that are constant for
    a person satisfy it among the people of the group. A pseudonym links the rows of a person within the group, in which
    all sequences have equal labels. Adversary: knows the quasi values of all rows of everybody, and who is in the
    table. Not covered with pseudonyms: an adversary who knows a sensitive value of one row may find the others of that person.

    ``wave`` is the quasi column that identifies a person's rows and aligns them with those of others (default:
    detected): it is published unchanged. Rows of people whose waves fewer than k people share are suppressed until the
    waves match others; at most ``suppression`` of all rows. ``split`` and ``values`` are those of Mondrian, which makes
    the groups: columns that change have a value for every wave. Cost: that of Mondrian on one wide row per person.
    Source: [LeFevre2006], applied to the sequences of people in wide format.

    Example:
        >>> import reticent as rt
        >>> rows = {"id": [1, 1, 2, 2], "year": [1, 2, 1, 2], "age": [30, 31, 34, 35]}
        >>> table = rt.Table(rows, quasi=["year", "age"], key="id")
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.Panel(wave="year")).frame.height
        4
    """

    wave: str | None = None
    split: Choice = parameter("loss", stated="always")
    values: Literal["sets", "ranges"] = parameter("ranges", stated="always")
    suppression: Number = parameter(0, written=exact_text)

    format: ClassVar[str] = FORMAT

    def __post_init__(self) -> None:
        one_of(self.split, "Panel: split", ("span", "loss"))
        one_of(self.values, "Panel: values", ("sets", "ranges"))
        exact(self.suppression, "Panel: suppression", low=0, high=1)

    @property
    def _limit(self) -> Fraction:
        return exact(self.suppression, "suppression")

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported, from declarations alone, without reading a row; otherwise None."""
        if table.streamed:
            return f"Panel needs all rows in memory, and this table is {table.read_how}. Pass engine='local' if the table fits in memory."
        if not table.several_rows or table.key is None:
            return "Panel groups people by all of their rows, but here nobody has several. Use Mondrian, or pass the column that identifies people with key=."
        if table.unit == "household":
            return "Panel counts people, not households. Use Mondrian, which counts both."
        if table.quasi_sets is not None or own_sets(definition):
            return "Panel assumes that all quasi columns are known and does not support sets of columns. Remove quasi_sets=, or use Lattice."
        limited = [name for name, hierarchy in table.quasi.items() if hierarchy.unlimited is not hierarchy]
        if limited:
            return f"Panel publishes ranges, but the hierarchy of column {limited[0]!r} limits the levels that may be published. Use Lattice, or drop min_level and max_level."
        wrong = next((part for part in definition.parts() if not _kept(part)), None)
        if isinstance(wrong, AnyColumns):
            return f"Panel protects against an adversary who knows all columns of all rows, and so any {wrong.known} of them at any waves: use {wrong.demand} itself instead of {wrong}."
        if wrong is not None:
            return f"{wrong} depends on more than the records of a group at a wave, which Panel does not support. Use Mondrian or Lattice."
        return None

    def grouped(self, run: GroupRun) -> Grouping:
        """Return groups of people that satisfy the definition at every wave."""
        table = run.table
        wave = wave_column(table, self.wave)
        rows = engine_of(table, run.context).single_rows(table, np.arange(table.rows))
        sequences = PersonSequences(rows, list(table.quasi).index(wave))
        cell = self._cells(sequences, run.definition, run.context)
        self._require_few(cell, run.definition)
        published_sequences = sequences.shown(cell, self.values)
        recoding = published_sequences.recoding(table)
        none_suppressed = SuppressedGroups(np.zeros(len(published_sequences.groups), dtype=bool))
        published = PublishedGroups.of(
            table, run.definition, published_sequences.groups, published_sequences.seen, published_sequences.suppressed
        )
        return Grouping(
            published_sequences.rows,
            recoding,
            published.evidence(none_suppressed),
            partial(cells_of, published_sequences.cell, published_sequences.columns),
            {
                "groups": len(published_sequences.groups),
                "columns": list(table.quasi),
                "groups_of_people": published_sequences.people,
            },
            recoding.meanings,
            FORMAT,
            {"group": recoding.name, "wave": published_sequences.wave},
            # Later rows of a person could not be grouped with the earlier ones.
            completed=lambda draft: replace(draft, recoding=None),
        )

    def _cells(self, sequences: PersonSequences, definition: GroupDefinition, context: Context) -> Ids:
        """Return the group of people of every row; -1 if it is suppressed."""
        group, count = np.full(len(sequences.rows), OUT, dtype=np.int64), 0
        for pattern in wave_patterns(sequences.owner, sequences.wave, max(definition.least_rows(), 1)):
            units = sequences.wide(pattern)
            judge = CutJudge(units, EveryWave.of(definition, sequences.values(pattern)), may_suppress=self._limit > 0)
            if judge.needed is not None and not judge.needed.holds(units.groups().whole()):
                continue
            group_of_person = (
                Partition(units, judge, self.split, False, self.values, context).run()
                if units.codes
                else np.zeros(len(units), dtype=np.int64)
            )
            passes = judge.passing(group_of_person, int(group_of_person.max()) + 1)[group_of_person]
            for at_wave in pattern.rows:
                group[at_wave] = np.where(passes, count + group_of_person, OUT)
            count += int(group_of_person.max()) + 1
        return group

    def _require_few(self, group: Ids, definition: GroupDefinition) -> None:
        """Raise if more rows are suppressed than allowed, or if the definition compares with rows that are."""
        lost, rows = int((group == OUT).sum()), len(group)
        if lost > self._limit * rows or lost == rows:
            raise Infeasible(
                f"{lost:,} of {rows:,} rows are at waves that too few people share, or of people whose sequences do not satisfy {definition} together, but at most {self._limit} of the rows may be "
                "suppressed. Allow more with suppression=, weaken the definition, make the waves coarser, or publish rows that are not linked with Mondrian (without pseudonyms=)."
            )
        if lost and definition.needs_reference:
            wrong = next(part for part in definition.parts() if part.needs_reference)
            raise Infeasible(
                f"{lost:,} rows would have to be suppressed, but {wrong} compares with the whole table, which would disclose something about them. Drop the people who have few rows first, or use Mondrian."
            )


def _kept(part: Definition) -> bool:
    """True if a part of a definition depends only on the records of one group at one wave."""
    return isinstance(part, GroupDefinition) and part.local and not part.needs_population and part.shown_by_files
