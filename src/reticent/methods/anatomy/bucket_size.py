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
        signatures = settled(values, units.domain, against_all(definition), least, context)
        context.step("dealing rows to buckets")
        return cls(units, order, signatures.dealt(values), signatures.groups(units.domain))

    def recoding(self, table: Table) -> Deal:
        """Return the assignment of rows to buckets."""
        bucket = np.empty(len(self.order), dtype=np.int64)
        bucket[self.order] = self.bucket_of_unit
        return Deal.of(table, bucket)

    def cells(self) -> PublishedCells:
        """Return the published form of buckets: every quasi value unchanged."""
        return PublishedCells.of_buckets(self.units, self.bucket_of_unit, len(self.groups))

    def evidence(self, table: Table, definition: GroupDefinition) -> Evidence:
        """Return the buckets as evidence: whatever columns an adversary knows, only the bucket of a person is found."""

        def seen(columns: Columns, is_kept: NDArray[np.bool_]) -> tuple[Ids, Groups]:
            """Return the group of each bucket, and the groups: the same for all columns."""
            return np.arange(len(self.groups)), self.groups

        none_suppressed = SuppressedGroups(np.zeros(len(self.groups), dtype=bool))
        return PublishedGroups.of(table, definition, self.groups, seen, 0).evidence(none_suppressed)

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
    value_counts = np.bincount(values, minlength=domain.size)
    fewest, largest = least or max(definition.least_rows(), 1), most_eligible(value_counts)
    if fewest > largest:
        raise Infeasible(_too_frequent(value_counts, domain, fewest, definition))
    distinct_values = 0
    for distinct_values in (
        [fewest]
        if least is not None
        else list(islice(_promising(value_counts, domain, definition, fewest, largest), _MOST_DRAWN))
    ):
        context.step("choosing which values meet", note=f"l = {distinct_values}")
        signatures = Signatures.drawn(value_counts, distinct_values, context.randomness)
        if definition.holds(signatures.groups(domain)):
            return signatures
    violation = definition.assess(signatures.groups(domain)).witness
    raise Infeasible(
        f"No buckets of different values satisfy {definition}. With l = {distinct_values}: {'' if violation is None else violation.text} At most l = {largest} values can be in every bucket, since "
        f"{_most_frequent(value_counts, domain)}. Weaken the definition, or use Lattice."
    )


def _promising(
    value_counts: Ids, domain: SensitiveDomain, definition: GroupDefinition, low: int, largest: int
) -> Iterator[int]:
    """Yield numbers of values to try: first those for which a single group of the most frequent values passes, then the others, in increasing order.

    For a definition that is symmetric in the values, such a group decides.
    """
    order = np.argsort(-value_counts, kind="stable")
    unpromising = []
    for size in range(low, min(largest, low + _MOST_LOOKED_AT) + 1):
        single = Histograms(np.array([0, size]), np.sort(order[:size]).astype(np.int32), np.ones(size, dtype=np.int64))
        if definition.holds(Groups(np.array([size]), single, value_counts, domain)):
            yield size
        else:
            unpromising.append(size)
    yield from unpromising


def _too_frequent(value_counts: Ids, domain: SensitiveDomain, least: int, definition: GroupDefinition) -> str:
    """Return the message that a value has too many rows for buckets of ``least`` distinct values."""
    return (
        f"{definition} needs groups of at least {least} different values, so no value may have more than 1/{least} of the {int(value_counts.sum())} rows, but {_most_frequent(value_counts, domain)}. "
        "Weaken the definition, or use a method whose groups may repeat a value, such as Lattice."
    )


def _most_frequent(value_counts: Ids, domain: SensitiveDomain) -> str:
    column, worst = domain.columns[0], int(np.argmax(value_counts))
    return f"{column.texts[worst]!r} of column {column.name!r} has {int(value_counts[worst])} of {int(value_counts.sum())} rows"
