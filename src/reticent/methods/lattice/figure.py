"""Draw the lattice: all generalizations by height, which of them pass, and the chosen one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.figures import NARROW, WIDTH, Figure, box, dot, line, picture, text

MOST_DOTS = 1500
_MOST_WITH_EDGES = 60
_DOTS_ABREAST = 54
_LEFT, _TOP = 120.0, 24.0


@dataclass(frozen=True)
class LatticeFacts:
    """Facts about a finished search: columns with the heights of their hierarchies, the chosen node, and what is known of other nodes."""

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    chosen: tuple[int, ...]
    status: Mapping[tuple[int, ...], str]

    @classmethod
    def of(cls, search: Mapping[str, Any]) -> LatticeFacts | None:
        """Return the facts in the ``search`` figures of a draft; None if the method did not search a lattice."""
        if not {"columns", "heights", "chosen"} <= set(search) or not search["chosen"]:
            return None
        columns, heights = tuple(search["columns"]), tuple(int(height) for height in search["heights"])
        chosen = search["chosen"]
        levels = (
            tuple(int(chosen[name]) for name in columns) if isinstance(chosen, Mapping) else tuple(map(int, chosen))
        )
        status = {tuple(map(int, node["levels"])): str(node["status"]) for node in search.get("nodes") or ()}
        return cls(columns, heights, levels, status)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return prod(height + 1 for height in self.heights)

    @property
    def height(self) -> int:
        """The height of the top node."""
        return sum(self.heights)

    def counts(self) -> NDArray[np.int64]:
        """Return the number of nodes at each height."""
        counts = np.ones(1, dtype=object)
        for height in self.heights:
            counts = np.convolve(counts, np.ones(height + 1, dtype=object))
        return np.array([int(count) for count in counts], dtype=object)

    def known(self) -> dict[str, NDArray[np.int64]]:
        """Return the number of nodes of each known status at each height; the chosen node counts as passing."""
        counts = {kind: np.zeros(self.height + 1, dtype=np.int64) for kind in ("failing", "passing")}
        for levels, status in self.status.items():
            kind = "passing" if status == "chosen" else status
            if kind in counts:
                counts[kind][sum(levels)] += 1
        return counts


def lattice(facts: LatticeFacts) -> Figure:
    """Draw the lattice from the exact values (bottom) to full suppression (top)."""
    draw = _dots if facts.size <= MOST_DOTS else _bands
    counts_by_status = facts.known()
    passing, failing = int(counts_by_status["passing"].sum()), int(counts_by_status["failing"].sum())
    unknown = facts.size - passing - failing
    words = (
        f"{facts.size:,} ways to generalize: {passing:,} known to pass, {failing:,} known to fail"
        + (f", {unknown:,} not needed to find the best" if unknown else "")
        + f". Chosen: {describe(facts)}."
    )
    counts = facts.counts()
    rows = tuple(
        (
            str(height),
            f"{int(counts[height]):,}",
            f"{int(counts_by_status['passing'][height]):,}",
            f"{int(counts_by_status['failing'][height]):,}",
        )
        for height in range(facts.height, -1, -1)
    )
    wide_picture, narrow_picture = (picture(width, *draw(facts, width - 12.0), words) for width in (WIDTH, NARROW))
    title = "The ways to generalize, and the one chosen"
    return Figure(title, words, wide_picture, ("height", "nodes", "passing", "failing"), rows, narrow=narrow_picture)


def describe(facts: LatticeFacts) -> str:
    """The chosen node in words: ``age 3 of 5, sex 0 of 1``."""
    return ", ".join(
        f"{name} {level} of {height}"
        for name, level, height in zip(facts.columns, facts.chosen, facts.heights, strict=True)
    )


def _dots(facts: LatticeFacts, right: float) -> tuple[float, list[str]]:
    """Return the height and the elements of a drawing with a dot for each node, stacked if a height has many; failing ones left, passing ones right, so that the border is visible."""
    rows: list[list[tuple[int, ...]]] = [[] for _ in range(facts.height + 1)]
    for levels in product(*(range(height + 1) for height in facts.heights)):
        rows[sum(levels)].append(levels)
    widest = max(len(row) for row in rows)
    stack = ceil(widest / (_DOTS_ABREAST * right / WIDTH))
    with_edges = facts.size <= _MOST_WITH_EDGES
    gap = min(62.0 if with_edges else 26.0, (right - _LEFT) / ceil(widest / stack))
    radius = min(8.0, gap * 0.36)
    step = 46.0 if with_edges else stack * gap + max(8.0, min(14.0, 220.0 / (facts.height + 1)))
    positions: dict[tuple[int, ...], tuple[float, float]] = {}
    circles = []
    for number, row in enumerate(rows):
        middle = _TOP + (facts.height - number) * step
        ordered = sorted(row, key=lambda levels: (_rank(facts, levels), levels))
        high = min(stack, len(ordered))
        start = (_LEFT + right) / 2 - gap * (ceil(len(ordered) / high) - 1) / 2
        for position, levels in enumerate(ordered):
            across, down = divmod(position, high)
            x, y = start + across * gap, middle + (down - (high - 1) / 2) * gap
            positions[levels] = (x, y)
            kind = "chosen" if levels == facts.chosen else facts.status.get(levels, "unknown")
            tip = ", ".join(f"{name} {level}" for name, level in zip(facts.columns, levels, strict=True)) + f" ({kind})"
            circles.append(dot(x, y, radius * 1.35 if kind == "chosen" else radius, f"node {kind}", tip))
    edges = _edges(positions) if with_edges else []
    bottom = _TOP + step * facts.height + min(stack * gap / 2, 26) + 32
    height, legend = _legend(facts, bottom, right)
    around = [*_callout(facts, positions[facts.chosen]), *_axis(facts, step), *legend]
    return height, [*edges, *around, *circles]


def _bands(facts: LatticeFacts, right: float) -> tuple[float, list[str]]:
    """Return the height and the elements of a drawing for many nodes: one band per height, its width proportional to the square root of their number, split by status."""
    counts, counts_by_status = facts.counts(), facts.known()
    step = max(10.0, min(30.0, 420.0 / (facts.height + 1)))
    middle = (_LEFT + right) / 2
    scale = (right - _LEFT) / sqrt(float(max(counts)))
    parts, target = [], (middle, 0.0)
    for number in range(facts.height + 1):
        y = _TOP + (facts.height - number) * step
        total = int(counts[number])
        band_width = max(6.0, scale * sqrt(float(total)))
        by_status = {kind: int(counts_by_status[kind][number]) for kind in ("failing", "passing")}
        by_status["unknown"] = total - by_status["failing"] - by_status["passing"]
        x = middle - band_width / 2
        if number == sum(facts.chosen):
            target = (x, y)
        for kind in ("failing", "unknown", "passing"):
            part_width = band_width * by_status[kind] / total
            tip = f"height {number}: {by_status[kind]:,} of {total:,} nodes {kind}"
            parts.append(box(x, y - step * 0.4, part_width, step * 0.8, f"node {kind}", tip, 1))
            x += part_width
    height, legend = _legend(facts, _TOP + step * facts.height + 42, right)
    chosen = dot(*target, 7, "node chosen", f"chosen: {describe(facts)}")
    return height, [*parts, *_callout(facts, target), *_axis(facts, step), *legend, chosen]


def _rank(facts: LatticeFacts, levels: tuple[int, ...]) -> int:
    """Sort key within a row: the chosen node first, where its label can reach it, then failing, unknown and passing ones."""
    if levels == facts.chosen:
        return 0
    return {"failing": 1, "unknown": 2, "passing": 3}.get(facts.status.get(levels, "unknown"), 2)


def _edges(positions: Mapping[tuple[int, ...], tuple[float, float]]) -> list[str]:
    """Return the lines between each node and its direct generalizations."""
    drawn = []
    for levels, (x, y) in positions.items():
        for column in range(len(levels)):
            above = (*levels[:column], levels[column] + 1, *levels[column + 1 :])
            if above in positions:
                drawn.append(line(x, y, *positions[above], "edge"))
    return drawn


def _callout(facts: LatticeFacts, target: tuple[float, float]) -> list[str]:
    """Return the line and the words that point at the chosen node."""
    x, y = target
    return [
        line(88, y, x, y, "leader"),
        text(34, y + 4, "chosen", "chosentext"),
        text(34, y + 19, f"height {sum(facts.chosen)}", "tick"),
    ]


def _axis(facts: LatticeFacts, step: float) -> list[str]:
    """Return the vertical axis from exact values to nothing left."""
    bottom = _TOP + facts.height * step
    return [
        text(10, _TOP + 4, "nothing left", "tick"),
        text(10, bottom + 4, "exact values", "tick"),
        line(20, _TOP + 14, 20, bottom - 12, "axis"),
    ]


def _legend(facts: LatticeFacts, y: float, right: float) -> tuple[float, list[str]]:
    """Draw the legend on as many lines as needed, and return where it ends."""
    present = ["chosen", *(kind for kind in ("passing", "failing", "unknown") if _occurs(facts, kind))]
    words = {"chosen": "chosen", "passing": "satisfies the definition", "failing": "breaks it", "unknown": "not needed"}
    parts, x = [], _LEFT
    for kind in present:
        if x + 10 + 7 * len(words[kind]) > right:
            x, y = _LEFT, y + 20
        parts.append(dot(x, y, 5, f"node {kind}"))
        parts.append(text(x + 10, y + 4, words[kind], "tick"))
        x += 40 + 7 * len(words[kind])
    return y + 8, parts


def _occurs(facts: LatticeFacts, kind: str) -> bool:
    """True if the lattice has nodes of a status; nodes without one are unknown."""
    if kind == "unknown":
        known_nodes = sum(status in ("passing", "failing", "chosen") for status in facts.status.values())
        return known_nodes < facts.size
    return kind in facts.status.values()


def ladder(facts: LatticeFacts, examples: Mapping[str, Sequence[str]]) -> list[tuple[str, int, int, str]]:
    """For each column the chosen level, the height of its hierarchy, and a few labels as examples."""
    return [
        (name, level, height, ", ".join(examples.get(name, ())))
        for name, level, height in zip(facts.columns, facts.chosen, facts.heights, strict=True)
    ]
