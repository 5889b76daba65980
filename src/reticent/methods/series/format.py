"""The format ``series``: one release of a changing table. People and counterfeits in numbered groups, each with a box and
a published number of counterfeits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
import polars as pl

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, Evidence
from reticent.definitions import Definition
from reticent.errors import DataError
from reticent.methods.series.assignment import Balance, Choice
from reticent.methods.series.definitions import NOT_JUDGED, MInvariance, PublicSeries, TauSafety
from reticent.methods.series.method import COUNT, FORMAT
from reticent.release import Count, ManifestColumn, certificate_hash, count_labels
from reticent.release.format import EvidenceRequest, GroupFormat, Words
from reticent.table import FrameRows, Rows, held_frame

if TYPE_CHECKING:
    from reticent.release import Manifest, PublicSide

_DATA, GROUP_ROLE, _COUNT_ROLE = "data", "group", "count"
_FIELDS = {"m", "number", "follows", "choice", "balance", "baseline"}
_RETENTION, _ALIKE = "retention", "k"
_PRINTED = "This release was made by the printed algorithm ({0}), for comparison: an attacker who sees that a person's set of values changed may learn more than its definition allows."
_ALGORITHM = (
    "With random choice and blind balance the bound is meant to hold also for an adversary who knows the algorithm, but not who waits for a later release; the evidence for this are adversaries "
    "who ran on small histories, not a proof."
)
_BLOCKS = (
    "The set of values of a group is a block of the declared domain, whatever the rows are, and who shares a group is drawn. So the bound holds also for an adversary who knows the algorithm: "
    "exchanging the values of a block in all tables changes nothing of what is published. New people never wait. It does not hold for an adversary who knows which value of a block most people "
    "have: a person who is alone with counterfeits in a group has that value."
)
_WAITING = (
    "New people wait for a later release if one of their values is too frequent. An adversary who knows who was in the table and in no group learns that, and then values: with two people "
    "waiting at m = 2, all four people of the next groups were certain in {0} of {1} reruns. Nothing is claimed against an adversary who knows who waits; with balance 'blocks' nobody does."
)
_RERUNS = (57, 57)
_EXPERIMENTAL = "Who shares a group was settled by regions of a grid (bang), which is experimental: it keeps the definition, and adversaries who ran on small histories found nothing beyond it."
_FORGETS = "People who left may have been forgotten {0} release{1} later. People who come back after that stay out of the series."
_AWARE = "Nothing is claimed against an attacker who knows the algorithm: a counterfeit hints that no new person had its value, and who shares a group may depend on values. No figure is stated here: how likely a value then becomes was not computed."


@dataclass(frozen=True)
class SeriesCount(Count):
    """An answer to a counting query about people: rows are scaled by the share of people in their group, and counterfeits widen the bounds."""

    counterfeits: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {**super().as_dict(), "counterfeits": self.counterfeits}

    def lines(self) -> list[str]:
        """Human-readable lines."""
        return [
            *super().lines(),
            f"The release has {self.counterfeits:,} counterfeits; estimate and bounds count people.",
        ]


class SeriesFormat(GroupFormat):
    """A group is identified by its number: its people share its box, and its values are each other's alternatives."""

    name: ClassVar[str] = FORMAT
    alike: ClassVar[str] = "the records of a group"
    tables: ClassVar[tuple[str, ...]] = (_DATA, COUNT)
    roles: ClassVar[tuple[str, ...]] = (GROUP_ROLE, _COUNT_ROLE)
    chained: ClassVar[bool] = True

    def refusal(self, definition: Definition) -> str | None:
        """Return why a definition cannot be published in a series, or None."""
        wrong = next((part for part in definition.parts() if not isinstance(part, TauSafety | MInvariance)), None)
        if wrong is not None:
            return f"{wrong} is not a series definition. Groups contain counterfeit rows, so nothing about numbers of people can be claimed for them."
        return super().refusal(definition)

    def own_columns(self, draft: Draft, sensitive: Sequence[str]) -> Mapping[str, str]:
        group, count = draft.tables[COUNT].schema
        return {group: GROUP_ROLE, count: _COUNT_ROLE}

    def parted(self, manifest: Manifest, group: str) -> Mapping[str, set[str]]:
        """Return the columns of each table except that of counterfeits."""
        return {_DATA: {group, *manifest.named("quasi"), *manifest.named("sensitive")}}

    def check(self, public: PublicSide) -> None:
        """Check that every group has one box and fewer counterfeits than rows, and that the details are well-formed."""
        manifest = public.manifest
        if len(manifest.named(GROUP_ROLE)) != 1 or len(manifest.named(_COUNT_ROLE)) != 1:
            raise DataError(
                "manifest.json: a release of a series has one column that numbers its groups, and one that counts counterfeits."
            )
        group, count = manifest.named(GROUP_ROLE)[0], manifest.named(_COUNT_ROLE)[0]
        for name, columns in {**self.parted(manifest, group), COUNT: {group, count}}.items():
            if set(manifest.tables[name].columns) != columns:
                raise DataError(
                    f"manifest.json: the table {name!r} of a release of a series has the columns {', '.join(sorted(columns))}."
                )
        if (_ALIKE in check_details(manifest.details)) != (self.labelled is not None):
            raise DataError(f"manifest.json: k belongs to releases in batches, but the format is {self.name!r}.")
        data, counterfeits = (held_frame(public.rows[name]) for name in (self.tables[0], COUNT))
        for rows in public.rows.values():
            frame = held_frame(rows)
            if any(frame[name].null_count() for name in frame.columns):
                raise DataError("A release of a series has no missing values.")
        if counterfeits[group].n_unique() != counterfeits.height or (counterfeits[count] < 1).any():
            raise DataError(f"The table {COUNT!r} lists a group twice, or with no counterfeits.")
        if not data[group].is_sorted():
            raise DataError("The rows are not in the order of their groups.")
        new = data[group] != data[group].shift()
        box_columns = [name for name in manifest.named("quasi") if name in data.columns]
        if any((~new & (data[name] != data[name].shift())).any() for name in box_columns):
            raise DataError("Rows of one group have different boxes.")
        first = new.fill_null(True).arg_true().to_numpy()
        sizes = pl.DataFrame({group: data[group].gather(first), "rows": np.diff(first, append=data.height)})
        sizes = counterfeits.join(sizes, on=group, how="full", coalesce=True)
        wrong = sizes.filter((pl.col(count) >= pl.col("rows")) | pl.col("rows").is_null())
        if wrong.height:
            raise DataError(f"Group {wrong[group].to_list()[0]} has as many counterfeits as rows, or no rows.")
        self.check_people(public, group, sizes.select(group, people=pl.col("rows") - pl.col(count).fill_null(0)))
        super().check(public)

    def check_people(self, public: PublicSide, group: str, people: pl.DataFrame) -> None:
        """Check the number of people in each group; here they are the rows of the group."""

    def labels_shown(self, rows: Mapping[str, Rows], quasi: Sequence[str]) -> Mapping[str, pl.Series]:
        return {name: rows[self.tables[0]].values(name) for name in quasi}

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        """Return the groups of this release and of its predecessors, if they form a chain."""
        evidence = super().evidence(public, replace(about, earlier=None))
        earlier = about.earlier or ()
        before: PublicSide | None = None
        for side in (*earlier, public):
            _check_chain(before, side)
            before = side
        return replace(evidence, history=PublicSeries((*(side.groups for side in earlier), public.groups)))

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: the boxes of groups, and the sensitive values of their people."""
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        group = next(column.name for column in columns if column.role == GROUP_ROLE)
        frame = held_frame(rows[_DATA])
        # Rows of a group are adjacent and equal: one of each segment suffices.
        boxes = frame.select(group, *quasi)
        differs = [(column != column.shift()).fill_null(True).to_numpy() for column in boxes]
        first = np.flatnonzero(np.logical_or.reduce(differs))
        multiplicities = np.diff(first, append=frame.height)
        return AdversaryView.in_buckets(
            boxes[first], frame.select(group, *sensitive), quasi, sensitive, group, multiplicities=multiplicities
        )

    def attested(self, public: PublicSide) -> str:
        return f"invariance: {NOT_JUDGED}. Files show that groups are m-unique, how many counterfeits each has, and the chain of releases; who is in which group is not public."

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what an attacker can learn, and the residual risks."""
        details = check_details(public.manifest.details)
        return Words(
            f"Release {details['number']} of a series about a table that changes. Rows belong to numbered groups; the people of a group share its box, and each may have any of its "
            "values. Some rows are made up (counterfeits); how many is stated by group.",
            (*risks_of(details),),
            group="An attacker who looks for a person finds this many values that the person may have; some of the rows may be made up.",
            attacked="An attack on one release says nothing about the series: attack the history (reticent attack --history).",
        )

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> SeriesCount:
        """Estimate how many people meet a condition: rows of groups with equal shares of counterfeits are counted together
        and scaled by (size - f) / size.

        At most f rows of a group are counterfeits, so the bounds move by that number.
        """
        manifest = public.manifest
        group, count = manifest.named(GROUP_ROLE)[0], manifest.named(_COUNT_ROLE)[0]
        data, made_up = (public.rows[name].frame() for name in self.tables)
        shares = (
            data.group_by(group)
            .len("rows")
            .join(made_up, on=group, how="left")
            .with_columns(pl.col(count).fill_null(0))
        )
        value, low, high, variance = 0.0, 0, 0, 0.0
        answer: Count | None = None
        for (rows, fakes), groups in shares.group_by("rows", count, maintain_order=False):
            part = FrameRows(data.join(groups.select(group), on=group, how="semi"))
            answer = count_labels(part, public.meanings, condition, estimator, **self.known(public))
            real, fake = int(rows) - int(fakes), int(fakes) * groups.height
            value += answer.value * real / int(rows)
            low += max(0, answer.bounds[0] - fake)
            high += min(answer.bounds[1], real * groups.height)
            variance += (answer.standard_error or 0.0) ** 2
        assert answer is not None
        model = answer.model + (" and counterfeits are like people" if made_up.height else "")
        error = None if answer.standard_error is None else float(np.sqrt(variance))
        return SeriesCount(
            answer.condition, answer.estimator, value, (low, high), error, data.height, model, int(made_up[count].sum())
        )


