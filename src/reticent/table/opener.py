"""What a table asks of engines before there is anything to count: opening sources, and a first look at rows."""

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
        """Some columns of a source, where they lie."""

    def source(self, location: Any, settings: Any, reading: Mapping[str, Any]) -> Any:
        """A source by its place and what was said about reading it; ``settings`` say how to reach the machinery."""

    def applied(self, source: Any, recoded: Callable[[pl.DataFrame], pl.DataFrame]) -> Any:
        """A frame of the same kind, of what ``recoded`` makes of every part of the rows."""


class Profiler(Protocol):
    """The one call of an engine that a table needs."""

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        """The number of rows, and the values and nulls of some columns, in one pass."""


def opener(name: str) -> Opener:
    """The engine of a name, which opens sources itself."""
    return cast(Opener, load("engine", name)())


def profiler(name: str) -> Profiler:
    """The engine of a name, for a first look at rows."""
    return cast(Profiler, load("engine", name)())
