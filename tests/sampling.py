"""How much a test tries: some cases in ``make test``, where they are the same every time; all of them in ``make test-all``, which draws new ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import settings

FEWEST = 10


def campaign() -> bool:
    """Whether this is ``make test-all`` (--hypothesis-profile=random)."""
    return not settings.default.derandomize


def examples(count: int, *, few: int | None = None, **options: Any) -> settings:
    """Settings for a property that holds on ``count`` examples, of which ``make test`` tries ``few``.

    Left out, ``few`` is a quarter, and not below ``FEWEST``: examples that are the same every time (conftest.py) tell whether a change
    broke something, and more of them tell hardly more; new ones are drawn by ``make test-all``.
    """
    few = max(min(count, FEWEST), count // 4) if few is None else few
    return settings(max_examples=count if campaign() else few, **options)


def runs(count: int) -> int:
    """How often a test draws whose tolerance follows from how often: ``count`` times in ``make test-all``, a quarter of it in ``make test``."""
    return count if campaign() else max(min(count, FEWEST), count // 4)


def first(cases: Iterable[Any], few: int) -> list[Any]:
    """Parameters of a test: the first few belong to ``make test``, the others are slow."""
    listed = list(cases)
    slow = [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in listed[few:]
    ]
    return [*listed[:few], *slow]


def seeds(count: int) -> list[Any]:
    """Seeds as parameters of a test, of which ``make test`` tries a third."""
    return first(range(count), -(-count // 3))


def spread(cases: Sequence[Any], few: int) -> Sequence[Any]:
    """What a loop within a test goes through: all cases in ``make test-all``, otherwise ``few`` of them, evenly spread from the first to the last."""
    if campaign() or len(cases) <= few:
        return cases
    return [cases[place * (len(cases) - 1) // (few - 1)] for place in range(few)]
