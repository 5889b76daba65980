"""How many pairs of a bucket can meet a condition at most and at least: a transport between kinds of people and kinds of values."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def most_pairs(people: NDArray[np.int64], times: NDArray[np.int64], meets: NDArray[np.bool_]) -> int:
    """The largest number of people who can be given values that meet the condition.

    ``people[i]`` are alike, ``times[j]`` counts a value, and ``meets[i, j]`` says whether they meet the condition together. By shortest
    augmenting paths in the residual network.
    """
    flow = np.zeros(meets.shape, dtype=np.int64)
    left, right = people.copy(), times.copy()
    while True:
        path = _augmenting_path(left, right, meets, flow)
        if path is None:
            return int(flow.sum())
        back = [flow[i, j] for j, i in zip(path[1::2], path[2::2], strict=False)]
        amount = min(left[path[0]], right[path[-1]], *back)
        for step, (a, b) in enumerate(pairwise(path)):
            if step % 2 == 0:
                flow[a, b] += amount
            else:
                flow[b, a] -= amount
        left[path[0]] -= amount
        right[path[-1]] -= amount


def fewest_pairs(people: NDArray[np.int64], times: NDArray[np.int64], meets: NDArray[np.bool_]) -> int:
    """The smallest number of people who must be given values that meet the condition, when every value is given out."""
    return int(people.sum()) - most_pairs(people, times, ~meets)


def _augmenting_path(
    left: NDArray[np.int64], right: NDArray[np.int64], meets: NDArray[np.bool_], flow: NDArray[np.int64]
) -> list[int] | None:
    """A shortest way from a kind of people with somebody left to a value with something left: person, value, person, ..., value."""
    reached_from: dict[tuple[bool, int], tuple[bool, int] | None] = {
        (True, int(i)): None for i in np.flatnonzero(left > 0)
    }
    waiting = deque(reached_from)
    while waiting:
        node = waiting.popleft()
        is_person, number = node
        if not is_person and right[number] > 0:
            path = [node]
            while (before := reached_from[path[-1]]) is not None:
                path.append(before)
            return [place for _, place in reversed(path)]
        next_numbers = np.flatnonzero(meets[number] if is_person else flow[:, number] > 0)
        for other in next_numbers.tolist():
            if (not is_person, other) not in reached_from:
                reached_from[not is_person, other] = node
                waiting.append((not is_person, other))
    return None
