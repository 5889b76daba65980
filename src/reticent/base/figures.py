"""The figures of a report: plain SVG with the page's colours, so dark mode and printing work.

Drawn without a chart library: a report must be ready within seconds (a renderer alone needs two), and text must use the
page's own font.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

from reticent.base.cards import percent, shortened

WIDTH, NARROW = 720, 340
_ROW = 26
_LABELS = 190
_MOST_VALUES, _WORTH_A_LINE = 12, 0.0005
_MOST_BINS, _NARROWEST = 24, 1e-12
_HARDLY_ANYBODY = 0.05
_SHORTEST_WHISKER = 4.0
_LETTER = 6.6  # the width of a digit on an axis


@dataclass(frozen=True)
class Figure:
    """A figure, its description (below it, or only for screen readers), and its numbers as a table.

    ``narrow`` is the same figure for a phone: text keeps its size, so it cannot be the wide one scaled down.
    """

    title: str
    description: str
    svg: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    captioned: bool = True
    narrow: str = ""


@dataclass(frozen=True)
class Bar:
    """A before/after pair of bars: ``name`` and ``words`` describe what is counted, intervals are confidence intervals.

    Baselines are the success without the release, or among people who are not in it. ``succeeds`` is True if the second
    bar exceeds what the baseline explains.
    """

    name: str
    before: float | None
    after: float
    interval_before: tuple[float, float] | None = None
    interval_after: tuple[float, float] | None = None
    baseline: float | None = None
    words: str = ""
    baseline_before: float | None = None
    succeeds: bool = False

    @property
    def colour(self) -> str:
        """The CSS class of the second bar: green only if hardly any person is affected."""
        if self.succeeds:
            return "warn"
        return "good" if self.after <= _HARDLY_ANYBODY else "even"

    @property
    def title(self) -> str:
        """The adversary and what is counted, in one line."""
        return f"{self.name}: {self.words}" if self.words else self.name


def picture(width: float, height: float, content: Sequence[str], label: str) -> str:
    """An SVG element that scales with the page, with an accessible label."""
    return (
        f'<svg viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-label="{escape(label, quote=True)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(content)}</svg>'
    )


def text(x: float, y: float, content: object, kind: str = "", anchor: str = "start") -> str:
    """A line of text; ``kind`` is a CSS class of the page."""
    return f'<text x="{_n(x)}" y="{_n(y)}" class="{kind}" text-anchor="{anchor}">{escape(str(content))}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, tip: str = "", radius: float = 2) -> str:
    """A rectangle with an optional tooltip."""
    shape = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(height)}" rx="{_n(radius)}"'
    return f'<rect {shape} class="{kind}">{_tip(tip)}</rect>'


def dot(x: float, y: float, radius: float, kind: str, tip: str = "") -> str:
    """A circle with an optional tooltip."""
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" class="{kind}">{_tip(tip)}</circle>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" class="{kind}"/>'


def crowd_sizes(after: NDArray[np.int64], before: NDArray[np.int64] | None, minimum: int | None) -> Figure:
    """The distribution of group sizes: the share of people in groups of each size, before and after.

    Sizes are binned 1, 2-4, 5-9, 10-19, 20-49, ...; ``minimum`` (the guaranteed k) is marked.
    """
    largest = int(max(after.max(initial=1), before.max(initial=1) if before is not None else 1))
    edges = _round_edges(largest)
    shares_after = _people_by_size(after, edges)
    shares_before = _people_by_size(before, edges) if before is not None else None
    names = [_range_name(low, high - 1) for low, high in pairwise(edges)]
    height, base, top = 262.0, 217.0, 36.0
    slot = (WIDTH - 60) / len(names)
    scale = (base - top) / max([0.01, *shares_after, *(shares_before or ())])
    parts = [line(40, base, WIDTH - 10, base, "axis")]
    for number, name in enumerate(names):
        x = 45 + number * slot
        bar_width = min(slot * 0.42, 44)
        pair = [(shares_before[number], "before")] if shares_before is not None else []
        pair.append((shares_after[number], "after"))
        left = x + (slot - bar_width * len(pair)) / 2
        for index, (share, kind) in enumerate(pair):
            bar_height = share * scale
            tip = f"{share:.1%} of people are in groups of {name} ({kind})"
            parts.append(box(left + index * bar_width, base - bar_height, bar_width - 2, bar_height, kind, tip))
            if share >= 0.005:
                parts.append(
                    text(left + (index + 0.5) * bar_width - 1, base - bar_height - 5, f"{share:.0%}", "value", "middle")
                )
        tick = name if len(name) * _LETTER < slot else f"{edges[number]:,}…"
        parts.append(text(x + slot / 2, base + 18, tick, "tick", "middle"))
    number = int(np.searchsorted(edges, minimum or 1, side="right")) - 1
    if minimum is not None and minimum > 1 and number < len(names):
        x = 45 + number * slot
        parts.append(line(x, top - 30, x, base, "mark"))
        parts.append(text(x + 5, top - 22, f"guaranteed: at least {minimum}", "marktext"))
    parts.append(text(WIDTH / 2, height - 8, "people who look alike (size of the group)", "tick", "middle"))
    rows = tuple(
        (name, *((f"{shares_before[i]:.1%}",) if shares_before is not None else ()), f"{shares_after[i]:.1%}")
        for i, name in enumerate(names)
    )
    columns = ("size of the group", *(("people before",) if shares_before is not None else ()), "people after")
    words = f"After publishing, the smallest group has {int(after.min())} people, and the median person is in a group of {_median_crowd(after)}."
    series = [("before", shares_before), ("after", shares_after)]
    share_series = [(kind, shares) for kind, shares in series if shares is not None]
    marks = {number: f"guaranteed: at least {minimum}"} if minimum is not None and minimum > 1 else {}
    narrow = _rows_of_bars(names, share_series, words, marks)
    return Figure(
        "How many people look alike",
        words,
        picture(WIDTH, height, parts, words),
        columns,
        rows,
        narrow=narrow,
    )


def _rows_of_bars(
    names: Sequence[str],
    shares: Sequence[tuple[str, Sequence[float]]],
    words: str,
    marked: Mapping[int, str] | None = None,
) -> str:
    """Shares as horizontal bars, for a phone: the name on the left, its bars next to it, a mark above some rows."""
    left, right = 92.0, NARROW - 44.0
    scale = (right - left) / max([0.01, *(share for _, values in shares for share in values)])
    thick, parts, y = 13.0, [], 4.0
    for number, name in enumerate(names):
        if marked and number in marked:
            parts.append(line(0, y + 16, NARROW, y + 16, "mark"))
            parts.append(text(NARROW, y + 11, marked[number], "marktext", "end"))
            y += 22
        parts.append(text(left - 8, y + thick * len(shares) / 2 + 4, name, "tick", "end"))
        for kind, values in shares:
            parts.append(box(left, y + 1, values[number] * scale, thick - 2, kind))
            if values[number] >= 0.0005:
                parts.append(text(left + values[number] * scale + 5, y + 11, percent(values[number]), "value"))
            y += thick
        y += 8
    return picture(NARROW, y, parts, words)


def sensitive_values(name: str, before: Mapping[str, int] | None, after: Mapping[str, int]) -> Figure:
    """The distribution of a sensitive column in the published rows and, if it may be shown, in the whole table.

    Many different numbers are shown as a histogram, categories from the most to the least frequent, rare ones together.
    """
    distributions = {
        kind: distribution for kind, distribution in (("before", before), ("after", after)) if distribution is not None
    }
    main = after if before is None else {**dict.fromkeys(after, 0), **before}
    binned = _binned(main)
    lines_by_name = _most_frequent(main) if binned is None else binned
    counts = {
        kind: [sum(distribution.get(value, 0) for value in values_of_line) for values_of_line in lines_by_name.values()]
        for kind, distribution in distributions.items()
    }
    shares = {
        kind: [count / max(sum(group_counts), 1) for count in group_counts] for kind, group_counts in counts.items()
    }
    rows = []
    for number, value in enumerate(lines_by_name):
        cells = (cell for kind in counts for cell in (f"{counts[kind][number]:,}", percent(shares[kind][number])))
        rows.append((value, *cells))
    words = _spread_words(name, shares)
    columns = (name, *(cell for kind in counts for cell in (f"rows {kind}", f"share {kind}")))
    wide, narrow = (_spread(list(lines_by_name), shares, words, width) for width in (WIDTH, NARROW))
    return Figure(f"How {name} is spread", words, wide, columns, tuple(rows), narrow=narrow)


def _most_frequent(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """The most frequent values, one per line, and the others in one line."""
    order = sorted(counts, key=lambda value: (-counts[value], value))
    minimum_rows = _WORTH_A_LINE * sum(counts.values())
    frequent = [value for value in order[:_MOST_VALUES] if counts[value] >= minimum_rows]
    rare = order[len(frequent) :]
    return {value: [value] for value in frequent} | ({f"{len(rare)} others": rare} if rare else {})


def _binned(counts: Mapping[str, int]) -> dict[str, list[str]] | None:
    """Many different numbers binned to ranges of one round width; None for few numbers, or for other values.

    The ranges cover the middle 98 % of rows; the first and the last range are open.
    """
    if len(counts) <= _MOST_BINS:
        return None
    try:
        numbers = {value: float(value) for value in counts}
    except ValueError:
        return None
    if not all(map(isfinite, numbers.values())):
        return None
    order = sorted(numbers, key=numbers.__getitem__)
    values = np.array([numbers[value] for value in order])
    share = np.cumsum([counts[value] for value in order]) / sum(counts.values())
    low, high = (float(values[min(int(np.searchsorted(share, end)), len(values) - 1)]) for end in (0.01, 0.99))
    span = high - low
    if not isfinite(span) or span <= max(abs(low), abs(high)) * _NARROWEST:
        return None  # floats could not distinguish the ranges
    width = _round_width(span / _MOST_BINS)
    first, last = floor(low / width), floor(high / width)
    bin_indices = np.clip(np.floor(values / width), first, last).astype(int)
    names = {
        bin_number: f"{_short(bin_number * width)} to {_short((bin_number + 1) * width)}"
        for bin_number in range(first, last + 1)
    }
    if values[0] < first * width:
        names[first] = f"below {_short((first + 1) * width)}"
    if values[-1] >= (last + 1) * width:
        names[last] = f"{_short(last * width)} and above"
    bins: dict[str, list[str]] = {name: [] for name in names.values()}
    for value, bin_index in zip(order, bin_indices, strict=True):
        bins[names[bin_index]].append(value)
    return bins


def _round_width(lower_bound: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least ``lower_bound``."""
    power = 10.0 ** floor(log10(lower_bound))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= lower_bound * (1 - 1e-9))


