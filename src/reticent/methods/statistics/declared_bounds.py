"""Bounds of numbers as a policy declares them, or to be placed by noisy counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reticent.base.exact import exact
from reticent.errors import PolicyError
from reticent.noise import Bounds


@dataclass(frozen=True)
class NoisyBounds:
    """Bounds to be placed by noisy counts between public ones."""

    outer: Bounds


def declared_bounds(name: str, entry: Any) -> Bounds | NoisyBounds:
    """The bounds that a policy declares for a numeric column: ``[0, 200000]``, or ``{"low": 0, "high": 10000000, "chosen": "noisy"}``."""
    ends = entry
    noisy = isinstance(entry, Mapping)
    if isinstance(entry, Mapping):
        if set(entry) != {"low", "high", "chosen"} or entry["chosen"] != "noisy":
            raise PolicyError(
                f"bounds[{name!r}] must be [low, high] or {{'low': .., 'high': .., 'chosen': 'noisy'}}, but it is {dict(entry)!r}.",
                setting=("bounds",),
            )
        ends = [entry["low"], entry["high"]]
    if isinstance(ends, str) or not isinstance(ends, list | tuple) or len(ends) != 2:
        raise PolicyError(f"bounds[{name!r}] must be [low, high], but it is {entry!r}.", setting=("bounds",))
    low, high = (exact(end, f"bounds[{name!r}]", low=-(10**15), high=10**15) for end in ends)
    if low >= high:
        raise PolicyError(
            f"bounds[{name!r}] must be increasing, but they go from {ends[0]} to {ends[1]}.", setting=("bounds",)
        )
    found = Bounds(low, high)
    return NoisyBounds(found) if noisy else found
