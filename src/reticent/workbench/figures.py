"""The pictures and numbers of the pages: plain SVG whose colours come from the style sheet. No style stands in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup


def number(value: Any) -> str:
    """A whole number with separators, a share with three digits."""
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{int(value):,}"


def percent_text(share: float | None, digits: int = 1) -> str:
    """A share in percent; what is not nothing and not everything never looks so."""
    if share is None:
        return "–"
    least = 10.0 ** -(digits + 2)
    if 0 < share < least:
        return f"< {least:.{digits}%}"
    if 1 - least < share < 1:
        return f"> {1 - least:.{digits}%}"
    return f"{share:.{digits}%}" if share not in (0, 1) else f"{share:.0%}"


def many(count: int, one: str, several: str | None = None) -> str:
    """``1 row``, ``5 rows``."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def distribution(chart: Mapping[str, Any], rows: int, label: str) -> Markup:
    """The distribution of a column: bins, or bars of its most frequent values."""
    if chart["kind"] == "bins":
        return _bins(chart, label)
    if chart["kind"] == "values":
        return _values(chart, rows, label)
    return Markup('<p class="hint">No values.</p>')


def _bins(chart: Mapping[str, Any], label: str) -> Markup:
    counts, labels = chart["counts"], chart["labels"]
    width, height, top = 300.0, 84.0, max([*counts, 1])
    step = width / len(counts)
    bars = []
    for place, count in enumerate(counts):
        high = (height - 2) * count / top
        tip = f"{labels[place]} to {labels[place + 1]}: {count:,}"
        bars.append(
            f'<rect class="bar" x="{place * step + 0.6:.1f}" y="{height - high:.1f}" width="{max(step - 1.2, 0.8):.1f}" '
            f'height="{high:.1f}" rx="1"><title>{escape(tip)}</title></rect>'
        )
    axis = (
        f'<line class="axis" x1="0" x2="{width}" y1="{height}" y2="{height}"/>'
        f'<text class="tick" x="0" y="{height + 14}">{escape(labels[0])}</text>'
        f'<text class="tick" x="{width}" y="{height + 14}" text-anchor="end">{escape(labels[-1])}</text>'
    )
    return _svg(width, height + 18, "".join(bars) + axis, f"Distribution of {label}", "chart")


def _values(chart: Mapping[str, Any], rows: int, label: str) -> Markup:
    listed = [(each["label"] or "(empty)", each["count"], "bar") for each in chart["values"][:6]]
    others = chart["others"] + sum(each["count"] for each in chart["values"][6:])
    if others:
        listed.append(("all others", others, "bar faint"))
    top = max(count for _, count, _ in listed)
    line, width, names = 17.0, 300.0, 118.0
    parts = []
    for place, (name, count, kind) in enumerate(listed):
        y = place * line
        wide = max((width - names - 46) * count / max(top, 1), 1.0)
        shown = name if len(name) <= 18 else name[:17] + "…"
        parts.append(
            f"<g><title>{escape(name)}: {count:,} ({percent_text(count / max(rows, 1))})</title>"
            f'<text class="name" x="{names - 8}" y="{y + 12.5}" text-anchor="end">{escape(shown)}</text>'
            f'<rect class="{kind}" x="{names}" y="{y + 3}" width="{wide:.1f}" height="11" rx="2"/>'
            f'<text class="tick" x="{names + wide + 6:.1f}" y="{y + 12.5}">{percent_text(count / max(rows, 1), 0)}</text></g>'
        )
    return _svg(width, line * len(listed) + 2, "".join(parts), f"Most frequent values of {label}", "chart")


def meter(share: float, kind: str = "") -> Markup:
    """A share as a bar."""
    wide = 100 * min(max(share, 0.0), 1.0)
    return _svg(
        100,
        6,
        f'<rect class="trough" width="100" height="6" rx="3"/><rect class="fill {escape(kind)}" width="{wide:.2f}" height="6" rx="3"/>',
        "",
        "meter",
    )


def _svg(width: float, height: float, content: str, label: str, kind: str) -> Markup:
    named = f'role="img" aria-label="{escape(label, quote=True)}"' if label else 'aria-hidden="true"'
    shape = ' preserveAspectRatio="none"' if kind == "meter" else ""
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" {named}{shape} xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )


def columns_words(names: Sequence[str]) -> str:
    """Names in a sentence."""
    if len(names) <= 1:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
