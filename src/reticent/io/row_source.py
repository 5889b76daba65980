"""What can be read as rows: files, databases, frames. Each kind says its columns, gives some of them, and may know more about them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import Rows, StreamRows, TableCodebook


class RowSource(ABC):
    """Rows somewhere. Reading twice gives the same rows in the same order."""

    @abstractmethod
    def columns(self) -> list[str]:
        """The names of all columns, without reading the rows where that is possible."""

    @abstractmethod
    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Some columns (default: all); one that is not there is a :class:`DataError`."""

    def stream(self, columns: Sequence[str]) -> StreamRows:
        """Some columns, a chunk of rows at a time; in one chunk where the source cannot be read in parts."""
        return StreamRows.of_frame(self.read(columns))

    def rows(self, columns: Sequence[str] | None) -> Rows:
        """Some columns, where they lie: for sources that an engine of their own reads."""
        raise PolicyError("These rows are read into memory or streamed, by the engines 'local' and 'streaming'.")

    def fits(self, columns: int) -> bool:
        """Whether that many columns can be worked with in memory, as far as that can be told without reading them."""
        return True

    def codebook(self, columns: Sequence[str] | None = None) -> TableCodebook:
        """What the source knows about columns beside their values."""
        return TableCodebook()

    def found(self) -> Mapping[str, Any]:
        """Options of reading that were found out and not said; to be written down, so that later runs need not find them out again."""
        return {}

    def layout_found(self) -> Mapping[str, Any]:
        """How the rows are laid out, said or found out: the ``encoding``, the ``delimiter``, the ``header`` and the lines above it; empty where there is nothing to find out."""
        return {}


def address_of(text: str) -> str:
    """The address of a database as it was said, or ``env:NAME`` looked up in the environment, so that no password is written down."""
    if not text.startswith("env:"):
        return text
    name = text.removeprefix("env:")
    if name not in os.environ:
        raise PolicyError(f"The address is {text!r}, but the environment variable {name} is not set.")
    return os.environ[name]


def chosen_columns(wanted: Sequence[str] | None, available: Sequence[str], name: str) -> list[str]:
    """The wanted columns, each of which must be there; all if none are named."""
    for column in wanted or ():
        if column not in available:
            raise DataError(
                f"{name} has no column {column!r}.{did_you_mean(column, available)} The columns are: {', '.join(map(repr, available))}.",
                column=column,
            )
    return list(available) if wanted is None else list(dict.fromkeys(wanted))
