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
    value_counts = {}
    for name in candidates:
        values = table.frame[name].n_unique()
        if values <= MOST_WAVES and not table.frame.select(key, name).is_duplicated().any():
            value_counts[name] = values
    if not value_counts:
        complaint = (
            f"{named!r} has the same value in several rows of a person, or"
            if named is not None
            else "no quasi column has"
        )
        raise PolicyError(
            f"Panel: {complaint} more than {MOST_WAVES} values, so rows of different people cannot be aligned. Panel is for people observed at the same times: pass the column of the time "
            "with wave=, make it coarser, or use Mondrian, which does not align rows.",
            setting=("wave",),
        )
    return min(value_counts, key=lambda name: value_counts[name])


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
    rows_by_person = pl.DataFrame({_OWNER: owner, _WAVE: wave}).with_row_index("row").sort(_OWNER, _WAVE)
    people = rows_by_person.group_by(_OWNER, maintain_order=True).agg(pl.col(_WAVE), pl.col("row"))
    waves: list[tuple[int, ...]] = [tuple(waves_of_person) for waves_of_person in people[_WAVE].to_list()]
    rows: list[list[int]] = people["row"].to_list()
    counts: dict[tuple[int, ...], int] = {}
    for waves_of_person in waves:
        counts[waves_of_person] = counts.get(waves_of_person, 0) + 1
    frequent = sorted((pattern for pattern, count in counts.items() if count >= least), key=len, reverse=True)
    chosen: dict[tuple[int, ...], tuple[int, ...] | None] = {}
    members: dict[tuple[int, ...], list[list[int]]] = {}
    for own_waves, own_rows in zip(waves, rows, strict=True):
        if own_waves not in chosen:
            chosen[own_waves] = next((pattern for pattern in frequent if set(pattern) <= set(own_waves)), None)
        pattern = chosen[own_waves]
        if pattern is not None:
            row_at = dict(zip(own_waves, own_rows, strict=True))
            members.setdefault(pattern, []).append([row_at[wave_of_pattern] for wave_of_pattern in pattern])
    return [WavePattern(np.array(rows_of_people, dtype=np.int64).T) for _, rows_of_people in sorted(members.items())]
