"""Compiled loops over hundreds of thousands of buckets: sorting their counts, and the float tables of the screen.

``cache=True`` keeps the machine code on disk; small inputs do not use these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.base.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANES = 8


@compiled
def least_chances(offsets: Any, counts: Any, sizes: Any, atoms: int, out: NDArray[np.float64]) -> None:
    """Fill ``out[b, h]`` with M_b[h], h = 0..atoms; every bucket must have more than ``atoms`` different values.

    The compiled version of :func:`reticent.worst_case.screen.least_chances`; eight buckets are processed side by side so that the
    compiler can vectorize.
    """
    buckets = len(sizes)
    covered = np.empty((atoms + 1, LANES))
    size = np.empty(LANES)
    factor = np.empty((atoms + 1, LANES))
    chance = np.empty((atoms + 1, atoms + 2, LANES))
    for first in range(0, buckets, LANES):
        used = min(LANES, buckets - first)
        for lane in range(LANES):
            bucket = first + min(lane, used - 1)
            size[lane] = sizes[bucket]
            total = 0
            covered[0, lane] = 0.0
            for rank in range(atoms):
                total += counts[offsets[bucket] + rank]
                covered[rank + 1, lane] = total
        for person in range(atoms + 2):
            for lane in range(LANES):
                chance[0, person, lane] = 1.0
        for most in range(1, atoms + 1):
            for person in range((atoms - most) // most + 1):
                for lane in range(LANES):
                    there = size[lane] - person
                    factor[person, lane] = (there - covered[most, lane]) / there
            for left in range(most, atoms + 1):
                for person in range((atoms - left) // most + 1):
                    if most == 1:
                        for lane in range(LANES):
                            chance[left, person, lane] = factor[person, lane] * chance[left - 1, person + 1, lane]
                    else:
                        for lane in range(LANES):
                            value = factor[person, lane] * chance[left - most, person + 1, lane]
                            if value < chance[left, person, lane]:
                                chance[left, person, lane] = value
        for atom in range(atoms + 1):
            for lane in range(used):
                out[first + lane, atom] = chance[atom, 0, lane]


@compiled
def sort_falling(offsets: Any, counts: Any) -> None:
    """Sort the counts of every bucket in place, descending."""
    for bucket in range(len(offsets) - 1):
        first, last = offsets[bucket], offsets[bucket + 1]
        if last - first > 64:
            counts[first:last] = np.sort(counts[first:last])[::-1]
            continue
        for place in range(first + 1, last):
            count = counts[place]
            before = place
            while before > first and counts[before - 1] < count:
                counts[before] = counts[before - 1]
                before -= 1
            counts[before] = count
