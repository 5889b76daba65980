"""A method with overlapping groups: cells of rare rows are starred, and a star may stand for any value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, Evidence, Kind, Patterns
from reticent.definitions import Definition
from reticent.errors import DataError
from reticent.release import ManifestColumn, PublicSide, count_labels
from reticent.release.format import Answer, EvidenceRequest, Format, Words, format_of
from reticent.table import SUPPRESSED, FrameRows, Meaning, Rows, Table, ValueType

_STAR = {"all": True}


@dataclass(frozen=True)
class Starred:
    """Star the cells of ``column`` in rows whose combination is rarer than ``k``; a row that stays rare is left out."""

    k: int
    column: str

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups"})
    streams: ClassVar[bool] = False

    def refusal(self, table: Table, definition: Definition) -> str | None:
        return None if self.column in table.quasi else f"Starred needs a quasi column, not {self.column!r}."

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        names = [*table.quasi, *table.sensitive]
        rows = table.frame.select(names).with_columns(pl.col(list(table.quasi)).cast(pl.String))
        rare = pl.len().over(list(table.quasi)) < self.k
        starred = rows.with_columns(
            pl.when(rare).then(pl.lit(SUPPRESSED)).otherwise(pl.col(self.column)).alias(self.column)
        )
        kept = starred.filter(pl.len().over(list(table.quasi)) >= self.k)
        meanings = {name: _meanings(kept[name].unique().to_list()) for name in table.quasi}
        return Draft(
            format="starred",
            tables={"data": FrameRows(kept)},
            evidence=Evidence(patterns=patterns_of(kept.select(list(table.quasi)))),
            method=self.describe(),
            meanings=meanings,
            suppressed=rows.height - kept.height,
        )

    def describe(self) -> dict[str, Any]:
        return {"name": "Starred", "k": self.k, "column": self.column}


def _meanings(labels: Sequence[str]) -> dict[str, Meaning]:
    kind = ValueType.published(pl.String())
    return {label: Meaning.read(_STAR if label == SUPPRESSED else {"value": label}, kind, label) for label in labels}


def patterns_of(rows: pl.DataFrame) -> Patterns:
    """The kinds of rows, and how many rows do not contradict each."""
    kinds = rows.group_by(rows.columns, maintain_order=True).len()
    labels = kinds.drop("len").to_numpy().astype(str)
    sizes = kinds["len"].to_numpy().astype(np.int64)
    fits = (
        (labels[:, None, :] == labels[None, :, :])
        | (labels[:, None, :] == SUPPRESSED)
        | (labels[None, :, :] == SUPPRESSED)
    )
    return Patterns(sizes, fits.all(axis=2) @ sizes)


class StarredFormat(Format):
    """One table whose starred cells may stand for any value."""

    name: ClassVar[str] = "starred"
    tables: ClassVar[tuple[str, ...]] = ("data",)
    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups"})

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        text = ValueType.published(pl.String())
        return tuple(
            ManifestColumn(name, "quasi", text, draft.meanings[name])
            if name in table.quasi
            else ManifestColumn(name, "sensitive", ValueType.published(dtype))
            for name, dtype in rows["data"].schema.items()
        )

    def check(self, public: PublicSide) -> None:
        quasi = public.manifest.named("quasi")
        shown = public.rows["data"].counted(quasi)[0]
        for column in public.manifest.columns:
            if column.role == "quasi" and set(shown[column.name]) != set(column.labels):
                raise DataError(f"The labels of column {column.name!r} are not those of the manifest.")

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        return Evidence(patterns=patterns_of(public.rows["data"].frame().select(public.manifest.named("quasi"))))

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        return format_of("generalize").seen(rows, columns, details)

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        return count_labels(public.rows["data"], public.meanings, condition, estimator)

    def words(self, public: PublicSide) -> Words:
        return Words(
            "Some cells were starred: a star may stand for any value.", ("Rows without stars show their values.",)
        )


STARRED = StarredFormat()
