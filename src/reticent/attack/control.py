"""A control group for a model: the release made once more of half of the people, and the other half, about whom it says nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from reticent.attack.inference import Inference
from reticent.attack.published import Published
from reticent.attack.randomized import as_randomized, method_again, naively
from reticent.attack.remaking import definition_of, method_of
from reticent.data import Table
from reticent.errors import PolicyError
from reticent.release import PublicSide, open_public, publish

_OUTSIDERS = "people who were held out of a release made in the same way"


@dataclass(frozen=True)
class Trial:
    """A release of some of the people only, by the method and the definition of another, beside the people who were held out.

    A model that is trained on it is tried on both: what it guesses better about ``members`` than about ``held_out`` people, who were
    drawn like them, is the doing of such a release, and nothing else is. ``members`` are all whose rows were handed to the
    method, those that it left out included.
    """

    members: Table = field(repr=False)
    held_out: pl.DataFrame = field(repr=False)
    release: Published = field(repr=False)

    def adversary(self, **options: Any) -> Inference:
        """Somebody who trains on the trial's release, to be tried on it (or on the members' own rows)."""
        names = [*self.members.quasi, *self.members.sensitive]
        return Inference(self.members.frame.select(names), self.held_out.select(names), outsiders=_OUTSIDERS, **options)

    def adversaries(self, **options: Any) -> list[Inference]:
        """One for each sensitive column."""
        return [self.adversary(column=name, **options) for name in self.members.sensitive]


def hold_out(table: Table, release: Any, seed: int = 0) -> Trial:
    """Make ``release`` (or what its folder claims) once more of a random half of the ``table``, and keep the other half apart.

    Nothing of it is recorded or leaves: the second release exists to be attacked. People with several rows are held out
    with all of them. What cannot be made again (an unknown method or definition, or too few people for it) is an error that says so.
    """
    chosen = _half(table, seed)
    members, held_out = _restricted(table, chosen), table.frame.filter(~pl.Series(chosen))
    randomized = as_randomized(release)
    if randomized is not None:
        # The trial's own noise need not be secret: nothing of it leaves.
        again = method_again(randomized).view(members, randomized.manifest.definition, insecure_seed=seed)
        return Trial(members, held_out, naively(again, members))
    side = release if isinstance(release, PublicSide) else getattr(release, "public", None) or open_public(release)
    made = publish(members, definition_of(side), method_of(side))
    return Trial(members, held_out, Published.of(made))


def _half(table: Table, seed: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows are those of members: half of the people, drawn at random."""
    if table.unit == "person":
        person = table.frame[str(table.key)].rank("dense").to_numpy().astype(np.int64) - 1
    else:
        person = np.arange(table.rows)
    people = int(person.max(initial=-1)) + 1
    if people < 2:
        raise PolicyError("A control group needs at least two people: one in the release and one held out.")
    member = np.zeros(people, dtype=bool)
    member[np.random.default_rng(seed).permutation(people)[: people // 2]] = True
    rows: np.ndarray[Any, np.dtype[np.bool_]] = member[person]
    return rows


def _restricted(table: Table, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> Table:
    """The table with some of its rows, without a name (so that no ledger hears of it) and without columns that play no part."""
    return Table(
        table.frame.filter(pl.Series(rows)),
        quasi=table.quasi,
        sensitive=table.sensitive,
        key=table.key,
        unit=table.unit,
        nulls=table.nulls,
        quasi_sets=table.quasi_sets,
    )
