"""The first block of every page: the headline with its reasons, in the colour of its state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from reticent.release import Headline

_IN_SIGHT = 8


def verdict_block(headline: Headline, details: Iterable[str] = ()) -> str:
    """The headline as HTML, its gravest reasons in sight and the others to be opened, with what else there is to say below it."""
    kind, icon = {
        "holds": ("", _CHECK),
        "holds, but": (" unknown", _BUT),
        "does not hold": (" fails", _CROSS),
        "not shown": (" unknown", _QUESTION),
    }[headline.state]
    listed, rest = _list_of(headline.reasons[:_IN_SIGHT]), headline.reasons[_IN_SIGHT:]
    if rest:
        listed += f"<details><summary>{len(rest)} more</summary>{_list_of(rest)}</details>"
    told = "".join(f"<p>{escape(detail)}</p>" for detail in details if detail)
    return f'<div class="verdict{kind}">{icon}<div><strong>{escape(headline.lines()[0])}</strong>{listed}{told}</div></div>'


def _list_of(reasons: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(reason)}</li>" for reason in reasons)
    return f'<ul class="plain">{items}</ul>' if items else ""


_CHECK = (
    '<svg viewBox="0 0 44 44" aria-hidden="true"><circle cx="22" cy="22" r="21" style="fill:var(--good)"/>'
    '<path d="M13 23l6.5 6.5L31.5 16" fill="none" style="stroke:var(--card)" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)
_BUT = (
    '<svg viewBox="0 0 44 44" aria-hidden="true"><circle cx="22" cy="22" r="21" style="fill:var(--warn)"/>'
    '<path d="M22 12v12M22 31v.2" fill="none" style="stroke:var(--card)" stroke-width="4.6" stroke-linecap="round"/></svg>'
)
_QUESTION = (
    '<svg viewBox="0 0 44 44" aria-hidden="true"><circle cx="22" cy="22" r="21" style="fill:var(--warn)"/>'
    '<path d="M16.5 17.5a5.7 5.7 0 1 1 8 5.2c-1.8.9-2.5 1.9-2.5 3.8M22 32v.2" fill="none" style="stroke:var(--card)" stroke-width="4" stroke-linecap="round"/></svg>'
)
_CROSS = (
    '<svg viewBox="0 0 44 44" aria-hidden="true"><circle cx="22" cy="22" r="21" style="fill:var(--bad)"/>'
    '<path d="M15 15l14 14M29 15L15 29" fill="none" style="stroke:var(--card)" stroke-width="4" stroke-linecap="round"/></svg>'
)