def _short(number: float) -> str:
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:.4g}"


def _spread(names: Sequence[str], shares: Mapping[str, Sequence[float]], label: str, width: float) -> str:
    """Values from top to bottom: bars for the first kind of shares, dots for the second."""
    left, right, letters = (_LABELS, width - 110.0, 26) if width > NARROW else (112.0, width - 104.0, 15)
    scale = (right - left) / max(0.01, *(max(kind_shares) for kind_shares in shares.values()))
    parts = []
    for number, value in enumerate(names):
        y = 6 + number * _ROW
        value_shares = [kind_shares[number] for kind_shares in shares.values()]
        words = " → ".join(percent(share) for share in value_shares)
        parts.append(text(left - 10, y + 17, shortened(value, letters), "label", "end"))
        parts.append(box(left, y + 5, value_shares[0] * scale, _ROW - 10, next(iter(shares)), f"{value}: {words}"))
        if len(value_shares) > 1:
            parts.append(dot(left + value_shares[1] * scale, y + _ROW / 2, 4.5, "after", f"{value}: {words}"))
        parts.append(text(left + max(value_shares) * scale + 12, y + 17, words, "value"))
    return picture(width, len(names) * _ROW + 12, parts, label)


def _spread_words(name: str, shares: Mapping[str, Sequence[float]]) -> str:
    """Return a sentence on how far the two distributions are apart."""
    if "before" not in shares:
        return f"The distribution of {name} over the published rows."
    distance = sum(abs(b - a) for b, a in zip(shares["before"], shares["after"], strict=True)) / 2
    legend = "Bars: the whole table. Dots: the published rows."
    if not distance:
        return f"{legend} The two distributions of {name} are the same."
    return (
        f"{legend} The two distributions of {name} are {percent(distance)} apart, which is the share of rows that would have "
        "to change to make them equal."
    )


