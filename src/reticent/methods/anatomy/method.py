"""The method ``Anatomy``: exact quasi values in one table, sensitive values in another, connected by groups without a repeated value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reticent.base.exact import whole
from reticent.definitions import Definition
from reticent.methods.anatomy.bucket_size import RowsDealt, not_dealt
from reticent.methods.anatomy.recoding import DRAWN
from reticent.methods.grouping import Grouping, GroupMethod, GroupRun, not_in_buckets
from reticent.table import Table

FORMAT = "bucketize"


@dataclass(frozen=True)
class Anatomy(GroupMethod):
    """Buckets of rows with ``l`` different sensitive values or a few more; quasi values are published as they are.

    Every row is published: suppressing rows of a value that is too frequent would show who has it.

    Guarantee: the definition's, on the histograms of the buckets, also against an adversary who knows this method: which values meet follows from the histogram
    of the whole table, which is public, and who goes where is sampled by the operating system's generator.
    Adversary: knows everybody's quasi values, who is in the table, and the method, and finds all ways to assign the values to people equally likely beforehand.
    Not covered: who is in the table is visible. Cost: O(n log n). Source: Xiao, Tao, Anatomy (2006); rows are assigned at random, which the source does not do.

    Parameters:
        l: the number of different values in a bucket; by default the least for which the buckets satisfy the definition.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> release = rt.publish(table, rt.DistinctLDiversity(2), method=rt.Anatomy())
        >>> sorted(release.tables)
        ['quasi', 'sensitive']
    """

    l: int | None = None  # noqa: E741 - as definitions call it

    format: ClassVar[str] = FORMAT

    def __post_init__(self) -> None:
        if self.l is not None:
            whole(self.l, "Anatomy: l", low=1)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Why this cannot be published so, told by what the table and the definition are, without a look at a row."""
        return not_in_buckets(table, definition, "Anatomy", "Use Mondrian or Angelization") or not_dealt(
            "Anatomy", table, definition
        )

    def grouped(self, run: GroupRun) -> Grouping:
        """Buckets that satisfy the definition, with the least number of different values."""
        dealing = RowsDealt.of(run.table, run.definition, self.l, run.context)
        how = f"Rows were dealt out to {len(dealing.groups):,} buckets of different sensitive values at random. Quasi values stay as they are."
        return Grouping(
            dealing.units,
            dealing.recoding(run.table),
            dealing.evidence(run.table, run.definition),
            dealing.cells,
            {**dealing.figures(run.table), "how": how},
            format=FORMAT,
            details=DRAWN,
        )
