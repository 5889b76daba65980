"""The view of an adversary who tracks people: who was in which group when, what each group published, and which values
must agree.

A **track** is a stretch of a person's presence over which her value cannot have changed: as long as she stays and her
sensitive value is not updated. Sightings of one track have one value; the engines reason about tracks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.tracking import _kernels
from reticent.base.ragged import starts_of
from reticent.errors import DataError, PolicyError
from reticent.methods.series import EventKind, PublishedSeries

Places = NDArray[np.int32]
Returns = Literal["unknown", "unchanged"]


@dataclass(frozen=True, repr=False)
class Tracks:
    """The adversary view of a series. Per sighting (a person in a release): ``person``, ``release`` (both indices),
    ``group``, ``track``.

    Per group of all releases: ``group_release`` and the published values ``values[offsets[g]:offsets[g + 1]]``, rising.
    Per track: ``before`` is the track of the same person with a value known to be different, ``previous`` the track
    that ended when this one began with a change or a return (-1: none), ``owner`` the person. It contains nothing else
    of the series: no true values, no quasi-identifiers.
    """

    people: pl.Series
    numbers: tuple[int, ...]
    domain: tuple[Any, ...]
    person: Places
    release: Places
    group: Places
    track: Places
    group_release: Places
    offsets: NDArray[np.int64]
    values: Places
    before: Places
    previous: Places
    owner: Places

    @classmethod
    def of(
        cls,
        series: PublishedSeries,
        *,
        knows_change: bool = True,
        returns: Returns = "unknown",
        releases: Collection[int] | None = None,
    ) -> Tracks:
        """Build the adversary view of a series: sightings of people, published groups, and tracks (periods without a
        change of value).

        ``knows_change``: a sensitive update reveals that old and new value differ. ``returns="unchanged"``: the
        publisher declared that values do not change during an absence. ``releases`` are the numbers of those that the
        adversary has; event lists are known for all.
        """
        if returns not in ("unknown", "unchanged"):
            raise PolicyError(
                f"returns must be 'unknown' or 'unchanged', but it is {returns!r}.", setting=("returns",), value=returns
            )
        numbers = [release.number for release in series]
        known_numbers = _wanted(numbers, releases)
        people, codes = series.coded_people()
        series.check_events(people, codes)
        keeps_value = np.zeros(max(EventKind) + 1, dtype=bool)
        keeps_value[[EventKind.UNCHANGED, EventKind.QUASI_UPDATED]] = True
        keeps_value[EventKind.RETURNED] = returns == "unchanged"
        last_track = np.full(len(people), -1, dtype=np.int32)
        track_count = 0
        tracks, before, previous, owner = [], [], [], []
        for release, code in zip(series, codes, strict=True):
            # A person declared new but seen before was forgotten meanwhile and came back: the adversary knows who it
            # is.
            events = np.where(
                (release.events == EventKind.INSERTED) & (last_track[code] >= 0), EventKind.RETURNED, release.events
            )
            continues = keeps_value[events] & (last_track[code] >= 0)
            track_of_row = np.where(continues, last_track[code], 0).astype(np.int32)
            new_rows = np.flatnonzero(~continues)
            track_of_row[new_rows] = np.arange(track_count, track_count + len(new_rows), dtype=np.int32)
            first_events = events[new_rows]
            differs_from_last = knows_change & (first_events == EventKind.SENSITIVE_UPDATED)
            before.append(np.where(differs_from_last, last_track[code[new_rows]], -1).astype(np.int32))
            is_linked = (first_events == EventKind.SENSITIVE_UPDATED) | (first_events == EventKind.RETURNED)
            previous.append(np.where(is_linked, last_track[code[new_rows]], -1).astype(np.int32))
            owner.append(code[new_rows])
            last_track[code] = track_of_row
            track_count += len(new_rows)
            tracks.append(track_of_row)
        indices = [index for index, number in enumerate(numbers) if number in known_numbers]
        firsts = starts_of([len(series[index]) for index in indices])
        sizes = [series[index].sizes for index in indices]
        return cls(
            people,
            tuple(numbers[index] for index in indices),
            series.domain,
            person=_joined([codes[index] for index in indices]),
            release=np.repeat(np.arange(len(indices), dtype=np.int32), [len(codes[index]) for index in indices]),
            group=_joined([series[index].group_of + first for index, first in zip(indices, firsts, strict=False)]),
            track=_joined([tracks[index] for index in indices]),
            group_release=np.repeat(np.arange(len(indices), dtype=np.int32), [len(series[index]) for index in indices]),
            offsets=starts_of(np.concatenate(sizes)),
            values=_joined([series[index].values for index in indices]),
            before=_joined(before),
            previous=_joined(previous),
            owner=_joined(owner),
        )

    @property
    def groups(self) -> int:
        """The number of groups of all releases."""
        return len(self.offsets) - 1

    @cached_property
    def after(self) -> Places:
        """The inverse of ``before``."""
        inverse = np.full(len(self.before), -1, dtype=np.int32)
        changed = np.flatnonzero(self.before >= 0)
        inverse[self.before[changed]] = changed
        return inverse

    @cached_property
    def members(self) -> tuple[NDArray[np.int64], Places]:
        """The tracks in each group: ``sightings[starts[g]:starts[g + 1]]``."""
        starts, sightings = _kernels.gathered(self.group, self.groups)
        return starts, self.track[sightings]

    @cached_property
    def homes(self) -> tuple[NDArray[np.int64], Places]:
        """The groups of each track."""
        starts, sightings = _kernels.gathered(self.track, len(self.before))
        return starts, self.group[sightings]

    @cached_property
    def sightings(self) -> tuple[NDArray[np.int64], Places]:
        """The sightings of each person, in the order of releases."""
        starts, order = _kernels.gathered(self.person, len(self.people))
        return starts, order

    def shown(self, group: int) -> Places:
        """Return the published values of a group, rising."""
        return self.values[self.offsets[group] : self.offsets[group + 1]]

    def names(self, values: Sequence[int] | Places) -> list[Any]:
        """Return the values of the domain for codes."""
        return [self.domain[int(code)] for code in values]

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {key: index for index, key in enumerate(self.people)}

    def place_of(self, person: Any) -> int:
        """Return the index of a person; a :class:`PolicyError` if no release contains the person."""
        index = self._places.get(person)
        if index is None:
            raise PolicyError(
                f"No release contains the person {person!r}. Write the key exactly as in the key column.", value=person
            )
        return index


def distinct_values(values: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of distinct values of each group; values rise within a group."""
    first = np.ones(len(values), dtype=np.int64)
    first[1:] = values[1:] != values[:-1]
    first[offsets[:-1]] = 1
    counts: NDArray[np.int64] = np.add.reduceat(first, offsets[:-1])
    return counts


def _wanted(numbers: Sequence[int], releases: Collection[int] | None) -> Collection[int]:
    """Return the numbers of the releases that the adversary has; refused if releases are missing in between."""
    if not numbers:
        raise DataError("The series has no release yet, so there is nothing to attack.")
    if any(later - earlier != 1 for earlier, later in pairwise(numbers)):
        raise DataError(
            "Releases are missing in between, and events are recorded from one release to the next. Pass the whole series, and the numbers that the adversary has as releases=."
        )
    if releases is None:
        return numbers
    unknown = [number for number in releases if number not in numbers]
    if unknown or not releases:
        raise PolicyError(
            f"releases must name some of {', '.join(map(str, numbers))}, but it has {unknown or 'nothing'}.",
            setting=("releases",),
            value=list(releases),
        )
    return releases


def _joined(parts: Sequence[NDArray[Any]]) -> Places:
    joined: Places = np.concatenate(parts).astype(np.int32, copy=False)
    return joined
