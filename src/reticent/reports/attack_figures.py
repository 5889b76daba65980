"""What adversaries achieve before and after, as bars."""

from __future__ import annotations

from collections.abc import Sequence

from reticent.attacks import Findings
from reticent.base import figures
from reticent.base.cards import sentence_case
from reticent.base.figures import Bar
from reticent.reports.facts import Comparison
from reticent.reports.page_parts import PageBlock, block, figure_block

_A_FIGURE = 7  # a figure is not broken over printed pages, and more would be too small to read


def attack_figures(attacks: Sequence[Comparison]) -> list[PageBlock]:
    """The bars of all adversaries, a few a figure, with their key."""
    bars = [_bar(before, after) for before, after in attacks]
    drawn = (figure_block(figures.attacks(bars[at : at + _A_FIGURE])) for at in range(0, len(bars), _A_FIGURE))
    return [_key(judged=all(after.judged for _, after in attacks)), *drawn]


def _bar(before: Findings | None, after: Findings) -> Bar:
    return Bar(
        sentence_case(after.adversary),
        before.share if before is not None else None,
        after.share,
        before.interval if before is not None else None,
        after.interval,
        after.baseline,
        f"{after.unit} {'who' if after.unit == 'people' else 'that'} {after.hit}",
        before.baseline if before is not None else None,
        after.succeeds,
    )


def _key(*, judged: bool) -> PageBlock:
    """What the colours say; a figure that no promise is about is no success, and may be far above what is reached anyway."""
    marks = {
        "bad": "as it stood",
        "good": "published: nearly nobody",
        "even": "published: no more than anyway" + ("" if judged else ", or a figure that no promise is about"),
        "warn": "published: still succeeds",
    }
    return block("key", marks=tuple(marks.items()))
