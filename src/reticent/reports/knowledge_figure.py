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
    """Return the figure of an adversary's maximum certainty about a sensitive column by the number k of facts known (any facts, and negated facts only), up to the first k
    that can make the adversary certain.
    """
    any_facts = curve(groups, _MOST_FACTS)
    last_count = next((k for k, chance in enumerate(any_facts) if chance == 1), _MOST_FACTS)
    any_facts = any_facts[: last_count + 1]
    negated_facts = negation_curve(groups, last_count)
    caption = (
        f"Knowing nothing but the group, the surest guess of {name} is right with a chance of {percent(float(any_facts[0]))}; "
        + (
            f"{last_count} well-chosen {'fact' if last_count == 1 else 'facts'} about people can make an attacker certain."
            if any_facts[-1] == 1
            else f"even {last_count} facts leave it at {percent(float(any_facts[-1]))} at most."
        )
    )
    rows = tuple((str(k), _shown(a), _shown(b)) for k, (a, b) in enumerate(zip(any_facts, negated_facts, strict=True)))
    return Figure(
        f"What facts about people could reveal of {name}",
        caption,
        _drawn(any_facts, negated_facts, caption, WIDTH),
        ("facts", _ANY, _EXCLUDING),
        rows,
        narrow=_drawn(any_facts, negated_facts, caption, NARROW),
    )


def _drawn(any_facts: Sequence[Fraction], negated_facts: Sequence[Fraction], label: str, width: float) -> str:
    """Draw both curves of certainty by number of known facts as SVG."""
    left, right, top, base = 46.0, width - 20, 18.0, 210.0
    step = (right - left) / max(len(any_facts) - 1, 1)

    def height(chance: Fraction) -> float:
        """Return the y coordinate of a probability."""
        return base - (base - top) * float(chance)

    parts = [line(left, base, right, base, "axis")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = base - (base - top) * share
        parts.append(line(left, y, right, y, "edge"))
        parts.append(text(left - 8, y + 4, f"{share:.0%}", "tick", "end"))
    tick_step = 1 if width >= WIDTH or len(any_facts) <= 7 else 2
    for k in range(0, len(any_facts), tick_step):
        parts.append(text(left + k * step, base + 18, k, "tick", "middle"))
    for css_class, radius, chances, series_name in (
        ("before", 5.5, negated_facts, _EXCLUDING),
        ("after", 4.0, any_facts, _ANY),
    ):
        points = [(left + k * step, height(chance)) for k, chance in enumerate(chances)]
        polyline = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{polyline}" class="path {css_class}"/>')
        parts.extend(
            dot(x, y, radius, css_class, f"{k} facts ({series_name}): {_shown(chance)}")
            for k, ((x, y), chance) in enumerate(zip(points, chances, strict=True))
        )
    parts.append(text((left + right) / 2, base + 38, "facts that an attacker knows about people", "tick", "middle"))
    return picture(width, base + 48, parts, label)


def _shown(chance: Fraction) -> str:
    """Format the certainty of an adversary."""
    return "certain" if chance == 1 else f"{float(chance):.1%}"
