"""People who look alike: buckets of at least k people by their quasi values alone (R-TS-22)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.errors import Infeasible
from reticent.republish._kernels import halve
from reticent.republish.assigning import Shuffler

Ints = NDArray[np.int64]


def divide_people(points: NDArray[np.float64], k: int, shuffler: Shuffler) -> Ints:
    """The bucket of each person, given scaled quasi values: at least ``k`` people each, numbered at random.

    The people of a bucket are halved along their widest column while both halves have ``k``. Nothing but quasi values is looked at, and people with the same values are parted at
    random, so buckets tell nothing about groups or sensitive values. :class:`Infeasible` if there are fewer than ``k`` people.
    """
    if len(points) < k:
        raise Infeasible(
            f"The release would have {len(points)} people, and {k} must look alike. Publish when there are more, or begin a series with a smaller k.",
            setting=("k",),
            value=k,
        )
    order = shuffler.order(len(points))
    first = np.zeros(len(points), dtype=np.bool_)
    halve(points, order, k, first)
    number = shuffler.order(int(first.sum()))
    buckets = np.empty(len(points), dtype=np.int64)
    buckets[order] = number[np.cumsum(first) - 1]
    return buckets
