"""A draft: all that a method returns. Release turns it into files; nothing has left the house yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from reticent.base.disclosures import PriorCheck, SeriesState, Spending, alone
from reticent.base.privacy_cost import DeclaredBudget, PrivacyCost
from reticent.core.evidence import Evidence
from reticent.core.frequencies import FrequencySet
from reticent.core.published_cells import PublishedCells
from reticent.core.recoding import Recoding
from reticent.table import Meaning, Rows


class SeriesOutcome(Protocol):
    """What a release of a series leaves behind for the next one. Drafting writes nothing: the state is stored when the release was judged."""

    def stored(self) -> SeriesState:
        """Write the bulk state aside, under a name that is never used again, and return what the ledger is to remember of it. Called once, before the ledger records the release."""

    def discard(self) -> None:
        """Remove what was stored, unless the ledger names it: the release was not recorded."""


@dataclass(frozen=True)
class Draft:
    """The tables to publish, the evidence that was judged, and how they came about.

    ``tables`` are the public tables of its ``format`` by name, their rows in any order, or in that of the format where it has one; rows that can be
    read only once are written to files first. ``details`` are the format's own part of the manifest. ``meanings`` maps, column by column, each
    label that occurs in the tables to its meaning; ``domains`` are the declared domains of quasi columns.

    ``suppressed`` rows, ``search`` figures, the table as it was ``counted`` with the ``cells`` that are published of it (made when they are asked for; utility is measured by both), figures of utility that the method ``measured`` itself, the ``recoding`` and the ``private`` tables (pseudonyms) stay with the steward. The ledger
    is told whether the release may go out ``beside`` what is out already, what it ``spend``s, and the state that it leaves behind in a series (``outcome``); what it has ``noted`` is kept
    with its entry, for those that are judged beside it later. A draft of a random mechanism states its ``cost``, which is charged to the account of the data set, whose totals are the ``budget``
    where the steward declared one. ``unit`` is what noise protects, by what was declared and not by what the rows are; None where it is the unit of the table.
    """

    format: str
    tables: Mapping[str, Rows]
    evidence: Evidence
    method: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)
    recoding: Recoding | None = None
    meanings: Mapping[str, Mapping[str, Meaning]] = field(default_factory=dict)
    domains: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    private: Mapping[str, Rows] = field(default_factory=dict)
    suppressed: int = 0
    counted: FrequencySet | None = None
    cells: Callable[[], PublishedCells] | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    beside: PriorCheck = alone
    spend: tuple[Spending, ...] = ()
    cost: PrivacyCost | None = None
    budget: DeclaredBudget | None = None
    outcome: SeriesOutcome | None = None
    noted: Mapping[str, Any] = field(default_factory=dict)
    insecure: bool = False
    unit: str | None = None
