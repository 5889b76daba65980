"""Bar charts of attack success before and after publication, and one example of each attack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reticent.attacks import Findings
from reticent.base import figures
from reticent.base.cards import sentence_case
from reticent.base.figures import Bar
from reticent.reports.facts import Comparison
from reticent.reports.page_parts import PageBlock, block, figure_block

_A_FIGURE = 7  # a figure must fit on one printed page and stay legible


def attack_figures(attacks: Sequence[Comparison]) -> list[PageBlock]:
    """Return bar charts of all attacks, a few per figure, with a legend."""
    bars = [_bar(before, after) for before, after in attacks]
    charts = (
        figure_block(figures.attacks(bars[start : start + _A_FIGURE])) for start in range(0, len(bars), _A_FIGURE)
    )
    return [_key(judged=all(after.judged for _, after in attacks)), *charts]


def attack_quote(before: Findings | None, after: Findings) -> dict[str, Any]:
    """Return what an adversary knows and one example inference, before and after publication."""
    return {
        "adversary": sentence_case(after.adversary),
        "knows": after.knows,
        "before": "" if before is None else before.example,
        "after": after.example,
        "kind": "still" if after.succeeds else "is" if after.judged else "told",
        "points": None if after.baseline is None else after.points,
    }


def _bar(before: Findings | None, after: Findings) -> Bar:
    """Return the bar of one attack: success rates with their intervals and baselines before (None: not run) and after publication."""
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
    """Return the colour legend. A result that no guarantee limits does not count as success, even if it is far above the baseline without the release."""
    marks = {
        "bad": "as it stood",
        "good": "published: nearly nobody",
        "even": "published: no more than without the release" + ("" if judged else ", or not limited by a guarantee"),
        "warn": "published: still succeeds",
    }
    return block("key", marks=tuple(marks.items()))
