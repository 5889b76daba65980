"""How many records are alone, by comparing every two of them: no code, hash or model of the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def same(one: Any, other: Any) -> bool:
    """Whether two cells of a table show the same; a missing value and NaN are values."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return True
    return type(one) is type(other) and one == other


def alone_and_few(rows: Sequence[Sequence[Any]], k: int) -> tuple[int, int]:
    """How many rows no other row is equal to, and how many fewer than k rows (the row itself among them) are equal to."""
    sizes = [sum(all(map(same, row, other)) for other in rows) for row in rows]
    return sum(size == 1 for size in sizes), sum(size < k for size in sizes)
