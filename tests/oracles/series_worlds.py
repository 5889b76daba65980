"""Worlds of a series by brute force, and adversaries that know more than the published definition assumes.

A world gives every person of every release a value. Nothing of ``reticent`` is called: releases are read field by field into plain lists, worlds are listed
one by one, release after release, and adversaries are filters on that list.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

Sighting = tuple[Any, int]
World = Mapping[Sighting, int]
INSERTED, UNCHANGED, QUASI_UPDATED, SENSITIVE_UPDATED, RETURNED = range(5)


@dataclass(frozen=True)
class Month:
    """A release as plain lists: members and shown values of every group, what happened to whom, and the truth."""

    number: int
    groups: list[tuple[list[Any], list[int]]]
    kinds: dict[Any, int]
    truth: dict[Any, int]

    def group_of(self, person: Any) -> tuple[list[Any], list[int]]:
        return next(group for group in self.groups if person in group[0])

    def signature(self, person: Any) -> frozenset[int]:
        return frozenset(self.group_of(person)[1])


def months_of(series: Any) -> list[Month]:
    found = []
    for release in series:
        people = list(release.people)
        groups: list[tuple[list[Any], list[int]]] = [
            ([], [int(v) for v in release.values[release.offsets[g] : release.offsets[g + 1]]])
            for g in range(len(release.offsets) - 1)
        ]
        for person, group in zip(people, release.group_of, strict=True):
            groups[int(group)][0].append(person)
        kinds = {person: int(kind) for person, kind in zip(people, release.events, strict=True)}
        truth = {person: int(value) for person, value in zip(people, release.value_of, strict=True)}
        found.append(Month(release.number, groups, kinds, truth))
    return found


def _fillings(month: Month) -> Iterator[dict[Any, int]]:
    """All ways to give the people of a release values that their groups show."""

    def rest(groups: Sequence[tuple[list[Any], list[int]]]) -> Iterator[dict[Any, int]]:
        if not groups:
            yield {}
            return
        (members, shown), *others = groups
        for chosen in sorted(set(permutations(shown, len(members)))):
            for more in rest(others):
                yield dict(zip(members, chosen, strict=True)) | more

    return rest(month.groups)


def worlds(
    months: Sequence[Month],
    *,
    knows_change: bool = True,
    returns_unchanged: bool = False,
    releases: Collection[int] | None = None,
) -> list[World]:
    """Every world that fits releases and event lists."""
    found: list[dict[Sighting, int]] = []
    seen = [month for month in months if releases is None or month.number in releases]

    def fits(world: World, last_number: int) -> bool:
        last: dict[Any, int | None] = {}
        differs: dict[Any, int] = {}
        for month in months:
            if month.number > last_number:
                break
            for person, kind in month.kinds.items():
                value = world.get((person, month.number))
                known = last.get(person)
                same = kind in (UNCHANGED, QUASI_UPDATED) or (kind == RETURNED and returns_unchanged)
                if same and person in last:
                    if value is None:
                        continue
                    if known is None:
                        if person in differs and differs[person] == value:
                            return False
                    elif known != value:
                        return False
                    last[person] = value
                    continue
                differs.pop(person, None)
                if kind == SENSITIVE_UPDATED and knows_change and known is not None:
                    if value == known:
                        return False
                    differs[person] = known
                last[person] = value
        return True

    def grow(place: int, world: dict[Sighting, int]) -> None:
        if place == len(seen):
            found.append(world)
            return
        for filling in _fillings(seen[place]):
            grown = world | {(person, seen[place].number): value for person, value in filling.items()}
            if fits(grown, seen[place].number):
                grow(place + 1, grown)

    grow(0, {})
    return found


def chances(possible: Sequence[World]) -> dict[Any, dict[int, dict[int, Fraction]]]:
    """Shares of worlds: person, release, value."""
    counts: dict[Sighting, Counter[int]] = defaultdict(Counter)
    for world in possible:
        for sighting, value in world.items():
            counts[sighting][value] += 1
    found: dict[Any, dict[int, dict[int, Fraction]]] = defaultdict(dict)
    for (person, number), values in counts.items():
        found[person][number] = {value: Fraction(count, len(possible)) for value, count in values.items()}
    return dict(found)


def greatest(possible: Sequence[World]) -> Fraction:
    """The greatest chance of any value of anybody."""
    return max(chance for mine in chances(possible).values() for values in mine.values() for chance in values.values())


def risk(possible: Sequence[World], months: Sequence[Month]) -> Fraction:
    """The greatest chance of anybody's true value."""
    found = chances(possible)
    return max(
        found[person][month.number].get(value, Fraction(0)) for month in months for person, value in month.truth.items()
    )


Filter = Callable[[World, Sequence[Month]], bool]


