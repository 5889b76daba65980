"""A definition of histories: a table that is published again never publishes fewer rows than before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import reticent as rt
from reticent.base.context import Context
from reticent.base.disclosures import Judgement, PriorDisclosure, SeriesState, allow, refuse
from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, Groups, Kind
from reticent.definitions import GENERAL, Assessment, ClaimScope, Definition, HistoryDefinition, Witness
from reticent.ledger import Ledger
from reticent.release import ManifestColumn, PublicSide, Release, publish
from reticent.release.format import Answer, GroupFormat, Words, format_of
from reticent.table import Rows, Table

SERIES = "growing"


@dataclass(frozen=True)
class NoShrinking(HistoryDefinition):
    """Every release of a series has at least as many rows as the one before."""

    needs_sensitive = False
    kept_by: ClassVar[str] = "a series of Growing(...)"

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return "Nobody can tell from the number of published rows that somebody left."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return "Who is in a release and not in another."

    def assess(self, history: Any) -> Assessment:
        rows = [int(groups.sizes.sum()) for groups in history.releases]
        for number, (earlier, later) in enumerate(pairwise(rows), start=2):
            if later < earlier:
                return Assessment(
                    self, False, rows, Witness(number, f"Release {number} has {later} rows, the one before {earlier}.")
                )
        return Assessment(self, True, rows)


@dataclass(frozen=True)
class Grown:
    """The groups of every release, first to last. Only their sizes are public."""

    releases: tuple[Groups, ...]


@dataclass(frozen=True)
class Growing:
    """Publishes by ``Lattice``, beside earlier releases of the same series whose group sizes it was told."""

    earlier: tuple[tuple[int, ...], ...] = ()
    version: str = "1"
    follows: str | None = None

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups", "history"})
    streams: ClassVar[bool] = False

    def refusal(self, table: Table, definition: Definition) -> str | None:
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        of_groups = [part for part in definition.parts() if part.kind == "groups"]
        drafted = rt.Lattice().draft(table, _together(of_groups), context)
        groups = drafted.evidence.published
        history = Grown((*(_sized(sizes) for sizes in self.earlier), groups))
        sizes = [*(list(each) for each in self.earlier), groups.sizes.tolist()]
        return replace(
            drafted,
            format="grown",
            evidence=replace(drafted.evidence, history=history),
            method=self.describe(),
            beside=self._beside,
            outcome=SeriesState(SERIES, self.version, {"sizes": sizes}, self.follows),
        )

    def describe(self) -> dict[str, Any]:
        return {"name": "Growing", "earlier": [list(each) for each in self.earlier], "version": self.version}

    def _beside(self, given: Sequence[PriorDisclosure]) -> Judgement:
        if len(given) != len(self.earlier):
            return refuse(
                f"This is release {len(self.earlier) + 1} of the series, and {len(given)} are out. Read the state anew."
            )
        return allow(f"Judged together with {len(given)} earlier releases.")


def _sized(sizes: Sequence[int]) -> Groups:
    """Groups of which nothing but their sizes is known."""
    return Groups.from_histograms([[size] for size in sizes])


def _together(parts: Sequence[Definition]) -> Definition:
    found = parts[0]
    for part in parts[1:]:
        found = found & part
    return found


def publish_next(table: Table, definition: Definition, ledger: Ledger) -> Release:
    """The next release of the series: its state is in the ledger."""
    assert table.dataset is not None
    state = ledger.state(table.dataset, SERIES)
    earlier = () if state is None else tuple(tuple(each) for each in state.details["sizes"])
    method = Growing(earlier, str(len(earlier) + 1), None if state is None else state.version)
    return publish(table, definition, method, ledger=ledger)


class GrownFormat(GroupFormat):
    """As ``generalize``, and histories can be claimed: verify judges them on all folders together."""

    name: ClassVar[str] = "grown"
    tables: ClassVar[tuple[str, ...]] = ("data",)
    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups", "history"})
    sensitive_table: ClassVar[str] = "data"

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        return format_of("generalize").seen(rows, columns, details)

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        return format_of("generalize").count(public, condition, estimator)

    def words(self, public: PublicSide) -> Words:
        return Words("A release of a series, in which rows look alike in groups.", ("Earlier releases are known.",))


GROWN = GrownFormat()
