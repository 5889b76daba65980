"""A register: all records with the names of their people, where a release counted each record as another person."""

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
    """An adversary who holds the quasi columns of all records with the name of each one's person counts people where the release counted records.

    The smallest class of the release, of ``k`` records, allows a chance of 1/k that a record is a given person's, if each record is another person's. A person is hit who has more than one in ``k``
    records of some class. ``details`` says how many ``classes`` there are, how many of them hold records of fewer than ``k`` people (``few``), and of how many people the poorest does (``fewest``). Classes
    some of whose records fit the labels of others are left aside, so that what is counted is so.
    """

    people: pl.DataFrame = field(repr=False)
    names: pl.Series = field(repr=False)

    name = "register"

    @classmethod
    def of(cls, table: Table) -> Register | None:
        """The register of a table whose records were said to be people although an identifier repeats: of several that do, the one with most values names them. None for other tables."""
        if not table.unit_declared or table.streamed:
            return None
        repeated = [name for name in table.identifiers if table.frame[name].drop_nulls().is_duplicated().any()]
        named = max(repeated, key=lambda name: table.frame[name].n_unique())
        return cls(table.frame.select(list(table.quasi)), table.frame[named])

    def needs(self, seen: AdversaryView) -> str | None:
        """Rows that are true."""
        return needs_groups(seen)

    def attack(self, seen: AdversaryView) -> Findings:
        """Count the people of every class."""
        group = seen.place(self.people.select(seen.names))
        sizes, owner = seen.true_groups.sizes, self._numbers()
        placed = group >= 0
        held = OwnerRows.of_rows("person", group[placed], len(sizes), owner[placed], None, 1).by_owner
        k = int(sizes.min(initial=seen.rows))
        known = sum_by(held.owners, held.counts, len(sizes)) == sizes
        few = known & (held.distinct < k)
        told = known[held.owners] & (k * held.counts > sizes[held.owners])
        worst = int(np.argmax(np.where(known, held.top / np.maximum(sizes, 1), 0)))
        example = (
            f"A class of {int(sizes[worst]):,} records holds {int(held.top[worst]):,} of one person, and records of {int(held.distinct[worst]):,} people in all."
            if told.any()
            else f"Every class holds records of at least {k:,} people, of nobody more than one in {k:,}."
        )
        return Findings(
            self.name,
            f"all records with {listing(seen.names)}, and whose each is",
            f"have records that are theirs with a chance above 1 in {k:,}, which the smallest class would allow if each record were another person's",
            len(np.unique(held.values[told])),
            int(owner.max(initial=-1)) + 1,
            example,
            details={
                "classes": int(known.sum()),
                "few": int(few.sum()),
                "fewest": int(held.distinct[known].min(initial=k)),
            },
        )

    def _numbers(self) -> NDArray[np.int64]:
        """A person number for each record; a record without an identifier counts as a person of its own."""
        codes = self.names.rank("dense").cast(pl.Int64).to_frame("code")
        unnamed = pl.col("code").max().fill_null(0) + pl.col("code").is_null().cum_sum()
        numbers: NDArray[np.int64] = codes.select(pl.col("code").fill_null(unnamed) - 1).to_series().to_numpy()
        return numbers
