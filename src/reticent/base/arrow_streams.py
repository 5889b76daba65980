"""Tables from and to other libraries by the Arrow C stream interface, without the package pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True)
class ArrowStream:
    """A frame that offers nothing but its Arrow stream. DuckDB reads it; from a frame of polars itself it asks for pyarrow."""

    frame: pl.DataFrame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


def whole_frame(source: Any) -> pl.DataFrame:
    """All rows of an object with an Arrow stream, such as a relation of DuckDB."""
    return pl.DataFrame(source)


def frames_of(source: Any, rows: int) -> Iterator[pl.DataFrame]:
    """The rows of an object with an Arrow stream, so many at a time. An error of the source arrives as one of polars."""
    yield from pl.scan_arrow_c_stream(source).collect_batches(
        chunk_size=rows, maintain_order=True, lazy=True, engine="streaming"
    )
