"""Recodings: what happens to a row on its way into a release. Kept on the private side; applied by an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reticent.data.meaning import Meaning


@dataclass(frozen=True)
class Levels:
    """Full-domain generalization: one level per quasi column, the rows of some groups left out.

    ``suppressed`` lists the generalized points (one part number per column) whose rows are not published.
    """

    levels: Mapping[str, int]
    suppressed: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int32), compare=False)


@dataclass(frozen=True)
class Regions:
    """Local recoding: every point of the frequency set goes to one group (-1: left out), described column by column.

    ``descriptions[j]`` holds, for each group, the meaning of its cell in column ``j``
    and ``labels[j]`` the text that is published for it.
    """

    group_of_point: NDArray[np.int64]
    labels: tuple[tuple[str, ...], ...]
    descriptions: tuple[tuple[Meaning, ...], ...]


@dataclass(frozen=True)
class Allocation:
    """Bucketization of single rows: how many rows of each (point, sensitive value) go to which group.

    The engine draws which rows these are, with randomness of the operating system.
    """

    points: NDArray[np.int64]
    values: NDArray[np.int64]
    groups: NDArray[np.int64]
    counts: NDArray[np.int64]


Recoding = Levels | Regions | Allocation
