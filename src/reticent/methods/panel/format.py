"""The format ``panel``: one table of labels and sensitive values with the number of each row's group of people; rows of a
group at one wave have equal labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft
from reticent.errors import DataError
from reticent.release import Manifest, ManifestColumn
from reticent.release.format import CHOSEN, Answer, GroupFormat, Words
from reticent.table import Rows

if TYPE_CHECKING:
    from reticent.release import PublicSide

_DATA = "data"
_ROLE = "group"
_LINKED = (
    "Rows carry random pseudonyms: all rows of a person can be linked. All people of a group show the same sequence of labels; an attacker who knows a confidential value of a person at one time may "
    "find the others by it."
)


class PanelRows(GroupFormat):
    """Labels, sensitive values, the wave and the number of the group. Rows of a group at one wave differ only in sensitive
    values (and pseudonyms).
    """

    name: ClassVar[str] = "panel"
    tables: ClassVar[tuple[str, ...]] = (_DATA,)
    roles: ClassVar[tuple[str, ...]] = (_ROLE,)
    judges_links: ClassVar[bool] = True

    def own_columns(self, draft: Draft, sensitive: Sequence[str]) -> Mapping[str, str]:
        return {str(draft.details["group"]): _ROLE}

    def check(self, public: PublicSide) -> None:
        """Raise unless every group shows one set of labels, of as many rows, at each of its waves."""
        manifest = public.manifest
        group, wave = (str(manifest.details.get(name)) for name in ("group", "wave"))
        if manifest.named(_ROLE) != (group,) or wave not in manifest.named("quasi"):
            raise DataError(
                "manifest.json: a panel names the column that numbers its groups, and a quasi column that is its wave."
            )
        super().check(public)
        published = public.rows[_DATA]
        labels, times = published.counted([group, *manifest.named("quasi")])
        sizes = labels.with_columns(pl.Series("rows of a group", times)).group_by(group)
        counted = sizes.agg(pl.col(wave).n_unique() == pl.len(), pl.col("rows of a group").n_unique().alias("sizes"))
        if not counted[wave].all() or (counted["sizes"] > 1).any():
            raise DataError(
                "A group of the panel does not show one set of labels, of as many rows, at each of its waves."
            )
        if manifest.named("pseudonym"):
            _check_sequences(published, manifest.named("pseudonym")[0], group, wave)

    def record_classes(self, manifest: Manifest) -> tuple[str, tuple[str, ...]] | None:
        return _DATA, (*manifest.named("quasi"), *manifest.named(_ROLE))

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: rows by label and group number."""
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        group = next(column.name for column in columns if column.role == _ROLE)
        return AdversaryView.in_rows(*rows[_DATA].counted([*quasi, group, *sensitive]), quasi, sensitive, called=group)

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        from reticent.release import count_labels

        return count_labels(public.rows[_DATA], public.meanings, condition, estimator, **self.known(public))

    def words(self, public: PublicSide) -> Words:
        """Return what was done to the table, what an attacker can learn, and the residual risks."""
        wave = public.manifest.details["wave"]
        return Words(
            f"People were put into groups by all of their records. Values that could identify a person were replaced by ranges and sets that hold for the person's group at each value of {wave!r}, "
            "and a column numbers the groups." + self.coarsened(public),
            (
                *([_LINKED] if public.manifest.named("pseudonym") else []),
                *self.own_numbers(public),
                *self.missing_values(public),
                "The release does not hide who is in the table: an attacker who knows that a person is finds the person's group.",
                CHOSEN,
            ),
            group="An attacker who looks for a person finds this many people who look alike.",
        )


def _check_sequences(rows: Rows, pseudonym: str, group: str, wave: str) -> None:
    """Check that every pseudonym has one row at each wave of one group."""
    listed, times = rows.counted([pseudonym, group, wave])
    people = listed.group_by(pseudonym).agg(
        pl.col(group).n_unique().alias("groups"), pl.len().alias("waves"), pl.col(group).first()
    )
    waves = listed.group_by(group).agg(pl.col(wave).n_unique().alias("all waves"))
    sequences = people.join(waves, on=group, how="left")
    if (times > 1).any() or (sequences["groups"] > 1).any() or (sequences["waves"] != sequences["all waves"]).any():
        raise DataError(
            f"Rows of one {pseudonym} are not one at each wave of one group, so the sequences of a group differ."
        )


PANEL = PanelRows()
