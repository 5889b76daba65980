"""The format ``cells``: one table whose labels are true values or stars; rows with equal labels, a star being a separate symbol, are a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reticent.errors import DataError
from reticent.methods.grouping.format import Generalize
from reticent.release.format import CHOSEN, Words
from reticent.table import Anything, Missing, Value

if TYPE_CHECKING:
    from reticent.release import PublicSide

_OWN_SYMBOL = {"reading": "own symbol"}
_NO_OTHER = (
    "A release of format 'cells' is judged with a star as a symbol of its own, and says so in its details. Stars that are read as wildcards are refused: such rows "
    "can be compatible with k others, and yet somebody fits only one of them."
)


class StarredCells(Generalize):
    """One table of true values and stars with sensitive values. The manifest defines whether a label is a star or a value; its text does not."""

    name: ClassVar[str] = "cells"

    def check(self, public: PublicSide) -> None:
        """Raise unless every label is a value, the missing value or a star."""
        if dict(public.manifest.details) != _OWN_SYMBOL:
            raise DataError(
                f"manifest.json: details must be {_OWN_SYMBOL}, not {dict(public.manifest.details)}. {_NO_OTHER}"
            )
        for column in public.manifest.columns:
            for label, meaning in column.labels.items():
                if not isinstance(meaning, Value | Missing | Anything):
                    raise DataError(
                        f"manifest.json: the label {label!r} of column {column.name!r} means {meaning.words()}. In a release of format 'cells' a label is a value, the missing "
                        "value or a star."
                    )
        super().check(public)

    def words(self, public: PublicSide) -> Words:
        """Return what was done to the table, what an attacker can learn, and the residual risks."""
        rows, starred = public.height, _starred(public)
        suppressed_counts = ", ".join(f"{count:,} of {name!r}" for name, count in starred.items() if count)
        return Words(
            "Single values that could identify a person were replaced by a star; all other values are true. A star is read as a symbol of its own, so rows with the "
            f"same labels are a group. Of {rows:,} rows these cells are suppressed: {suppressed_counts or 'none'}."
            + self.coarsened(public),
            (
                *self.own_numbers(public),
                "The release does not hide who is in the table: an attacker who knows that a person is finds the groups that fit the person. A star fits every value, so "
                "a person may fit several groups; which cells are suppressed depends on how rare the values are.",
                CHOSEN,
            ),
            group="An attacker who looks for a person finds this many people who look alike, or several such groups.",
        )


def _starred(public: PublicSide) -> dict[str, int]:
    """Return the number of suppressed cells in each quasi column."""
    quasi = [column for column in public.manifest.columns if column.role == "quasi"]
    counts = {}
    for column in quasi:
        values, row_counts = public.rows["data"].counted([column.name])
        stars = [label for label, meaning in column.labels.items() if isinstance(meaning, Anything)]
        counts[column.name] = int(row_counts[values[column.name].is_in(stars).to_numpy()].sum()) if stars else 0
    return counts


CELLS = StarredCells()
"""The format object."""
