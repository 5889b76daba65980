"""Possible worlds, counted exactly: every assignment of values to people that fits all releases is one world."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from reticent.attacks.tracking.fixpoint import ValuesLeft, fixpoint, listed
from reticent.attacks.tracking.learned import SightingFigures
from reticent.attacks.tracking.tracked_view import Tracks
from reticent.base.context import Context
from reticent.errors import DataError, PolicyError

MOST_TRANSITIONS = 2_000_000
"""The maximum number of transitions per component; those of long states count more, so that the limit is reached within seconds."""
_LONG_STATE = 8
Shares = dict[int, Fraction]
Room = tuple[tuple[int, int], ...]
Codes = tuple[int, ...]
State = tuple[Codes, Codes]
_Step = Callable[[Codes, Codes], list[tuple[Codes, Codes, int]]]


@dataclass(frozen=True)
class WorldMarginals:
    """The probabilities of values for each track: shares of all possible worlds."""

    tracks: Tracks
    shares: Mapping[int, Shares]

    def of(self, sighting: int) -> dict[int, Fraction]:
        """Return the possible values, with their shares."""
        return self.shares[int(self.tracks.track[sighting])]

    def figures(self) -> SightingFigures:
        """Return the largest probability and the number of possible values of each sighting."""
        index_of_top: dict[Fraction, int] = {}
        top_and_size = np.zeros((2, len(self.tracks.before)), dtype=np.int32)
        for track, shares in self.shares.items():
            top = max(shares.values())
            top_and_size[:, track] = index_of_top.setdefault(top, len(index_of_top)), len(shares)
        return SightingFigures(
            tuple(index_of_top), top_and_size[0][self.tracks.track], top_and_size[1][self.tracks.track]
        )


def count_worlds(tracks: Tracks, context: Context) -> tuple[WorldMarginals, int]:
    """Return the marginals of every observed track, and the number of possible worlds.

    *Worlds.* A world assigns every track a value such that the members of each group have, together, some of the values
    that it publishes (counterfeits have the others), and tracks around a known change differ. All worlds are equally
    likely.

    *Method.* Values that are impossible are ruled out first (:func:`fixpoint`), and tracks with one remaining value are
    fixed. The others form components, connected by groups and changes, which are independent of each other. In a
    component values are chosen one after the other, group by group (a transfer-matrix method): the state holds only the
    values of tracks that occur again, and a backward pass turns counts into marginals. Nothing is rounded.

    *Cost.* Exponential in the number of tracks that are open at the same time. A component with more than
    ``MOST_TRANSITIONS`` is refused.
    """
    remaining = fixpoint(tracks, context)
    shares: dict[int, Shares] = {}
    counts = []
    components = _components(tracks, remaining, shares)
    for number, component in enumerate(components):
        if number % 1000 == 0:
            context.step("counting worlds", number, len(components))
        result = component.alike()
        if result is None:
            result = _Transfer(component).run(context, tracks)
        counts.append(result[0])
        shares.update(result[1])
    return WorldMarginals(tracks, shares), math.prod(counts)


@dataclass
class _Component:
    """Tracks that depend on each other: the remaining values of each, distinct constraints (members and capacities of
    values), and pairs that differ.
    """

    allowed: dict[int, Codes] = field(default_factory=dict)
    constraints: dict[tuple[Codes, Room], None] = field(default_factory=dict)
    differ: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def alike(self) -> tuple[int, dict[int, Shares]] | None:
        """Return the number of worlds and the shares of each member's values if all members are interchangeable; else
        None.

        They are if they are in one group, may have all of its values, and these are all different or all taken.
        """
        if self.differ or len(self.constraints) != 1:
            return None
        ((members, capacities),) = self.constraints
        values = tuple(value for value, _ in capacities)
        row_count = sum(count for _, count in capacities)
        if any(self.allowed[track] != values for track in members) or (
            len(capacities) < row_count and len(members) < row_count
        ):
            return None
        share = {value: Fraction(count, row_count) for value, count in capacities}
        arrangements = math.factorial(row_count) // math.factorial(row_count - len(members))
        return arrangements // math.prod(math.factorial(count) for _, count in capacities), dict.fromkeys(
            members, share
        )


def _components(tracks: Tracks, remaining: ValuesLeft, shares: dict[int, Shares]) -> list[_Component]:
    """Return the connected components of tracks that still have several possible values; the single value of another
    track gets share 1 in ``shares``.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    starts, members = tracks.members
    is_sighted = np.diff(tracks.homes[0]) > 0
    is_open = is_sighted & (remaining.sizes > 1)
    for track in np.flatnonzero(is_sighted & ~is_open).tolist():
        shares[track] = {remaining.codes(track)[0]: Fraction(1)}
    group = np.repeat(np.arange(tracks.groups), np.diff(starts))
    is_open_member = is_open[members]
    open_tracks, group_of_member = members[is_open_member], group[is_open_member]
    changed = np.flatnonzero(is_open & (tracks.before >= 0))
    changed = changed[is_open[tracks.before[changed]]]
    # Tracks and groups are the nodes: a track is connected to its groups, and to the track that it differs from.
    size = len(is_open)
    rows = np.concatenate([open_tracks, changed])
    columns = np.concatenate([group_of_member + size, tracks.before[changed]])
    nodes = size + tracks.groups
    graph = coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(nodes, nodes))
    labels = connected_components(graph, directed=False)[1]
    components: dict[int, _Component] = defaultdict(_Component)
    for track in np.flatnonzero(is_open).tolist():
        components[labels[track]].allowed[track] = remaining.codes(track)
    for group_index in np.unique(group_of_member).tolist():
        all_members = members[starts[group_index] : starts[group_index + 1]]
        open_members = tuple(sorted(all_members[is_open[all_members]].tolist()))
        free_rows = Counter(tracks.shown(group_index).tolist())
        free_rows.subtract(remaining.codes(track)[0] for track in all_members[~is_open[all_members]].tolist())
        components[labels[open_members[0]]].constraints[open_members, tuple((+free_rows).items())] = None
    for track in changed.tolist():
        differ = components[labels[track]].differ
        differ[track].append(int(tracks.before[track]))
        differ[int(tracks.before[track])].append(track)
    return list(components.values())


