"""Random series that keep no promise: groups at random, counterfeits at random, people who come, change, go and return."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import polars as pl

from reticent.methods.series import EventKind, PublishedSeries, SeriesRelease


def release_of(
    number: int,
    truth: dict[str, int],
    groups: Sequence[Sequence[str]],
    fakes: Sequence[Sequence[int]],
    kinds: dict[str, EventKind],
    left: Sequence[str] = (),
    places: dict[str, float] | None = None,
) -> SeriesRelease:
    """A release from plain data; ``places`` are the one quasi value of each person."""
    people = [person for group in groups for person in group]
    group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    shown = [sorted([truth[p] for p in group] + list(fake)) for group, fake in zip(groups, fakes, strict=True)]
    places = places or {person: float(number) for number, person in enumerate(people)}
    own = np.array([places[person] for person in people])
    boxes = [own[group_of == group] for group in range(len(groups))]
    return SeriesRelease(
        number=number,
        people=pl.Series("id", people, dtype=pl.String),
        group_of=group_of,
        value_of=np.array([truth[person] for person in people], dtype=np.int64),
        quasi=pl.DataFrame({"place": own}),
        events=np.array([kinds[person] for person in people], dtype=np.uint8),
        left=pl.Series("id", list(left), dtype=pl.String),
        offsets=np.concatenate([[0], np.cumsum([len(each) for each in shown], dtype=np.int64)]),
        values=np.array([value for each in shown for value in each], dtype=np.int64),
        counterfeits=np.array([len(fake) for fake in fakes], dtype=np.int64),
        low=np.array([[box.min()] for box in boxes]),
        high=np.array([[box.max()] for box in boxes]),
    )


def random_series(seed: int, people: int = 6, releases: int = 3, values: int = 4) -> PublishedSeries:
    """A series without any promise; groups have two or three rows, some of them made up, and values may repeat."""
    draw = random.Random(seed)
    names = [f"p{number}" for number in range(people)]
    domain = tuple("abcdefgh"[:values])
    truth: dict[str, int] = {}
    present: set[str] = set()
    made = []
    for number in range(1, releases + 1):
        was = set(present)
        present = {name for name in names if draw.random() < (0.8 if name in was or number == 1 else 0.5)}
        present = present or {names[0]}
        kinds = {}
        for name in sorted(present):
            if name in was:
                kinds[name] = draw.choice(
                    [EventKind.UNCHANGED, EventKind.UNCHANGED, EventKind.QUASI_UPDATED, EventKind.SENSITIVE_UPDATED]
                )
                if kinds[name] == EventKind.SENSITIVE_UPDATED:
                    truth[name] = draw.choice([code for code in range(values) if code != truth[name]])
            elif name in truth:
                kinds[name] = EventKind.RETURNED
                truth[name] = draw.choice([truth[name], draw.randrange(values)])
            else:
                kinds[name] = EventKind.INSERTED
                truth[name] = draw.randrange(values)
        order = sorted(present)
        draw.shuffle(order)
        groups, fakes = [], []
        while order:
            size = draw.choice([1, 2, 2, 3])
            groups.append([order.pop() for _ in range(min(size, len(order)))])
            fakes.append([draw.randrange(values) for _ in range(draw.choice([0, 0, 0, 1, 2]))])
        places = {name: draw.randrange(5) + 0.0 for name in names}
        made.append(release_of(number, truth, groups, fakes, kinds, sorted(was - present), places))
    return PublishedSeries(domain, 2, "illness", {"place": None}, made)
