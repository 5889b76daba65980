"""The number of values per bucket for a definition, and the assignment of a table's rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.core import COUNT, Evidence, FrequencySet, Groups, Histograms, PublishedCells, SensitiveDomain
from reticent.definitions import Definition, GroupDefinition, against_all
from reticent.engine import engine_of
from reticent.errors import Infeasible
from reticent.methods.anatomy.bucket_assignment import Ids, Signatures, most_eligible
from reticent.methods.anatomy.recoding import Deal
from reticent.methods.grouping import Columns, PublishedGroups, SuppressedGroups
from reticent.table import Table

_MOST_LOOKED_AT = 256
_MOST_DRAWN = 32


@dataclass(frozen=True)
class RowsDealt:
    """The rows of a table as single ``units`` in a random ``order``, and the bucket of each."""

    units: FrequencySet
    order: Ids
    bucket_of_unit: Ids
    groups: Groups

    @classmethod
    def of(cls, table: Table, definition: GroupDefinition, least: int | None, context: Context) -> RowsDealt:
        """Return buckets that satisfy the definition, with as few distinct values as necessary, or with ``least``."""
        context.step("drawing an order of the rows")
        order = context.randomness.order(table.rows)
        units = engine_of(table, context).single_rows(table, order)
        values = units.histograms.values.astype(np.int64)
        met = settled(values, units.domain, against_all(definition), least, context)
        context.step("dealing rows to buckets")
        return cls(units, order, met.dealt(values), met.groups(units.domain))

    def recoding(self, table: Table) -> Deal:
        """Return the assignment of rows to buckets."""
        bucket = np.empty(len(self.order), dtype=np.int64)
        bucket[self.order] = self.bucket_of_unit
        return Deal.of(table, bucket)

    def cells(self) -> PublishedCells:
        """Return the published form of buckets: every quasi value unchanged."""
        return PublishedCells.of_buckets(self.units, self.bucket_of_unit, len(self.groups))

    def evidence(self, table: Table, definition: GroupDefinition) -> Evidence:
        """Return the groups: any knowledge leads to a bucket and no further."""

        def seen(columns: Columns, kept: NDArray[np.bool_]) -> tuple[Ids, Groups]:
            return np.arange(len(self.groups)), self.groups

        nobody = SuppressedGroups(np.zeros(len(self.groups), dtype=bool))
        return PublishedGroups.of(table, definition, self.groups, seen, 0).evidence(nobody)

    def figures(self, table: Table) -> dict[str, Any]:
        """Return figures for the steward's report."""
        return {"groups": len(self.groups), "columns": list(table.quasi), "l": int(self.groups.sizes.min())}


def not_dealt(method: str, table: Table, definition: Definition) -> str | None:
    """Return why rows cannot be assigned by their sensitive values alone; None if they can."""
    if len(table.sensitive) > 1:
        return (
            f"{method} assigns rows by the values of one sensitive column, but this table has {len(table.sensitive)}: {', '.join(map(repr, table.sensitive))}. Publish one of them, "
            "or use Lattice(format='bucketize')."
        )
    if table.several_rows:
        return (
            f"{method} needs one row per person: several rows of one person may be in one group, which would disclose their values. Keep one row for each person, "
            "or use Lattice."
        )
    if COUNT in table.schema:
        return f"{method} reserves the column name {COUNT!r} for counts. Rename the column of the table."
    wrong = next((part for part in definition.parts() if part.needs_population or not part.shown_by_files), None)
    if wrong is not None:
        return f"{wrong} depends on more than the counts of values in a group, and {method} supports nothing else. Use Lattice or Mondrian."
    return None


def settled(
    values: Ids, domain: SensitiveDomain, definition: GroupDefinition, least: int | None, context: Context
) -> Signatures:
    """Return the values of each bucket, with as few of them as satisfy the definition, or with ``least``; :class:`Infeasible` if impossible.

    The attempts and their outcome depend only on the histogram and on randomness: see
    :mod:`reticent.methods.anatomy.bucket_assignment`.
    """
    times = np.bincount(values, minlength=domain.size)
    low, most = least or max(definition.least_rows(), 1), most_eligible(times)
    if low > most:
        raise Infeasible(_too_frequent(times, domain, low, definition))
    tried = 0
    for tried in (
        [low] if least is not None else list(islice(_promising(times, domain, definition, low, most), _MOST_DRAWN))
    ):
        context.step("choosing which values meet", note=f"l = {tried}")
        found = Signatures.drawn(times, tried, context.randomness)
        if definition.holds(found.groups(domain)):
            return found
    why = definition.assess(found.groups(domain)).witness
    raise Infeasible(
        f"No buckets of different values satisfy {definition}. With l = {tried}: {'' if why is None else why.text} At most l = {most} values can be in every bucket, since "
        f"{_most_frequent(times, domain)}. Weaken the definition, or use Lattice."
    )


def _promising(times: Ids, domain: SensitiveDomain, definition: GroupDefinition, low: int, most: int) -> Iterator[int]:
    """Yield numbers of values to try: first those for which a single group of the most frequent values passes, then the others, in increasing order.

    For a definition that is symmetric in the values, such a group decides.
    """
    order = np.argsort(-times, kind="stable")
    others = []
    for least in range(low, min(most, low + _MOST_LOOKED_AT) + 1):
        single = Histograms(
            np.array([0, least]), np.sort(order[:least]).astype(np.int32), np.ones(least, dtype=np.int64)
        )
        if definition.holds(Groups(np.array([least]), single, times, domain)):
            yield least
        else:
            others.append(least)
    yield from others


def _too_frequent(times: Ids, domain: SensitiveDomain, least: int, definition: GroupDefinition) -> str:
    return (
        f"{definition} needs groups of at least {least} different values, so no value may have more than 1/{least} of the {int(times.sum())} rows, but {_most_frequent(times, domain)}. "
        "Weaken the definition, or use a method whose groups may repeat a value, such as Lattice."
    )


def _most_frequent(times: Ids, domain: SensitiveDomain) -> str:
    column, worst = domain.columns[0], int(np.argmax(times))
    return f"{column.texts[worst]!r} of column {column.name!r} has {int(times[worst])} of {int(times.sum())} rows"