def check_details(details: Mapping[str, Any]) -> Mapping[str, Any]:
    """Validate the details of a release of a series."""
    wrong = set(details) - {_RETENTION, _ALIKE} != _FIELDS or not all(
        isinstance(details[name], int) and not isinstance(details[name], bool) and details[name] >= minimum
        for name, minimum in (("m", 2), ("number", 1), (_RETENTION, 1), (_ALIKE, 2))
        if name in details
    )
    wrong = wrong or not (
        details["follows"] is None or (isinstance(details["follows"], str) and len(details["follows"]) == 64)
    )
    wrong = wrong or details["choice"] not in get_args(Choice) or details["balance"] not in get_args(Balance)
    if wrong or details["baseline"] not in (None, "tau", "m-invariance"):
        raise DataError("manifest.json: the details are not those of a release of a series.")
    return details


def _check_chain(before: PublicSide | None, side: PublicSide) -> None:
    """Check that a release names the certificate of its predecessor, and the next number."""
    details = check_details(side.manifest.details)
    if before is None:
        return
    number = before.manifest.details["number"]
    if details["number"] != number + 1 or details["follows"] != certificate_hash(before.certificate):
        raise DataError(
            f"Release {details['number']} does not follow the given release {number}: the chain of certificates is broken. A release is missing or was replaced."
        )