@dataclass(frozen=True)
class _Layer:
    """One choice: transitions from states of one layer to states of the next, with the value chosen for ``track`` (None: no choice)."""

    track: int | None
    source: list[int]
    target: list[int]
    chosen: list[int]
    weights: list[int]


class _Transfer:
    """Counts the worlds of one component, forward and backward. Mutable: layers are added one after the other."""

    def __init__(self, component: _Component) -> None:
        """Prepare the count of one component: one empty state, and for each track (a period in which a person keeps one
        value) the constraints, or groups, still to be met.
        """
        self._component = component
        self._states: dict[State, int] = {((), ()): 1}
        self._layers: list[_Layer] = []
        self._live: list[int] = []
        self._transitions = 0
        self._pending: dict[int, set[int]] = defaultdict(set)
        self._constraints = list(component.constraints)
        for number, (members, _) in enumerate(self._constraints):
            for track in members:
                self._pending[track].add(number)
        self._unset = {track: set(others) for track, others in component.differ.items()}

    def run(self, context: Context, tracks: Tracks) -> tuple[int, dict[int, Shares]]:
        """Return the number of possible worlds, and for every track the share of the worlds in which it has each value."""
        for number in self._order():
            members, capacities = self._constraints[number]
            values = {value: index for index, (value, _) in enumerate(capacities)}
            self._open(tuple(count for _, count in capacities))
            for track in members:
                self._pending[track].discard(number)
            for track in [track_of for track_of in members if track_of in self._live]:
                self._take(self._live.index(track), values)
            for track in [track_of for track_of in members if track_of not in self._live]:
                self._choose(track, values)
            self._close()
            context.check("counting worlds")
            if self._is_too_large:
                person = tracks.people[int(tracks.owner[members[0]])]
                raise PolicyError(
                    f"The possible worlds around {person!r} are too many to count: {len(self._component.allowed):,} tracks are connected by {len(self._constraints):,} groups. Use mode='fixpoint', or attack fewer releases.",
                    setting=("mode",),
                    value="exact",
                )
        if not self._states:
            people = (
                tracks.people.gather(tracks.owner[sorted(self._component.allowed)])
                .unique(maintain_order=True)
                .to_list()
            )
            raise DataError(
                f"The releases contradict each other: no assignment of values fits all groups of {listed(people)}. "
                "Groups, event lists or published values are wrong; no conclusion about this series is possible."
            )
        return self._backward()

    @property
    def _is_too_large(self) -> bool:
        return self._transitions > MOST_TRANSITIONS

    def _order(self) -> Iterator[int]:
        """Yield the constraints (groups of tracks that share published values) in greedy order: each time the one after
        which the fewest tracks are open.

        A track, a period in which a person keeps one value, is open from the first to the last constraint that it is
        in.
        """
        waiting = set(range(len(self._constraints)))
        while waiting:
            candidates = {number for track in self._live for number in self._pending[track]} or waiting
            next_constraint = min(candidates, key=lambda number: (self._growth(number), number))
            waiting.discard(next_constraint)
            yield next_constraint

    def _growth(self, number: int) -> int:
        """Return how many more tracks are open (their value is part of the state) after a constraint than before it."""
        change = 0
        for track in self._constraints[number][0]:
            change += track not in self._live
            change -= self._pending[track] == {number}
        return change

    def _open(self, room: Codes) -> None:
        self._advance(None, lambda live, _: [(live, room, 0)])

    def _close(self) -> None:
        """Remove from the states the values of the tracks that no later group or change needs; equal states are merged."""
        kept_indices = [index for index, track in enumerate(self._live) if self._needed(track)]
        self._live = [self._live[index] for index in kept_indices]
        self._advance(None, lambda live, _: [(tuple(live[index] for index in kept_indices), (), 0)])

    def _needed(self, track: int) -> bool:
        return bool(self._pending[track] or self._unset.get(track))

    def _take(self, position: int, values: Mapping[int, int]) -> None:
        """Use one row of the current group for a track whose value is already in the state."""

        def step(live: Codes, room: Codes) -> list[tuple[Codes, Codes, int]]:
            """Return the state after a row with the track's value is used; none if the group has no such row left."""
            index = values.get(live[position], -1)
            return [(live, _less(room, index), 0)] if index >= 0 and room[index] else []

        self._advance(None, step)

    def _choose(self, track: int, values: Mapping[int, int]) -> None:
        """Extend every state by each value that this track is allowed, that the current group has left, and that no
        track differing from it (by a known change of value) has.
        """
        live_neighbours = [
            index for index, live_track in enumerate(self._live) if live_track in self._component.differ.get(track, ())
        ]
        for neighbour in self._component.differ.get(track, ()):
            self._unset[neighbour].discard(track)
        value_indices = [(value, values[value]) for value in self._component.allowed[track] if value in values]
        is_needed = self._needed(track)

        def step(live: Codes, room: Codes) -> list[tuple[Codes, Codes, int]]:
            """Return the states after this track took a value: values of the live tracks, capacities, and the value."""
            return [
                ((*live, value) if is_needed else live, _less(room, index), value)
                for value, index in value_indices
                if room[index] and all(live[index] != value for index in live_neighbours)
            ]

        self._advance(track, step)
        if is_needed:
            self._live.append(track)

    def _advance(self, track: int | None, step: _Step) -> None:
        """Add a layer: apply ``step`` to every state (values of the open tracks, rows left of the current group), and
        merge equal successors by adding their numbers of worlds.
        """
        targets: dict[State, int] = {}
        index_of: dict[State, int] = {}
        layer = _Layer(track, [], target=[], chosen=[], weights=list(self._states.values()))
        if self._is_too_large:
            return
        for source, ((live, room), weight) in enumerate(self._states.items()):
            self._transitions += (len(live) + len(room)) // _LONG_STATE
            if self._transitions + len(layer.source) > MOST_TRANSITIONS:
                break
            for next_live, next_room, value in step(live, room):
                state = next_live, next_room
                targets[state] = targets.get(state, 0) + weight
                layer.source.append(source)
                layer.target.append(index_of.setdefault(state, len(index_of)))
                layer.chosen.append(value)
        self._transitions += len(layer.source)
        self._layers.append(layer)
        self._states = targets

    def _backward(self) -> tuple[int, dict[int, Shares]]:
        """Return the number of worlds and, by a backward pass over the layers, the marginals of every track."""
        total = sum(self._states.values())
        completions = [1] * len(self._states)
        marginals: dict[int, Shares] = {}
        for layer in reversed(self._layers):
            earlier = [0] * len(layer.weights)
            counts: dict[int, int] = defaultdict(int)
            for source, target, value in zip(layer.source, layer.target, layer.chosen, strict=True):
                earlier[source] += completions[target]
                if layer.track is not None:
                    counts[value] += layer.weights[source] * completions[target]
            if layer.track is not None:
                marginals[layer.track] = {
                    value: Fraction(count, total) for value, count in sorted(counts.items()) if count
                }
            completions = earlier
        return total, marginals


def _less(room: Codes, index: int) -> Codes:
    return (*room[:index], room[index] - 1, *room[index + 1 :])
