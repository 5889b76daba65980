"""The format ``generalize``: one table of labels and sensitive values; rows with the same labels are a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from reticent.conditions import Condition
from reticent.core import AdversaryView
from reticent.release import ManifestColumn
from reticent.release.format import CHOSEN, Answer, GroupFormat, Words
from reticent.table import Rows

if TYPE_CHECKING:
    from reticent.release import PublicSide


class Generalize(GroupFormat):
    """One table of labels and sensitive values."""

    name: ClassVar[str] = "generalize"
    tables: ClassVar[tuple[str, ...]] = ("data",)
    streams: ClassVar[bool] = True

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: rows by label."""
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        return AdversaryView.in_rows(*rows["data"].counted([*quasi, *sensitive]), quasi, sensitive)

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        from reticent.release import count_labels

        return count_labels(public.rows["data"], public.meanings, condition, estimator, **self.known(public))

    def words(self, public: PublicSide) -> Words:
        """Return what was done to the table, what an attacker can learn, and the residual risks."""
        return Words(
            "Values that could identify a person were generalized, so that rows look alike in groups."
            + self.coarsened(public),
            (
                *self.own_numbers(public),
                *self.missing_values(public),
                "The release does not hide who is in the table: an attacker who knows that a person is finds the person's group.",
                CHOSEN,
            ),
            group="An attacker who looks for a person finds this many people who look alike.",
        )


GENERALIZE = Generalize()
