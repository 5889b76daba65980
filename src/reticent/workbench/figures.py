"""SVG charts and number formatting of the pages. Colours come from the style sheet; the SVG contains no inline styles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from reticent.base.charts import ChartAxis


def number(value: Any) -> str:
    """Format an integer with thousands separators, or a fraction with three digits."""
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{int(value):,}"


def percent_text(share: float | None, digits: int = 1) -> str:
    """Format a share as a percentage; only exact 0 and 1 are shown as 0 % and 100 %."""
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
    """Return a chart of a column's distribution: a histogram, or bars of its most frequent values."""
    if chart["kind"] == "bins":
        return _bins(chart, label)
    if chart["kind"] == "values":
        return _values(chart, rows, label)
    return Markup('<p class="hint">No values.</p>')


def _bins(chart: Mapping[str, Any], label: str) -> Markup:
    """Return the histogram of a column as SVG: one bar per bin, and the first and last label below the axis."""
    counts, labels, (first, last) = chart["counts"], chart["labels"], chart["ends"]
    width, height, highest = 300.0, 84.0, max([*counts, 1])
    step = width / len(counts)
    bars = []
    for bin_index, count in enumerate(counts):
        bar_height = (height - 2) * count / highest
        tip = f"{labels[bin_index]}: {count:,}"
        bars.append(
            f'<rect class="bar" x="{bin_index * step + 0.6:.1f}" y="{height - bar_height:.1f}" width="{max(step - 1.2, 0.8):.1f}" '
            f'height="{bar_height:.1f}" rx="1"><title>{escape(tip)}</title></rect>'
        )
    axis = (
        f'<line class="axis" x1="0" x2="{width}" y1="{height}" y2="{height}"/>'
        f'<text class="tick" x="0" y="{height + 14}">{escape(first)}</text>'
        f'<text class="tick" x="{width}" y="{height + 14}" text-anchor="end">{escape(last)}</text>'
    )
    return _svg(width, height + 18, "".join(bars) + axis, f"Distribution of {label}", "chart")


def _values(chart: Mapping[str, Any], rows: int, label: str) -> Markup:
    """Return the six most frequent values of a column as an SVG bar chart, with one more bar for all others; percentages are of ``rows``."""
    listed = [(value["label"] or "(empty)", value["count"], "bar") for value in chart["values"][:6]]
    others = chart["others"] + sum(value["count"] for value in chart["values"][6:])
    if others:
        listed.append(("all others", others, "bar faint"))
    highest = max(count for _, count, _ in listed)
    line_height, width, name_width = 17.0, 300.0, 118.0
    parts = []
    for index, (name, count, kind) in enumerate(listed):
        y = index * line_height
        bar_width = max((width - name_width - 46) * count / max(highest, 1), 1.0)
        short_name = name if len(name) <= 18 else name[:17] + "…"
        parts.append(
            f"<g><title>{escape(name)}: {count:,} ({percent_text(count / max(rows, 1))})</title>"
            f'<text class="name" x="{name_width - 8}" y="{y + 12.5}" text-anchor="end">{escape(short_name)}</text>'
            f'<rect class="{kind}" x="{name_width}" y="{y + 3}" width="{bar_width:.1f}" height="11" rx="2"/>'
            f'<text class="tick" x="{name_width + bar_width + 6:.1f}" y="{y + 12.5}">{percent_text(count / max(rows, 1), 0)}</text></g>'
        )
    return _svg(width, line_height * len(listed) + 2, "".join(parts), f"Most frequent values of {label}", "chart")


def _svg(width: float, height: float, content: str, label: str, kind: str) -> Markup:
    """Return an SVG image around ``content``, with ``label`` for screen readers; without a label it is hidden from them."""
    accessible_name = f'role="img" aria-label="{escape(label, quote=True)}"' if label else 'aria-hidden="true"'
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" {accessible_name} xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )


