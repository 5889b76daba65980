"""What an engine can do: the only things that anybody does with raw rows. Engines are found by the name that rows give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from reticent.core.frequencies import FrequencySet, NodeLevels
from reticent.registry import load
from reticent.table import Profile, Rows

if TYPE_CHECKING:
    from reticent.base.context import Context
    from reticent.core.recoding import Recoding
    from reticent.core.row_recoding import Recoded
    from reticent.table import Table, TableFile

Order = Literal["sorted", "own"]
"""Rows sorted by all columns in turn with nulls last, or in the order that they have."""


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written, its hash and its length in bytes."""

    path: Path
    sha256: str
    size: int


@dataclass(frozen=True)
class Written:
    """What an engine wrote: the rows in their order, and the files that have them, one after the other."""

    rows: Rows
    files: tuple[WrittenFile, ...]


def part_names(name: str, kind: str, count: int) -> tuple[str, ...]:
    """The names of the files of a table: ``data.csv``, or where there are several, ``data-00001.csv`` and so on."""
    return (f"{name}.{kind}",) if count == 1 else tuple(f"{name}-{part + 1:05d}.{kind}" for part in range(count))


class Engine(Protocol):
    """Scans rows; nothing else does. Engines for other machinery implement the same calls."""

    def count(self, table: Table, *, sensitive: bool = True, floor: NodeLevels | None = None) -> FrequencySet:
        """Count the distinct quasi points of the table, at level 0 or at ``floor``.

        ``sensitive=False`` leaves the histograms out (one joint value for all), for definitions that only count.
        """

    def finest(self, table: Table, floor: NodeLevels) -> NodeLevels:
        """The finest levels, from ``floor`` upwards, whose points the engine can hold; ``floor`` itself where these fit."""

    def points(self, table: Table, counted: FrequencySet) -> Iterator[NDArray[np.int64]]:
        """Chunk by chunk, the point of ``counted`` that each row is in; -1 for a row that is in none."""

    def single_rows(self, table: Table, order: NDArray[np.int64]) -> FrequencySet:
        """Every row as a point of its own, in the given order: for methods that may part people with equal quasi values."""

    def recode(self, table: Table, recoding: Recoding, context: Context) -> Recoded:
        """Public and private rows (pseudonyms, people), typed, in any order."""

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        """The number of rows, and the values and nulls of some columns, in one pass."""

    def write(self, rows: Rows, target: Path, kind: TableFile, order: Order = "sorted") -> Written:
        """Write rows as a new file of a ``kind`` or, where they are too many for one, as files beside ``target`` (:func:`part_names`); hashed while they are written."""


def engine_named(name: str) -> Engine:
    """The engine that is registered under a name."""
    return cast(Engine, load("engine", name)())
