"""Waves: the column that aligns the rows of a person with those of others, and people with rows at the same waves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import PolicyError, did_you_mean
from reticent.table import Table

Ids = NDArray[np.int64]

MOST_WAVES = 100
_OWNER, _WAVE = "owner", "wave"


def wave_column(table: Table, named: str | None) -> str:
    """Return the quasi column in which no person has the same value twice: the named one, or the one with the fewest values."""
    if named is not None and named not in table.quasi:
        raise PolicyError(
            f"Panel: wave is {named!r}, which is not a quasi column.{did_you_mean(named, table.quasi)}",
            setting=("wave",),
        )
    key = str(table.key)
    candidates = [named] if named is not None else list(table.quasi)
    apart = {}
    for name in candidates:
        values = table.frame[name].n_unique()
        if values <= MOST_WAVES and not table.frame.select(key, name).is_duplicated().any():
            apart[name] = values
    if not apart:
        what = (
            f"{named!r} has the same value in several rows of a person, or"
            if named is not None
            else "no quasi column has"
        )
        raise PolicyError(
            f"Panel: {what} more than {MOST_WAVES} values, so rows of different people cannot be aligned. Panel is for people observed at the same times: pass the column of the time "
            "with wave=, make it coarser, or use Mondrian, which does not align rows.",
            setting=("wave",),
        )
    return min(apart, key=lambda name: apart[name])


@dataclass(frozen=True)
class WavePattern:
    """People with rows at the same waves: ``rows[w][p]`` is the row of person ``p`` at the pattern's wave ``w``."""

    rows: NDArray[np.int64]

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.rows.shape[1])


def wave_patterns(owner: Ids, wave: Ids, least: int) -> list[WavePattern]:
    """Group people by the waves at which they have rows, each pattern with at least ``least`` of them, keeping as many rows as the search finds.

    A person with a rarer pattern keeps the rows of the best matching frequent pattern, or none: rows in no pattern are
    suppressed.
    """
    held = pl.DataFrame({_OWNER: owner, _WAVE: wave}).with_row_index("row").sort(_OWNER, _WAVE)
    people = held.group_by(_OWNER, maintain_order=True).agg(pl.col(_WAVE), pl.col("row"))
    waves: list[tuple[int, ...]] = [tuple(each) for each in people[_WAVE].to_list()]
    rows: list[list[int]] = people["row"].to_list()
    counts: dict[tuple[int, ...], int] = {}
    for each in waves:
        counts[each] = counts.get(each, 0) + 1
    frequent = sorted((each for each, many in counts.items() if many >= least), key=len, reverse=True)
    chosen: dict[tuple[int, ...], tuple[int, ...] | None] = {}
    members: dict[tuple[int, ...], list[list[int]]] = {}
    for mine, at in zip(waves, rows, strict=True):
        if mine not in chosen:
            chosen[mine] = next((each for each in frequent if set(each) <= set(mine)), None)
        pattern = chosen[mine]
        if pattern is not None:
            row_at = dict(zip(mine, at, strict=True))
            members.setdefault(pattern, []).append([row_at[each] for each in pattern])
    return [WavePattern(np.array(each, dtype=np.int64).T) for _, each in sorted(members.items())]
