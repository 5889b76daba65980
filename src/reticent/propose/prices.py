"""The information loss of releases of given columns under given guarantees, measured by drafting them from the rows, or
from a sample of a large table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from reticent.base.context import Context
from reticent.definitions import Definition, all_of, definition_from
from reticent.errors import Infeasible, PolicyError
from reticent.propose.guarantees import MOST_COUNTED, PromisedPart
from reticent.propose.proposal import Proposal
from reticent.release import method_from
from reticent.table import Hierarchy, Table, coarsening_from, hierarchy_from
from reticent.utility import utility_of

Promised = tuple[PromisedPart, ...]
"""Definitions in policy syntax, the group size first."""

MOST_ROWS = 20_000
"""Larger tables are drafted from a sample of this many rows; wide tables from fewer."""

LOCAL: tuple[str, Mapping[str, Any]] = ("Mondrian", {"values": "ranges", "split": "loss"})
"""The method used to measure losses."""

_BEST_CELLS, _GOOD_CELLS = 60_000, 250_000
"""Up to this many published values a search for better groups takes seconds, with all or with few of its rounds."""

_MOST_WORK, _FEWEST_ROWS = 4_000_000, 1_500
_MOST_DRAFTS, _FEWEST_DRAFTS, _ALL_WORK = 80, 16, 60_000_000
_MOST_STEPS = 500


@dataclass(frozen=True)
class Price:
    """The information loss of a release, in total and per quasi-identifier."""

    loss: float
    by_column: Mapping[str, float] = field(default_factory=dict)


def definition_of(promised: Sequence[Mapping[str, Any]]) -> Definition:
    """Return the definition object of a policy text."""
    definitions = [definition_from(part["name"], {k: v for k, v in part.items() if k != "name"}) for part in promised]
    return all_of(tuple(part for definition in definitions for part in definition.parts()))


def searched_effort(rows: int, columns: int) -> str:
    """Return the search effort for a release with this many rows and columns (including sensitive ones): how hard to
    look for better groups than those of the initial split.

    The effort is counted in rounds, never in seconds, so that a policy publishes the same groups on every machine.
    """
    cells = rows * columns
    return "best" if cells <= _BEST_CELLS else "good" if cells <= _GOOD_CELLS else "quick"


class Pricing:
    """Information losses of releases of a proposal's columns. Mutable: caches measured losses and counts drafts.

    ``left`` is the remaining number of drafts. It depends on the size of the table and never on a clock, so that a file
    gets the same proposal on every machine.
    """

    def __init__(self, proposal: Proposal, frame: pl.DataFrame, context: Context) -> None:
        """Prepare drafts on a sample: rows as published (sensitive columns coarsened), and their hierarchies and domains.

        ``left`` is the number of drafts that may be made: fewer for more rows and columns.
        """
        self._proposal, self._context = proposal, context
        self._quasi = {column.name: column for column in proposal.columns if column.role == "quasi"}
        sensitive = [column for column in proposal.columns if column.role == "sensitive"]
        self._owner = [proposal.key] if proposal.unit == "person" and proposal.key is not None else []
        self._coarsen = {column.name: column.coarsen for column in sensitive if column.coarsen is not None}
        self._exact = frame.select([*self._quasi, *(column.name for column in sensitive), *self._owner])
        published = self._exact.with_columns(
            coarsening_from(settings).of(frame[name]).alias(name) for name, settings in self._coarsen.items()
        )
        self.rows = _sampled(published, len(self._quasi), self._owner)
        self._domains = {column.name: _domain(published[column.name], self.rows) for column in sensitive}
        self._stepped = self.rows.with_columns(
            _in_steps(self.rows[name]) for name, column in self._quasi.items() if _is_plain(column.hierarchy)
        )
        work = max(self.rows.height * len(self._quasi) ** 2, 1)
        self.left = max(_FEWEST_DRAFTS, min(_MOST_DRAFTS, _ALL_WORK // work))
        self._known: dict[tuple[tuple[str, ...], str], Price | None] = {}

    @property
    def counts_people(self) -> bool:
        """True if a person may have several rows, so that groups count people."""
        return bool(self._owner)

    def price(self, quasi: Iterable[str], promised: Promised) -> Price | None:
        """Return the loss of a release of these quasi-identifiers; None if no release satisfies the definition."""
        names = set(quasi)
        chosen = tuple(name for name in self._quasi if name in names)
        definition = definition_of(promised)
        key = chosen, str(definition)
        if key not in self._known:
            self.left -= 1
            self._known[key] = self._drafted(chosen, promised, definition)
        return self._known[key]

    def table(self, quasi: Iterable[str], promised: Promised, *, ranges: bool = True) -> Table:
        """Return the rows with these quasi-identifiers and the sensitive columns that have a guarantee.

        With ``ranges``, the number hierarchies, which are slow to fit, are skipped, and numbers are binned.
        """
        return _narrowed(self._in_ranges if ranges else self._in_hierarchies, quasi, promised)

    def whole_table(self, quasi: Iterable[str], promised: Promised) -> Table:
        """Return all rows with these columns, without sampling."""
        return _narrowed(self._whole, quasi, promised)

    @cached_property
    def _in_ranges(self) -> Table:
        return self._table(self._stepped, True)

    @cached_property
    def _in_hierarchies(self) -> Table:
        return self._table(self.rows, False)

    @cached_property
    def _whole(self) -> Table:
        return self._table(self._exact, True, self._coarsen)

    def _table(self, rows: pl.DataFrame, ranges: bool, coarsen: Mapping[str, Any] | None = None) -> Table:
        """Return the rows with all columns, fitted and encoded once for all drafts."""
        kinds = {
            name: Hierarchy.suppression()
            if (described := column.hierarchy) is None or (ranges and _is_plain(described))
            else hierarchy_from(described, f"column {name!r}")
            for name, column in self._quasi.items()
        }
        people: dict[str, Any] = {"key": self._owner[0], "unit": "person"} if self._owner else {}
        nulls = self._proposal.nulls
        return Table(rows, quasi=kinds, sensitive=self._domains, nulls=nulls, coarsen=coarsen, **people)  # type: ignore[arg-type]

    def _drafted(self, quasi: Sequence[str], promised: Promised, definition: Definition) -> Price | None:
        """Draft a release of some columns by local recoding, and return its loss; None if the definition cannot be satisfied."""
        self._context.step("trying what guarantees cost")
        try:
            table = self.table(quasi, promised)
            draft = method_from(*LOCAL).draft(table, definition, replace(self._context, memo={}))
        except (Infeasible, PolicyError):
            return None
        utility = utility_of(draft)
        return Price(utility["loss"], utility.loss_by_column)


def _narrowed(table: Table, quasi: Iterable[str], promised: Promised) -> Table:
    return table.with_roles_for(quasi, dict.fromkeys(part["column"] for part in promised if "column" in part))


def _sampled(frame: pl.DataFrame, columns: int, owner: Sequence[str]) -> pl.DataFrame:
    """Return all rows, or a sample that is fast to draft; people with several rows are kept or dropped as a whole."""
    row_limit = min(MOST_ROWS, max(_MOST_WORK // max(columns, 1) ** 2, _FEWEST_ROWS))
    if frame.height <= row_limit:
        return frame
    if not owner:
        return frame.sample(row_limit, seed=0)
    people = frame[owner[0]].unique(maintain_order=True)
    sampled_people = people.sample(max(len(people) * row_limit // frame.height, 1), seed=0)
    return frame.filter(pl.col(owner[0]).is_in(sampled_people.implode()))


def _domain(values: pl.Series, rows: pl.DataFrame) -> list[Any] | None:
    """Return the domain of a sensitive column if a sample may lack a value that a guarantee names."""
    if len(values) == rows.height:
        return None
    present = values.drop_nulls().unique().sort()
    return present.to_list() if len(present) <= MOST_COUNTED else None


def _is_plain(described: Mapping[str, Any] | None) -> bool:
    """True if a hierarchy only bins numbers into intervals, which ranges do not need."""
    return described is None or (described["kind"] == "intervals" and "domain" not in described)


def _in_steps(values: pl.Series) -> pl.Series:
    """Return numbers binned into at most 500 quantiles: a range covers the same share of them and is measured much faster."""
    distinct = values.n_unique()
    if not values.dtype.is_numeric() or distinct <= _MOST_STEPS:
        return values
    return (values.rank("dense").cast(pl.Int64) - 1) * _MOST_STEPS // distinct
