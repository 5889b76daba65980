"""Figure of worst-case background knowledge: the maximum certainty of an adversary who knows k facts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from reticent.base.cards import percent
from reticent.base.figures import NARROW, WIDTH, Figure, dot, line, picture, text
from reticent.core import Groups
from reticent.worst_case import curve, negation_curve

_MOST_FACTS = 12
_ANY, _EXCLUDING = "any facts", "only facts such as 'she has no flu'"


def knowledge_curves(name: str, groups: Groups) -> Figure:
    """Return the figure for one sensitive column (any facts, and negated facts only), up to the first k at which an adversary can be certain."""
    known = curve(groups, _MOST_FACTS)
    certain = next((k for k, chance in enumerate(known) if chance == 1), _MOST_FACTS)
    known = known[: certain + 1]
    excluding = negation_curve(groups, certain)
    words = (
        f"Knowing nothing but the group, the surest guess of {name} is right with a chance of {percent(float(known[0]))}; "
        + (
            f"{certain} well-chosen {'fact' if certain == 1 else 'facts'} about people can make an attacker certain."
            if known[-1] == 1
            else f"even {certain} facts leave it at {percent(float(known[-1]))} at most."
        )
    )
    rows = tuple((str(k), _shown(a), _shown(b)) for k, (a, b) in enumerate(zip(known, excluding, strict=True)))
    return Figure(
        f"What facts about people could reveal of {name}",
        words,
        _drawn(known, excluding, words, WIDTH),
        ("facts", _ANY, _EXCLUDING),
        rows,
        narrow=_drawn(known, excluding, words, NARROW),
    )


def _drawn(known: Sequence[Fraction], excluding: Sequence[Fraction], label: str, width: float) -> str:
    left, right, top, base = 46.0, width - 20, 18.0, 210.0
    step = (right - left) / max(len(known) - 1, 1)

    def height(chance: Fraction) -> float:
        return base - (base - top) * float(chance)

    parts = [line(left, base, right, base, "axis")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = base - (base - top) * share
        parts.append(line(left, y, right, y, "edge"))
        parts.append(text(left - 8, y + 4, f"{share:.0%}", "tick", "end"))
    every = 1 if width >= WIDTH or len(known) <= 7 else 2
    for k in range(0, len(known), every):
        parts.append(text(left + k * step, base + 18, k, "tick", "middle"))
    for kind, radius, chances, who in (
        ("before", 5.5, excluding, _EXCLUDING),
        ("after", 4.0, known, _ANY),
    ):
        points = [(left + k * step, height(chance)) for k, chance in enumerate(chances)]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{way}" class="path {kind}"/>')
        parts.extend(
            dot(x, y, radius, kind, f"{k} facts ({who}): {_shown(chance)}")
            for k, ((x, y), chance) in enumerate(zip(points, chances, strict=True))
        )
    parts.append(text((left + right) / 2, base + 38, "facts that an attacker knows about people", "tick", "middle"))
    return picture(width, base + 48, parts, label)


def _shown(chance: Fraction) -> str:
    return "certain" if chance == 1 else f"{float(chance):.1%}"