def columns_words(names: Sequence[str]) -> str:
    """Join names for use in a sentence: ``a, b and c``."""
    if len(names) <= 1:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def before_and_after(chart: Mapping[str, Any], label: str) -> Markup:
    """Return one chart of a column's distribution as it is (light bars) and as published (dark bars, or a line over a histogram)."""
    befores, afters = list(chart["counts"]), list(chart["after"])
    if chart["kind"] == "bins":
        return _histograms(chart, befores, afters, label)
    labels = list(chart["labels"])
    if any(chart["others"]):
        labels, befores, afters = [*labels, "all others"], [*befores, chart["others"][0]], [*afters, chart["others"][1]]
    rows, published = max(sum(befores), 1), max(sum(afters), 1)
    line_height, name_width, width = 25.0, 116.0, 320.0
    largest_share = max([before / rows for before in befores] + [after / published for after in afters]) or 1.0
    parts = []
    for index, (name, before, after) in enumerate(zip(labels, befores, afters, strict=True)):
        y, short_name = index * line_height, name if len(name) <= 18 else name[:17] + "…"
        shares = before / rows, after / published
        bar_widths = [max((width - name_width - 96) * share / largest_share, 0.8) for share in shares]
        parts.append(
            f"<g><title>{escape(name)}: {percent_text(shares[0])} as it is, {percent_text(shares[1])} as published</title>"
            f'<text class="name" x="{name_width - 6}" y="{y + 14}" text-anchor="end">{escape(short_name)}</text>'
            f'<rect class="bar before" x="{name_width}" y="{y + 2}" width="{bar_widths[0]:.1f}" height="8" rx="2"/>'
            f'<rect class="bar after" x="{name_width}" y="{y + 11}" width="{bar_widths[1]:.1f}" height="8" rx="2"/>'
            f'<text class="tick" x="{name_width + max(bar_widths) + 6:.1f}" y="{y + 14}">{percent_text(shares[0], 0)} → {percent_text(shares[1], 0)}</text></g>'
        )
    return _svg(width, line_height * max(len(labels), 1), "".join(parts), f"{label} before and after", "chart")


def _histograms(chart: Mapping[str, Any], befores: Sequence[float], afters: Sequence[float], label: str) -> Markup:
    """Return a histogram of the values as they are, with a stepped line for the published values; both in shares of their own total."""
    width, height = 320.0, 96.0
    rows, published = max(sum(befores), 1), max(sum(afters), 1)
    largest_share = max([before / rows for before in befores] + [after / published for after in afters]) or 1.0
    step, bars, path = width / len(befores), [], []
    for bin_index, (before, after) in enumerate(zip(befores, afters, strict=True)):
        shares = before / rows, after / published
        bar_height, line_y = (height - 4) * shares[0] / largest_share, height - (height - 4) * shares[1] / largest_share
        bars.append(
            f'<rect class="bar before" x="{bin_index * step + 0.6:.1f}" y="{height - bar_height:.1f}" width="{max(step - 1.2, 0.8):.1f}" height="{bar_height:.1f}">'
            f"<title>{escape(chart['labels'][bin_index])}: {percent_text(shares[0])} as it is, {percent_text(shares[1])} as published</title></rect>"
        )
        path += [f"{bin_index * step:.1f},{line_y:.1f}", f"{(bin_index + 1) * step:.1f},{line_y:.1f}"]
    first, last = chart["ends"]
    axis = (
        f'<line class="axis" x1="0" x2="{width}" y1="{height}" y2="{height}"/><text class="tick" x="0" y="{height + 14}">{escape(first)}</text>'
        f'<text class="tick" x="{width}" y="{height + 14}" text-anchor="end">{escape(last)}</text>'
    )
    content = f'{"".join(bars)}<polyline class="stepped" points="{" ".join(path)}"/>{axis}'
    return _svg(width, height + 18, content, f"{label} before and after", "chart")


