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
    counts, labels, (first, last) = chart["counts"], chart["labels"], chart["ends"]
    width, height, top = 300.0, 84.0, max([*counts, 1])
    step = width / len(counts)
    bars = []
    for place, count in enumerate(counts):
        high = (height - 2) * count / top
        tip = f"{labels[place]}: {count:,}"
        bars.append(
            f'<rect class="bar" x="{place * step + 0.6:.1f}" y="{height - high:.1f}" width="{max(step - 1.2, 0.8):.1f}" '
            f'height="{high:.1f}" rx="1"><title>{escape(tip)}</title></rect>'
        )
    axis = (
        f'<line class="axis" x1="0" x2="{width}" y1="{height}" y2="{height}"/>'
        f'<text class="tick" x="0" y="{height + 14}">{escape(first)}</text>'
        f'<text class="tick" x="{width}" y="{height + 14}" text-anchor="end">{escape(last)}</text>'
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


def _svg(width: float, height: float, content: str, label: str, kind: str) -> Markup:
    named = f'role="img" aria-label="{escape(label, quote=True)}"' if label else 'aria-hidden="true"'
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" {named} xmlns="http://www.w3.org/2000/svg">{content}</svg>'
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
    line, names, width = 25.0, 116.0, 320.0
    top = max([before / rows for before in befores] + [after / published for after in afters]) or 1.0
    parts = []
    for place, (name, before, after) in enumerate(zip(labels, befores, afters, strict=True)):
        y, shown = place * line, name if len(name) <= 18 else name[:17] + "…"
        shares = before / rows, after / published
        wide = [max((width - names - 96) * share / top, 0.8) for share in shares]
        parts.append(
            f"<g><title>{escape(name)}: {percent_text(shares[0])} as it is, {percent_text(shares[1])} as published</title>"
            f'<text class="name" x="{names - 6}" y="{y + 14}" text-anchor="end">{escape(shown)}</text>'
            f'<rect class="bar before" x="{names}" y="{y + 2}" width="{wide[0]:.1f}" height="8" rx="2"/>'
            f'<rect class="bar after" x="{names}" y="{y + 11}" width="{wide[1]:.1f}" height="8" rx="2"/>'
            f'<text class="tick" x="{names + max(wide) + 6:.1f}" y="{y + 14}">{percent_text(shares[0], 0)} → {percent_text(shares[1], 0)}</text></g>'
        )
    return _svg(width, line * max(len(labels), 1), "".join(parts), f"{label} before and after", "chart")


def _histograms(chart: Mapping[str, Any], befores: Sequence[float], afters: Sequence[float], label: str) -> Markup:
    """Return a histogram as it is, with a stepped line for what is published."""
    width, height = 320.0, 96.0
    rows, published = max(sum(befores), 1), max(sum(afters), 1)
    top = max([before / rows for before in befores] + [after / published for after in afters]) or 1.0
    step, bars, path = width / len(befores), [], []
    for place, (before, after) in enumerate(zip(befores, afters, strict=True)):
        shares = before / rows, after / published
        high, up = (height - 4) * shares[0] / top, height - (height - 4) * shares[1] / top
        bars.append(
            f'<rect class="bar before" x="{place * step + 0.6:.1f}" y="{height - high:.1f}" width="{max(step - 1.2, 0.8):.1f}" height="{high:.1f}">'
            f"<title>{escape(chart['labels'][place])}: {percent_text(shares[0])} as it is, {percent_text(shares[1])} as published</title></rect>"
        )
        path += [f"{place * step:.1f},{up:.1f}", f"{(place + 1) * step:.1f},{up:.1f}"]
    first, last = chart["ends"]
    axis = (
        f'<line class="axis" x1="0" x2="{width}" y1="{height}" y2="{height}"/><text class="tick" x="0" y="{height + 14}">{escape(first)}</text>'
        f'<text class="tick" x="{width}" y="{height + 14}" text-anchor="end">{escape(last)}</text>'
    )
    content = f'{"".join(bars)}<polyline class="stepped" points="{" ".join(path)}"/>{axis}'
    return _svg(width, height + 18, content, f"{label} before and after", "chart")


def lattice(found: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]], url: str) -> Markup:
    """Return the generalization lattice as SVG: every node a link, exact values at the bottom. A large lattice shows evaluated nodes only."""
    rows: dict[int, list[tuple[str, str, str]]] = {}
    for each in nodes:
        kind = "chosen" if each["best"] else "passing" if each["passes"] else "failing"
        cost = "" if each["objective"] is None else f", loss {percent_text(each['objective'])}"
        tip = f"{_levels(found, each['levels'])}: {'passes' if each['passes'] else 'fails'}{cost}"
        rows.setdefault(sum(each["levels"]), []).append((each["key"], kind, tip))
    for levels, good in found["status"]:
        kind = "passing" if good else "failing"
        rows.setdefault(sum(levels), []).append(
            ("-".join(map(str, levels)), kind, f"{_levels(found, levels)}: {'passes' if good else 'fails'}")
        )
    shown = _MOST_DOTS / max(sum(map(len, rows.values())), 1)
    width, parts, y, left = 900.0, [], 16.0, 76.0
    for height in sorted(rows, reverse=True):
        listed = sorted(rows[height], key=lambda one: ("failing", "passing", "chosen").index(one[1]))
        kept = (
            listed
            if shown >= 1
            else [one for place, one in enumerate(listed) if one[1] == "chosen" or place % int(1 / shown + 1) == 0]
        )
        abreast = 58
        lines = max((len(kept) + abreast - 1) // abreast, 1)
        gap = min((width - left) / abreast, 15.0)
        parts.append(f'<text class="tick" x="0" y="{y + lines * gap / 2:.1f}">level sum {height}</text>')
        for place, (key, kind, tip) in enumerate(kept):
            across, down = place % abreast, place // abreast
            count = min(len(kept) - down * abreast, abreast)
            x = left + (width - left) / 2 + (across - (count - 1) / 2) * gap
            parts.append(
                f'<a href="{escape(url, quote=True)}?node={key}" class="node-link" aria-label="{escape(tip, quote=True)}">'
                f'<circle class="node {kind}" cx="{x:.1f}" cy="{y + down * gap + gap / 2 - 2:.1f}" r="{7 if kind == "chosen" else 5.2}"><title>{escape(tip)}</title></circle></a>'
            )
        y += lines * gap + 7
    return _group(width, y + 4, "".join(parts), "The lattice of all generalizations", "chart lattice")


_MOST_DOTS = 1500


def _levels(found: Mapping[str, Any], levels: Sequence[int]) -> str:
    return ", ".join(f"{name} {level}" for name, level in zip(found["columns"], levels, strict=True))


def scatter(points: Sequence[Mapping[str, Any]], frontier: Sequence[str], url: str, parameter: str) -> Markup:
    """Return a scatter plot of risk against information loss, with a line through the Pareto frontier."""
    drawn = [each for each in points if each["risk"] is not None and each["objective"] is not None]
    if not drawn:
        return Markup("")
    width, height, left, bottom = 760.0, 300.0, 56.0, 40.0
    most_x = max(max(each["objective"] for each in drawn) * 1.08, 1e-6)
    most_y = max(max(each["risk"] for each in drawn) * 1.12, 1e-6)

    def at(each: Mapping[str, Any]) -> tuple[float, float]:
        return left + (width - left - 20) * each["objective"] / most_x, (height - bottom) * (
            1 - each["risk"] / most_y
        ) + 8

    parts = [
        f'<line class="axis" x1="{left}" x2="{width}" y1="{height - bottom + 8}" y2="{height - bottom + 8}"/><line class="axis" x1="{left}" x2="{left}" y1="0" y2="{height - bottom + 8}"/>'
    ]
    for value in ChartAxis("", 0, most_x).ticks:
        x, _ = at({"objective": value, "risk": 0})
        parts.append(
            f'<text class="tick" x="{x:.0f}" y="{height - bottom + 24}" text-anchor="middle">{percent_text(value)}</text>'
        )
    for value in ChartAxis("", 0, most_y).ticks:
        _, y = at({"objective": 0, "risk": value})
        parts.append(
            f'<text class="tick" x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{percent_text(value)}</text>'
        )
    parts.append(
        f'<text class="tick" x="{(width + left) / 2}" y="{height - 2}" text-anchor="middle">detail lost</text><text class="tick" x="{left + 6}" y="10">average risk</text>'
    )
    line = sorted(at(each) for each in drawn if each["key"] in frontier)
    if len(line) > 1:
        parts.append(f'<polyline class="frontier" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in line)}"/>')
    named = parameter == "way"
    for each in drawn:
        x, y = at(each)
        own = each.get("best") or each.get("own")
        kind = "chosen" if own else "passing" if each["key"] in frontier else "plain"
        tip = f"{each['key']}: loses {percent_text(each['objective'])}, average risk {percent_text(each['risk'])}"
        circle = f'<circle class="node {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{6.5 if own or named else 4.5}"><title>{escape(tip)}</title></circle>'
        parts.append(
            circle
            if own and named
            else f'<a href="{escape(url, quote=True)}?{parameter}={escape(str(each["key"]), quote=True)}" class="node-link" aria-label="{escape(tip, quote=True)}">{circle}</a>'
        )
    if named:
        parts += _names([(*at(each), str(each["key"])) for each in drawn], left, width)
    return _group(width, height, "".join(parts), "Risk against utility", "chart scatter")


def _names(points: Sequence[tuple[float, float, str]], low: float, high: float) -> list[str]:
    """Return the names of points, each beside, above or below its own; where none of these is free there is no name but that of the point when it is pointed at."""
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y, _ in points]
    parts = []
    for x, y, name in points:
        wide = 6.4 * len(name)
        places = (
            (x + 10, y + 4, "start", x + 10),
            (x - 10, y + 4, "end", x - 10 - wide),
            (x, y - 11, "middle", x - wide / 2),
            (x, y + 19, "middle", x - wide / 2),
        )
        for at_x, at_y, anchor, left in places:
            box = (left, at_y - 10, left + wide, at_y + 3)
            inside = box[0] > low and box[2] < high and box[1] > 0
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
    width, height, left, bottom = 420.0, 180.0, 44.0, 30.0
    last = max(len(shares) - 1, 1)

    def at(step: int) -> tuple[float, float]:
        return left + (width - left - 12) * step / last, 8 + (height - bottom - 8) * (1 - shares[step])

    parts = [
        f'<line class="axis" x1="{left}" x2="{width}" y1="{height - bottom}" y2="{height - bottom}"/>',
        f'<line class="axis" x1="{left}" x2="{left}" y1="0" y2="{height - bottom}"/>',
    ]
    for share in (0.0, 0.5, 1.0):
        y = 8 + (height - bottom - 8) * (1 - share)
        parts.append(f'<text class="tick" x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{share:.0%}</text>')
    every = max(len(shares) // 8, 1)
    for step in range(0, len(shares), every):
        parts.append(
            f'<text class="tick" x="{at(step)[0]:.1f}" y="{height - bottom + 16}" text-anchor="middle">{step}</text>'
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
