"""The method ``Anatomy``: exact quasi values in one table, sensitive values in another, connected by buckets without a
repeated value. Source: [Xiao2006].
"""

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
    """Publish buckets of rows with ``l`` distinct sensitive values or a few more; quasi values are published unchanged.

    Every row is published: suppressing rows of a value that is too frequent would show who has it.

    Guarantee: the definition's, on the histograms of the buckets, also against an adversary who knows this method:
    the values of a bucket follow from the histogram of the whole table, which is public, and who goes where is sampled by
    the operating system's generator. Adversary: knows everybody's quasi values, who is in the table, and the method,
    and considers all assignments of the values to people equally likely beforehand. Not covered: who is in the table is
    visible. Cost: O(n log n). Source: [Xiao2006]; corrected: rows are assigned at random, which the source does not do.

    Parameters:
        l: the number of distinct values in a bucket; by default the smallest for which the buckets satisfy the definition.

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
        """Return why the request is not supported, from declarations alone, without reading a row; otherwise None."""
        return not_in_buckets(table, definition, "Anatomy", "Use Mondrian or Angelization") or not_dealt(
            "Anatomy", table, definition
        )

    def grouped(self, run: GroupRun) -> Grouping:
        """Return buckets that satisfy the definition, with the smallest number of distinct values."""
        dealing = RowsDealt.of(run.table, run.definition, self.l, run.context)
        how = f"Rows were assigned at random to {len(dealing.groups):,} buckets of different sensitive values. Quasi values are unchanged."
        return Grouping(
            dealing.units,
            dealing.recoding(run.table),
            dealing.evidence(run.table, run.definition),
            dealing.cells,
            {**dealing.figures(run.table), "how": how},
            format=FORMAT,
            details=DRAWN,
        )
