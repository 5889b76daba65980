"""The format ``typical``: a table of typical values in the columns' own types, with numbered groups, and a table of the groups' labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, cover
from reticent.definitions import Definition
from reticent.errors import DataError
from reticent.methods.typical.ranges import LabelRanges, places_of
from reticent.release import GROUPS, Manifest, ManifestColumn, PublishedAs
from reticent.release.format import CHOSEN, Answer, GroupFormat, Words
from reticent.table import FrameRows, RepeatedRows, Rows

if TYPE_CHECKING:
    from reticent.release import PublicSide

_DATA = "data"
_ROLE = "group"
_MEDIAN = (
    "Values that could identify a person were replaced by a typical value of the person's group: the median of numbers and dates, rounded, and the most frequent one of "
    "anything else."
)
_DRAWN = "Values that could identify a person were replaced by a value that was drawn at random for the person's group, among those of the group's range or set."
_TOLD = (
    "Typical values disclose more about a group than its ranges do: half of its people lie at or below a median, and no value is more frequent than the one shown. A person known to be in the "
    "group can be guessed at better than by the range."
)
_ENDS = "The ends of a range are values of people in the group."


class Typical(GroupFormat):
    """Rows have a typical value of their group in every quasi column, and the group's number; the table ``groups`` has the labels of each group.

    Adversaries are assumed to read both tables: definitions, attacks and counts use the labels.
    """

    name: ClassVar[str] = "typical"
    tables: ClassVar[tuple[str, ...]] = (_DATA, GROUPS)
    roles: ClassVar[tuple[str, ...]] = (_ROLE,)
    streams: ClassVar[bool] = True
    shows: ClassVar[PublishedAs] = "typical"
    labelled: ClassVar[str | None] = GROUPS

    def refusal(self, definition: Definition) -> str | None:
        if definition.needs_population:
            return "Typical values tell where in its range the people of a group lie, and so who of a population is in the table."
        return super().refusal(definition)

    def own_columns(self, draft: Draft, sensitive: Sequence[str]) -> Mapping[str, str]:
        return {next(iter(draft.tables[GROUPS].schema)): _ROLE}

    def check(self, public: PublicSide) -> None:
        """Raise unless every group has one set of typical values, each within the range of the group."""
        manifest = public.manifest
        if len(manifest.named(_ROLE)) != 1:
            raise DataError("manifest.json: a release of typical values must have one column that numbers its groups.")
        number, quasi = manifest.named(_ROLE)[0], manifest.named("quasi")
        data, groups = (set(manifest.tables[name].columns) for name in self.tables)
        if groups != {number, *quasi} or data != {column.name for column in manifest.columns}:
            raise DataError(
                "manifest.json: the table 'groups' has the number of the group and the quasi columns, and 'data' every column."
            )
        group_rows = public.rows[GROUPS].frame()
        if group_rows[number].null_count() or group_rows[number].n_unique() != group_rows.height:
            raise DataError(f"The table 'groups' does not give every group a number of its own in column {number!r}.")
        if group_rows.select(quasi).n_unique() != group_rows.height:
            raise DataError("Two groups of the table 'groups' have the same labels.")
        data_groups, _ = public.rows[_DATA].counted([number, *quasi])
        if data_groups[number].n_unique() != data_groups.height:
            raise DataError("Rows of one group have different typical values.")
        if set(data_groups[number].to_list()) != set(group_rows[number].to_list()):
            raise DataError("The groups of the table 'groups' are not those of the rows.")
        super().check(public)
        group_labels = data_groups.select(number).join(group_rows, on=number, how="left", maintain_order="left")
        for name in quasi:
            _check_typical(manifest.column(name), data_groups[name], group_labels[name])

    def record_classes(self, manifest: Manifest) -> tuple[str, tuple[str, ...]] | None:
        # No two groups have the same labels, and typical values are not adversary knowledge.
        return _DATA, manifest.named(_ROLE)

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: rows by group, with the ranges instead of typical values."""
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        number, groups = _groups(rows, columns)
        counted, multiplicities = rows[_DATA].counted([number, *sensitive])
        view = AdversaryView.in_rows(counted.join(groups, on=number, how="left"), multiplicities, quasi, sensitive)
        return replace(view, called=groups[number].gather(np.argsort(view.of_rows(groups), kind="stable")))

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """Count the rows that meet a condition, by the ranges of their groups."""
        from reticent.release import count_labels

        parsed = Condition.parse(condition) if isinstance(condition, str) else condition
        parsed.check_names(public.rows[_DATA].schema.names())
        return count_labels(_labelled(public, parsed.scope), public.meanings, parsed, estimator, **self.known(public))

    def words(self, public: PublicSide) -> Words:
        """Return what was done to the table, what an attacker can learn, and the residual risks."""
        is_sampled = public.manifest.method.get("values") == "drawn"
        lead = _DRAWN if is_sampled else _MEDIAN
        return Words(
            f"{lead} The table 'groups' has the range or the set of values behind each." + self.coarsened(public),
            (
                *self.own_numbers(public),
                *self.missing_values(public),
                "The release does not hide who is in the table: an attacker who knows that a person is finds the person's group.",
                _ENDS if is_sampled else f"{_TOLD} {_ENDS}",
                CHOSEN,
            ),
            group="An attacker who looks for a person finds this many people who look alike.",
        )


