"""m-Distinct: values change only along declared updates, and every candidate set keeps at least m values. Source: [Li2008b]."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.tracking.fixpoint import Masks, fixpoint
from reticent.attacks.tracking.tracked_view import Tracks, distinct_values
from reticent.base.context import Context
from reticent.errors import PolicyError, did_you_mean
from reticent.methods.series import PublishedSeries

_WORD, _LOT = 64, 50_000


@dataclass(frozen=True)
class MDistinctness:
    """``achieved`` is the smallest number of remaining values of any person; ``worst`` is such a person and release.
    ``unique`` is whether every release is m-unique on its own with that m: all values of a group different.
    """

    achieved: int
    worst: tuple[Any, int]
    unique: bool

    def holds(self, m: int) -> bool:
        """True if the series is m-Distinct."""
        return self.unique and self.achieved >= m


def m_distinct(
    series: PublishedSeries, updates: Mapping[Any, Collection[Any]], context: Context | None = None
) -> MDistinctness:
    """Return how many values remain for each person, if a value ``s`` can only become one of ``updates[s]``.

    *Adversary.* Knows all releases, who is in which group, who is present when, and the candidate update sets; not
    whether a person's value changed. Values that are not listed stay as they are; a listed value may stay only if its
    set contains it.

    *Guarantee.* Candidate sets are propagated to a fixpoint: perfect matchings in each group, and between two
    consecutive releases ``s -> s'`` only if ``s'`` is in ``updates[s]``. m-Distinct holds if every release is m-unique
    and every surviving set has at least m values.
    """
    context = context or Context()
    allowed = _relation(series.domain, updates)
    observed = Tracks.of(series, knows_change=False)
    sighting_count = len(observed.track)
    # A value may change at any time, so each sighting is a track of its own.
    tracks = replace(
        observed,
        track=np.arange(sighting_count, dtype=np.int32),
        before=np.full(sighting_count, -1, dtype=np.int32),
        owner=observed.person,
    )
    earlier, later = _consecutive(tracks)
    masks = np.full((sighting_count, -(-len(series.domain) // _WORD)), ~np.uint64(0))
    while True:
        remaining = fixpoint(tracks, context, masks)
        previous_masks = masks.copy()
        _follow(masks, earlier, later, allowed)
        _follow(masks, later, earlier, allowed.T)
        if np.array_equal(previous_masks, masks):
            break
    lowest = int(np.argmin(remaining.sizes))
    worst = tracks.people[int(tracks.person[lowest])], tracks.numbers[tracks.release[lowest]]
    unique = all((distinct_values(release.values, release.offsets) == release.sizes).all() for release in series)
    return MDistinctness(int(remaining.sizes[lowest]), worst, unique)


def _relation(domain: tuple[Any, ...], updates: Mapping[Any, Collection[Any]]) -> NDArray[np.bool_]:
    """Return which value (row) can become which (column) along the declared updates."""
    code_of = {value: code for code, value in enumerate(domain)}
    allowed = np.zeros((len(domain), len(domain)), dtype=bool)
    for value in domain:
        for target in updates.get(value, (value,)):
            if target not in code_of:
                raise PolicyError(
                    f"updates: {target!r} is not a value of the domain.{did_you_mean(target, domain)}",
                    setting=("updates",),
                    value=target,
                )
            allowed[code_of[value], code_of[target]] = True
    unknown = [value for value in updates if value not in code_of]
    if unknown:
        raise PolicyError(
            f"updates: {unknown[0]!r} is not a value of the domain.{did_you_mean(unknown[0], domain)}",
            setting=("updates",),
            value=unknown[0],
        )
    return allowed


def _consecutive(tracks: Tracks) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return all pairs of sightings of one person in two consecutive releases, as the indices of the earlier and of the
    later ones.
    """
    sightings = tracks.sightings[1]
    is_consecutive = (tracks.person[sightings[1:]] == tracks.person[sightings[:-1]]) & (
        tracks.release[sightings[1:]] == tracks.release[sightings[:-1]] + 1
    )
    return sightings[:-1][is_consecutive], sightings[1:][is_consecutive]


def _follow(masks: Masks, source: NDArray[np.int32], target: NDArray[np.int32], allowed: NDArray[np.bool_]) -> None:
    """Restrict the candidate values of each target sighting to those that some candidate value of its source sighting
    may change to.

    ``allowed[old, new]`` marks the possible changes. ``masks`` has the candidates of every sighting as bits; it is
    changed in place.
    """
    value_count = len(allowed)
    codes = np.arange(value_count)
    for first in range(0, len(source), _LOT):
        batch = slice(first, first + _LOT)
        is_candidate = (masks[source[batch]][:, codes // _WORD] >> (codes % _WORD).astype(np.uint64)) & np.uint64(1)
        is_reached = (is_candidate.astype(np.float32) @ allowed.astype(np.float32)) > 0
        reached_masks = np.zeros((len(is_reached), masks.shape[1]), dtype=np.uint64)
        for code in codes.tolist():
            reached_masks[:, code // _WORD] |= is_reached[:, code].astype(np.uint64) << np.uint64(code % _WORD)
        masks[target[batch]] &= reached_masks
