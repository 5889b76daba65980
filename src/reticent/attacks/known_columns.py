"""Known columns: records that are unique to an adversary who knows a given number of the columns."""

from __future__ import annotations

from dataclasses import dataclass

from reticent.attacks.adversary import Findings, needs_groups
from reticent.base.exact import whole
from reticent.core import AdversaryView, GroupLabels
from reticent.definitions import AnyColumns, UniqueRecords, definition_from, numbers_beyond, unique_records


@dataclass(frozen=True)
class KnownColumns:
    """An adversary who knows ``known`` columns of every person looks for records that are unique in them.

    Hits are the records that are unique in a random set of this many columns (the mean over all sets, or over 100 of
    them, rounded); the details and the example use the set, found by greedy search, in which most records are unique. A
    guarantee for any few columns (:class:`AnyColumns`) prevents hits for as many columns as it covers, and nothing
    beyond: these figures complement it. *Baseline.* None.
    """

    known: int

    def __post_init__(self) -> None:
        whole(self.known, "KnownColumns: known", low=1)

    @property
    def name(self) -> str:
        """The name of the attack."""
        return f"{self.known} known {'column' if self.known == 1 else 'columns'}"

    def needs(self, seen: AdversaryView) -> str | None:
        """Require rows with labels, and at least this many columns."""
        reason = needs_groups(seen)
        if reason is None and seen.labelled_groups.labels is None:
            return "KnownColumns: this release does not publish labels per row and column."
        if reason is None and len(seen.columns) < self.known:
            return f"KnownColumns: {len(seen.columns)} columns were published, fewer than {self.known}."
        return reason

    def attack(self, seen: AdversaryView) -> Findings:
        """Count unique records."""
        groups = seen.labelled_groups
        assert groups.labels is not None
        found = unique_records(groups, self.known)
        everything = found.known == len(seen.columns)
        return Findings(
            self.name,
            "all columns of every person"
            if everything
            else f"any {found.known} of the {len(seen.columns)} columns, the same for every person",
            "are unique" if everything else "are unique in a random choice of columns",
            round(found.mean),
            found.records,
            _example(found, groups.labels),
            details={
                "known": found.known,
                "sets": found.sets,
                "mean": found.mean,
                "worst_columns": list(found.worst),
                "worst_records": found.most,
            },
            unit="records",
        )


def known_column_adversaries(seen: AdversaryView) -> list[KnownColumns]:
    """Return adversaries for a release that covers any few columns: one who knows as many as are covered, and one who
    knows more; none for other releases.
    """
    claims = () if seen.made is None else seen.made.claims
    parts = [
        definition_from(each["definition"], each["parameters"]) for each in claims if each["definition"] == "AnyColumns"
    ]
    covered = [part.known for part in parts if isinstance(part, AnyColumns)]
    if not covered:
        return []
    width = len(seen.columns)
    return [KnownColumns(each) for each in (min(max(covered), width), *numbers_beyond(max(covered), width)) if each]


def _example(found: UniqueRecords, labels: GroupLabels) -> str:
    if found.single is None:
        return f"No record is unique in any tried set of {found.known} columns."
    if found.known == len(labels.columns):
        return f"{found.most:,} of {found.records:,} records are unique in all columns together."
    columns = [labels.column(name) for name in found.worst]
    shown = " and ".join(f"{each.name} {each.texts[int(each.codes[found.single])]}" for each in columns)
    return f"{found.most:,} of {found.records:,} records are unique in {', '.join(found.worst)}; one of them shows {shown}."
