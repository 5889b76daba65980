"""What an engine can do: the only things that anybody does with raw rows. Engines are found by the name that rows give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from reticent._names import load
from reticent.data.frequencies import FrequencySet, NodeLevels
from reticent.data.rows import Profile, Rows

if TYPE_CHECKING:
    from reticent.data.context import Context
    from reticent.data.recoding import Recoded, Recoding
    from reticent.data.table import Table
    from reticent.data.table_files import TableFile

Order = Literal["sorted", "own"]
"""Rows sorted by all columns in turn with nulls last, or in the order that they have."""


@dataclass(frozen=True)
class Written:
    """A file that an engine wrote: its rows in their order, its hash and its length in bytes."""

    rows: Rows
    sha256: str
    size: int


class Engine(Protocol):
    """Scans rows; nothing else does. Engines for other machinery implement the same calls."""

    def count(self, table: Table, *, sensitive: bool = True, floor: NodeLevels | None = None) -> FrequencySet:
        """Count the distinct quasi points of the table, at level 0 or at ``floor``.

        ``sensitive=False`` leaves the histograms out (one joint value for all), for definitions that only count.
        """

    def points(self, table: Table, counted: FrequencySet) -> Iterator[NDArray[np.int64]]:
        """Chunk by chunk, the point of ``counted`` that each row is in; -1 for a row that is in none."""

    def single_rows(self, table: Table, order: NDArray[np.int64]) -> FrequencySet:
        """Every row as a point of its own, in the given order: for methods that may part people with equal quasi values."""

    def recode(self, table: Table, recoding: Recoding, context: Context) -> Recoded:
        """Public and private rows (pseudonyms, people), typed, in any order."""

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        """The number of rows, and the values and nulls of some columns, in one pass."""

    def write(self, rows: Rows, target: Path, kind: TableFile, order: Order = "sorted") -> Written:
        """Write rows as a new file of a ``kind``, hashed while it is written."""


def engine_named(name: str) -> Engine:
    """The engine that is registered under a name."""
    return cast(Engine, load("engine", name)())
