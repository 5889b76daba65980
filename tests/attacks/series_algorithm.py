"""An adversary who knows the publisher's algorithm: it runs the algorithm itself, many times, on every input that it thinks possible.

The publisher is a black box here: inputs are drawn uniformly among all that fit the public event lists, each is published, and what came out is compared. Among
runs with the same output the share of a value is the chance that this adversary gives it. Outputs are compared up to names of values, which the publisher must
not look at; so few distinct outputs remain, and shares are precise.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.errors import Infeasible
from reticent.methods.series.assignment import PublishingRules, place
from reticent.methods.series.diff import Snapshot, bind, gone_after
from reticent.methods.series.group_formation import Shuffler
from reticent.methods.series.series import SeriesRelease
from reticent.methods.series.signatures import flat_rows
from reticent.methods.series.state import HistoryState, PersonMarks

MARKS = PersonMarks(b"1" * 32)
PLACES = {"p0": 0.0, "p1": 0.1, "p2": 0.5, "p3": 0.6, "p4": 0.9, "p5": 1.0}
Events = Sequence[dict[str, str]]
"""For each release the people in it with what happened: ``i`` (came), ``_`` (stayed), ``s`` (changed), ``r`` (returned)."""
PATTERNS: dict[str, Events] = {
    "one release": [dict.fromkeys(["p0", "p1", "p2", "p3"], "i")],
    "a change": [dict.fromkeys(["p0", "p1", "p2", "p3"], "i"), {"p0": "s", "p1": "_", "p2": "_", "p3": "_"}],
    "two arrivals": [
        dict.fromkeys(["p0", "p1", "p2", "p3"], "i"),
        {"p0": "_", "p1": "_", "p2": "_", "p3": "_", "p4": "i", "p5": "i"},
    ],
    "a leave and two arrivals": [
        dict.fromkeys(["p0", "p1", "p2", "p3"], "i"),
        {"p1": "_", "p2": "_", "p3": "_", "p4": "i", "p5": "i"},
    ],
    "a change and two arrivals": [
        dict.fromkeys(["p0", "p1", "p2", "p3"], "i"),
        {"p0": "s", "p1": "_", "p2": "_", "p3": "_", "p4": "i", "p5": "i"},
    ],
    "a return": [
        dict.fromkeys(["p0", "p1", "p2", "p3"], "i"),
        {"p1": "_", "p2": "_", "p3": "_"},
        {"p0": "r", "p1": "_", "p2": "_", "p3": "_"},
    ],
}


@dataclass
class CorePublisher:
    """Binding and placing alone, without files and boxes: what decides who shares a group."""

    rules: PublishingRules
    domain: int
    state: HistoryState | None = None

    def publish(self, values: dict[str, int], seed: int) -> SeriesRelease:
        keys = pl.Series("id", list(values), dtype=pl.String)
        places = np.array([[PLACES[key]] for key in values])
        snapshot = Snapshot(
            keys, pl.DataFrame({"place": places[:, 0]}), np.array(list(values.values()), dtype=np.int64), places
        )
        diff = bind(snapshot, self.state, MARKS, self.rules)
        found = place(
            diff.rows, self.rules, self.domain, Shuffler(Randomness(seed)), first=self.state is None, context=Context()
        )
        inside = np.flatnonzero(found.group_of >= 0)
        offsets, shown = flat_rows(found.signatures)
        gone, left = gone_after(self.state, snapshot, diff, found, MARKS)
        boxes = np.zeros((len(found.counterfeits), 1))
        release = SeriesRelease(
            1 if self.state is None else self.state.release.number + 1,
            keys.gather(inside),
            found.group_of[inside],
            snapshot.value[inside],
            snapshot.quasi[inside],
            diff.events[inside],
            left,
            offsets,
            shown,
            found.counterfeits,
            boxes,
            boxes,
        )
        self.state = HistoryState(release, gone, pl.DataFrame(), (), {}, {}, pl.DataFrame())
        return release


Output = tuple[tuple[tuple[tuple[str, ...], tuple[int, ...]], ...], ...]


def _plain(release: SeriesRelease) -> list[tuple[tuple[str, ...], list[int]]]:
    people = release.people.to_list()
    return [
        (
            tuple(sorted(people[row] for row in np.flatnonzero(release.group_of == group))),
            release.values[release.offsets[group] : release.offsets[group + 1]].tolist(),
        )
        for group in range(len(release))
    ]


def canonical(releases: Sequence[Any], domain: int) -> tuple[Output, tuple[int, ...]]:
    """The output with values named by the groups that show them, and the new name of each value. It depends on the output alone.

    Two values that the same groups show can be exchanged without changing the output, so it does not matter which of them comes first.
    """
    shows: dict[int, list[tuple[int, tuple[str, ...]]]] = {value: [] for value in range(domain)}
    for number, release in enumerate(releases):
        for members, shown in release:
            for value in shown:
                shows[value].append((number, members))
    order = sorted(shows, key=lambda value: sorted(shows[value]))
    names = tuple(order.index(value) for value in range(domain))
    renamed = tuple(
        tuple(sorted((members, tuple(sorted(names[value] for value in shown))) for members, shown in release))
        for release in releases
    )
    return renamed, names


@dataclass(frozen=True)
class Beliefs:
    """What the simulating adversary believes: the greatest share of a value among runs with one output, and how many sigmas it lies above 1/m."""

    runs: int
    outputs: int
    greatest: float
    sigmas: float


@dataclass
class Simulation:
    """Runs of the publisher on inputs that are equally likely, counted by output."""

    events: Events
    rules: PublishingRules
    draw: random.Random
    domain: int = 5
    times: Counter[Output] = field(default_factory=Counter)
    seen: dict[Output, Counter[tuple[str, int, int]]] = field(default_factory=dict)

    def run(self) -> bool:
        """One input and its output; False if it cannot be published, which the adversary sees too."""
        publisher = CorePublisher(self.rules, self.domain)
        values: dict[str, int] = {}
        outputs, truths = [], []
        for month in self.events:
            for person, kind in month.items():
                if kind == "s":
                    values[person] = self.draw.choice([code for code in range(self.domain) if code != values[person]])
                elif kind != "_":
                    values[person] = self.draw.randrange(self.domain)
            try:
                release = publisher.publish({p: values[p] for p in month}, self.draw.randrange(1 << 60))
            except Infeasible:
                return False
            outputs.append(_plain(release))
            truths.append({p: values[p] for p in release.people.to_list()})
        key, names = canonical(outputs, self.domain)
        self.times[key] += 1
        counts = self.seen.setdefault(key, Counter())
        counts.update((p, number, names[value]) for number, truth in enumerate(truths) for p, value in truth.items())
        return True

    def beliefs(self, least: int) -> Beliefs:
        """The greatest belief; outputs with fewer than ``least`` runs are not judged."""
        greatest, sigmas = 0.0, -math.inf
        limit = 1 / self.rules.m
        for key, count in self.times.items():
            if count >= least:
                share = max(self.seen[key].values()) / count
                greatest = max(greatest, share)
                sigmas = max(sigmas, (share - limit) / math.sqrt(limit * (1 - limit) / count))
        return Beliefs(self.times.total(), len(self.times), greatest, sigmas)


def simulate(events: Events, rules: PublishingRules, runs: int, seed: int = 0, least: int = 100) -> Beliefs:
    """What the simulating adversary believes after that many published runs."""
    made = Simulation(events, rules, random.Random(seed))
    while made.times.total() < runs:
        made.run()
    return made.beliefs(least)
