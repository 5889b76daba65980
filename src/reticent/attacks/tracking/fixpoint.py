"""Candidate sets to a fixpoint: impossible values are ruled out until nothing more follows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.tracking import _kernels
from reticent.attacks.tracking.learned import SightingFigures
from reticent.attacks.tracking.tracked_view import Tracks
from reticent.base.context import Context
from reticent.errors import DataError

Masks = NDArray[np.uint64]
_LOT = 200_000
_WORD = 64


@dataclass(frozen=True)
class ValuesLeft:
    """The remaining values of each track, as bits; probabilities are shares among the remaining rows of the group."""

    tracks: Tracks
    masks: Masks

    def of(self, sighting: int) -> dict[int, Fraction]:
        """Return the remaining values of a sighting with their shares."""
        published = self.tracks.shown(int(self.tracks.group[sighting]))
        remaining = published[self.holds(int(self.tracks.track[sighting]), published)]
        codes, counts = np.unique(remaining, return_counts=True)
        return {int(code): Fraction(int(count), len(remaining)) for code, count in zip(codes, counts, strict=True)}

    def figures(self) -> SightingFigures:
        """Return the largest share and the number of remaining values of each sighting."""
        tracks = self.tracks
        rows = _kernels.chances(tracks.group, tracks.track, tracks.offsets, tracks.values, self.masks)
        return SightingFigures.of_shares(rows[:, 0], rows[:, 1], self.sizes[tracks.track])

    @cached_property
    def sizes(self) -> NDArray[np.int32]:
        """The number of remaining values of each track."""
        sizes: NDArray[np.int32] = _kernels.left_over(self.masks)
        return sizes

    def codes(self, track: int) -> tuple[int, ...]:
        """Return the remaining values of a track, rising."""
        codes = np.arange(len(self.tracks.domain), dtype=np.int32)
        return tuple(codes[self.holds(track, codes)].tolist())

    def holds(self, track: int, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of some values remain for a track."""
        bits = self.masks[track][codes // _WORD] >> (codes % _WORD).astype(np.uint64)
        is_possible: NDArray[np.bool_] = (bits & np.uint64(1)).astype(bool)
        return is_possible


def fixpoint(tracks: Tracks, context: Context, masks: Masks | None = None) -> ValuesLeft:
    """Rule out values until stable.

    *Rules.* A track has one value, so only values that all of its groups publish remain. In a group, a member may have
    a value only if some perfect matching of members and values (with counterfeits taking the rest) assigns it. Tracks
    before and after a known change differ.

    *Adversary.* Knows all releases, who is in which group, and event lists. Rules out only what is impossible:
    everything that remains may still be unlikely.

    *Cost.* Linear in sightings if nothing is ruled out; otherwise a matching per affected group. Raises
    :class:`DataError` if no assignment of values fits the series: zero possible worlds is an error, never safe.
    ``masks`` are candidate sets to start from.
    """
    starts, members = tracks.members
    home_starts, homes = tracks.homes
    if masks is None:
        masks = np.full((len(tracks.before), -(-len(tracks.domain) // _WORD)), ~np.uint64(0))
    _kernels.intersect(starts, members, tracks.offsets, tracks.values, masks)
    dirty = np.ones(tracks.groups, dtype=bool)
    rounds = 0
    while dirty.any():
        rounds += 1
        for first in range(0, tracks.groups, _LOT):
            context.step("ruling out values", first, tracks.groups, f"round {rounds}")
            last = min(first + _LOT, tracks.groups)
            _, unmatched_group = _kernels.sweep(
                starts,
                members,
                tracks.offsets,
                tracks.values,
                home_starts,
                homes,
                tracks.before,
                tracks.after,
                masks,
                dirty,
                first,
                last,
            )
            if unmatched_group >= 0:
                raise contradiction(tracks, unmatched_group)
    return ValuesLeft(tracks, masks)


def contradiction(tracks: Tracks, group: int) -> DataError:
    """Return the error for a series without a possible world."""
    starts, members = tracks.members
    people = tracks.people.gather(tracks.owner[members[starts[group] : starts[group + 1]]]).to_list()
    number = tracks.numbers[tracks.group_release[group]]
    return DataError(
        f"Release {number} contradicts the others: no assignment of values fits the group of {listed(people)}, which shows "
        f"{listed(tracks.names(tracks.shown(group)))}. Groups, event lists or published values are wrong; no conclusion about this series is possible."
    )


def listed(values: list[Any], limit: int = 5) -> str:
    """Return some of the values in words."""
    text = ", ".join(str(value) for value in values[:limit])
    return text + (f" and {len(values) - limit:,} more" if len(values) > limit else "")
