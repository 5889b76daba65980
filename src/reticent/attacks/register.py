"""Register attack: all records with the identity of their people, against a release that counted each record as a different person."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, needs_groups
from reticent.attacks.target_list import listing
from reticent.base.packing import sum_by
from reticent.core import AdversaryView, OwnerRows
from reticent.table import Table


@dataclass(frozen=True)
class Register:
    """An adversary who knows the quasi-identifiers and the person of all records counts people instead of records.

    The smallest class of the release, of ``k`` records, limits the probability that a record is a given person's to
    1/k, if each record is a different person's. A person is hit who has more than one in ``k`` records of some class.
    ``details`` has the number of ``classes``, how many of them hold records of fewer than ``k`` people (``few``), and
    the minimum number of people per class (``fewest``). Classes with records that match the labels of other classes are
    skipped, so that the counts are certain.
    """

    people: pl.DataFrame = field(repr=False)
    names: pl.Series = field(repr=False)

    name = "register"

    @classmethod
    def of(cls, table: Table) -> Register | None:
        """Return the register of a table whose rows were declared to be people although an identifier repeats (of
        several, the one with most values). None for other tables.
        """
        if not table.unit_declared or table.streamed:
            return None
        repeated = [name for name in table.identifiers if table.frame[name].drop_nulls().is_duplicated().any()]
        identifier = max(repeated, key=lambda name: table.frame[name].n_unique())
        return cls(table.frame.select(list(table.quasi)), table.frame[identifier])

    def needs(self, view: AdversaryView) -> str | None:
        """Require true rows."""
        return needs_groups(view)

    def attack(self, view: AdversaryView) -> Findings:
        """Count the people behind the records of every equivalence class, and those who have more than 1 in k of its records."""
        group_of_record = view.place(self.people.select(view.names))
        sizes, person_of_record = view.true_groups.sizes, self._numbers()
        has_group = group_of_record >= 0
        records_of = OwnerRows.of_rows(
            "person", group_of_record[has_group], len(sizes), person_of_record[has_group], None, 1
        ).by_owner
        k = int(sizes.min(initial=view.rows))
        # Only classes all of whose records are in this table can be judged.
        is_complete = sum_by(records_of.owners, records_of.counts, len(sizes)) == sizes
        too_few = is_complete & (records_of.distinct < k)
        exceeds = is_complete[records_of.owners] & (k * records_of.counts > sizes[records_of.owners])
        worst = int(np.argmax(np.where(is_complete, records_of.top / np.maximum(sizes, 1), 0)))
        example = (
            f"A class of {int(sizes[worst]):,} records holds {int(records_of.top[worst]):,} of one person, and records of {int(records_of.distinct[worst]):,} people in all."
            if exceeds.any()
            else f"Every class holds records of at least {k:,} people, and of no one more than one in {k:,}."
        )
        return Findings(
            self.name,
            f"all records with {listing(view.names)}, and whose each is",
            f"have records that are theirs with a probability above 1 in {k:,}, the limit if each record were a different person's",
            len(np.unique(records_of.values[exceeds])),
            int(person_of_record.max(initial=-1)) + 1,
            example,
            details={
                "classes": int(is_complete.sum()),
                "few": int(too_few.sum()),
                "fewest": int(records_of.distinct[is_complete].min(initial=k)),
            },
        )

    def _numbers(self) -> NDArray[np.int64]:
        """Return a person number for each record; a record without an identifier counts as a person of its own."""
        codes = self.names.rank("dense").cast(pl.Int64).to_frame("code")
        unnamed = pl.col("code").max().fill_null(0) + pl.col("code").is_null().cum_sum()
        numbers: NDArray[np.int64] = codes.select(pl.col("code").fill_null(unnamed) - 1).to_series().to_numpy()
        return numbers
