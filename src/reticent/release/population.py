"""Counting a population in the groups that a release shows, from label meanings alone: for claims that compare with one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import NULL_LABEL, Groups, Meaning, Table, first_rows, group_rows
from reticent.data.covers import cover
from reticent.data.frames import as_polars
from reticent.definitions.population import POPULATION
from reticent.errors import DataError, did_you_mean
from reticent.release.manifest import Manifest

_PAIRS_AT_ONCE = 1 << 22


def people_of(population: Any) -> pl.DataFrame:
    """A population as a frame: given as one, as a table, or as the path of a file."""
    if isinstance(population, Table):
        return population.frame
    if isinstance(population, str | Path):
        from reticent.data.readers import Source

        return Source(str(population)).read()
    return as_polars(population)


def with_population(
    groups: Groups, data: pl.DataFrame, manifest: Manifest, people: pl.DataFrame, quasi: Sequence[str]
) -> Groups:
    """The groups that ``data`` shows to somebody who knows the ``quasi`` columns, with the number of people who fit each."""
    ids, count = group_rows([data[name] for name in quasi], data.height)
    labels = data.select(quasi)[first_rows(ids, count)]
    counts = _counted(labels, {name: manifest.meanings[name] for name in quasi}, people)
    return replace(groups, extras={**groups.extras, POPULATION: counts})


def covering(
    points: pl.DataFrame, labels: pl.DataFrame, meanings: Mapping[str, Mapping[str, Meaning]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs (point, row of labels) of points of the quasi columns with labels that cover them, by point."""
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for chosen, inside in _blocks(points, labels, meanings):
        rows, columns = np.nonzero(inside)
        found.append((rows + chosen.start, columns))
    nothing = np.zeros(0, dtype=np.int64)
    return np.concatenate([nothing, *(pair[0] for pair in found)]), np.concatenate(
        [nothing, *(pair[1] for pair in found)]
    )


def _counted(
    labels: pl.DataFrame, meanings: Mapping[str, Mapping[str, Meaning]], people: pl.DataFrame
) -> NDArray[np.int64]:
    """For each row of labels how many people they cover. Somebody whom several rows cover is counted in each."""
    for name in labels.columns:
        if name not in people.columns:
            raise DataError(f"The population has no column {name!r}.{did_you_mean(name, people.columns)}")
        if people[name].null_count():
            raise DataError(f"The population has missing values in column {name!r}: such people fit no group.")
    rows = pl.len().cast(pl.Int64).alias("people of the point")
    points = people.group_by(labels.columns).agg(rows)
    weights = points["people of the point"].to_numpy()
    counts = np.zeros(labels.height, dtype=np.int64)
    for chosen, inside in _blocks(points, labels, meanings):
        counts += weights[chosen] @ inside
    return counts


def _blocks(
    points: pl.DataFrame, labels: pl.DataFrame, meanings: Mapping[str, Mapping[str, Meaning]]
) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """Which points (rows) which labels (columns) cover, as many points at a time as memory allows."""
    fits = [_Fits.of(points[name], labels[name], meanings[name]) for name in labels.columns]
    step = max(_PAIRS_AT_ONCE // max(labels.height, 1), 1)
    for start in range(0, points.height, step):
        chosen = slice(start, min(start + step, points.height))
        inside = np.ones((chosen.stop - start, labels.height), dtype=bool)
        for column in fits:
            inside &= column.matrix[column.place_of_point[chosen]]
        yield chosen, inside


class _Fits:
    """Of one column: which of its distinct values (row) each group's label (column) covers, and the value of every point."""

    def __init__(self, matrix: NDArray[np.bool_], place_of_point: NDArray[np.int64]) -> None:
        self.matrix, self.place_of_point = matrix, place_of_point

    @classmethod
    def of(cls, points: pl.Series, shown: pl.Series, meanings: Mapping[str, Meaning]) -> _Fits:
        values, places = _numbered(points)
        labels, columns = _numbered(shown.cast(pl.String).fill_null(NULL_LABEL))
        covered = cover(values, [meanings[label] for label in labels.to_list()], points.name).matrix()
        return cls(covered[:, columns], places)


def _numbered(series: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
    """The distinct values of a column, and the place of each value among them."""
    distinct = series.unique(maintain_order=True)
    numbers = pl.DataFrame({"value": distinct, "number": np.arange(len(distinct))})
    joined = series.to_frame("value").join(numbers, on="value", how="left", nulls_equal=True, maintain_order="left")
    return distinct, joined["number"].to_numpy().astype(np.int64)
