"""The engine protocol: the only operations on raw rows. Engines are looked up by the name that rows carry."""

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
"""Row order: sorted by all columns with nulls last, or unchanged."""


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written, with its hash and its length in bytes."""

    path: Path
    sha256: str
    size: int


@dataclass(frozen=True)
class Written:
    """The output of an engine: the rows in order, and the files that contain them in sequence."""

    rows: Rows
    files: tuple[WrittenFile, ...]


def part_names(name: str, kind: str, count: int) -> tuple[str, ...]:
    """The file names of a table: ``data.csv``, or ``data-00001.csv`` and so on if there are several."""
    return (f"{name}.{kind}",) if count == 1 else tuple(f"{name}-{part + 1:05d}.{kind}" for part in range(count))


class Engine(Protocol):
    """Scans rows; no other code does. Other back ends implement the same methods."""

    def count(self, table: Table, *, sensitive: bool = True, floor: NodeLevels | None = None) -> FrequencySet:
        """Count the distinct quasi-identifier combinations of the table, at level 0 or at ``floor``.

        ``sensitive=False`` omits the histograms (one joint value for all), for definitions that only count.
        """

    def finest(self, table: Table, floor: NodeLevels) -> NodeLevels:
        """The finest levels, at or above ``floor``, whose distinct points fit into memory."""

    def points(self, table: Table, counted: FrequencySet) -> Iterator[NDArray[np.int64]]:
        """By chunk, the point of ``counted`` that each row belongs to; -1 for none."""

    def single_rows(self, table: Table, order: NDArray[np.int64]) -> FrequencySet:
        """Every row as a point of its own, in the given order: for methods that may separate people with equal quasi values."""

    def recode(self, table: Table, recoding: Recoding, context: Context) -> Recoded:
        """Public and private rows (pseudonyms, people), typed, in any order."""

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        """The number of rows, and the values and nulls of some columns, in one pass."""

    def write(self, rows: Rows, target: Path, kind: TableFile, order: Order = "sorted") -> Written:
        """Write rows as a new file of a ``kind`` or, if they are too many for one, as files next to ``target``
        (:func:`part_names`); hashed while written.
        """


def engine_named(name: str) -> Engine:
    """The engine that is registered under a name."""
    return cast(Engine, load("engine", name)())
