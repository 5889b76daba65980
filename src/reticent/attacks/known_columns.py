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

    def needs(self, view: AdversaryView) -> str | None:
        """Require rows with labels, and at least this many columns."""
        reason = needs_groups(view)
        if reason is None and view.labelled_groups.labels is None:
            return "KnownColumns: this release does not publish labels per row and column."
        if reason is None and len(view.columns) < self.known:
            return f"KnownColumns: {len(view.columns)} columns were published, fewer than {self.known}."
        return reason

    def attack(self, view: AdversaryView) -> Findings:
        """Count the records that are unique to an adversary who knows ``known`` of the columns, on average over the choice of these."""
        groups = view.labelled_groups
        assert groups.labels is not None
        unique = unique_records(groups, self.known)
        knows_all = unique.known == len(view.columns)
        return Findings(
            self.name,
            "all columns of every person"
            if knows_all
            else f"any {unique.known} of the {len(view.columns)} columns, the same for every person",
            "are unique" if knows_all else "are unique in a random choice of columns",
            round(unique.mean),
            unique.records,
            _example(unique, groups.labels),
            details={
                "known": unique.known,
                "sets": unique.sets,
                "mean": unique.mean,
                "worst_columns": list(unique.worst),
                "worst_records": unique.most,
            },
            unit="records",
        )


def known_column_adversaries(view: AdversaryView) -> list[KnownColumns]:
    """Return adversaries for a release that covers any few columns: one who knows as many as are covered, and one who
    knows more; none for other releases.
    """
    claims = () if view.made is None else view.made.claims
    parts = [
        definition_from(claim["definition"], claim["parameters"])
        for claim in claims
        if claim["definition"] == "AnyColumns"
    ]
    covered = [part.known for part in parts if isinstance(part, AnyColumns)]
    if not covered:
        return []
    width = len(view.columns)
    return [KnownColumns(count) for count in (min(max(covered), width), *numbers_beyond(max(covered), width)) if count]


def _example(unique: UniqueRecords, labels: GroupLabels) -> str:
    """Return a sentence about a record that is unique in the most disclosing set of columns."""
    if unique.single is None:
        return f"No record is unique in any tried set of {unique.known} columns."
    if unique.known == len(labels.columns):
        return f"{unique.most:,} of {unique.records:,} records are unique in all columns together."
    columns = [labels.column(name) for name in unique.worst]
    labels_shown = " and ".join(f"{column.name} {column.texts[int(column.codes[unique.single])]}" for column in columns)
    return f"{unique.most:,} of {unique.records:,} records are unique in {', '.join(unique.worst)}; one of them shows {labels_shown}."
