"""What adversaries achieve before and after, as bars."""

from __future__ import annotations

from collections.abc import Sequence

from reticent.attacks import Findings
from reticent.base import figures
from reticent.base.cards import sentence_case
from reticent.base.figures import Bar
from reticent.reports.facts import Comparison
from reticent.reports.page_parts import figure_block

_A_FIGURE = 7  # a figure is not broken over printed pages, and more would be too small to read


def attack_figures(attacks: Sequence[Comparison]) -> str:
    """The bars of all adversaries as HTML, a few a figure, with their key."""
    bars = [_bar(before, after) for before, after in attacks]
    drawn = (figure_block(figures.attacks(bars[at : at + _A_FIGURE])) for at in range(0, len(bars), _A_FIGURE))
    return _ATTACK_KEY + "".join(drawn)


def _bar(before: Findings | None, after: Findings) -> Bar:
    return Bar(
        sentence_case(after.adversary),
        before.share if before is not None else None,
        after.share,
        before.interval if before is not None else None,
        after.interval,
        after.baseline,
        f"people who {after.hit}",
        before.baseline if before is not None else None,
        after.succeeds,
    )


_ATTACK_KEY = (
    '<div class="key"><span><i class="bad"></i>as it stood</span><span><i class="good"></i>published: nearly nobody</span><span><i class="even"></i>published: no more than anyway</span>'
    '<span><i class="warn"></i>published: still succeeds</span></div>'
)
