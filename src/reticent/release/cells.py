"""Groups as a definition judges them, made from published rows by group and sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import Groups, Histograms, SensitiveColumn, SensitiveDomain, first_rows, number, pack, sum_by
from reticent.data.leaves import as_type
from reticent.definitions import Definition, named_values
from reticent.errors import DataError

Columns = Sequence[SensitiveColumn]
References = Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Cells:
    """Rows by group and sensitive values: ``ids[i]`` is the group of cell ``i``, ``values`` its row of sensitive columns, and
    ``counts`` how many rows it stands for, if not one.
    """

    ids: NDArray[Any]
    groups: int
    values: pl.DataFrame
    counts: NDArray[np.int64] | None = None


def with_named_values(column: SensitiveColumn, definitions: Sequence[Definition]) -> SensitiveColumn:
    """The column with values that the definitions name, although no published row has them: they are absent, not unknown."""
    return reduce(_with_named_values, definitions, column)


def groups_of_cells(cells: Cells, columns: Columns, reference: References | None = None) -> Groups:
    """Groups from rows (or counted cells) with the domains of the sensitive ``columns``.

    ``reference`` holds the whole table's histograms where these were published; without them the published rows are the whole table.
    """
    sizes = sum_by(cells.ids, cells.counts, cells.groups)
    codes = [column.codes(cells.values[column.name]) for column in columns]
    if not columns:
        domain, joint = SensitiveDomain.none(), np.zeros(len(cells.ids), dtype=np.int64)
    elif len(columns) == 1:
        domain, joint = SensitiveDomain.single(columns[0]), codes[0].astype(np.int64)
    else:
        joint, count = number(*pack(codes, [column.size for column in columns], len(cells.ids)))
        firsts = first_rows(joint, count)
        domain = SensitiveDomain(tuple(columns), np.stack([each[firsts] for each in codes], axis=1).astype(np.int32))
    histograms = Histograms.from_cells(cells.ids, joint, cells.counts, cells.groups, domain.size)
    published = histograms.total(domain.size)
    if not reference:
        return Groups(sizes, histograms, published, domain)
    if len(columns) == 1:
        return Groups(sizes, histograms, reference[columns[0].name], domain)
    whole, total = _joint_reference(domain, published, reference)
    return Groups(sizes, histograms, total, whole)


def _joint_reference(
    domain: SensitiveDomain, published: NDArray[np.int64], reference: References
) -> tuple[SensitiveDomain, NDArray[np.int64]]:
    """A joint histogram that contains the published rows and has the reference histograms as its marginals.

    Definitions look at a column's marginal only, so any such histogram gives the same verdict; the rows that were not published
    are matched column by column in order. A column without a reference gets its first value.
    """
    missing = [
        reference[column.name] - sum_by(domain.joint[:, place], published, column.size)
        for place, column in enumerate(domain.columns)
        if column.name in reference
    ]
    rows = int(missing[0].sum())
    if any((each < 0).any() or int(each.sum()) != rows for each in missing):
        raise DataError("The reference histograms of the sensitive columns do not fit the published rows.")
    edges = np.unique(np.concatenate([[0], *(np.cumsum(each) for each in missing)]))
    starts, lengths = edges[:-1], np.diff(edges)
    extra = np.zeros((len(starts), len(domain.columns)), dtype=np.int32)
    with_reference = [place for place, column in enumerate(domain.columns) if column.name in reference]
    for place, each in zip(with_reference, missing, strict=True):
        extra[:, place] = np.searchsorted(np.cumsum(each), starts, side="right")
    joint = np.concatenate([domain.joint, extra])
    return SensitiveDomain(domain.columns, joint), np.concatenate([published, lengths])


def _with_named_values(column: SensitiveColumn, definition: Definition) -> SensitiveColumn:
    """The column with values that the definition names, although no published row has them: they are absent, not unknown."""
    named = list(named_values(definition))
    texts, missing = column.texts, column.labels.null_count() > 0
    absent = [value for value in dict.fromkeys(named) if not (missing if value is None else str(value) in texts)]
    if not absent:
        return column
    extra = _typed(absent, column.labels)
    return SensitiveColumn(column.name, pl.concat([column.labels, extra]).unique(maintain_order=True), column.ordered)


def _typed(texts: Sequence[str | None], like: pl.Series) -> pl.Series:
    """Values given as text, of the type of a column; what is no value of that type is left out."""
    raw = pl.Series(like.name, texts, dtype=pl.String)
    values = as_type(raw, like.dtype).alias(like.name)
    return values.filter(values.is_not_null() | raw.is_null())