def risks_of(details: Mapping[str, Any]) -> list[str]:
    """Return the residual risks stated in the certificate of a release in a series."""
    if details["baseline"] is not None:
        knowledge = _PRINTED.format(details["baseline"])
    else:
        by_balance = {"blind": _ALGORITHM, "blocks": _BLOCKS} if details["choice"] == "random" else {}
        knowledge = by_balance.get(details["balance"], _AWARE)
    may_wait = details["baseline"] is None and details["balance"] != "blocks"
    forgets = details.get(_RETENTION, 0)
    return [
        knowledge,
        *([_WAITING.format(*_RERUNS)] if may_wait else []),
        *([_EXPERIMENTAL] if details["choice"] == "bang" else []),
        *([_FORGETS.format(forgets, "" if forgets == 1 else "s")] if forgets else []),
        f"An attacker who knows the value of one person in a group can rule it out for the others{'; with m = 2 one known value can disclose everyone who is linked to that person' if details['m'] == 2 else ''}.",
        "True totals of sensitive values that are published elsewhere tell which rows are made up, and then values; do not publish them beside a series.",
        "Values are taken to be equally likely before the releases are seen; who knows better may guess better. Changes of several people that depend on each other are not covered.",
        "The releases do not hide who is in them: boxes, groups and event lists may show it. Recipients of other publishers' data about the same people may combine them.",
    ]


SERIES = SeriesFormat()
