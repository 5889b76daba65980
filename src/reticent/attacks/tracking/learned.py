"""What an adversary learned from a series: for every person and release the remaining values with their probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.tracking.tracked_view import Places, Tracks, distinct_values
from reticent.base.cards import Card, ShownAsCard, tone_of
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.attacks.tracking.hold_back import WaitingFindings

_SMALL = 2_000
"""Up to this group size, distinct probabilities are looked up in a table instead of sorted."""


@dataclass(frozen=True)
class SightingFigures:
    """For each sighting the largest probability of a value (``tops[which]``) and the number of remaining values ``left``."""

    tops: tuple[Fraction, ...]
    which: Places
    left: Places

    @classmethod
    def of_shares(
        cls, numerators: NDArray[np.int64], denominators: NDArray[np.int64], remaining_values: Places
    ) -> SightingFigures:
        """Return the figures for the largest probabilities ``numerators / denominators`` of each sighting; equal ones are stored once."""
        base = int(denominators.max(initial=0)) + 1
        keys = numerators * base + denominators
        if base <= _SMALL:
            distinct = np.flatnonzero(np.bincount(keys))
            position_of = np.zeros(base * base, dtype=np.int32)
            position_of[distinct] = np.arange(len(distinct))
            index_of = position_of[keys]
        else:
            distinct, index_of = np.unique(keys, return_inverse=True)
        return cls(tuple(Fraction(int(key) // base, int(key) % base) for key in distinct), index_of, remaining_values)


class Chances(Protocol):
    """The result of an engine, per sighting."""

    def of(self, sighting: int) -> dict[int, Fraction]:
        """Return the remaining values of a sighting, as codes, with their probabilities."""

    def figures(self) -> SightingFigures:
        """Return the largest probabilities and the numbers of remaining values."""


@dataclass(frozen=True, repr=False, eq=False)
class Learned(ShownAsCard, Mapping[Any, Mapping[int, Mapping[Any, Fraction]]]):
    """``{person: {release: {value: chance}}}``, without impossible values; computed lazily per person.

    ``mode`` is the engine. In mode ``exact`` a probability is a share of all possible worlds (``worlds`` of them), in
    the other modes the share among the rows of the person's group whose values were not ruled out. ``waiting`` is the
    additional knowledge of who waited, if a history was attacked. For the steward only.
    """

    tracks: Tracks
    mode: str
    chances: Chances
    worlds: int | None = None
    waiting: WaitingFindings | None = None

    def __len__(self) -> int:
        return int((np.diff(self.tracks.sightings[0]) > 0).sum())

    def __iter__(self) -> Iterator[Any]:
        is_sighted = np.diff(self.tracks.sightings[0]) > 0
        return iter(self.tracks.people.filter(is_sighted))

    def __getitem__(self, person: Any) -> Mapping[int, Mapping[Any, Fraction]]:
        """Return the chance of each value that remains for a person, by release number."""
        try:
            index = self.tracks.place_of(person)
        except PolicyError as error:
            raise KeyError(str(error)) from None
        starts, sightings = self.tracks.sightings
        own_sightings = sightings[starts[index] : starts[index + 1]]
        if not len(own_sightings):
            raise KeyError(f"{person!r} is in none of the releases that the adversary has.")
        return {
            self.tracks.numbers[self.tracks.release[sighting]]: {
                self.tracks.domain[code]: chance for code, chance in self.chances.of(int(sighting)).items()
            }
            for sighting in own_sightings
        }

    @cached_property
    def figures(self) -> SightingFigures:
        """The figures of each sighting."""
        return self.chances.figures()

    @cached_property
    def highest(self) -> Fraction:
        """The largest probability of any value of any person at any release."""
        return max(self.figures.tops)

    def above(self, limit: Fraction) -> list[Any]:
        """Return people with a value of probability above the limit."""
        beyond = np.array([top > limit for top in self.figures.tops])
        return self._people(beyond[self.figures.which])

    @cached_property
    def disclosed(self) -> list[Any]:
        """People whose value is certain at some release."""
        return self._people(self.figures.left == 1)

    @cached_property
    def narrowed(self) -> list[Any]:
        """People with fewer remaining values at some release than their group publishes."""
        return self._people(self.figures.left < self.shown)

    @cached_property
    def shown(self) -> NDArray[np.int64]:
        """The number of distinct values that the group of each sighting publishes."""
        return distinct_values(self.tracks.values, self.tracks.offsets)[self.tracks.group]

    def _people(self, chosen: NDArray[np.bool_]) -> list[Any]:
        indices = np.unique(self.tracks.person[chosen])
        return self.tracks.people.gather(indices).to_list()

    def card(self) -> Card:
        """Return a card: how many people are disclosed or narrowed, and the largest probability."""
        counts = {
            "people": f"{len(self):,} in {len(self.tracks.numbers)} releases",
            "disclosed": f"{len(self.disclosed):,} whose value is certain",
            "narrowed": f"{len(self.narrowed):,} for whom some value of their group was ruled out",
            "greatest chance": str(self.highest),
        }
        title = f"What tracking people discloses ({self.mode})"
        return Card(title, counts, tone_of(not self.narrowed))
