"""How many examples a property is tried on: few in `make test`, where they are the same every time, and many in `make test-all`, which draws new ones."""

from __future__ import annotations

from hypothesis import settings


def examples(few: int, many: int) -> settings:
    """Settings for ``few`` examples, or ``many`` in a campaign (--hypothesis-profile=random)."""
    return settings(max_examples=few if settings().derandomize else many, deadline=None)
