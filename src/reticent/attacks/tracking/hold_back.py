"""An adversary who knows who waited: new people who were held back because they shared a value too often, and entered with a later release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from reticent.attacks.tracking.tracked_view import Tracks
from reticent.base.cards import Card, CardTable, ShownAsCard, tone_of
from reticent.base.context import Context
from reticent.methods.series import History

MOST_WORLDS = 200_000
"""The maximum number of partial assignments of values tried per hold-back."""


@dataclass(frozen=True, repr=False)
class WaitingFindings(ShownAsCard):
    """The additional knowledge of who waited: how many people ``waited`` in which release, and the resulting
    probabilities of values for all people linked to them.

    ``chances`` are ``{person: {value: chance}}`` at the release that people entered with. ``unmeasured`` are releases
    whose hold-back was too large to enumerate, or whose people changed meanwhile. For the steward only.
    """

    limit: Fraction
    waited: Mapping[int, int]
    chances: Mapping[Any, Mapping[Any, Fraction]]
    unmeasured: tuple[int, ...] = ()

    @property
    def highest(self) -> Fraction:
        """The largest probability of a value, 0 if no one waited."""
        return max((max(shares.values()) for shares in self.chances.values()), default=Fraction(0))

    @property
    def disclosed(self) -> list[Any]:
        """People whose value is certain."""
        return [person for person, shares in self.chances.items() if len(shares) == 1]

    @property
    def above(self) -> list[Any]:
        """People with a value of probability above 1/m."""
        return [person for person, shares in self.chances.items() if max(shares.values()) > self.limit]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "waited": dict(self.waited),
            "people": len(self.chances),
            "disclosed": len(self.disclosed),
            "above": len(self.above),
            "highest": self.highest,
            "unmeasured": list(self.unmeasured),
        }

    def card(self) -> Card:
        """Return a card: how many people waited, and what that discloses."""
        rows = [(str(number), count) for number, count in self.waited.items()]
        facts = {name: value for name, value in self.as_dict().items() if name != "waited"}
        return Card(
            "Known waiting",
            facts,
            tone_of(self.highest <= self.limit),
            [CardTable(("release", "people who waited"), rows)],
        )


def waiting(history: History, *, context: Context | None = None) -> WaitingFindings:
    """Return what an adversary learns who knows, besides all releases and event lists, who was in the table but in no
    group.

    *Rule.* All new people of a release wait iff one of their values is held by more than 1/m of them (if free places
    are filled: only if). Worlds in which they would not have waited are excluded; the others are equally likely.
    *Adversary.* That of :class:`reticent.methods.series.TauSafety`, who also knows the algorithm and who waited; values
    are assumed not to change while a person waits. *Cost.* Exponential in the number of people linked to those who
    waited; at most ``MOST_WORLDS`` partial assignments for one hold-back.
    """
    context = context or Context()
    published = history.series
    waiting_people = {number: keys for number, keys in enumerate(history.waiting(), start=1) if len(keys)}
    chances: dict[Any, Mapping[Any, Fraction]] = {}
    unmeasured = []
    if waiting_people:
        tracks = Tracks.of(published)
        for number, keys in waiting_people.items():
            context.step("counting worlds of people who waited", number, len(published))
            shares_of = _Holdback.of(tracks, keys.to_list(), published.m).learned()
            if shares_of is None:
                unmeasured.append(number)
                continue
            for track, shares in shares_of.items():
                person = tracks.people[int(tracks.owner[track])]
                chances_of = {tracks.domain[value]: share for value, share in shares.items()}
                if person not in chances or max(chances_of.values()) > max(chances[person].values()):
                    chances[person] = chances_of
    counts = {number: len(keys) for number, keys in waiting_people.items()}
    return WaitingFindings(Fraction(1, published.m), counts, chances, tuple(unmeasured))


@dataclass(frozen=True)
class _Holdback:
    """The tracks linked to people who waited: the groups of each, the values of each group, and the tracks that must have other values."""

    m: int
    waited: Sequence[int]
    linked: Sequence[int]
    homes: Mapping[int, Sequence[int]]
    room: Mapping[int, Counter[int]]
    differ: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, tracks: Tracks, keys: Sequence[Any], m: int) -> _Holdback:
        """Return the part of a series that a hold-back concerns: the tracks connected to people who waited, by groups or known changes.

        ``keys`` are the people who waited. A track is a period in which a person keeps one value; its first one is concerned.
        """
        starts, homes = tracks.homes
        member_starts, members = tracks.members
        must_differ: dict[int, list[int]] = {}
        for after in np.flatnonzero(tracks.before >= 0).tolist():
            for track_end, neighbour in ((after, int(tracks.before[after])), (int(tracks.before[after]), after)):
                must_differ.setdefault(track_end, []).append(neighbour)
        index_of = {person: index for index, person in enumerate(tracks.people.to_list())}
        first_track = {int(owner): track for track, owner in reversed(list(enumerate(tracks.owner.tolist())))}
        waited = [first_track[index_of[key]] for key in keys if key in index_of]
        connected, open_tracks = dict.fromkeys(waited), list(waited)
        groups_of: dict[int, list[int]] = {}
        while open_tracks:
            track = open_tracks.pop()
            groups_of[track] = list(dict.fromkeys(homes[starts[track] : starts[track + 1]].tolist()))
            group_members = [
                neighbour
                for group in groups_of[track]
                for neighbour in members[member_starts[group] : member_starts[group + 1]].tolist()
            ]
            for neighbour in (*group_members, *must_differ.get(track, ())):
                if neighbour not in connected:
                    connected[neighbour] = None
                    open_tracks.append(neighbour)
        groups = {group for track_groups in groups_of.values() for group in track_groups}
        capacity = {group: Counter(tracks.shown(group).tolist()) for group in groups}
        return cls(m, waited, linked=list(connected), homes=groups_of, room=capacity, differ=must_differ)

    def learned(self) -> dict[int, dict[int, Fraction]] | None:
        """Return the probabilities of values for each linked track; None if there are too many worlds, or none in which people would have waited."""
        if not self.waited:
            return {}
        world_count, tallies = 0, {track: Counter[int]() for track in self.linked}
        for world in self._worlds():
            if world is None:
                return None
            values_of_waiting = Counter(world[track] for track in self.waited)
            # They wait only if one of their values is held by more than 1/m of them.
            if self.m * max(values_of_waiting.values()) > len(self.waited):
                world_count += 1
                for track, value in world.items():
                    tallies[track][value] += 1
        if not world_count:
            return None
        return {
            track: {value: Fraction(count, world_count) for value, count in tally.items()}
            for track, tally in tallies.items()
        }

    def _worlds(self) -> Iterator[dict[int, int] | None]:
        """Yield every assignment of values that fits all groups; None once too many were tried."""
        world: dict[int, int] = {}
        capacity = {group: Counter(values) for group, values in self.room.items()}
        attempts = 0

        def extend(index: int) -> Iterator[dict[int, int] | None]:
            """Assign the tracks from ``index`` on by backtracking."""
            nonlocal attempts
            if index == len(self.linked):
                yield world
                return
            track = self.linked[index]
            excluded = {world[other] for other in self.differ.get(track, ()) if other in world}
            groups = self.homes[track]
            for value in capacity[groups[0]] if groups else ():
                attempts += 1
                if attempts > MOST_WORLDS:
                    yield None
                    return
                if value in excluded or any(capacity[group][value] < 1 for group in groups):
                    continue
                world[track] = value
                for group in groups:
                    capacity[group][value] -= 1
                yield from extend(index + 1)
                for group in groups:
                    capacity[group][value] += 1
                del world[track]
                if attempts > MOST_WORLDS:
                    return

        yield from extend(0)