def numbers(title: str, words: str, values_by_name: Mapping[str, float]) -> Figure:
    """Named numbers as bars from top to bottom, all to one scale."""
    wide, narrow = (_bars(values_by_name, words, width) for width in (WIDTH, NARROW))
    rows = tuple((name, f"{number:,.6g}") for name, number in values_by_name.items())
    return Figure(title, words, wide, ("", "number"), rows, narrow=narrow)


def _bars(values_by_name: Mapping[str, float], label: str, width: float) -> str:
    """Return one bar per number with its name and value, as SVG."""
    left, right, letters = (_LABELS, width - 80.0, 26) if width > NARROW else (130.0, width - 70.0, 18)
    scale = (right - left) / max([1e-9, *values_by_name.values()])
    parts = []
    for number, (name, value) in enumerate(values_by_name.items()):
        y, value_text = 6 + number * _ROW, f"{value:,.6g}"
        parts.append(text(left - 10, y + 17, shortened(name, letters), "label", "end"))
        parts.append(box(left, y + 5, value * scale, _ROW - 10, "after", f"{name}: {value_text}"))
        parts.append(text(left + value * scale + 8, y + 17, value_text, "value"))
    return picture(width, len(values_by_name) * _ROW + 12, parts, label)


def best_guesses(name: str, tops: NDArray[np.int64], sizes: NDArray[np.int64]) -> Figure:
    """The certainty of the best guess about a person for an adversary who knows the person's group: people by that probability."""
    steps = 10
    filled = sizes > 0
    tops, sizes = tops[filled], sizes[filled]
    # A guess of exactly 1 is certainty and gets a bin of its own.
    bins = np.minimum(tops * steps // np.maximum(sizes, 1), steps)
    people = np.bincount(bins, weights=sizes, minlength=steps + 1)
    shares = people / max(people.sum(), 1)
    height, base, top = 210.0, 165.0, 18.0
    slot = (WIDTH - 60) / (steps + 1)
    scale = (base - top) / max(float(shares.max(initial=0)), 0.01)
    parts, rows = [line(40, base, WIDTH - 10, base, "axis")], []
    for number, share in enumerate(shares):
        label = "certain" if number == steps else f"{number * 10}–{number * 10 + 10} %"
        x, tall = 45 + number * slot, float(share) * scale
        kind = "bad" if number == steps else "after"
        tip = f"for {share:.1%} of people the best guess is right with {label}"
        parts.append(box(x + 4, base - tall, slot - 8, tall, kind, tip))
        if share >= 0.005:
            parts.append(text(x + slot / 2, base - tall - 5, f"{share:.0%}", "value", "middle"))
        parts.append(text(x + slot / 2, base + 18, label, "tick", "middle"))
        rows.append((label, f"{int(people[number]):,}", f"{share:.1%}"))
    parts.append(text(WIDTH / 2, height - 6, "chance that the best guess is right", "tick", "middle"))
    surest = float(np.max(tops / np.maximum(sizes, 1))) if len(sizes) else 0.0
    words = f"For every person, the best guess about {name} is right with at most {percent(surest)}."
    return Figure(
        f"How sure a guess at {name} can be",
        words,
        picture(WIDTH, height, parts, words),
        ("chance", "people", "share"),
        tuple(rows),
        narrow=_rows_of_bars([row[0] for row in rows], [("after", [float(share) for share in shares])], words),
    )


def attacks(bars: Sequence[Bar]) -> Figure:
    """Each adversary's success on the original table and on the release; a notch marks the success without the release."""
    words = "; ".join(
        f"{bar.title}: {percent(bar.before) + ' before, ' if bar.before is not None else ''}{percent(bar.after)} after"
        for bar in bars
    )
    rows = tuple(
        (
            bar.title,
            percent(bar.before) if bar.before is not None else "–",
            percent(bar.after),
            " to ".join(map(percent, bar.interval_after)) if bar.interval_after is not None else "–",
            percent(bar.baseline) if bar.baseline is not None else "–",
        )
        for bar in bars
    )
    wide, narrow = (_pairs_of_bars(bars, words, width) for width in (WIDTH, NARROW))
    headings = ("adversary", "before", "after", "after, 95 % sure", "without the release")
    return Figure("What adversaries achieve", words + ".", wide, headings, rows, captioned=False, narrow=narrow)


def _pairs_of_bars(bars: Sequence[Bar], label: str, width: float) -> str:
    """Return two bars per adversary, before and after, with intervals and baselines, as SVG."""
    left, right = 90.0, width - 56.0
    parts, y = [], 4.0
    for bar in bars:
        parts.append(text(0, y + 15, bar.name, "label strong"))
        y += 18
        for words in _wrapped(bar.words, int(width / 6.6)) if bar.words else []:
            parts.append(text(0, y + 13, words, "tick"))
            y += 16
        y += 6
        original_bar = ("as it stood", bar.before, bar.interval_before, bar.baseline_before, "bad")
        published_bar = ("published", bar.after, bar.interval_after, bar.baseline, bar.colour)
        for word, share, interval, baseline, kind in (original_bar, published_bar):
            if share is None:
                continue
            parts.append(text(left - 8, y + 15, word, "tick", "end"))
            parts.append(box(left, y + 2, right - left, 18, "trough"))
            parts.append(box(left, y + 2, share * (right - left), 18, kind, f"{bar.name}, {word}: {share:.1%}"))
            if interval is not None:
                low, high = (left + end * (right - left) for end in interval)
                if high - low >= _SHORTEST_WHISKER:
                    parts.append(line(low, y + 11, high, y + 11, "whisker"))
            if baseline is not None:
                x = left + baseline * (right - left)
                parts.append(line(x, y - 1, x, y + 23, "notch"))
            parts.append(text(right + 8, y + 16, percent(share), f"value {kind}text"))
            y += 24
        y += 14
    return picture(width, y, parts, label)


def risk_columns(rows: int, unique_rows: int, added_by_column: Mapping[str, int]) -> Figure:
    """The number of unique people, and how many more become unique when each column becomes known."""
    words = f"{unique_rows:,} of {rows:,} rows are unique in all columns together. Bars: how many more become unique when the column becomes known, averaged over the orders in which columns become known."
    wide, narrow = (_one_bar_a_row(added_by_column, max(unique_rows, 1), words, width) for width in (WIDTH, NARROW))
    cells = tuple((name, f"{count:,}", percent(count / max(unique_rows, 1))) for name, count in added_by_column.items())
    headings = ("column", "rows that it makes unique", "share of the unique rows")
    return Figure("Which columns make people unique", words, wide, headings, cells, narrow=narrow)


def _one_bar_a_row(counts: Mapping[str, int], full_scale: int, label: str, width: float) -> str:
    """Return one bar per column with its count and share, as SVG."""
    left, right, letters = (_LABELS, width - 110.0, 26) if width > NARROW else (112.0, width - 104.0, 15)
    parts = []
    for number, (name, count) in enumerate(counts.items()):
        y, share = 6 + number * _ROW, count / full_scale
        parts.append(text(left - 10, y + 17, shortened(name, letters), "label", "end"))
        parts.append(box(left, y + 5, right - left, _ROW - 10, "trough"))
        parts.append(box(left, y + 5, share * (right - left), _ROW - 10, "bad", f"{name}: {count:,}"))
        parts.append(text(right + 12, y + 17, f"{count:,} ({percent(share)})", "value"))
    return picture(width, len(counts) * _ROW + 12, parts, label)


def _wrapped(words: str, limit: int) -> list[str]:
    """Lines of at most ``limit`` characters."""
    return wrap(words, limit) or [""]


def _round_edges(largest: int) -> list[int]:
    """Return the bin edges 1, 2, 5, 10, 20, 50, ... up to the first above ``largest``."""
    edges, power = [1], 1
    while edges[-1] <= largest:
        edges.extend(power * step for step in (2, 5, 10))
        power *= 10
    while len(edges) > 2 and edges[-2] > largest:
        edges.pop()
    return edges


def _people_by_size(sizes: NDArray[np.int64], edges: Sequence[int]) -> list[float]:
    people, _ = np.histogram(sizes, bins=np.array(edges), weights=sizes)
    total = max(int(sizes.sum()), 1)
    return [float(share) for share in people / total]


def _median_crowd(sizes: NDArray[np.int64]) -> int:
    """The group size of the median person."""
    if not len(sizes):
        return 0
    rising = np.sort(sizes)
    return int(rising[np.searchsorted(np.cumsum(rising), ceil(rising.sum() / 2))])


def _range_name(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low:,}–{high:,}"


def _tip(content: str) -> str:
    return f"<title>{escape(content)}</title>" if content else ""


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")
