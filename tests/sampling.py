"""How many examples a property is tried on: some in ``make test``, where they are the same every time; all, drawn anew, in ``make test-all``."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

FEWEST = 10


def examples(count: int, *, few: int | None = None, **options: Any) -> settings:
    """Settings for a property that holds on ``count`` examples, of which ``make test`` tries ``few``.

    Left out, ``few`` is a third, and not below ``FEWEST``: examples that are the same every time (conftest.py) tell whether a change
    broke something, and more of them tell hardly more; new ones are drawn by ``make test-all``.
    """
    few = max(min(count, FEWEST), count // 3) if few is None else few
    return settings(max_examples=few if settings.default.derandomize else count, **options)
