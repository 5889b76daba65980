"""The steward's page about a series of releases: charts of counterfeits, disclosure, information loss and query errors over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reticent.base.charts import ChartAxis, ChartLine, line_chart
from reticent.base.files import write_whole
from reticent.methods.series import MInvariance, SeriesVerdict, TauSafety
from reticent.release import Headline
from reticent.reports.page_parts import page_text
from reticent.reports.series_measures import ReleaseMeasures

_OWNER_ONLY = 0o600
_VIOLATIONS_SHOWN = 3
Measured = Sequence[ReleaseMeasures]


@dataclass(frozen=True)
class _Picture:
    """A chart of the page: title, explanation, unit of the vertical axis, and per line a label with its figure of a release."""

    title: str
    words: str
    unit: str
    figures: Mapping[str, Callable[[ReleaseMeasures], float | None]]
    whole: bool = False


_PICTURES = (
    _Picture(
        "Counterfeits",
        "Made-up rows in each release, and the minimum needed to keep every person's signature. A number above the minimum comes from new rows that could not be used.",
        "rows",
        {"published": lambda release: release.counterfeits, "least": lambda release: release.least_counterfeits},
        whole=True,
    ),
    _Picture(
        "People who can be tracked",
        "People of each release for whom all releases together rule out a value (narrowed) or all but one (disclosed), and people whose new signature overlaps the old one after a change or a return (vulnerable).",
        "people",
        {
            "narrowed": lambda release: release.narrowed,
            "disclosed": lambda release: release.disclosed,
            "vulnerable": lambda release: release.vulnerable,
        },
        whole=True,
    ),
    _Picture(
        "Lost detail",
        "The share of a column's range that a person's box covers, on average over people and columns (certainty penalty).",
        "share of the range",
        {"certainty penalty": lambda release: release.cp_row},
    ),
    _Picture(
        "Rows that look alike",
        "Squared numbers of rows with one box, a row (discernibility penalty): how many rows share the box of an average one.",
        "rows",
        {"discernibility penalty": lambda release: release.dcp / max(release.people + release.counterfeits, 1)},
    ),
    _Picture(
        "Error of counting queries",
        "Relative error of counts over random ranges, estimated from the boxes.",
        "relative error",
        {"mean": lambda release: release.error, "median": lambda release: release.error_median},
    ),
    _Picture(
        "Lost information",
        "The divergence of people from rows spread evenly over the boxes (Kullback-Leibler), by quasi values alone and together with sensitive values.",
        "nats",
        {"quasi values": lambda release: release.kl, "with sensitive values": lambda release: release.kl_sensitive},
    ),
    _Picture(
        "Time",
        "Seconds of publishing up to the commit, for releases that were published here.",
        "seconds",
        {"publishing": lambda release: release.seconds},
    ),
)


def series_figures(measured: Mapping[str, Measured], *, relative: bool = False) -> dict[str, str]:
    """Return the charts as SVG by title, with one line per measure and series.

    ``relative`` plots ``ln(value / value of the last series)`` instead, where both are nonzero; it needs two series.
    """
    return {picture.title: _drawn(picture, measured, relative and len(measured) > 1) for picture in _known(measured)}


def series_headline(verdict: SeriesVerdict, measured: Measured) -> Headline:
    """Return the verdict on a series: whether its guarantee holds, and what all releases together disclose nevertheless."""
    if not verdict.holds:
        violations = [violation.text() for violation in verdict.violations[:_VIOLATIONS_SHOWN]]
        hidden = len(verdict.violations) - len(violations)
        return Headline("does not hold", (*violations, *([f"{hidden:,} more of this kind."] if hidden else [])))
    last = measured[-1] if measured else None
    disclosed = last.disclosed if last is not None else 0
    disclosures = (
        [] if not disclosed else [f"All releases together leave {disclosed:,} people of the last one a single value."]
    )
    baseline_notes = (
        []
        if verdict.hardened
        else [
            "The rules are those of a published baseline method: the values of people whose value changes may be disclosed."
        ]
    )
    return Headline.holding([*disclosures, *baseline_notes])


def write_series_page(
    measured: Mapping[str, Measured],
    path: str | Path,
    title: str,
    *,
    verdict: SeriesVerdict | None = None,
    relative: bool = False,
) -> Path:
    """Write the page to ``path`` as one self-contained file with the verdict, charts and their data; only the owner can read it."""
    target, title = Path(path), title or "A series of releases"
    charts = series_figures(measured, relative=relative)
    headline, details = _judged(verdict, next(iter(measured.values()))) if verdict is not None else (None, [])
    page = page_text(
        "series.html",
        title=f"{title}: series report",
        heading=title,
        headline=headline,
        details=details,
        pictures=[
            {"title": picture.title, "words": picture.words, "svg": charts[picture.title]}
            for picture in _known(measured)
        ],
        tables=[
            {
                "title": "The figures" if len(measured) == 1 else name.capitalize(),
                "heads": list(_COLUMNS),
                "rows": [[column(release) for column in _COLUMNS.values()] for release in releases],
            }
            for name, releases in measured.items()
        ],
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, page.encode(), _OWNER_ONLY)
    return target


def _judged(verdict: SeriesVerdict, measured: Measured) -> tuple[Headline, list[str]]:
    """Return the headline for the first series, and a sentence with the checked guarantee (tau-safety if the series is hardened, otherwise m-invariance)."""
    definition = TauSafety(verdict.m) if verdict.hardened else MInvariance(verdict.m)
    basis = f"Judged of all {len(measured):,} releases together, with who is in which group: {definition.meaning()}"
    return series_headline(verdict, measured), [basis]


def _known(measured: Mapping[str, Measured]) -> list[_Picture]:
    """Return the charts for which at least one value is known."""
    releases = [release for series in measured.values() for release in series]
    return [
        picture
        for picture in _PICTURES
        if any(figure(release) is not None for figure in picture.figures.values() for release in releases)
    ]


def _drawn(picture: _Picture, measured: Mapping[str, Measured], relative: bool) -> str:
    """Draw one chart, a line per measure and series; with ``relative`` the logarithm of the ratio to the last series."""
    lines = []
    last = list(measured)[-1]
    last_by_number = {release.number: release for release in measured[last]}
    for name, releases in measured.items():
        if relative and name == last:
            continue
        for label, figure in picture.figures.items():
            points = [
                (float(release.number), float(value)) for release in releases if (value := figure(release)) is not None
            ]
            if relative:
                points = [
                    (number, math.log(value / baseline))
                    for number, value in points
                    if int(number) in last_by_number
                    and value > 0
                    and (baseline := figure(last_by_number[int(number)]) or 0) > 0
                ]
            if points:
                tips = [f"release {number:g}: {value:,.4g}" for number, value in points]
                lines.append(ChartLine(label if len(measured) == 1 else f"{label}, {name}", points, tips))
    values = [value for line in lines for _, value in line.points] or [0.0]
    numbers = [release.number for releases in measured.values() for release in releases]
    low, high = min(*values, 0.0), max(*values, 0.0)
    unit = f"ln ratio to {last}" if relative else picture.unit
    return line_chart(
        lines,
        ChartAxis("release", min(numbers) - 0.25, max(numbers) + 0.25, whole=True),
        ChartAxis(unit, low * 1.08, high * 1.08 if high > low else low + 1.0, whole=picture.whole and not relative),
    )


_COLUMNS: Mapping[str, Callable[[ReleaseMeasures], str]] = {
    "release": lambda release: str(release.number),
    "people": lambda release: f"{release.people:,}",
    "groups": lambda release: f"{release.groups:,}",
    "counterfeits": lambda release: f"{release.counterfeits:,}",
    "least": lambda release: f"{release.least_counterfeits:,}",
    "vulnerable": lambda release: f"{release.vulnerable:,}",
    "narrowed": lambda release: f"{release.narrowed:,}",
    "disclosed": lambda release: f"{release.disclosed:,}",
    "absent": lambda release: f"{release.absent:,}",
    "certainty penalty": lambda release: f"{release.cp:,.1f}",
    "discernibility penalty": lambda release: f"{release.dcp:,}",
    "mean error": lambda release: f"{release.error:.1%}",
    "selectivity": lambda release: f"{release.selectivity:.1%}",
    "divergence": lambda release: f"{release.kl:.3f}",
    "with sensitive values": lambda release: f"{release.kl_sensitive:.3f}",
    "seconds": lambda release: "" if release.seconds is None else f"{release.seconds:.2f}",
}
