"""Sensitive values gained and lost between releases, and values missing for groups that must continue. Private to the steward."""

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
    """True values of people from the previous release to release ``number``, as multisets: common, ``gained`` and ``lost``.

    ``missing`` are the values that the previous release published, counterfeits included, in groups of which a person
    is still present, and that fewer people have now. Such an absence is critical: the group must show its values again,
    with counterfeits if necessary.
    """

    number: int
    stayed: Counter[Any]
    gained: Counter[Any]
    lost: Counter[Any]
    missing: Counter[Any]


def value_turnover(history: HasSeries | PublishedSeries) -> tuple[ValueTurnover, ...]:
    """Return the turnover of sensitive values, release by release from the second on, of a History or its ``series``.
    Private: true counts break the protection by counterfeits.
    """
    series = PublishedSeries.of(history)
    series.check_complete("The turnover of values")
    turnovers = []
    for before, after in pairwise(series):
        earlier, current = (_counted(series, codes.value_of) for codes in (before, after))
        has_staying = np.zeros(len(before), dtype=bool)
        has_staying[before.group_of[places_among(before.people, after.people) >= 0]] = True
        published = _counted(series, before.values[np.repeat(has_staying, before.sizes)])
        turnovers.append(
            ValueTurnover(after.number, earlier & current, current - earlier, earlier - current, published - current)
        )
    return tuple(turnovers)


def _counted(series: PublishedSeries, codes: NDArray[np.int64]) -> Counter[Any]:
    values, counts = np.unique(codes, return_counts=True)
    return Counter({series.domain[value]: int(count) for value, count in zip(values, counts, strict=True)})
