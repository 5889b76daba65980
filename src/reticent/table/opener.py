"""What a table needs from engines before counting: opening sources, and a first profile of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import polars as pl

from reticent.registry import load
from reticent.table.rows import Profile, Rows


class Opener(Protocol):
    """An engine that opens sources of its own kind: frames of its package, and what its package reads."""

    def columns(self, source: Any) -> list[str]:
        """The names of all columns of a source."""

    def open(self, source: Any, columns: Sequence[str]) -> Rows:
        """Some columns of a source, without loading them."""

    def source(self, location: Any, settings: Any, reading: Mapping[str, Any]) -> Any:
        """A source by location and reading options; ``settings`` configure the connection to the back end."""

    def applied(self, source: Any, recoded: Callable[[pl.DataFrame], pl.DataFrame]) -> Any:
        """A frame of the same kind with ``recoded`` applied to every partition of the rows."""


class Profiler(Protocol):
    """The only engine method that a table needs."""

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        """The number of rows, and the values and nulls of some columns, in one pass."""


def opener(name: str) -> Opener:
    """The engine of a name that opens sources itself."""
    return cast(Opener, load("engine", name)())


def profiler(name: str) -> Profiler:
    """The engine of a name that profiles rows."""
    return cast(Profiler, load("engine", name)())
