"""Sensitive values that came and went between releases, and those that are missing for groups that must go on. The steward's: never public."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.methods.series.person_keys import places_among
from reticent.methods.series.series import HasSeries, PublishedSeries


@dataclass(frozen=True)
class ValueTurnover:
    """True values of people from the release before to release ``number``, as multisets: those of both, ``gained`` and ``lost`` ones.

    ``missing`` are the values that the release before published, counterfeits included, in groups of which somebody is still there, and that fewer people have now: an absence is
    critical, since such a group must show its values again, if need be by counterfeits.
    """

    number: int
    stayed: Counter[Any]
    gained: Counter[Any]
    lost: Counter[Any]
    missing: Counter[Any]


def value_turnover(history: HasSeries | PublishedSeries) -> tuple[ValueTurnover, ...]:
    """What happened to sensitive values, release by release from the second on, in a History or its ``series``. For the steward: true counts break the protection of counterfeits."""
    series = PublishedSeries.of(history)
    series.check_complete("The turnover of values")
    found = []
    for before, after in pairwise(series):
        then, now = (_counted(series, each.value_of) for each in (before, after))
        there = np.zeros(len(before), dtype=bool)
        there[before.group_of[places_among(before.people, after.people) >= 0]] = True
        shown = _counted(series, before.values[np.repeat(there, before.sizes)])
        found.append(ValueTurnover(after.number, then & now, now - then, then - now, shown - now))
    return tuple(found)


def _counted(series: PublishedSeries, codes: NDArray[np.int64]) -> Counter[Any]:
    values, times = np.unique(codes, return_counts=True)
    return Counter({series.domain[value]: int(many) for value, many in zip(values, times, strict=True)})
