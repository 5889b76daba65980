"""The method ``Anatomy``: exact quasi values in one table, sensitive values in another, connected by groups without a repeated value (R-PM-34)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.anonymize.anatomy.dealing import Ids, Signatures, most_eligible
from reticent.anonymize.base import GROUPS, fitting
from reticent.anonymize.buckets import not_in_buckets, value_meanings
from reticent.anonymize.leaving import Leaving, LeftOut
from reticent.anonymize.sets import Columns, adversary_sets
from reticent.data import (
    COUNT,
    DRAWN,
    Context,
    Deal,
    Draft,
    Groups,
    Histograms,
    Kind,
    SensitiveDomain,
    Table,
    declared_domains,
)
from reticent.definitions import Definition, GroupDefinition, against_all
from reticent.engine import engine_of
from reticent.errors import Infeasible
from reticent.exact import whole
from reticent.utility import BucketsDrawing, Measured

FORMAT = "bucketize"

_MOST_LOOKED_AT = 256
_MOST_DRAWN = 32


@dataclass(frozen=True)
class Anatomy:
    """Buckets of rows with ``l`` different sensitive values or a few more; quasi values stay as they are (R-PM-34).

    ``l`` is the least for which the buckets satisfy the definition, unless it is given. Every row is published: leaving out rows of a value that is too frequent
    would tell everybody who is missing that they have it.

    Guarantee: the definition's, on the histograms of the buckets, also against somebody who knows this method: which values meet follows from the histogram
    of the whole table, which is public, and who goes where is drawn by the operating system.
    Adversary: knows everybody's quasi values, who is in the table, and the method, and finds all ways to give the values to people equally likely beforehand.
    Not covered: who is in the table is plain to see. Cost: O(n log n). Source: Xiao and Tao; rows are drawn as 004, 13.3 corrects it.
    """

    l: int | None = None  # noqa: E741 - as definitions call it

    format: ClassVar[str] = FORMAT
    keeps: ClassVar[frozenset[Kind]] = GROUPS
    streams: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.l is not None:
            whole(self.l, "Anatomy: l", low=1)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Why this cannot be published so, told by what the table and the definition are, without a look at a row."""
        return not_in_buckets(table, definition, "Anatomy", "Use Mondrian or Angelization") or not_dealt(
            "Anatomy", table, definition
        )

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Buckets that satisfy the definition, with the least number of different values."""
        adversary_sets(table)
        wanted = fitting(self, table, definition)
        context = context or Context()
        table = wanted.prepare(table)
        engine = engine_of(table, context)
        context.step("drawing an order of the rows")
        order = context.randomness.order(table.rows)
        units = engine.single_rows(table, order)
        values = units.histograms.values.astype(np.int64)
        found = settled(values, units.domain, against_all(wanted), self.l, context)
        context.step("dealing rows to buckets")
        unit_bucket = found.dealt(values)
        bucket = np.empty(table.rows, dtype=np.int64)
        bucket[order] = unit_bucket
        groups = found.groups(units.domain)
        recoding = Deal.of(table, bucket)
        recoded = engine.recode(table, recoding, context)

        def seen(columns: Columns, kept: NDArray[np.bool_]) -> tuple[Ids, Groups]:
            # Whatever somebody knows leads to a bucket, and no further.
            return np.arange(len(groups)), groups

        nobody = LeftOut(np.zeros(len(groups), dtype=bool))
        return Draft(
            format=FORMAT,
            recoding=recoding,
            details=DRAWN,
            evidence=Leaving.of(table, wanted, groups, seen, 0).evidence(nobody),
            tables=recoded.tables,
            meanings=value_meanings(table, recoded),
            method=self.describe(),
            utility=Measured(BucketsDrawing(units, unit_bucket, found.count)),
            search={"groups": found.count, "columns": list(table.quasi), "l": int(groups.sizes.min())},
            domains=declared_domains(table.hierarchies),
            private=recoded.private,
            insecure=not context.randomness.is_secure,
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return {"name": "Anatomy"} if self.l is None else {"name": "Anatomy", "l": self.l}


def not_dealt(method: str, table: Table, definition: Definition) -> str | None:
    """Why rows cannot be dealt out by their sensitive values alone; None where they can."""
    if len(table.sensitive) > 1:
        return (
            f"{method} deals rows out by the values of one sensitive column, and this table has {len(table.sensitive)}: {', '.join(map(repr, table.sensitive))}. Publish one of them, "
            "or use Lattice(format='bucketize')."
        )
    if table.unit == "person":
        return (
            f"{method} needs one row per person: several rows of one person may meet in a group, whose values would then be known to be theirs. Keep one row for each person, "
            "or use Lattice."
        )
    if COUNT in table.schema:
        return f"{method} counts values in a column {COUNT!r}. Rename the column of that name."
    wrong = next((part for part in definition.parts() if part.needs_population or not part.shown_by_files), None)
    if wrong is not None:
        return f"{wrong} looks at more than how often values occur in a group, and {method} looks at nothing else. Use Lattice or Mondrian."
    return None


def settled(
    values: Ids, domain: SensitiveDomain, definition: GroupDefinition, least: int | None, context: Context
) -> Signatures:
    """Which values meet, with as few of them as satisfy the definition, or with ``least``; :class:`Infeasible` says why none do.

    What is tried, and what passes, depends on how often values occur and on draws, and on nothing else: see :mod:`reticent.anonymize.anatomy.dealing`.
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
        f"No buckets of different values satisfy {definition}. With l = {tried}: {'' if why is None else why.text} At most l = {most} values can meet in every bucket, since "
        f"{_most_frequent(times, domain)}. Weaken the definition, or use Lattice(format='bucketize')."
    )


def _promising(times: Ids, domain: SensitiveDomain, definition: GroupDefinition, low: int, most: int) -> Iterator[int]:
    """Numbers of values to try: first those for which a single group of the most frequent values passes, then the others, each in rising order.

    For a definition that treats all values alike, such a group decides.
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
        f"{definition} needs groups of at least {least} different values, so that no value may have more than 1/{least} of the {int(times.sum())} rows, but {_most_frequent(times, domain)}. "
        "Ask for less, or publish with Lattice(format='bucketize'), whose groups may repeat a value."
    )


def _most_frequent(times: Ids, domain: SensitiveDomain) -> str:
    column, worst = domain.columns[0], int(np.argmax(times))
    return f"{column.texts[worst]!r} of column {column.name!r} has {int(times[worst])} of {int(times.sum())} rows"
