"""Draw groups with a centre and a radius in two of their columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.base.charts import ChartAxis, ChartDisc, disc_chart
from reticent.base.figures import Figure
from reticent.core import Shape
from reticent.methods.clusters.shape import Ball

_MOST_DRAWN = 400
_MOST_LISTED = 50
_MANY_CENTRES = 8
_MARGIN = 0.05


def balls_in_two_columns(shapes: Sequence[Shape], sizes: NDArray[np.int64]) -> Figure | None:
    """Draw centres and radii in the two numeric columns in which groups are farthest apart, those with many distinct centres first.

    None if groups are not balls, or there are not two such columns. Of very many groups the largest are drawn.
    """
    if not shapes:
        return None
    balls = [(shape, int(size)) for shape, size in zip(shapes, sizes.tolist(), strict=True) if isinstance(shape, Ball)]
    spreads = _spreads([ball for ball, _ in balls])
    if len(spreads) < 2:
        return None
    across, up = sorted(spreads, key=lambda name: spreads[name], reverse=True)[:2]
    shown_balls = sorted(
        (entry for entry in balls if across in entry[0].centre and up in entry[0].centre), key=lambda entry: -entry[1]
    )[:_MOST_DRAWN]
    discs = [_disc(ball, across, up, size) for ball, size in shown_balls]
    axes = [_axis(name, [ball for ball, _ in shown_balls]) for name in (across, up)]
    title = f"Centres and radii of the groups by {across} and {up}"
    truncation = f" The {_MOST_DRAWN} largest of {len(balls):,} groups are drawn." if len(balls) > _MOST_DRAWN else ""
    return Figure(
        title,
        f"A dot is the centre of a group, and everybody of the group lies within its disc. Discs may overlap, and in other columns groups differ too.{truncation}",
        disc_chart(discs, *axes, title=title),
        ("centre", "radius", "people"),
        tuple(
            (f"{ball.centre[across]:g}, {ball.centre[up]:g}", f"{ball.radius:g}", f"{size:,}")
            for ball, size in shown_balls[:_MOST_LISTED]
        ),
    )


def _spreads(balls: Sequence[Ball]) -> dict[str, tuple[int, float]]:
    """Return for each numeric column the number of distinct centres, up to a limit, and their spread in units of its scale.

    A code with two values would give two piles of discs.
    """
    centres_by_column: dict[str, list[float]] = {}
    for ball in balls:
        for name, centre in ball.centre.items():
            if not isinstance(centre, str | bool):
                centres_by_column.setdefault(name, []).append(centre / ball.scales[name])
    return {
        name: (min(len(set(centres)), _MANY_CENTRES), max(centres) - min(centres))
        for name, centres in centres_by_column.items()
    }


def _disc(ball: Ball, across: str, up: str, size: int) -> ChartDisc:
    """Return the disc of a ball in two columns, with its number of people as a tooltip."""
    x, y = float(ball.centre[across]), float(ball.centre[up])
    tip = f"{across} {x:g}, {up} {y:g}: {size:,} people within {ball.radius:g}"
    return ChartDisc(x, y, ball.radius * ball.scales[across], ball.radius * ball.scales[up], tip)


def _axis(name: str, balls: Sequence[Ball]) -> ChartAxis:
    """Return an axis that contains all centres, and the discs around them unless these are much wider."""
    centres = np.array([float(ball.centre[name]) for ball in balls])
    reach = float(np.median([ball.radius * ball.scales[name] for ball in balls]))
    low, high = float(centres.min()) - reach, float(centres.max()) + reach
    margin = _MARGIN * (high - low) or 1.0
    return ChartAxis(name, low - margin, high + margin)
