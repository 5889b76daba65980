"""Declared columns in figures: how many records each tells apart, for an adversary who knows it beside all quasi columns.

Counted in the published rows alone, so that everybody can count again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.definitions import Definition
from reticent.table import class_sizes

if TYPE_CHECKING:
    from reticent.release.public import PublicSide

USUAL_K = 5
"""A class of fewer records is a small one where no claim names a number."""


@dataclass(frozen=True)
class DeclaredFigures:
    """Records by the size of their class: those that show the same quasi labels and the same values of some declared columns.

    ``unique`` records have a class of their own; ``few``, these included, are in classes of fewer than k records. Both are None where rows are not true rows.
    """

    unique: int | None
    few: int | None

    @classmethod
    def of(cls, sizes: NDArray[np.int64], k: int) -> DeclaredFigures:
        """The figures of classes of some sizes."""
        return cls(int((sizes == 1).sum()), int(sizes[sizes < k].sum()))

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {"unique": self.unique, "few": self.few}


@dataclass(frozen=True)
class DeclaredColumns:
    """What a certificate says of declared columns: the figures of each, and of all together, beside the reasons that the manifest has.

    ``records`` are published, and classes of fewer than ``k`` of them are small.
    """

    each: Mapping[str, DeclaredFigures]
    together: DeclaredFigures
    records: int
    k: int
    reasons: Mapping[str, str | None]

    @classmethod
    def of(cls, side: PublicSide, claims: Sequence[Definition]) -> DeclaredColumns:
        """Count in the rows that everybody gets."""
        manifest, k = side.manifest, claimed_k(claims)
        reasons = {column.name: column.reason for column in manifest.columns if column.role == "declared"}
        shown, names = side.form.record_classes(manifest), tuple(reasons)
        if not names:
            return cls({}, DeclaredFigures(0, 0), side.height, k, {})
        if shown is None:
            unknown = DeclaredFigures(None, None)
            return cls(dict.fromkeys(names, unknown), unknown, side.height, k, reasons)
        table, labels = shown
        sizes = class_sizes(side.rows[table], labels, [*((name,) for name in names), names])
        figures = {columns: DeclaredFigures.of(found, k) for columns, found in sizes.items()}
        return cls({name: figures[name,] for name in names}, figures[names], side.height, k, reasons)

    @classmethod
    def stated(cls, certificate: Mapping[str, Any]) -> DeclaredColumns:
        """As a certificate states them; ``verify`` counts again."""
        entries, all_of_them = certificate["declared"], certificate["declared_together"] or {}
        return cls(
            {each["column"]: DeclaredFigures(each["unique"], each["few"]) for each in entries},
            DeclaredFigures(all_of_them.get("unique"), all_of_them.get("few")),
            all_of_them.get("records", 0),
            all_of_them.get("k", USUAL_K),
            {each["column"]: each["reason"] for each in entries},
        )

    def listed(self) -> list[dict[str, Any]]:
        """The columns one by one, as a certificate lists them."""
        return [{"column": name, "reason": self.reasons[name], **each.as_json()} for name, each in self.each.items()]

    def summed(self) -> dict[str, Any] | None:
        """All of them together; None if there are none."""
        return {**self.together.as_json(), "records": self.records, "k": self.k} if self.each else None

    def sentences(self) -> list[str]:
        """What it means to the people in the table, a sentence for each column and one for all of them."""
        return [told for _, told in self._figures()]

    def reservations(self) -> list[str]:
        """The same of columns that tell somebody apart, or of which nobody knows."""
        return [told for figures, told in self._figures() if figures.few != 0]

    def _figures(self) -> Iterator[tuple[DeclaredFigures, str]]:
        for name, each in self.each.items():
            because = f"because the publisher declares it unknown ({self.reasons[name]})"
            yield each, f"The column {name!r} does not count as known, {because}. {self._told(each, 'it')}"
        if len(self.each) > 1:
            all_of_them = f"{len(self.each)} columns are declared unknown. {self._told(self.together, 'all of them')}"
            yield self.together, all_of_them

    def _told(self, figures: DeclaredFigures, known: str) -> str:
        if figures.unique is None:
            return "How many records it tells apart was not counted, since rows are not true rows."
        return (
            f"For an adversary who knows {known} beside the quasi columns, {figures.unique:,} of {self.records:,} records are unique, and {figures.few:,} are among fewer than "
            f"{self.k}."
        )


def claimed_k(claims: Sequence[Definition]) -> int:
    """How many people an adversary finds at least, as the claims have it; 5 where none speaks of a number."""
    return max((claim.crowd for claim in claims if claim.crowd is not None), default=USUAL_K)
