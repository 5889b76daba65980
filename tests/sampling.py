"""How many examples a property test tries: a third of them in ``make test``, all of them, drawn anew, in ``make test-all``."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

FEWEST = 10


def examples(count: int, **options: Any) -> settings:
    """Settings for a property that holds on ``count`` examples.

    ``make test`` tries the same examples every time (conftest.py), so that a third of them, and never fewer than ``FEWEST`` if there
    are as many, tells whether a change broke something; new ones are drawn by ``make test-all``.
    """
    few = max(min(count, FEWEST), count // 3)
    return settings(max_examples=few if settings.default.derandomize else count, **options)
