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
    """Fill ``out[b, h]``, h = 0..``atoms``, with the minimum probability that none of h well chosen atoms "person i has
    value s" is true in bucket b.

    Every bucket must have more than ``atoms`` different values; its ``counts`` are descending from ``offsets[b]``.
    Eight buckets are processed side by side so that the compiler can vectorize; see
    :func:`reticent.worst_case.screen.least_chances`.
    """
    buckets = len(sizes)
    covered = np.empty((atoms + 1, LANES))
    size = np.empty(LANES)
    factor = np.empty((atoms + 1, LANES))
    chance = np.empty((atoms + 1, atoms + 2, LANES))
    for first in range(0, buckets, LANES):
        lane_count = min(LANES, buckets - first)
        for lane in range(LANES):
            bucket = first + min(lane, lane_count - 1)
            size[lane] = sizes[bucket]
            total = 0
            covered[0, lane] = 0.0
            for rank in range(atoms):
                total += counts[offsets[bucket] + rank]
                covered[rank + 1, lane] = total
        for person in range(atoms + 2):
            for lane in range(LANES):
                chance[0, person, lane] = 1.0
        for largest_share in range(1, atoms + 1):
            for person in range((atoms - largest_share) // largest_share + 1):
                for lane in range(LANES):
                    people_left = size[lane] - person
                    factor[person, lane] = (people_left - covered[largest_share, lane]) / people_left
            for atoms_assigned in range(largest_share, atoms + 1):
                for person in range((atoms - atoms_assigned) // largest_share + 1):
                    if largest_share == 1:
                        for lane in range(LANES):
                            chance[atoms_assigned, person, lane] = (
                                factor[person, lane] * chance[atoms_assigned - 1, person + 1, lane]
                            )
                    else:
                        for lane in range(LANES):
                            value = factor[person, lane] * chance[atoms_assigned - largest_share, person + 1, lane]
                            if value < chance[atoms_assigned, person, lane]:
                                chance[atoms_assigned, person, lane] = value
        for atom in range(atoms + 1):
            for lane in range(lane_count):
                out[first + lane, atom] = chance[atom, 0, lane]


@compiled
def sort_falling(offsets: Any, counts: Any) -> None:
    """Sort the counts of every bucket in place, descending."""
    for bucket in range(len(offsets) - 1):
        first, last = offsets[bucket], offsets[bucket + 1]
        if last - first > 64:
            counts[first:last] = np.sort(counts[first:last])[::-1]
            continue
        for position in range(first + 1, last):
            count = counts[position]
            slot = position
            while slot > first and counts[slot - 1] < count:
                counts[slot] = counts[slot - 1]
                slot -= 1
            counts[slot] = count