def lattice(found: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]], url: str) -> Markup:
    """Return the generalization lattice as SVG: every node a link, exact values at the bottom. A large lattice shows evaluated nodes only.

    ``nodes`` are the evaluated nodes; ``found`` is the search result, whose ``status`` has the others as (levels, passes).
    """
    rows: dict[int, list[tuple[str, str, str]]] = {}
    for node in nodes:
        kind = "chosen" if node["best"] else "passing" if node["passes"] else "failing"
        cost = "" if node["objective"] is None else f", loss {percent_text(node['objective'])}"
        tip = f"{_levels(found, node['levels'])}: {'passes' if node['passes'] else 'fails'}{cost}"
        rows.setdefault(sum(node["levels"]), []).append((node["key"], kind, tip))
    for levels, passes in found["status"]:
        kind = "passing" if passes else "failing"
        rows.setdefault(sum(levels), []).append(
            ("-".join(map(str, levels)), kind, f"{_levels(found, levels)}: {'passes' if passes else 'fails'}")
        )
    drawn_share = _MOST_DOTS / max(sum(map(len, rows.values())), 1)
    width, parts, y, left_margin = 900.0, [], 16.0, 76.0
    for height in sorted(rows, reverse=True):
        listed = sorted(rows[height], key=lambda dot: ("failing", "passing", "chosen").index(dot[1]))
        drawn = (
            listed
            if drawn_share >= 1
            else [
                dot for index, dot in enumerate(listed) if dot[1] == "chosen" or index % int(1 / drawn_share + 1) == 0
            ]
        )
        per_line = 58
        lines = max((len(drawn) + per_line - 1) // per_line, 1)
        gap = min((width - left_margin) / per_line, 15.0)
        parts.append(f'<text class="tick" x="0" y="{y + lines * gap / 2:.1f}">level sum {height}</text>')
        for index, (key, kind, tip) in enumerate(drawn):
            across, down = index % per_line, index // per_line
            count = min(len(drawn) - down * per_line, per_line)
            x = left_margin + (width - left_margin) / 2 + (across - (count - 1) / 2) * gap
            parts.append(
                f'<a href="{escape(url, quote=True)}?node={key}" class="node-link" aria-label="{escape(tip, quote=True)}">'
                f'<circle class="node {kind}" cx="{x:.1f}" cy="{y + down * gap + gap / 2 - 2:.1f}" r="{7 if kind == "chosen" else 5.2}"><title>{escape(tip)}</title></circle></a>'
            )
        y += lines * gap + 7
    return _group(width, y + 4, "".join(parts), "The lattice of all generalizations", "chart lattice")


_MOST_DOTS = 1500


def _levels(result: Mapping[str, Any], levels: Sequence[int]) -> str:
    """Return a lattice node in words: ``age 1, sex 0``."""
    return ", ".join(f"{name} {level}" for name, level in zip(result["columns"], levels, strict=True))


def scatter(points: Sequence[Mapping[str, Any]], frontier: Sequence[str], url: str, parameter: str) -> Markup:
    """Return a scatter plot of risk against information loss, with a line through the Pareto frontier."""
    measured = [point for point in points if point["risk"] is not None and point["objective"] is not None]
    if not measured:
        return Markup("")
    width, height, left_margin, bottom_margin = 760.0, 300.0, 56.0, 40.0
    x_limit = max(max(point["objective"] for point in measured) * 1.08, 1e-6)
    y_limit = max(max(point["risk"] for point in measured) * 1.12, 1e-6)

    def at(point: Mapping[str, Any]) -> tuple[float, float]:
        """Return the SVG coordinates of a point."""
        return left_margin + (width - left_margin - 20) * point["objective"] / x_limit, (height - bottom_margin) * (
            1 - point["risk"] / y_limit
        ) + 8

    parts = [
        f'<line class="axis" x1="{left_margin}" x2="{width}" y1="{height - bottom_margin + 8}" y2="{height - bottom_margin + 8}"/><line class="axis" x1="{left_margin}" x2="{left_margin}" y1="0" y2="{height - bottom_margin + 8}"/>'
    ]
    for value in ChartAxis("", 0, x_limit).ticks:
        x, _ = at({"objective": value, "risk": 0})
        parts.append(
            f'<text class="tick" x="{x:.0f}" y="{height - bottom_margin + 24}" text-anchor="middle">{percent_text(value)}</text>'
        )
    for value in ChartAxis("", 0, y_limit).ticks:
        _, y = at({"objective": 0, "risk": value})
        parts.append(
            f'<text class="tick" x="{left_margin - 6}" y="{y + 4:.0f}" text-anchor="end">{percent_text(value)}</text>'
        )
    parts.append(
        f'<text class="tick" x="{(width + left_margin) / 2}" y="{height - 2}" text-anchor="middle">detail lost</text><text class="tick" x="{left_margin + 6}" y="10">average risk</text>'
    )
    line = sorted(at(point) for point in measured if point["key"] in frontier)
    if len(line) > 1:
        parts.append(f'<polyline class="frontier" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in line)}"/>')
    has_names = parameter == "way"
    for point in measured:
        x, y = at(point)
        is_highlighted = point.get("best") or point.get("own")
        kind = "chosen" if is_highlighted else "passing" if point["key"] in frontier else "plain"
        tip = f"{point['key']}: loses {percent_text(point['objective'])}, average risk {percent_text(point['risk'])}"
        circle = f'<circle class="node {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{6.5 if is_highlighted or has_names else 4.5}"><title>{escape(tip)}</title></circle>'
        parts.append(
            circle
            if is_highlighted and has_names
            else f'<a href="{escape(url, quote=True)}?{parameter}={escape(str(point["key"]), quote=True)}" class="node-link" aria-label="{escape(tip, quote=True)}">{circle}</a>'
        )
    if has_names:
        parts += _names([(*at(point), str(point["key"])) for point in measured], left_margin, width)
    return _group(width, height, "".join(parts), "Risk against utility", "chart scatter")


def _names(points: Sequence[tuple[float, float, str]], left_edge: float, right_edge: float) -> list[str]:
    """Return SVG texts with the names of points, each at the first free position beside, above or below its point.

    A name without a free position is omitted.
    """
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y, _ in points]
    parts = []
    for x, y, name in points:
        text_width = 6.4 * len(name)
        positions = (
            (x + 10, y + 4, "start", x + 10),
            (x - 10, y + 4, "end", x - 10 - text_width),
            (x, y - 11, "middle", x - text_width / 2),
            (x, y + 19, "middle", x - text_width / 2),
        )
        for at_x, at_y, anchor, text_left in positions:
            box = (text_left, at_y - 10, text_left + text_width, at_y + 3)
            inside = box[0] > left_edge and box[2] < right_edge and box[1] > 0
            if inside and not any(
                box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken
            ):
                taken.append(box)
                parts.append(
                    f'<text class="name" x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}">{escape(name)}</text>'
                )
                break
    return parts