def knows_rule(world: World, months: Sequence[Month]) -> bool:
    """Who knows the rule of returns: whoever comes back with a value of the old signature gets the old signature.

    So somebody who came back elsewhere has a value outside the old one. Sensitive changes carry the same rule in the hardened definition.
    """
    return _rule(world, months, (RETURNED,))


def knows_hardened_rule(world: World, months: Sequence[Month]) -> bool:
    """The same rule for sensitive changes too: only for series that claim it."""
    return _rule(world, months, (RETURNED, SENSITIVE_UPDATED))


def _rule(world: World, months: Sequence[Month], kinds: Collection[int]) -> bool:
    last: dict[Any, frozenset[int]] = {}
    for month in months:
        for person, kind in month.kinds.items():
            now = month.signature(person)
            before = last.get(person)
            if kind in kinds and before is not None and now != before and world[person, month.number] in before:
                return False
            last[person] = now
    return True


def knows_histograms(world: World, months: Sequence[Month]) -> bool:
    """Who knows how often each value really occurs in each release."""
    return all(
        Counter(world[person, month.number] for person in month.truth) == Counter(month.truth.values())
        for month in months
    )


def insider(known: Collection[Any]) -> Filter:
    """Who knows the values of some people at all times."""

    def knows(world: World, months: Sequence[Month]) -> bool:
        return all(
            world[person, month.number] == value
            for month in months
            for person, value in month.truth.items()
            if person in known
        )

    return knows


def believed(possible: Sequence[World], months: Sequence[Month], *knowledge: Filter) -> list[World]:
    """The worlds that are left to somebody with more knowledge; the true one is always among them."""
    return [world for world in possible if all(knows(world, months) for knows in knowledge)]


def true_world(months: Sequence[Month]) -> World:
    return {(person, month.number): value for month in months for person, value in month.truth.items()}


def joined_values(series: Any, *, apart: bool = True) -> dict[Sighting, set[int]]:
    """The values that everybody may have for somebody who knows quasi values, boxes and event lists, but not who is in which group.

    Every way to give all people of every release a published row of a group whose box holds them is tried. Whoever is unchanged keeps the value and the signature; across a change the
    value differs, and (``apart``) across a change or a return signatures are equal or disjoint.
    """
    worlds: list[dict[Any, tuple[int, frozenset[int]]]] = [{}]
    trails: list[list[dict[Any, int]]] = [[]]
    for release in series:
        points = series.positions(release.quasi)
        people, kinds = list(release.people), [int(kind) for kind in release.events]
        following, extended = [], []
        for known, trail in zip(worlds, trails, strict=True):
            for rows in _rows_of(release, points):
                now = dict(zip(people, rows, strict=True))
                if all(
                    _may_follow(known.get(who), now[who], kind, apart) for who, kind in zip(people, kinds, strict=True)
                ):
                    following.append({**known, **now})
                    extended.append([*trail, {person: value for person, (value, _) in now.items()}])
        worlds, trails = following, extended
    found: dict[Sighting, set[int]] = defaultdict(set)
    for trail in trails:
        for release, values in zip(series, trail, strict=True):
            for person, value in values.items():
                found[person, release.number].add(value)
    return dict(found)


def _rows_of(release: Any, points: Any) -> Iterator[list[tuple[int, frozenset[int]]]]:
    """A published row for everybody, as its value and signature; as many rows of each group are left over as it has counterfeits.

    Where boxes are those of buckets, as many people of a group are in each box as the table of people lists.
    """
    slots = [
        (group, int(value))
        for group in range(len(release.offsets) - 1)
        for value in release.values[release.offsets[group] : release.offsets[group + 1]]
    ]
    boxes = release.group_of if release.buckets is None else release.buckets
    listed = Counter((int(box), int(group)) for box, group in zip(boxes, release.group_of, strict=True))

    def rest(person: int, used: frozenset[int], left: Counter[tuple[int, int]]) -> Iterator[list[Any]]:
        if person == len(points):
            yield []
            return
        for place, (group, value) in enumerate(slots):
            signature = frozenset(
                int(each) for each in release.values[release.offsets[group] : release.offsets[group + 1]]
            )
            for box, many in enumerate([left[number, group] for number in range(len(release.low))]):
                holds = (release.low[box] <= points[person]) & (points[person] <= release.high[box])
                if place not in used and many and holds.all():
                    for others in rest(person + 1, used | {place}, left - Counter([(box, group)])):
                        yield [(value, signature), *others]

    yield from rest(0, frozenset(), listed)


def _may_follow(
    before: tuple[int, frozenset[int]] | None, now: tuple[int, frozenset[int]], kind: int, apart: bool
) -> bool:
    if before is None or kind == INSERTED:
        return True
    if kind in (UNCHANGED, QUASI_UPDATED):
        return before == now
    differs = kind == RETURNED or before[0] != now[0]
    return differs and (not apart or before[1] == now[1] or not before[1] & now[1])
