"""A draft: all that a method returns. Release turns it into files; nothing has left the house yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from reticent.data.evidence import Evidence
from reticent.data.meaning import Meaning
from reticent.data.recoding import Recoding
from reticent.data.rows import StreamRows

Format = Literal["generalize", "bucketize"]


@dataclass(frozen=True)
class Draft:
    """A recoding, the evidence that was judged, the tables to publish, and how they came about.

    ``tables`` are the public tables by name (``data``, or ``quasi`` and ``sensitive``), their rows in any order. ``meanings`` maps, column by column, each
    label that occurs in them to its meaning; ``domains`` are the declared domains of quasi columns. ``suppressed`` rows, ``search`` figures,
    ``utility`` and the ``private`` tables (pseudonyms) stay with the steward. Tables made from a streamed table are streams.
    """

    format: Format
    recoding: Recoding | None
    evidence: Evidence
    tables: Mapping[str, pl.DataFrame | StreamRows]
    meanings: Mapping[str, Mapping[str, Meaning]]
    suppressed: int
    method: Mapping[str, Any]
    utility: Mapping[str, float]
    search: Mapping[str, Any] = field(default_factory=dict)
    domains: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    private: Mapping[str, pl.DataFrame | StreamRows] = field(default_factory=dict)
    insecure: bool = False
