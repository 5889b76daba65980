"""Line charts and disc maps as plain SVG, without a chart library: portable and rendered in a millisecond."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from reticent.errors import PolicyError

COLOURS = ("#b3261e", "#1f5fa8", "#2e7d32", "#8e24aa", "#ef6c00", "#455a64")
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 640, 420, 70, 40, 20, 90
_TICKS = 6


@dataclass(frozen=True)
class ChartLine:
    """A line: its name and its points, each with a tooltip."""

    name: str
    points: Sequence[tuple[float, float]]
    tips: Sequence[str] = ()


@dataclass(frozen=True)
class ChartDisc:
    """A disc around a point, with radii in units of the axes, and a tooltip."""

    x: float
    y: float
    radius_x: float
    radius_y: float
    tip: str = ""


@dataclass(frozen=True)
class ChartAxis:
    """An axis from ``low`` to ``high``, linear or logarithmic; ``whole`` marks integers only, and ``marks`` have their own texts."""

    title: str
    low: float
    high: float
    log: bool = False
    whole: bool = False
    marks: Sequence[tuple[float, str]] = ()

    def __post_init__(self) -> None:
        if not self.low < self.high or (self.log and self.low <= 0):
            raise ValueError(f"An axis cannot go from {self.low} to {self.high}.")

    def share(self, value: float) -> float:
        """The relative position of a value between the ends, from 0 to 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[float]:
        """Round numbers to mark."""
        if self.log:
            return [
                10.0**power
                for power in range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high)) + 1)
            ]
        raw = (self.high - self.low) / _TICKS
        step = next(
            size * 10.0 ** math.floor(math.log10(raw))
            for size in (1, 2, 5, 10)
            if size * 10.0 ** math.floor(math.log10(raw)) >= raw
        )
        step = max(1.0, step) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def line_chart(
    lines: Sequence[ChartLine],
    x: ChartAxis,
    y: ChartAxis,
    *,
    title: str = "",
    level: tuple[float, str] | None = None,
    zone: tuple[float, str] | None = None,
    markers: bool = True,
) -> str:
    """The chart as the text of an SVG file.

    ``level`` is a horizontal dashed line at a value of ``y``, with its label; ``zone`` a red area from the left end to a value of ``x``.
    """

    at_x, at_y = _places(x, y)
    parts = [
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_WIDTH / 2, 22, title, size=14, anchor="middle"),
    ]
    if zone is not None and zone[0] > x.low:
        end = at_x(min(zone[0], x.high))
        parts.append(
            f'<rect x="{_LEFT}" y="{_TOP}" width="{end - _LEFT:.1f}" height="{_HEIGHT - _TOP - _BOTTOM}" fill="#d62728" opacity="0.15"/>'
        )
        parts.append(_text(_LEFT + 6, _TOP + 14, zone[1], colour="#a02020"))
    parts += _axes(x, y, at_x, at_y)
    if level is not None and y.low <= level[0] <= y.high:
        height = at_y(level[0])
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{height:.1f}" y2="{height:.1f}" stroke="#555" stroke-dasharray="4 4"/>'
        )
        parts.append(_text(_WIDTH - _RIGHT - 4, height - 6, level[1], anchor="end", colour="#555"))
    for number, line in enumerate(lines):
        parts += _drawn(line, COLOURS[number % len(COLOURS)], at_x, at_y, markers)
    parts += _legend(lines)
    return _drawing(parts, title or ", ".join(line.name for line in lines))