def curve(shares: Sequence[float], label: str) -> Markup:
    """Return a line chart of a share after 0, 1, 2 ... steps, on a scale from 0 to 1."""
    width, height, left_margin, bottom_margin = 420.0, 180.0, 44.0, 30.0
    last_step = max(len(shares) - 1, 1)

    def at(step: int) -> tuple[float, float]:
        """Return the SVG coordinates of a step."""
        return left_margin + (width - left_margin - 12) * step / last_step, 8 + (height - bottom_margin - 8) * (
            1 - shares[step]
        )

    parts = [
        f'<line class="axis" x1="{left_margin}" x2="{width}" y1="{height - bottom_margin}" y2="{height - bottom_margin}"/>',
        f'<line class="axis" x1="{left_margin}" x2="{left_margin}" y1="0" y2="{height - bottom_margin}"/>',
    ]
    for share in (0.0, 0.5, 1.0):
        y = 8 + (height - bottom_margin - 8) * (1 - share)
        parts.append(f'<text class="tick" x="{left_margin - 6}" y="{y + 4:.0f}" text-anchor="end">{share:.0%}</text>')
    label_step = max(len(shares) // 8, 1)
    for step in range(0, len(shares), label_step):
        parts.append(
            f'<text class="tick" x="{at(step)[0]:.1f}" y="{height - bottom_margin + 16}" text-anchor="middle">{step}</text>'
        )
    parts.append(
        f'<polyline class="frontier" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, range(len(shares))))}"/>'
    )
    for step, share in enumerate(shares):
        x, y = at(step)
        tip = f"{many(step, 'fact')}: {percent_text(share)}"
        parts.append(
            f'<circle class="node passing" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(tip)}</title></circle>'
        )
    return _svg(width, height, "".join(parts), label, "chart curve")


def _group(width: float, height: float, content: str, label: str, kind: str) -> Markup:
    """Return an SVG with role ``group`` instead of ``img``, because it contains links."""
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" role="group" aria-label="{escape(label, quote=True)}" xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )
