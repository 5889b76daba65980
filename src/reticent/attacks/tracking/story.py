"""The chain of reasoning about one person in plain words: which releases and which group members rule out which values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.tracking import _kernels
from reticent.attacks.tracking.fixpoint import ValuesLeft, fixpoint, listed
from reticent.attacks.tracking.learned import Learned
from reticent.attacks.tracking.tracked_view import Tracks
from reticent.base.context import Context

_MOST_GROUPS = 3_000


@dataclass(frozen=True)
class Clue:
    """One step: after it ``person`` can have had only the values ``left`` in ``releases``; ``text`` is the reason."""

    person: Any
    releases: tuple[int, ...]
    left: tuple[Any, ...]
    text: str

    def as_dict(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return {"person": self.person, "releases": list(self.releases), "left": list(self.left), "text": self.text}


def explain(learned: Learned, person: Any) -> list[Clue]:
    """Return the chain of reasoning about a person: the steps that rule out values, each once, in logical order.

    It is that of an adversary who knows the groups, whatever the mode of the attack. An empty list means that nothing
    is ruled out.
    """
    left = learned.chances
    return _reasons(left if isinstance(left, ValuesLeft) else fixpoint(learned.tracks, Context()), person)


def _reasons(remaining: ValuesLeft, person: Any) -> list[Clue]:
    """Return the steps that rule out values of a person.

    Only the smallest sufficient neighbourhood is used: the person's own groups, then those of their members, and so on,
    until everything that the fixpoint rules out about the person follows.
    """
    tracks = remaining.tracks
    starts, sightings = tracks.sightings
    index = tracks.place_of(person)
    own_tracks = np.unique(tracks.track[sightings[starts[index] : starts[index + 1]]]).tolist()
    groups_used: set[int] = set()
    neighbours = set(own_tracks)
    while True:
        group_count = len(groups_used)
        homes, groups = tracks.homes
        groups_used.update(group for track in neighbours for group in groups[homes[track] : homes[track + 1]].tolist())
        reasoning = _Reasoning(tracks, sorted(groups_used))
        reasoning.run()
        complete = all(reasoning.left[track] == set(remaining.codes(track)) for track in own_tracks)
        if complete or len(groups_used) == group_count or len(groups_used) > _MOST_GROUPS:
            return [_clue(tracks, step) for step in reasoning.needed(own_tracks)]
        member_starts, members = tracks.members
        neighbours = {
            neighbour
            for group in groups_used
            for neighbour in members[member_starts[group] : member_starts[group + 1]].tolist()
        }


@dataclass(frozen=True)
class _Step:
    """The remaining values of ``track`` after a step: seen in several groups (``group`` None), by the other members of
    a group, or because of a change (``changed``).
    """

    track: int
    left: frozenset[int]
    removed: frozenset[int]
    group: int | None = None
    others: tuple[tuple[int, frozenset[int]], ...] = ()
    changed: int | None = None
    needs: tuple[int, ...] = field(default=(), compare=False)


class _Reasoning:
    """The fixpoint over a few groups, with its steps recorded. Mutable: each step builds on those before."""

    def __init__(self, tracks: Tracks, groups: list[int]) -> None:
        """Start from the values that all groups of a track publish; ``groups`` are those that the reasoning may use."""
        self._tracks = tracks
        self._groups = groups
        self._members: dict[int, list[int]] = {}
        self.left: dict[int, set[int]] = {}
        self._steps: list[_Step] = []
        self._last: dict[int, int] = {}
        starts, members = tracks.members
        published: dict[int, list[frozenset[int]]] = {}
        for group in groups:
            self._members[group] = members[starts[group] : starts[group + 1]].tolist()
            for track in self._members[group]:
                published.setdefault(track, []).append(frozenset(tracks.shown(group).tolist()))
        for track, sets in published.items():
            common = frozenset.intersection(*sets)
            self.left[track] = set(common)
            # The first step of a track intersects its groups.
            if any(common != values for values in sets):
                self._keep(_Step(track, common, frozenset.union(*sets) - common))

    def run(self) -> None:
        """Rule out values until nothing more follows."""
        count = -1
        while count < len(self._steps):
            count = len(self._steps)
            for group in self._groups:
                for step in [*self._excluded(group), *self._differing(group)]:
                    self.left[step.track] = set(step.left)
                    self._keep(step)

    def needed(self, wanted: list[int]) -> list[_Step]:
        """Return the steps that lead to the remaining values of some tracks, in order."""
        chosen: set[int] = set()
        open_steps = [step for track in wanted for step in self._steps_about(track, len(self._steps))]
        while open_steps:
            step = open_steps.pop()
            if step not in chosen:
                chosen.add(step)
                open_steps += self._steps[step].needs
        return [self._steps[number] for number in sorted(chosen)]

    def _keep(self, step: _Step) -> None:
        self._last[step.track] = len(self._steps)
        self._steps.append(step)

    def _steps_about(self, track: int, before: int) -> list[int]:
        return [number for number, step in enumerate(self._steps[:before]) if step.track == track]

    def _excluded(self, group: int) -> Iterator[_Step]:
        """Yield, for each member of the group, the step that removes the values which no perfect matching of the group
        assigns to it.
        """
        members = self._members[group]
        values, capacity = np.unique(self._tracks.shown(group), return_counts=True)
        allowed: NDArray[np.bool_] = np.array(
            [[code in self.left[member_track] for code in values.tolist()] for member_track in members]
        )
        if allowed.all():
            return
        assigned = np.empty(len(members), dtype=np.int64)
        _kernels.matched(allowed, capacity, assigned)
        is_usable = allowed.copy()
        _kernels.usable(is_usable, capacity, assigned)
        for row, track in enumerate(members):
            removed_columns = np.flatnonzero(allowed[row] & ~is_usable[row])
            if len(removed_columns):
                holders = sorted(
                    {holder for value in removed_columns for holder in _holders(allowed, assigned, int(value))}
                )
                other_tracks = [members[holder] for holder in holders]
                removed = frozenset(values[removed_columns].tolist())
                step_count = len(self._steps)
                needs = [
                    number for member in (track, *other_tracks) for number in self._steps_about(member, step_count)
                ]
                remaining_of_others = tuple((member, frozenset(self.left[member])) for member in other_tracks)
                remaining = frozenset(self.left[track]) - removed
                yield _Step(track, remaining, removed, group=group, others=remaining_of_others, needs=tuple(needs))

    def _differing(self, group: int) -> Iterator[_Step]:
        """Yield the steps that remove from a track the only possible value of the track before or after a known change
        of value.
        """
        for track in self._members[group]:
            for other in (int(self._tracks.before[track]), int(self._tracks.after[track])):
                if other in self.left and len(self.left[other]) == 1 and self.left[other] < self.left[track]:
                    removed = frozenset(self.left[other])
                    step_count = len(self._steps)
                    needs = (*self._steps_about(track, step_count), *self._steps_about(other, step_count))
                    yield _Step(track, frozenset(self.left[track]) - removed, removed, changed=other, needs=needs)


def _holders(allowed: NDArray[np.bool_], assigned: NDArray[np.int64], value: int) -> set[int]:
    """Return the members who need a value among themselves: those who hold it, and those who hold what these could have instead (a Hall set)."""
    holders: set[int] = set()
    open_values = [value]
    while open_values:
        current = open_values.pop()
        for member in np.flatnonzero(assigned == current).tolist():
            if member not in holders:
                holders.add(member)
                open_values += np.flatnonzero(allowed[member]).tolist()
    return holders


def _clue(tracks: Tracks, step: _Step) -> Clue:
    """Return a step of the reasoning as a clue in plain words."""
    person = tracks.people[int(tracks.owner[step.track])]
    sightings = np.flatnonzero(tracks.track == step.track)
    releases = tuple(tracks.numbers[tracks.release[sighting]] for sighting in sightings)
    names = tuple(tracks.names(sorted(step.left)))
    when = _in_releases(list(releases))
    conclusion = f"So {person} {'has' if len(names) == 1 else 'has one of'} {listed(list(names), 8)} {when}."
    if step.changed is not None:
        removed = tracks.names(sorted(step.removed))[0]
        text = f"The value of {person} changed, and was {removed} {'before' if step.changed < step.track else 'afterwards'}. {conclusion}"
    elif step.group is None:
        published = [
            (
                tracks.numbers[tracks.release[sighting]],
                tracks.names(np.unique(tracks.shown(int(tracks.group[sighting])))),
            )
            for sighting in sightings
        ]
        appearances = "; ".join(
            f"{_in_releases([number for number, _ in same_values])} among {listed(values, 8)}"
            for values, same_values in (
                (values, list(group)) for values, group in groupby(published, key=lambda pair: pair[1])
            )
        )
        text = f"{person} appears {appearances}. Nothing changed about {person} in between. {conclusion}"
    else:
        number = tracks.numbers[tracks.group_release[step.group]]
        co_members = " and ".join(
            f"{tracks.people[int(tracks.owner[co_member])]} ({' or '.join(map(str, tracks.names(sorted(codes))))})"
            for co_member, codes in step.others
        )
        ruled_out = listed(tracks.names(sorted(step.removed)), 8)
        text = f"In release {number} {person} shares a group with {co_members}: {ruled_out} {'is' if len(step.removed) == 1 else 'are'} taken. {conclusion}"
    return Clue(person, releases, names, text)


def _in_releases(numbers: list[int]) -> str:
    """Return the release numbers in words."""
    if len(numbers) == 1:
        return f"in release {numbers[0]}"
    return (
        f"in releases {numbers[0]} to {numbers[-1]}"
        if len(numbers) > 2
        else f"in releases {numbers[0]} and {numbers[1]}"
    )