def disc_chart(discs: Sequence[ChartDisc], x: ChartAxis, y: ChartAxis, *, title: str) -> str:
    """Discs with their centres, as the text of an SVG file, clipped to the axes."""
    at_x, at_y = _places(x, y)
    parts = [f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>', *_axes(x, y, at_x, at_y)]
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    discs_drawn = []
    for disc in discs:
        radius_x = abs(x.share(x.low + disc.radius_x)) * width
        radius_y = abs(y.share(y.low + disc.radius_y)) * height
        centre = f'cx="{at_x(disc.x):.1f}" cy="{at_y(disc.y):.1f}"'
        tip = f"<title>{escape(disc.tip)}</title>" if disc.tip else ""
        discs_drawn.append(
            f'<ellipse {centre} rx="{radius_x:.1f}" ry="{radius_y:.1f}" fill="{COLOURS[1]}" fill-opacity="0.12" stroke="{COLOURS[1]}" stroke-opacity="0.5">{tip}</ellipse>'
            f'<circle {centre} r="2" fill="{COLOURS[0]}"/>'
        )
    frame = f'<clipPath id="inside"><rect x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}"/></clipPath>'
    return _drawing([frame, *parts, f'<g clip-path="url(#inside)">{"".join(discs_drawn)}</g>'], title)


@dataclass(frozen=True)
class ChartBox:
    """A box between two values of each axis, its nesting depth (``deep``) and its tooltip (``tip``)."""

    x: tuple[float, float]
    y: tuple[float, float]
    deep: int
    tip: str = ""


def box_chart(boxes: Sequence[ChartBox], x: ChartAxis, y: ChartAxis, *, title: str) -> str:
    """Nested boxes, innermost on top, as the text of an SVG file, clipped to the axes."""
    at_x, at_y = _places(x, y)
    parts = [f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>', *_axes(x, y, at_x, at_y)]
    for box in sorted(boxes, key=lambda box: box.deep):
        left, right = (at_x(min(max(value, x.low), x.high)) for value in box.x)
        low, high = (at_y(value) for value in box.y)
        tip = f"<title>{escape(box.tip)}</title>" if box.tip else ""
        parts.append(
            f'<rect x="{left:.1f}" y="{high:.1f}" width="{right - left:.1f}" height="{low - high:.1f}" fill="{COLOURS[1]}" fill-opacity="0.1" stroke="{COLOURS[1]}" '
            f'stroke-opacity="0.6">{tip}</rect>'
        )
    return _drawing(parts, title)


def _places(x: ChartAxis, y: ChartAxis) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return two functions from values of the axes to coordinates in the picture; values outside are clipped to the
    edge.
    """

    def at_x(value: float) -> float:
        return _LEFT + x.share(value) * (_WIDTH - _LEFT - _RIGHT)

    def at_y(value: float) -> float:
        return _HEIGHT - _BOTTOM - y.share(min(max(value, y.low), y.high)) * (_HEIGHT - _TOP - _BOTTOM)

    return at_x, at_y


def _drawing(parts: Sequence[str], label: str) -> str:
    """Return the complete SVG document with these elements; ``label`` describes it to screen readers."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg>\n'
    )


def png(svg: str, scale: int = 2) -> bytes:
    """An SVG picture as a PNG file; needs the extra ``charts``."""
    try:
        import vl_convert
    except ImportError:
        raise PolicyError(
            "Writing PNG needs an extra package: pip install 'reticent[charts]'. Or write an SVG file."
        ) from None
    content: bytes = vl_convert.svg_to_png(svg, scale=scale)
    return content


def _axes(x: ChartAxis, y: ChartAxis, at_x: Callable[[float], float], at_y: Callable[[float], float]) -> list[str]:
    """Return the axes with their ticks, titles and grid lines as SVG elements."""
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for tick, text in x.marks or [(tick, f"{tick:g}") for tick in x.ticks]:
        parts.append(f'<line x1="{at_x(tick):.1f}" x2="{at_x(tick):.1f}" y1="{_TOP}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(_text(at_x(tick), bottom + 16, text, anchor="middle"))
    for tick, text in y.marks or [(tick, f"{tick:,g}" if tick < 1e6 else f"{tick:.0e}") for tick in y.ticks]:
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{at_y(tick):.1f}" y2="{at_y(tick):.1f}" stroke="#ddd"/>')
        parts.append(_text(_LEFT - 8, at_y(tick) + 4, text, anchor="end"))
    parts.append(f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#333"/>')
    parts.append(_text((_LEFT + right) / 2, bottom + 36, x.title, anchor="middle"))
    middle = (_TOP + bottom) / 2
    parts.append(f'<g transform="rotate(-90 16 {middle:.1f})">{_text(16, middle, y.title, anchor="middle")}</g>')
    return parts


def _drawn(
    line: ChartLine, colour: str, at_x: Callable[[float], float], at_y: Callable[[float], float], markers: bool
) -> list[str]:
    """Return a line and its markers as SVG elements."""
    positions = [(at_x(x), at_y(y)) for x, y in line.points]
    parts = [
        f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
        + " ".join(f"{x:.1f},{y:.1f}" for x, y in positions)
        + '"/>'
    ]
    for number, (x, y) in enumerate(positions if markers else ()):
        tip = f"<title>{escape(line.tips[number])}</title>" if line.tips else ""
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">{tip}</circle>')
    return parts


def _legend(lines: Sequence[ChartLine]) -> list[str]:
    """Names of lines below the chart, in a second row if one is too narrow."""
    positions: list[tuple[float, int]] = []
    left_edge, row = float(_LEFT), 0
    for line in lines:
        width = 36 + 7 * len(line.name)
        if left_edge > _LEFT and left_edge + width > _WIDTH:
            left_edge, row = float(_LEFT), row + 1
        positions.append((left_edge, row))
        left_edge += width
    parts = []
    for number, (line, (left, row_of_name)) in enumerate(zip(lines, positions, strict=True)):
        top = _HEIGHT - 30 + 18 * row_of_name - (10 if row else 0)
        parts.append(f'<rect x="{left:.1f}" y="{top}" width="12" height="12" fill="{COLOURS[number % len(COLOURS)]}"/>')
        parts.append(_text(left + 18, top + 10, line.name))
    return parts


def _text(x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", colour: str = "#222") -> str:
    if not words:
        return ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
