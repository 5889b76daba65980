"""What an engine can do: the only three things that anybody does with raw rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data.frequencies import FrequencySet, Levels
from reticent.data.table import Table


class Engine(Protocol):
    """Scans the rows of a table. Engines for other machinery implement the same calls."""

    def frequencies(self, table: Table, *, sensitive: bool = True, floor: Levels | None = None) -> FrequencySet:
        """Count the distinct quasi points of the table, at level 0 or at ``floor``.

        ``sensitive=False`` leaves the histograms out (one joint value for all), for definitions that only count.
        """

    def points(self, table: Table, frequencies: FrequencySet) -> NDArray[np.int64]:
        """For every row of the table the point of the frequency set that it was counted in."""

    def labelled(self, table: Table, levels: Levels, kept: NDArray[np.bool_] | None = None) -> pl.DataFrame:
        """The quasi columns of the kept rows as labels of their level."""
