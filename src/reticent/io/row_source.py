"""The interface of row sources: files, databases, frames. Each lists its columns, reads some of them, and may have metadata."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import Rows, StreamRows, TableCodebook


class RowSource(ABC):
    """A source of rows. Reading twice returns the same rows in the same order."""

    @abstractmethod
    def columns(self) -> list[str]:
        """The names of all columns, without reading rows if possible."""

    @abstractmethod
    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Some columns (default: all). Raises :class:`DataError` for a missing one."""

    def stream(self, columns: Sequence[str]) -> StreamRows:
        """Some columns in chunks of rows; in one chunk if the source cannot be read in parts."""
        return StreamRows.of_frame(self.read(columns))

    def rows(self, columns: Sequence[str] | None) -> Rows:
        """Some columns in place: for sources that have their own engine."""
        raise PolicyError("These rows are read into memory or streamed, by the engines 'local' and 'streaming'.")

    def fits(self, columns: int) -> bool:
        """True if that many columns fit in memory, as far as can be known without reading them."""
        return True

    def codebook(self, columns: Sequence[str] | None = None) -> TableCodebook:
        """The metadata of columns: titles, labels, codes for missing values."""
        return TableCodebook()

    def found(self) -> Mapping[str, Any]:
        """Reading options that were detected, to be stored so that later runs need not detect them again."""
        return {}

    def layout_found(self) -> Mapping[str, Any]:
        """The layout, given or detected: ``encoding``, ``delimiter``, ``header`` and the lines above it; empty if there is nothing to detect."""
        return {}


def address_of(text: str) -> str:
    """The address of a database, with ``env:NAME`` looked up in the environment, so no password is written down."""
    if not text.startswith("env:"):
        return text
    name = text.removeprefix("env:")
    if name not in os.environ:
        raise PolicyError(f"The address is {text!r}, but the environment variable {name} is not set.")
    return os.environ[name]


def chosen_columns(wanted: Sequence[str] | None, available: Sequence[str], name: str) -> list[str]:
    """The requested columns, or all if none are named. Raises for a missing one."""
    for column in wanted or ():
        if column not in available:
            raise DataError(
                f"{name} has no column {column!r}.{did_you_mean(column, available)} The columns are: {', '.join(map(repr, available))}.",
                column=column,
            )
    return list(available) if wanted is None else list(dict.fromkeys(wanted))
