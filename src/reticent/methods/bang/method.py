"""The method ``Bang``: equivalence classes cut from a spatial index of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import polars as pl

from reticent.base.context import Context
from reticent.base.exact import one_of, whole
from reticent.base.parameters import parameter
from reticent.definitions import Definition, of_groups
from reticent.engine import count_chunks, count_table
from reticent.errors import PolicyError
from reticent.methods.bang.dendrogram import ORDERS, MergeOrder
from reticent.methods.bang.flat import flat_rows
from reticent.methods.bang.growing_table import grown, refused_growth
from reticent.methods.bang.large_index import index_of_stream
from reticent.methods.bang.newcomers import FEW, Few
from reticent.methods.bang.region_index import BangIndex
from reticent.methods.bang.storage import open_index
from reticent.methods.grouping import Grouping, GroupMethod, GroupRun, rows_of_people
from reticent.table import Table

_SMALLEST = 5
Guard = Literal["quasi", "sensitive"]
GUARDS: tuple[Guard, ...] = ("quasi", "sensitive")


@dataclass(frozen=True)
class Bang(GroupMethod):
    """Local recoding by a spatial index: the space of the quasi columns is halved repeatedly, and dense parts become
    regions nested inside larger ones.

    Blocks have at least ``minimum`` people (5, or fewer for a smaller k) and are merged, in an ``order``, into classes
    that satisfy the definition: one index gives a release for any larger k (:meth:`build`). ``balanced`` merges the
    smallest class first; ``gridclus`` (densest blocks first) and ``closest`` (smallest difference of density) are for
    comparison. ``scales`` sets the cell boundaries of a column of numbers or dates: ``"equal"`` widths,
    ``"quantile"``, or a list of values. ``index`` is the folder of a saved index (:meth:`BangIndex.save`) of the same
    table, which has its own minimum, order and scales: nothing is rebuilt.

    ``grow`` is the private folder of a table to which people are only added: the first release fixes regions, and in
    later ones new people enter classes in which the new people satisfy the definition on their own. With ``few="wait"``
    all others wait for a later release; with ``"merge"`` classes are merged until nobody has to. ``compact`` also
    publishes, for every region, the extents of its people's values.

    Guarantee: every class satisfies the definition, which must be monotone (preserved when classes are merged).
    Adversary: knows quasi values and the algorithm. Regions are split by counts of quasi values alone; if a class then
    fails a definition on sensitive values, all classes are cut for a larger k, and the certificate claims nothing
    against an adversary who knows the algorithm. ``guard="sensitive"`` splits as far as every class allows, with the
    same restriction. Cost: O(n log n) for the index; a further cut visits only blocks. Source: [Anjum2013], chapter 3
    (BangA), with corrections; [Freeston1987] for the BANG file.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.Bang(minimum=2)).groups.sizes.tolist()
        [2, 2]
    """

    minimum: int | None = None
    order: MergeOrder = "balanced"
    guard: Guard = "quasi"
    scales: Mapping[str, Any] = field(default_factory=dict)
    index: str | Path | None = parameter(None, stated="never")
    grow: str | Path | None = parameter(None, stated="never")
    few: Few = "wait"
    compact: bool = False

    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.minimum is not None:
            whole(self.minimum, "Bang: minimum", low=1)
        for name, choices in (("order", ORDERS), ("guard", GUARDS), ("few", FEW)):
            one_of(getattr(self, name), f"Bang: {name}", choices)
        build_options = [name for name in ("minimum", "order", "scales") if name in self.describe()]
        if self.index is not None and build_options:
            raise PolicyError(
                f"Bang: a saved index has its own {build_options[0]}. Remove {build_options[0]}, or build another index with it.",
                setting=(build_options[0],),
                value=getattr(self, build_options[0]),
            )
        if self.index is not None and self.grow is not None:
            raise PolicyError("Bang: a growing table keeps its own index. Remove index or grow.", setting=("grow",))
        for column, scale in self.scales.items():
            if isinstance(scale, str) and scale not in ("equal", "quantile"):
                raise PolicyError(
                    f"Bang: the scale of column {column!r} must be 'equal', 'quantile' or a list of values at which cells begin, but it is {scale!r}.",
                    setting=("scales", column),
                    value=scale,
                )

    def build(self, table: Table, context: Context | None = None) -> BangIndex:
        """Return the index of a table: one scan, and then a release for any k of at least ``minimum``. A saved one
        (``index``) is opened, and compared with the table.
        """
        context = context or Context()
        reason = self._refused(table)
        if reason is not None:
            raise PolicyError(reason)
        if self.index is not None:
            return self._opened(table, context)
        if table.held.engine == "streaming":
            return index_of_stream(self, self.minimum or _SMALLEST, table, context)
        return BangIndex.of(self, self.minimum or _SMALLEST, count_table(table, context), context)

    @staticmethod
    def open(path: str | Path) -> BangIndex:
        """Open a saved index, for drafts of any k; the table is not needed. To publish from it, pass its folder as ``index``."""
        return open_index(path)

    @staticmethod
    def flat(release: Any) -> pl.DataFrame:
        """Return a release (or its public side) whose classes are one region each as a single table: level, labels, bounds
        and sensitive values; a class of several regions raises a :class:`PolicyError`.
        """
        return flat_rows(getattr(release, "public", release))

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported, from declarations alone, without reading a row; otherwise None."""
        several = rows_of_people("Bang", table)
        if several is not None:
            return several
        for part in definition.parts():
            if not getattr(part, "monotone", True):
                return (
                    f"Bang merges classes until all pass, but {part} may hold for two classes and fail for their union. Use Mondrian or Lattice, or a definition "
                    "that is monotone."
                )
        if self.compact:
            present = next((part for part in definition.parts() if part.needs_population), None)
            if present is not None:
                return f"Bang: compact reveals where nobody of the table is, and so who of a population is not in it, which {present} protects. Remove compact."
        if self.grow is not None:
            reason = refused_growth(self, table, of_groups(definition, "Bang"))
            if reason is not None:
                return reason
        return self._refused(table)

    def _refused(self, table: Table) -> str | None:
        """Return why a table cannot be indexed, or None."""
        if not table.quasi:
            return "Bang: the table has no quasi columns to index. Declare some with quasi=."
        for column, hierarchy in table.quasi.items():
            if table.schema[column] == pl.UInt64:
                return f"Bang: column {column!r} has unsigned numbers of 64 bits, of which ranges are not published. Cast it to Int64, to Float64 or to text."
            if hierarchy.unlimited is not hierarchy:
                return (
                    f"Bang: the hierarchy of column {column!r} limits the levels that may be published, which regions do not respect. Use Mondrian or Lattice, or drop min_level and "
                    "max_level."
                )
        return None

    def grouped(self, run: GroupRun) -> Grouping:
        """Return the finest cut that satisfies the definition."""
        minimum = self.minimum or max(min(_SMALLEST, run.definition.least_rows()), 1)
        if self.grow is not None:
            return grown(self, minimum, run)
        if self.index is None:
            index = BangIndex.of(self, minimum, count_table(run.table, run.context), run.context)
        else:
            index = self._opened(run.table, run.context)
        return index.passing(run.definition, run.context).grouping(run.table, run.definition)

    def _opened(self, table: Table, context: Context) -> BangIndex:
        """Open the saved index if it is that of the table; classes are guarded as this method requires."""
        assert self.index is not None
        context.step("opening the index")
        index = open_index(self.index)
        context.step("comparing the index with the table")
        index.check_table(count_chunks(table, context, "comparing the index with the table"))
        return replace(index, method=replace(index.method, guard=self.guard, compact=self.compact))
