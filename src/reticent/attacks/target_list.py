"""Lists of people that an adversary holds: comparable columns, targets, and true values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.base.frames import as_polars
from reticent.core import AdversaryView
from reticent.errors import DataError, did_you_mean
from reticent.table import DistantRows, Table

_LOT = "_lot"


def listed_people(people: Any, needed: Sequence[str | None], called: str = "list of people") -> pl.DataFrame:
    """Return the list as a frame; refused, with its name ``called``, if it is empty or lacks a needed column."""
    frame = as_polars(people)
    if frame.height == 0:
        raise DataError(f"The {called} is empty, so there is no one to look up.")
    for name in needed:
        if name is not None and name not in frame.columns:
            raise DataError(f"The {called} has no column {name!r}.{did_you_mean(name, frame.columns)}")
    return frame


def own_people(table: Table, limit: int, seed: int = 0) -> pl.DataFrame:
    """Return the people of a table with quasi-identifiers, sensitive and declared values; of a streamed table ``limit``
    of them, sampled in one pass.
    """
    names = [*table.quasi, *table.sensitive, *table.declared]
    if not table.streamed:
        return table.frame.select(names)
    if isinstance(table.held, DistantRows):
        return table.held.drawn(names, limit, seed)
    generator, sampled = np.random.default_rng(seed), pl.DataFrame()
    for chunk in table.held.chunks(names):
        numbered = chunk.with_columns(pl.Series(_LOT, generator.random(chunk.height)))
        sampled = pl.concat([sampled, numbered] if sampled.width else [numbered]).bottom_k(limit, by=_LOT)
    return sampled.drop(_LOT)


def shared_columns(view: AdversaryView, people: pl.DataFrame, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that are compared: the chosen ones, or all quasi-identifiers in the list."""
    shared = columns if columns is not None else [name for name in view.names if name in people.columns]
    if not shared:
        raise DataError(
            f"The list of people shares no quasi-identifier with the release ({', '.join(view.names)}), so nothing can be linked."
        )
    return tuple(shared)


def drawn(people: int, sample: int | None, seed: int) -> NDArray[np.int64]:
    """Return the indices of all people, or of a random sample, in the order of the list."""
    all_indices = np.arange(people)
    if sample is None or sample >= people:
        return all_indices
    whole(sample, "sample", low=1)
    return np.sort(np.random.default_rng(seed).choice(all_indices, sample, replace=False))


def really_have(truth: pl.Series, guess: NDArray[np.int64], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return whose guessed value (an index into ``texts``, -1: none) is their true one."""
    right = np.zeros(len(guess), dtype=bool)
    guessed = np.flatnonzero(guess >= 0)
    real = truth.cast(pl.String).gather(guessed)
    right[guessed] = (pl.Series(texts, dtype=pl.String).gather(guess[guessed]) == real).fill_null(False).to_numpy()
    return right


def listing(names: Sequence[str]) -> str:
    """Return names in a sentence: ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
