"""Values between and beyond constants: the representative grid of an ordered sort. Source: [Klug1988]."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from reticent.views.constants import Constant, from_order_key, order_key


def dense_between(kind: str, low: Constant | None, high: Constant | None, count: int) -> list[Constant]:
    """Return ``count`` rising values strictly between two constants (None: no bound); fewer if a text gap is too narrow."""
    if kind == "text":
        bottom_text = None if low is None else str(low.value)
        top_text = None if high is None else str(high.value)
        return [Constant("text", item) for item in _texts(bottom_text, top_text, count)]
    bottom = None if low is None else Fraction(order_key(low))
    top = None if high is None else Fraction(order_key(high))
    if bottom is None:
        keys = [Fraction(index - count) + (top or 0) for index in range(count)]
    elif top is None:
        keys = [math.floor(bottom) + index + Fraction(1) for index in range(count)]
    else:
        keys = _even(bottom, top, count)
    return [value for key in keys if (value := from_order_key(kind, key)) is not None]


def whole_between(kind: str, low: Constant | None, high: Constant | None, count: int) -> list[Constant]:
    """Return up to ``count`` rising integral values strictly between two constants."""
    if low is None and high is None:
        keys: Sequence[Any] = range(1, count + 1)
    elif low is None:
        top = math.ceil(order_key(high))  # type: ignore[arg-type]  # one end is given, and it is not the low one
        keys = range(top - count, top)
    else:
        bottom = math.floor(order_key(low)) + 1
        keys = range(bottom, bottom + count if high is None else min(bottom + count, math.ceil(order_key(high))))
    return [value for key in keys if (value := from_order_key(kind, key)) is not None]


def _even(bottom: Fraction, top: Fraction, count: int) -> list[Fraction]:
    """Return integers if enough of them are in between, else evenly spaced fractions with short decimals."""
    first = math.floor(bottom) + 1
    if first + count - 1 < top:
        return [Fraction(first + index) for index in range(count)]
    scale = 1
    while (math.ceil(top * scale) - math.floor(bottom * scale) - 1) < count + 1:
        scale *= 10
    start = math.floor(bottom * scale) + 1
    return [Fraction(start + index, scale) for index in range(count) if start + index < top * scale]


def _texts(low: str | None, high: str | None, count: int) -> list[str]:
    """Return up to ``count`` rising texts strictly between two texts, by code point, made by appending one of four
    characters to ``low``.
    """
    stem = low or ""
    texts: list[str] = []
    for filler in ("a", " ", "\x01", "\x00"):
        texts = [stem + filler * (index + 1) for index in range(count)]
        if high is None or texts[-1] < high:
            return texts
    return [text for text in texts if high is None or text < high]


def fill_gaps(
    constants: Sequence[Constant], between: Callable[[Constant | None, Constant | None], list[Constant]]
) -> list[Constant]:
    """Return the values that ``between`` finds below, between and above rising constants."""
    ends: list[Constant | None] = [None, *constants, None]
    return [item for low, high in itertools.pairwise(ends) for item in between(low, high)]


def line_up(constants: Sequence[int], roots: Sequence[int], below: Iterable[tuple[int, int, bool]]) -> list[int]:
    """Return constants and classes of variables (``roots``) in one rising sequence that respects the ``below`` pairs
    (low, high, strict), which must be acyclic.

    ``constants`` are already rising.
    """
    after: dict[int, set[int]] = {code: set() for code in (*constants, *roots)}
    for low, high in itertools.pairwise(constants):
        after[high].add(low)
    for low, high, _ in below:
        if low in after and high in after:
            after[high].add(low)
    line: list[int] = []
    while after:
        ready = next(code for code, waiting in after.items() if not waiting)
        line.append(ready)
        del after[ready]
        for waiting in after.values():
            waiting.discard(ready)
    return line


def reachable(edges: Iterable[tuple[int, int, bool]]) -> dict[int, set[int]]:
    """Return, for every node, the nodes reachable along the edges (from, to, strict)."""
    above: dict[int, set[int]] = {}
    for low, high, _ in edges:
        above.setdefault(low, set()).add(high)
        above.setdefault(high, set())
    nodes_above: dict[int, set[int]] = {}
    for start in above:
        reached: set[int] = set()
        pending = [start]
        while pending:
            for following in above[pending.pop()]:
                if following not in reached:
                    reached.add(following)
                    pending.append(following)
        nodes_above[start] = reached
    return nodes_above
