"""Placing people among published groups: the one group whose labels cover all that is known of a person."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import NULL_LABEL, Meaning
from reticent.data.covers import cover

NOWHERE, SEVERAL = -1, -2
GROUP = "(group)"
_PERSON = "(person)"
_CELLS = 1 << 24


def placed(
    frame: pl.DataFrame, places: pl.DataFrame, meanings: Mapping[str, Mapping[str, Meaning]]
) -> NDArray[np.int64]:
    """The group of every row of ``frame``: NOWHERE where no group fits, SEVERAL where more than one does.

    ``places`` are published rows of labels with the group of each. Labels may overlap, as local recoding makes them.
    """
    quasi = list(meanings)
    if not quasi:
        return np.zeros(frame.height, dtype=np.int64)
    kinds = places.select([*(pl.col(name).cast(pl.String).fill_null(NULL_LABEL) for name in quasi), GROUP]).unique()
    people = frame.select(quasi).with_row_index(_PERSON).group_by(quasi, maintain_order=True).agg(_PERSON)
    fits = [_fitting(people[name], kinds[name], meanings[name], name) for name in quasi]
    group_of_kind = kinds[GROUP].to_numpy()
    found = np.empty(people.height, dtype=np.int64)
    step = max(1, _CELLS // max(1, kinds.height))
    for begin in range(0, people.height, step):
        some = slice(begin, begin + step)
        inside = np.logical_and.reduce([matrix[codes[some]][:, labels] for matrix, codes, labels in fits])
        found[some] = _only(inside, group_of_kind)
    where = np.empty(frame.height, dtype=np.int64)
    lengths = people[_PERSON].list.len().to_numpy()
    where[people[_PERSON].explode().to_numpy()] = np.repeat(found, lengths)
    return where


def _only(inside: NDArray[np.bool_], group_of_kind: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row the group of the kinds that fit, if these are all of one group."""
    lowest = np.where(inside, group_of_kind, np.iinfo(np.int64).max).min(axis=1)
    highest = np.where(inside, group_of_kind, -1).max(axis=1)
    return np.where(highest < 0, NOWHERE, np.where(lowest == highest, lowest, SEVERAL))


def _fitting(
    values: pl.Series, labels: pl.Series, meanings: Mapping[str, Meaning], column: str
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Which distinct value fits which label, with the number of every value and of every label."""
    distinct = values.unique(maintain_order=True)
    numbers = pl.DataFrame({"value": distinct, "number": np.arange(len(distinct))})
    codes = values.to_frame("value").join(numbers, on="value", how="left", nulls_equal=True, maintain_order="left")
    known = list(meanings)
    matrix = cover(distinct, list(meanings.values()), column).matrix()
    places = labels.replace_strict(known, list(range(len(known))), return_dtype=pl.Int64)
    return matrix, codes["number"].to_numpy(), places.to_numpy()
