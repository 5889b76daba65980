"""Stripes, drawn one below the other."""

from __future__ import annotations

from reticent.base.figures import WIDTH, Figure, picture
from reticent.core import AdversaryView, Groups

_HEIGHT = 12


def stripes_drawn(view: AdversaryView, groups: Groups) -> Figure:
    """A bar for each stripe, as long as it has people."""
    longest = int(groups.sizes.max())
    bars = [
        f'<rect x="0" y="{_HEIGHT * place}" width="{WIDTH * size / longest:.1f}" height="{_HEIGHT - 2}"/>'
        for place, size in enumerate(groups.sizes.tolist())
    ]
    title = "Stripes and how many people each has"
    drawn = picture(WIDTH, _HEIGHT * len(bars), bars, title)
    rows = tuple((str(place + 1), str(size)) for place, size in enumerate(groups.sizes.tolist()))
    return Figure(title, f"{len(bars)} stripes.", drawn, ("stripe", "people"), rows)
