"""The format ``batch-series``: a release of a series whose groups are batches. One table has the sensitive values of each
batch, another the boxes of people, with their batch.

Boxes are formed independently of batches. The table of boxes lists people only; counterfeits are counted by batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from reticent.conditions import Condition
from reticent.core import AdversaryView, Evidence
from reticent.definitions import Definition, KAnonymity
from reticent.errors import DataError
from reticent.methods.anatomy import count_batches
from reticent.methods.series.definitions import MInvariance, TauSafety
from reticent.methods.series.format import GROUP_ROLE, SeriesCount, SeriesFormat, check_details, risks_of
from reticent.methods.series.method import BATCH_FORMAT, BATCHES, COUNT, PEOPLE
from reticent.release import ManifestColumn
from reticent.release.format import EvidenceRequest, GroupFormat, Words
from reticent.table import Rows

if TYPE_CHECKING:
    from reticent.release import Manifest, PublicSide

_ATTESTED = "That boxes were made from quasi values alone, without a look at batches or sensitive values, is attested; no file can show it."
_ALIKE = (
    "That at least {0} people look alike holds in each release by itself. Who follows boxes and batches from release to release may find fewer who fit all of them; what is promised about values "
    "holds even for an attacker who knows everyone's batch."
)


class BatchSeriesFormat(SeriesFormat):
    """A batch is identified by its number. Its values are each other's alternatives; the boxes of its people are independent of it."""

    name: ClassVar[str] = BATCH_FORMAT
    alike: ClassVar[str] = "the records of a batch"
    tables: ClassVar[tuple[str, ...]] = (BATCHES, PEOPLE, COUNT)
    labelled: ClassVar[str | None] = PEOPLE

    def refusal(self, definition: Definition) -> str | None:
        """Return why a definition cannot be published in batches of a series, or None."""
        wrong = next(
            (part for part in definition.parts() if not isinstance(part, TauSafety | MInvariance | KAnonymity)), None
        )
        if wrong is not None:
            return f"{wrong} is neither a series definition nor KAnonymity. Batches contain counterfeit rows, so nothing about counts of values can be claimed for them."
        return GroupFormat.refusal(self, definition)

    def parted(self, manifest: Manifest, group: str) -> Mapping[str, set[str]]:
        return {BATCHES: {group, *manifest.named("sensitive")}, PEOPLE: {group, *manifest.named("quasi")}}

    def check_people(self, public: PublicSide, group: str, people: pl.DataFrame) -> None:
        """Refuse a batch whose number of people differs from its number of values without counterfeits."""
        batches, counts = public.rows[PEOPLE].counted([group])
        with_counts = batches.with_columns(pl.Series("shown", counts))
        joined = people.join(with_counts, on=group, how="full", coalesce=True)
        wrong = joined.filter(pl.col("people").ne_missing(pl.col("shown"))).sort(group)
        if wrong.height:
            number, expected, published = wrong.select(group, "people", "shown").row(0)
            raise DataError(
                f"Batch {number} has {published or 0} people in the table {PEOPLE!r}, but {expected or 0} values that are not counterfeits."
            )

    def labels_shown(self, rows: Mapping[str, Rows], quasi: Sequence[str]) -> Mapping[str, pl.Series]:
        return {name: rows[PEOPLE].values(name) for name in quasi}

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        """Return batches as evidence about values, and people with equal labels as evidence about identity."""
        columns = {column.name: column.labels for column in public.manifest.columns if column.role == "quasi"}
        labelled = AdversaryView.in_rows(*public.rows[PEOPLE].counted(list(columns)), columns, ())
        return replace(
            super().evidence(public, about), alike=Evidence(dict.fromkeys(labelled.sets, labelled.true_groups))
        )

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: people with their boxes, and the sensitive values of their batches."""
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        group = next(column.name for column in columns if column.role == GROUP_ROLE)
        people, multiplicities = rows[PEOPLE].counted([*quasi, group])
        values, value_counts = rows[BATCHES].counted([group, *sensitive])
        return AdversaryView.in_buckets(people, values, quasi, sensitive, group, value_counts, multiplicities)

    def attested(self, public: PublicSide) -> str:
        return f"{super().attested(public)} {_ATTESTED}"

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what an attacker can learn, and the residual risks."""
        details = check_details(public.manifest.details)
        return Words(
            f"Release {details['number']} of a series about a table that changes. Sensitive values are in batches, and each person of a batch may have any of its values; some values are made up "
            f"(counterfeits); their number is stated by batch. Every person shows a box that at least {details['k']} people share, and the number of the batch.",
            (*risks_of(details), _ALIKE.format(details["k"])),
            group="An attacker who knows a person's batch finds this many values that the person may have; some of them may be made up.",
            attacked="An attack on one release says nothing about the series: attack the history (reticent attack --history).",
        )

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> SeriesCount:
        """Estimate how many people meet a condition: all assignments of a batch's values to its people are equally likely,
        and counterfeits belong to nobody.
        """
        manifest = public.manifest
        group, count = manifest.named(GROUP_ROLE)[0], manifest.named("count")[0]
        made_up = public.rows[COUNT].frame()
        answer = count_batches(
            public.rows[PEOPLE],
            public.rows[BATCHES],
            public.meanings,
            condition,
            estimator,
            batch=group,
            made_up=(made_up.select(group), made_up[count].to_numpy()),
            **self.known(public),
        )
        return SeriesCount(**answer.__dict__, counterfeits=int(made_up[count].sum()))


BATCH_SERIES = BatchSeriesFormat()
