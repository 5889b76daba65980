"""Declared columns in figures: how many records each makes unique, to an adversary who knows it in addition to all quasi columns.

Computed from the published rows alone, so that anyone can recompute it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.definitions import Definition
from reticent.table import class_sizes

if TYPE_CHECKING:
    from reticent.release.public import PublicSide

_FEWEST_VALUES, _MOST_LINKED = 10, 20
_LINK = " Its values stand in few records each, of several classes: if a value is one person's, it links this person's records."

USUAL_K = 5
"""Size below which a class counts as small if no claim states a number."""


@dataclass(frozen=True)
class DeclaredFigures:
    """Records by size of their class: records with equal quasi labels and equal values in some declared columns.

    ``unique`` records are alone in their class; ``few`` are in classes of fewer than k records (unique ones included).
    Both are None if published rows are not true rows.
    """

    unique: int | None
    few: int | None

    @classmethod
    def of(cls, sizes: NDArray[np.int64], k: int) -> DeclaredFigures:
        """Return the figures for the given class sizes."""
        return cls(int((sizes == 1).sum()), int(sizes[sizes < k].sum()))

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {"unique": self.unique, "few": self.few}


@dataclass(frozen=True)
class DeclaredColumns:
    """The certificate's section on declared columns: figures for each column and for all together, in addition to the manifest's reasons.

    ``records`` is the number of published records; classes of fewer than ``k`` records are small. ``computable``
    columns follow from quasi columns, which are listed with them. ``links`` are columns whose values each occur in few
    records of several classes, as person numbers do.
    """

    each: Mapping[str, DeclaredFigures]
    together: DeclaredFigures
    records: int
    k: int
    reasons: Mapping[str, str | None]
    computable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    links: tuple[str, ...] = ()

    @classmethod
    def of(cls, side: PublicSide, claims: Sequence[Definition]) -> DeclaredColumns:
        """Count, for each declared column and for all together, how many published records it makes unique or rare.

        ``k`` is the claimed group size: records in classes of fewer than ``k`` are few. Declared columns count as unknown.
        """
        manifest, k = side.manifest, claimed_k(claims)
        columns = [column for column in manifest.columns if column.role == "declared"]
        reasons = {column.name: column.reason for column in columns}
        computable = {column.name: column.computable for column in columns if column.computable}
        record_classes, names = side.form.record_classes(manifest), tuple(reasons)
        if not names:
            return cls({}, DeclaredFigures(0, 0), records=side.height, k=k, reasons={})
        if record_classes is None:
            unknown = DeclaredFigures(None, None)
            return cls(
                dict.fromkeys(names, unknown), unknown, records=side.height, k=k, reasons=reasons, computable=computable
            )
        table, labels = record_classes
        rows, single_columns = side.rows[table], [(name,) for name in names]
        sizes, value_counts = class_sizes(rows, labels, [*single_columns, names]), class_sizes(rows, (), single_columns)
        figures = {columns: DeclaredFigures.of(column_class_sizes, k) for columns, column_class_sizes in sizes.items()}
        linking = tuple(name for name in names if _may_link(value_counts[name,], len(sizes[name,])))
        figures_by_name = {name: figures[name,] for name in names}
        return cls(
            figures_by_name,
            figures[names],
            records=side.height,
            k=k,
            reasons=reasons,
            computable=computable,
            links=linking,
        )

    @classmethod
    def stated(cls, certificate: Mapping[str, Any]) -> DeclaredColumns:
        """Parse the section of a certificate; ``verify`` counts again."""
        entries, all_of_them = certificate["declared"], certificate["declared_together"] or {}
        return cls(
            {entry["column"]: DeclaredFigures(entry["unique"], entry["few"]) for entry in entries},
            DeclaredFigures(all_of_them.get("unique"), all_of_them.get("few")),
            records=all_of_them.get("records", 0),
            k=all_of_them.get("k", USUAL_K),
            reasons={entry["column"]: entry["reason"] for entry in entries},
            computable={
                entry["column"]: tuple(entry["computable_from"]) for entry in entries if entry["computable_from"]
            },
            links=tuple(entry["column"] for entry in entries if entry["may_link"]),
        )

    def listed(self) -> list[dict[str, Any]]:
        """Return the entries of the single columns, as a certificate lists them."""
        return [
            {
                "column": name,
                "reason": self.reasons[name],
                **figures.as_json(),
                "computable_from": list(self.computable.get(name, ())),
                "may_link": name in self.links,
            }
            for name, figures in self.each.items()
        ]

    def summed(self) -> dict[str, Any] | None:
        """Return the entry for all columns together; None if there are no declared columns."""
        return {**self.together.as_json(), "records": self.records, "k": self.k} if self.each else None

    def sentences(self) -> list[str]:
        """Explain the figures to data subjects: one sentence per column and one for all columns together."""
        return [sentence for _, sentence in self._figures()]

    def reservations(self) -> list[str]:
        """Return the sentences about columns that make records unique or link them, and about columns whose effect was not counted."""
        return [sentence for figures, sentence in self._figures() if figures.few != 0 or _LINK in sentence]

    def _figures(self) -> Iterator[tuple[DeclaredFigures, str]]:
        """Yield for every declared column, and for all together, the figures and a sentence about them."""
        for name, figures in self.each.items():
            because = f"because the publisher declares it unknown ({self.reasons[name]})"
            computed = ""
            if name in self.computable:
                sources = " and ".join(map(repr, self.computable[name]))
                computed = f" It can be computed from {sources}: the guarantees hold for an attacker who does so, too."
            if name in self.links:
                computed += _LINK
            yield (
                figures,
                f"The column {name!r} does not count as known, {because}. {self._sentence(figures, 'it')}{computed}",
            )
        if len(self.each) > 1:
            all_of_them = (
                f"{len(self.each)} columns are declared unknown. {self._sentence(self.together, 'all of them')}"
            )
            yield self.together, all_of_them

    def _sentence(self, figures: DeclaredFigures, known: str) -> str:
        """Return a sentence about the records that are unique or rare to an adversary who also knows the declared columns."""
        if figures.unique is None:
            return "How many records it tells apart was not counted, since rows are not true rows."
        return (
            f"For an adversary who knows {known} beside the quasi columns, {figures.unique:,} of {self.records:,} records are unique, and {figures.few:,} are among fewer than "
            f"{self.k}."
        )


def _may_link(values: NDArray[np.int64], classes: int) -> bool:
    """True if values may be person numbers: each occurs in few rows, and there are more classes than values."""
    several = len(values) >= _FEWEST_VALUES and 1 < float(np.median(values)) <= _MOST_LINKED
    return several and 2 * classes >= 3 * len(values)


def claimed_k(claims: Sequence[Definition]) -> int:
    """Return the smallest class size that the claims guarantee; 5 if none states one."""
    return max((claim.crowd for claim in claims if claim.crowd is not None), default=USUAL_K)
