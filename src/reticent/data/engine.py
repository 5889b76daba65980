"""What an engine can do: the only two things that anybody does with raw rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import polars as pl

from reticent.data.frequencies import FrequencySet, Levels
from reticent.data.stream import Stream
from reticent.data.table import Table


class Engine(Protocol):
    """Scans the rows of a table. Engines for other machinery implement the same calls."""

    def frequencies(self, table: Table, *, sensitive: bool = True, floor: Levels | None = None) -> FrequencySet:
        """Count the distinct quasi points of the table, at level 0 or at ``floor``.

        ``sensitive=False`` leaves the histograms out (one joint value for all), for definitions that only count.
        """

    def recoded(
        self, table: Table, recode: Callable[[Table], pl.DataFrame], schema: pl.Schema
    ) -> pl.DataFrame | Stream:
        """What ``recode`` makes of the rows: of all at once, or of one part of them after the other.

        ``recode`` looks at every row by itself; its rows have ``schema``.
        """
