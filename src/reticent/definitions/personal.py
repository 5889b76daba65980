"""Personalised privacy: everybody says what about them must not be learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data.groups import Groups
from reticent.data.sensitive import SensitiveColumn
from reticent.definitions.base import Assessment, SensitiveDefinition, Witness
from reticent.definitions.comparison import at_most, largest_ratio
from reticent.definitions.diagnostics import failures, occupied
from reticent.definitions.shares import rows_in
from reticent.definitions.wording import measured, shown
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.exact import Number, exact

if TYPE_CHECKING:
    from reticent.data.table import Table

_WISH = "wish: "


@dataclass(frozen=True)
class PersonalPrivacy(SensitiveDefinition):
    """Whoever names a guarding node is hidden from it: at most ``h`` of the person's group has a value below that node (R-PM-7).

    ``guards`` is the column in which people name a value or a category of the sensitive column's hierarchy; nobody who leaves it empty is
    guarded. It is not published, so that nobody but the publisher can check this again. Guarantee: about every person who asked,
    whoever knows the quasi values concludes a value below the node with a chance of at most ``h``. Adversary: knows quasi values.
    Not monotone: a group may hold many of a value as long as nobody in it minds. One sensitive column only.
    """

    h: Number
    guards: str
    column: str | None = None

    monotone = False
    shown_by_files = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", exact(self.h, "PersonalPrivacy: h", low=0, high=1))
        if not isinstance(self.guards, str) or not self.guards:
            raise PolicyError(f"PersonalPrivacy: guards must be the name of a column, but it is {self.guards!r}.")

    def prepare(self, table: Table) -> Table:
        if self.guards not in table.frame.columns:
            raise DataError(
                f"There is no column {self.guards!r} in which people name what is to be guarded."
                f"{did_you_mean(self.guards, table.frame.columns)}"
            )
        wishes = table.frame[self.guards].cast(pl.String)
        named = wishes.drop_nulls().unique().sort().to_list()
        return table.with_extra_counts(
            {_WISH + node: (wishes == node).fill_null(False).cast(pl.Int64) for node in named}
        )

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        failing = np.zeros(len(groups), dtype=bool)
        for _, guarded in self._guarded(groups):
            failing |= ~at_most(guarded, Fraction(self.h), groups.sizes)
        return failing

    def assess_in(self, groups: Groups) -> Assessment:
        """The achieved value is the largest chance, over all who asked, that their node covers their value."""
        filled, failing = occupied(groups), self.failing_in(groups)
        worst, largest, named = int(filled[0]), Fraction(0), ""
        for node, guarded in self._guarded(groups):
            place, ratio = largest_ratio(guarded[filled], groups.sizes[filled])
            if ratio > largest:
                worst, largest, named = int(filled[place]), Fraction(ratio), node
        text = (
            f"{int(failing.sum())} of {len(groups)} groups have more than {shown(self.h)} of their rows below a node that somebody in them "
            f"guards; the worst has {measured(largest)} below {named!r}."
        )
        witness = Witness(worst, text, {"node": named}) if failing.any() else None
        return Assessment(self, witness is None, largest, witness, failures(groups, failing))

    def meaning(self) -> str:
        return (
            "About everybody who named what is to be guarded, somebody who knows the quasi-identifying values concludes it with a chance of "
            f"at most {shown(self.h)}."
        )

    def not_covered(self) -> str:
        return "People who named nothing are not protected, and nobody is protected from those who can rule values out."

    def _guarded(self, groups: Groups) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """For each node that was named, the rows below it in every group where somebody named it."""
        column = groups.domain.columns[0]
        for name, wishes in groups.extras.items():
            if name.startswith(_WISH):
                node = name.removeprefix(_WISH)
                yield node, np.where(wishes > 0, rows_in(groups.histograms, below(column, node)), 0)

    def _refined(self, groups: Groups) -> Iterator[Groups]:
        if len(groups.domain.columns) > 1:
            raise PolicyError("PersonalPrivacy guards one sensitive column, but the table has several.")
        return super()._refined(groups)


def below(column: SensitiveColumn, node: str) -> NDArray[np.bool_]:
    """The values below a node: the value of that name, or the part of that name at some level of the column's hierarchy."""
    texts = column.texts
    if node in texts:
        return np.array([text == node for text in texts])
    labels: list[str] = []
    for level in column.hierarchy.levels if column.hierarchy is not None else ():
        labels.extend(level.labels)
        if node in level.labels:
            covered: NDArray[np.bool_] = level.parts == level.labels.index(node)
            return covered
    raise DataError(
        f"Somebody guards {node!r}, which is neither a value nor a category of column {column.name!r}."
        f"{did_you_mean(node, [*texts, *labels])}"
    )