def _groups(rows: Mapping[str, Rows], columns: Sequence[ManifestColumn]) -> tuple[str, pl.DataFrame]:
    """Return the column that numbers the groups, and the labels of each."""
    return next(column.name for column in columns if column.role == _ROLE), rows[GROUPS].frame()


def _labelled(public: PublicSide, columns: Sequence[str]) -> Rows:
    """Return the rows of a release in some columns, with the labels of their groups instead of typical values."""
    number, groups = _groups(public.rows, public.manifest.columns)
    other_columns = [name for name in columns if name not in groups.columns]
    counted, multiplicities = public.rows[_DATA].counted([number, *other_columns])
    labelled_rows = counted.join(groups, on=number, how="left", maintain_order="left")
    return RepeatedRows(FrameRows(labelled_rows), multiplicities)


def _check_typical(column: ManifestColumn, values: pl.Series, labels: pl.Series) -> None:
    """Check that each value is covered by its label and, for a range, is on its grid. A missing value discloses nothing."""
    known_rows = np.flatnonzero(values.is_not_null().to_numpy())
    values, labels = values.gather(known_rows), labels.gather(known_rows)
    texts, meanings = list(column.labels), list(column.labels.values())
    label_of = _places(labels, pl.Series(texts, dtype=pl.String))
    kind = column.kind.compared
    ranges = LabelRanges(kind, meanings)
    ranged = ranges.ranged[label_of]
    distinct = values.unique(maintain_order=True)
    value_of = _places(values, distinct)
    covered = cover(distinct, meanings, column.name)
    is_covered = (
        np.isin(value_of * len(texts) + label_of, covered.values * len(texts) + covered.labels) & ~ranges.bare[label_of]
    )
    if ranged.any():
        positions = places_of(values, kind)
        is_covered[ranged] = (ranges.grids(label_of).nearest(positions) == positions)[ranged] & is_covered[ranged]
    if not is_covered.all():
        wrong_row = int(np.argmin(is_covered))
        raise DataError(
            f"Column {column.name!r} shows the typical value {values[wrong_row]} for a group whose label is {labels[wrong_row]!r}; that value is not covered by the label, or "
            "not rounded as the label requires."
        )


def _places(values: pl.Series, others: pl.Series) -> NDArray[np.int64]:
    """Return the index of every value among others."""
    indexed = others.to_frame("value").with_row_index("place")
    joined = values.to_frame("value").join(indexed, on="value", how="left", maintain_order="left")
    return joined["place"].to_numpy().astype(np.int64)


TYPICAL = Typical()
