"""Values that vary between the rows of a person: whether a person *ever* has one, about which several rows reveal more
than one.

The guarantee for a record bounds the share of a value in its group. A person with several rows has several chances to
have it.
Example: with two of the six rows of a group, two of which have the value, the person has it in some row with
probability 3/5, although each row has it with probability 1/3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
import polars as pl

from reticent.base.exact import exact
from reticent.core import Evidence, FittingOwners, Groups, Histograms, OwnerRows
from reticent.definitions.definition import Definition, GroupDefinition
from reticent.definitions.diversity import DistinctLDiversity, ProbabilisticLDiversity
from reticent.definitions.recursive import RecursiveLDiversity

MOST_CHANCES = 4_000_000
"""Maximum number of (owner, value) probabilities computed; beyond it, the guarantee is for each row only."""
_NEAR = 1e-9
_MOST_TIES = 1_000


def promised_of_each_row(definition: Definition, evidence: Evidence) -> tuple[str, ...]:
    """Return the sensitive columns that vary between rows of an owner and whose guarantee holds for each row only: that
    the owner has a value in some row may be likelier, or was not judged.
    """
    columns: list[str] = []
    for groups in evidence.groups.values():
        for column in groups.domain.columns:
            parts = [part for part in definition.parts() if column.name in part.guarded((column.name,))]
            if groups.owners and parts and not _holds_ever(parts, groups, column.name):
                columns.append(column.name)
    return tuple(dict.fromkeys(columns))


def _holds_ever(parts: Sequence[Definition], groups: Groups, column: str) -> bool:
    """True if the guarantee on a column also bounds "the owner ever has the value", for an adversary who knows all rows of the owner."""
    marginal = groups.marginal(column)
    for owners in marginal.owners:
        if not isinstance(owners, OwnerRows):
            return False
        if owners.one_value_each:
            # Several rows reveal more about a constant value, too: profiles cover that.
            continue
        chances = EverChances.of(marginal, owners)
        if chances is None or not all(_within(part, chances) for part in parts):
            return False
    return True


def _within(part: Definition, chances: EverChances) -> bool:
    """True if no probability exceeds the bound of a part. Other kinds of parts are about records only."""
    match part:
        case ProbabilisticLDiversity():
            return chances.at_most(1 / exact(part.l, "l"), allowed=True)
        case DistinctLDiversity():
            return part.l < 2 or chances.at_most(Fraction(1), allowed=False)
        case RecursiveLDiversity() if not part.dont_care and part.l >= 2:
            bound = exact(part.c, "c")
            return chances.at_most(bound / (bound + 1), allowed=False)
    return not (isinstance(part, GroupDefinition) and part.needs_sensitive)


@dataclass(frozen=True)
class EverChances:
    """For every owner and value, the probability that the owner has it in some row, over all possible worlds: all orders
    of a group's rows.

    ``terms`` has a row for each owner, value and group in which the owner has rows and the value occurs; ``people`` are
    the largest shares of a group's owners who ever have a value.
    """

    terms: pl.DataFrame
    people: Fraction

    @classmethod
    def of(cls, groups: Groups, owners: OwnerRows, most: int = MOST_CHANCES) -> EverChances | None:
        """Compute the probabilities for one column of some groups; None if there are too many."""
        rows_by_owner, values = owners.by_owner, groups.histograms
        if int((np.diff(rows_by_owner.offsets).astype(np.int64) * np.diff(values.offsets)).sum()) > most:
            return None
        rows = pl.DataFrame(
            {"group": rows_by_owner.owners, "owner": rows_by_owner.values, "rows": rows_by_owner.counts}
        )
        published = pl.DataFrame({"group": values.owners, "value": values.values, "times": values.counts})
        sizes = pl.DataFrame({"group": np.arange(len(groups)), "size": groups.sizes})
        joined = rows.cast({"group": pl.Int64}).join(published.cast({"group": pl.Int64}), on="group")
        return cls(joined.join(sizes.cast({"group": pl.Int64}), on="group"), largest_ever(owners))

    def at_most(self, bound: Fraction, *, allowed: bool) -> bool:
        """True if every probability is below the bound, or equal to it if that is ``allowed``."""
        if self.people > bound or (self.people == bound and not allowed):
            return False
        chances = self._chances()
        if (chances["chance"] > float(bound) + _NEAR).any():
            return False
        close_chances = chances.filter(pl.col("chance") > float(bound) - _NEAR)
        if close_chances.height > _MOST_TIES:
            return False
        exact_chances = [
            self.chance(owner, value) for owner, value in close_chances.select("owner", "value").iter_rows()
        ]
        return all(chance < bound or (allowed and chance == bound) for chance in exact_chances)

    def chance(self, owner: int, value: int) -> Fraction:
        """The exact probability that an owner ever has a value."""
        terms = self.terms.filter((pl.col("owner") == owner) & (pl.col("value") == value))
        never = Fraction(1)
        for rows, times, size in terms.select("rows", "times", "size").iter_rows():
            never *= Fraction(comb(size - times, rows), comb(size, rows))
        return 1 - never

    def _chances(self) -> pl.DataFrame:
        """Return, by person and value, the chance that the person ever had the value: 1 minus the product over the releases of the chances never to be drawn."""
        rows, times, size = (self.terms[name].to_numpy().astype(np.float64) for name in ("rows", "times", "size"))
        never = np.ones(len(rows))
        for drawn_rows in range(int(rows.max(initial=0))):
            remaining_share = np.maximum(size - times - drawn_rows, 0) / np.maximum(size - drawn_rows, 1)
            never = np.where(drawn_rows < rows, never * remaining_share, never)
        chances = self.terms.select("owner", "value").with_columns(pl.Series("never", never))
        return chances.group_by("owner", "value").agg((1 - pl.col("never").product()).alias("chance"))


def ever_shares(evidence: Evidence) -> dict[str, Fraction]:
    """For every sensitive column that varies between rows of an owner: the largest share of a group's owners who have one
    value in any row, there or elsewhere.
    """
    shares: dict[str, Fraction] = {}
    for groups in evidence.groups.values():
        for column in groups.domain.columns:
            for owners in groups.marginal(column.name).owners:
                plain_owners = owners.held if isinstance(owners, FittingOwners) else owners
                if isinstance(plain_owners, OwnerRows) and not plain_owners.one_value_each:
                    shares[column.name] = max(shares.get(column.name, Fraction(0)), largest_ever(plain_owners))
    return shares


def largest_ever(owners: OwnerRows) -> Fraction:
    """The largest share of a group's owners who ever have one value."""
    cells, starts = owners.by_owner, np.searchsorted(owners.owner, np.arange(int(owners.owner.max()) + 2))
    published = np.zeros(len(owners.owner), dtype=bool)
    published[owners.rows.values] = True
    lengths = np.diff(starts)[cells.values]
    group = np.repeat(cells.owners, lengths)
    before = np.cumsum(lengths) - lengths
    owner_values = np.repeat(starts[cells.values] - before, lengths) + np.arange(int(lengths.sum()))
    is_published = published[owner_values]
    values = int(owners.value.max(initial=0)) + 1
    holders = Histograms.from_cells(
        group[is_published], owners.value[owner_values[is_published]], None, len(cells.offsets) - 1, values
    )
    filled = np.flatnonzero(cells.distinct)
    shares = holders.top[filled] / cells.distinct[filled]
    worst = int(filled[np.argmax(shares)])
    return Fraction(int(holders.top[worst]), int(cells.distinct[worst]))
