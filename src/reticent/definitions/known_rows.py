"""Adversaries who know several rows of a person: what a definition still guarantees (k^m-anonymity, with groups as items).

Rows of a person are not linked, so knowing more of them does not help to find one. It helps to learn what is constant
in them: fewer people have rows in all groups of the known rows than in one group. A *profile* is the multiset of groups
of all rows of an owner. An adversary who knows some rows knows a sub-multiset of it, and the definition is judged on
the owners whose profile contains that sub-multiset, each counted once.

Source: [Terrovitis2008].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.core import Evidence, FittingOwners, Groups, OwnerRows
from reticent.definitions.any_columns import AnyColumns
from reticent.definitions.definition import Definition, GroupDefinition
from reticent.definitions.ever_values import promised_of_each_row

Ids = NDArray[np.int64]
RowsJudged = Literal["records", "people", "chances"]
MOST_PARTS = 2_000_000
"""Maximum number of sub-profiles visited; what would need more is not claimed."""
MOST_SETS = 200
"""Maximum number of sets of known columns judged one by one; above it, guarantees for any L columns are stated for one known row."""


@dataclass(frozen=True)
class KnownRows:
    """The number of ``rows`` of one owner whose columns an adversary may know (None: all), and what was ``judged`` for it.

    ``records``: shares of values among the records of a group, which bound what one known row discloses. ``people``:
    owners whose rows match the known ones, each counted once; a guess about all of them is right for at most the
    guaranteed share. ``chances``: in addition, the probability of a guess about each of them is bounded over all
    possible worlds. ``same`` are the sensitive columns with one value in all rows of an owner, about which several rows
    reveal more than one. ``each_row`` are guarded columns whose values vary, where the guarantee is about each row, not
    about whether an owner ever has a value.
    """

    rows: int | None
    judged: RowsJudged
    same: tuple[str, ...] = ()
    each_row: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        rows = "all" if self.rows is None else self.rows
        each_row = {"each_row": list(self.each_row)} if self.each_row else {}
        return {"rows": rows, "judged": self.judged, "same": list(self.same), **each_row}


def known_rows(definition: Definition, evidence: Evidence, most: int = MOST_PARTS) -> KnownRows | None:
    """Return how many rows of one owner an adversary may know while the definition holds; None if rows are owners, or
    people were counted without rows.

    Judges every set of columns that an adversary may know; the minimum counts. Visits at most ``most`` choices of an
    owner's rows. For values that vary between rows of an owner the guarantee is per row, and finding a row is not made
    easier by knowing others: there all rows may be known.
    """
    results = [
        _known(parts, cells, owner_index, most)
        for groups in evidence.groups.values()
        if groups.owners
        for parts, cells in _judged_cells(definition, groups)
        for owner_index in range(len(groups.owners))
    ]
    if not results:
        return None
    return replace(min(results, key=_strength), each_row=promised_of_each_row(definition, evidence))


def _judged_cells(definition: Definition, groups: Groups) -> Iterator[tuple[Sequence[Definition], Groups]]:
    """Yield pairs of definitions and the groups on which they are judged: for ``AnyColumns`` the cells of every column
    set, otherwise the groups.
    """
    any_columns = [part for part in definition.parts() if isinstance(part, AnyColumns)]
    yield [part for part in definition.parts() if part not in any_columns], groups
    for part in any_columns:
        sets = part.column_sets(groups) if part.needs_sensitive else None
        if sets is None or sets.count > MOST_SETS:
            # As it is, it is judged on records.
            yield [part], groups
        else:
            yield from ((part.demand.parts(), cells.groups) for cells in sets.every())


def _known(parts: Sequence[Definition], groups: Groups, unit_index: int, most: int) -> KnownRows:
    """Return how many rows of one owner (such as a person with several rows) an adversary may know while all ``parts``
    of the definition hold; at most ``most`` are tried.
    """
    owners = groups.owners[unit_index]
    is_overlapping = isinstance(owners, FittingOwners)
    plain_owners = owners.held if isinstance(owners, FittingOwners) else owners
    protects = [part for part in parts if isinstance(part, GroupDefinition) and part.needs_sensitive]
    if not isinstance(plain_owners, OwnerRows):
        return KnownRows(1, "records") if protects else KnownRows(None, "chances")
    profiles = _Profiles(groups, unit_index, plain_owners)
    about = [part for part in protects if getattr(part, "column", None) in (None, *profiles.same)]
    if not profiles.same or not about:
        return KnownRows(None, "chances", profiles.same)
    judged_by_people = [part for part in parts if isinstance(part, GroupDefinition) and _by_people(part, profiles.same)]
    if any(part not in judged_by_people for part in about):
        return KnownRows(1, "records", profiles.same)
    return profiles.known(judged_by_people, most, partition=not is_overlapping)


def _by_people(part: GroupDefinition, same: tuple[str, ...]) -> bool:
    """True if a part of a definition can be judged on people instead of rows: it is about columns (``same``) that are
    constant in the rows of each person.
    """
    if not part.local or part.needs_population or not part.shown_by_files or part.quasi is not None:
        return False
    return not part.needs_sensitive or (hasattr(part, "column") and part.column in (None, *same))


class _Profiles:
    """The profiles of the owners of some groups: one row per owner and group, with the number of rows there."""

    def __init__(self, groups: Groups, unit_index: int, owners: OwnerRows) -> None:
        """Read, per owner, the values of the sensitive columns that are constant in the owner's rows, and the number of
        rows in each group (cell).
        """
        constant = {}
        for column in groups.domain.columns:
            of_column = groups.marginal(column.name).owners[unit_index]
            rows_of_owners = of_column.held if isinstance(of_column, FittingOwners) else of_column
            if isinstance(rows_of_owners, OwnerRows) and rows_of_owners.one_value_each:
                constant[column.name] = rows_of_owners
        self.same = tuple(constant)
        self._columns = tuple(column for column in groups.domain.columns if column.name in constant)
        cells = owners.by_owner
        self._people = int(owners.owner.max(initial=-1)) + 1
        values = np.zeros((self._people, len(constant)), dtype=np.int64)
        for j, rows_of_owners in enumerate(constant.values()):
            # Suppressed rows may have had other values.
            published = np.unique(rows_of_owners.rows.values)
            values[rows_of_owners.owner[published], j] = rows_of_owners.value[published]
        self._values = values
        self._cells = pl.DataFrame({"owner": cells.values, "cell": cells.owners, "rows": cells.counts}).sort(
            "owner", "cell"
        )

    def known(self, parts: Sequence[GroupDefinition], most: int, *, partition: bool) -> KnownRows:
        """Return how many rows of an owner may be known, at most ``most``.

        If groups overlap (no ``partition``) a known row may match several, and only owners with equal profiles are
        hidden among each other.
        """
        groups, closed = self._equal()
        if all(part.holds(groups) for part in parts):
            return KnownRows(None, "chances" if closed and partition else "people", self.same)
        if not partition:
            return KnownRows(1, "records", self.same)
        rows = 0
        for known, parts_of_profiles in enumerate(self._parts(most), start=1):
            if not all(part.holds(parts_of_profiles) for part in parts):
                break
            rows = known
        longest = int(self._rows_each().max(initial=1))
        if rows >= longest:
            return KnownRows(None, "people", self.same)
        return KnownRows(rows, "people", self.same) if rows else KnownRows(1, "records", self.same)

    def _rows_each(self) -> Ids:
        return self._cells.group_by("owner").agg(pl.col("rows").sum())["rows"].to_numpy()

    def _equal(self) -> tuple[Groups, bool]:
        """Return groups of owners with the same profile (rows in each cell), and whether no cell has rows of owners
        with different profiles.
        """
        texts = self._cells.select("owner", text=pl.format("{}:{}", "cell", "rows"))
        profiles = texts.group_by("owner", maintain_order=True).agg(pl.col("text").str.join(","))
        ids = profiles["text"].rank("dense").to_numpy().astype(np.int64) - 1
        of_owner = np.full(self._people, -1, dtype=np.int64)
        of_owner[profiles["owner"].to_numpy()] = ids
        classes = pl.DataFrame({"cell": self._cells["cell"], "profile": of_owner[self._cells["owner"].to_numpy()]})
        closed = bool((classes.group_by("cell").agg(pl.col("profile").n_unique())["profile"] == 1).all())
        return self._groups(ids, int(ids.max(initial=-1)) + 1, profiles["owner"].to_numpy()), closed

    def _parts(self, most: int) -> Iterator[Groups]:
        """Yield for 1, 2, 3, ... known rows the groups of owners who have such rows in the same cells, for every choice
        of cells; until there are none or too many.
        """
        # Each sub-profile is ascending in its groups; "last" is the last of them and "again" its multiplicity.
        known = self._cells.select("owner", "rows", key=pl.col("cell").cast(pl.Int64), last="cell", again=pl.lit(1))
        rows = 1
        while known.height:
            ids = known["key"].rank("dense").to_numpy().astype(np.int64) - 1
            yield self._groups(ids, int(ids.max(initial=-1)) + 1, known["owner"].to_numpy())
            row_counts = self._rows_each()
            rows += 1
            if sum(comb(int(count), rows) for count in row_counts) > most:
                return
            known = self._longer(known, ids)

    def _longer(self, known: pl.DataFrame, ids: Ids) -> pl.DataFrame:
        """Return the partial profiles of owners (``known`` rows: the cells of some of their rows, in order) extended by
        one more row each, in every way.

        ``key`` numbers the profile, ``last`` is the cell of its last row, and ``again`` how many of its rows are there.
        """
        joined = known.with_columns(pl.Series("key", ids)).join(
            self._cells.select("owner", "cell", pl.col("rows").alias("there")), on="owner"
        )
        same = pl.col("cell") == pl.col("last")
        fits = (pl.col("cell") > pl.col("last")) | (same & (pl.col("again") < pl.col("there")))
        longer = joined.filter(fits)
        cells = int(self._cells["cell"].max() or 0) + 1  # type: ignore[arg-type]  # cells are integers
        return longer.select(
            "owner",
            pl.col("there").alias("rows"),
            (pl.col("key") * cells + pl.col("cell")).alias("key"),
            pl.col("cell").alias("last"),
            pl.when(same).then(pl.col("again") + 1).otherwise(1).alias("again"),
        )

    def _groups(self, ids: Ids, count: int, owners: Ids) -> Groups:
        """Groups of owners, each with its one value in the constant columns."""
        each_owner = self._cells["owner"].unique().to_numpy()
        all_owners = np.concatenate([owners, each_owner])
        codes = [self._values[all_owners, j] for j in range(self._values.shape[1])]
        # All owners once, as a last group: the reference distribution.
        all_ids = np.concatenate([ids, np.full(len(each_owner), count)])
        groups = Groups.of_rows(all_ids, count + 1, self._columns, codes)
        is_whole = np.arange(count + 1) == count
        reference = groups.select(is_whole).histograms.total(groups.domain.size)
        return replace(groups.select(~is_whole), reference=reference)


def _strength(known: KnownRows) -> tuple[float, int]:
    order: tuple[RowsJudged, ...] = ("records", "people", "chances")
    return float("inf") if known.rows is None else known.rows, order.index(known.judged)
