"""A draft: everything that a method returns. Release turns it into files; nothing is published yet."""

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
    """The state that a release of a series leaves for the next one. Drafting writes nothing: the state is stored after the release was judged."""

    def stored(self) -> SeriesState:
        """Write the bulk state under a name that is never reused, and return what the ledger stores about it. Called once,
        before the ledger records the release.
        """

    def discard(self) -> None:
        """Remove the stored state unless the ledger refers to it: the release was not recorded."""


@dataclass(frozen=True)
class Draft:
    """The tables to publish, the evidence that was judged, and how they were made.

    ``tables`` are the public tables of its ``format`` by name, with rows in any order or in that of the format; rows
    that can be read only once are written to files first. ``details`` are the format's own part of the manifest.
    ``meanings`` maps, by column, each label that occurs in the tables to its meaning; ``domains`` are the declared
    domains of quasi columns.

    For the steward only: ``suppressed`` rows, ``search`` figures, the table as ``counted`` with the ``cells`` published
    of it (lazily computed; both are the input of utility measures), utility figures ``measured`` by the method itself,
    the ``recoding`` and the ``private`` tables (pseudonyms).

    For the ledger: whether the release may be published ``beside`` prior disclosures, what it ``spend``s, and the state
    that it leaves in a series (``outcome``). ``noted`` is stored with its entry, for releases that are judged with it
    later. A draft of a randomized mechanism states its ``cost``, charged to the account of the data set, whose totals
    are the ``budget`` if the steward declared one. ``unit`` is what noise protects, as declared; None for the unit of
    the table.
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
