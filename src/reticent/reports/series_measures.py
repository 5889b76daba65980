"""Information loss and disclosure risk of each release of a series. Confidential: computed from the original records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks import Learned
from reticent.base.context import Context
from reticent.base.packing import number, pack
from reticent.base.ragged import places_in
from reticent.errors import PolicyError
from reticent.methods.series import EventKind, PublishedSeries, SeriesRelease

_FLOOR = 0.001
"""Lower bound on the denominator of a relative query error, as a share of the rows."""
_MOST_PAIRS = 100_000_000
"""Maximum number of pairs of a person and a box that are evaluated for the divergence of one release."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReleaseMeasures:
    """Measures of one release of a series.

    ``counterfeits`` is the number of counterfeit records published, ``least_counterfeits`` a lower bound for any publisher that preserves signatures. ``moved``
    counts people whose signature changed because their value changed or they returned; ``vulnerable`` those of them whose new signature overlaps the old one.
    ``narrowed`` counts people for whom all releases together rule out at least one value of the group, ``disclosed`` those for whom only one value remains, and
    ``absent`` those who left and did not return.
    ``cp`` is the summed share of the range that each true row's box covers, ``cp_row`` its mean over rows and columns; ``dcp`` the sum of squared numbers of rows that share a box
    (group sizes, or people of buckets, which counterfeits are not in), ``dcp_true`` without counterfeits. ``error`` and ``error_median`` are relative errors of counting queries, and ``selectivity`` is the share of people that a query
    met on average. ``kl`` is the divergence of the rows from rows spread evenly over the boxes, by quasi values, and ``kl_sensitive`` by quasi and sensitive values.
    ``seconds`` is the time that publishing took, up to the commit; None where it is not known.
    """

    number: int
    people: int
    groups: int
    counterfeits: int
    least_counterfeits: int
    moved: int
    vulnerable: int
    narrowed: int
    disclosed: int
    absent: int
    cp: float
    cp_row: float
    dcp: int
    dcp_true: int
    error: float
    error_median: float
    selectivity: float
    kl: float
    kl_sensitive: float
    seconds: float | None

    @property
    def counterfeit_share(self) -> float:
        """Share of counterfeit records among the published rows."""
        return self.counterfeits / (self.people + self.counterfeits)

    def as_dict(self) -> dict[str, Any]:
        """Return the measures as JSON-compatible data."""
        return asdict(self) | {"counterfeit_share": self.counterfeit_share}


@dataclass(frozen=True)
class _Query:
    """A range query: an interval for each of some columns."""

    columns: NDArray[np.int64]
    low: Floats
    high: Floats


def measure_series(
    series: PublishedSeries,
    learned: Learned,
    *,
    queries: int = 200,
    selectivity: float = 0.05,
    seed: int = 1,
    cells: Mapping[str, float] | None = None,
    seconds: Sequence[float | None] | None = None,
    context: Context | None = None,
) -> list[ReleaseMeasures]:
    """Measure every release of a series; ``learned`` holds what an adversary infers by tracking people through all releases.

    Ranges of columns are those of the whole series, so that months can be compared. The workload is the same for every release: each query constrains a
    random number of columns to random ranges that together hold about the share ``selectivity`` of the space. A count is estimated by spreading the true rows of each
    group evenly over its box (``uniform``); errors are absolute differences relative to the true count, or to 0.1 % of the rows where that is more.

    Divergences are computed on a grid over the columns' domains; ``cells`` gives the cell widths (default: 1, or a hundredth of the range for non-integer
    numbers). For a large release they are estimated from a random sample of some hundred people. ``seconds`` holds the time of each release, from ``History.facts``.
    """
    if queries < 1 or not 0 < selectivity <= 1:
        raise PolicyError("queries must be at least 1, and selectivity a share above 0 and at most 1.")
    series.check_complete("Measuring a series")
    context = context or Context()
    points = [series.positions(release.quasi) for release in series]
    low = np.min([release.low.min(axis=0) for release in series], axis=0)
    width = np.max([release.high.max(axis=0) for release in series], axis=0) - low
    random = np.random.default_rng(seed)
    steps = np.array([0.0 if series[0].quasi.schema[name].is_float() else 1.0 for name in series.orders])
    # Query ranges cover only values that occur; boxes may extend beyond them.
    lowest = np.min([release_points.min(axis=0) for release_points in points], axis=0)
    highest = np.max([release_points.max(axis=0) for release_points in points], axis=0)
    workload = _workload(queries, selectivity, lowest, highest - lowest, steps, random)
    widths = _cell_widths(series, width, cells or {})
    tracking = _sighted(learned, len(series))
    memory = _Memory(series)
    measures = []
    for index, release in enumerate(series):
        context.step("measuring releases", index, len(series))
        box_shares = ((release.high - release.low) / np.where(width > 0, width, 1.0)).sum(axis=1)
        cp = float((box_shares * release.box_people).sum())
        errors, selectivities = zip(
            *(_error(query, release, points[index], steps[query.columns]) for query in workload), strict=True
        )
        kl, kl_sensitive = _divergences(release, points[index], widths, random)
        people = len(release.people)
        least, moved, vulnerable = memory.follow(index, release)
        narrowed, disclosed = tracking[index]
        class_sizes = release.sizes if release.buckets is None else release.box_people
        measures.append(
            ReleaseMeasures(
                number=release.number,
                people=people,
                groups=len(release),
                counterfeits=int(release.counterfeits.sum()),
                least_counterfeits=least,
                moved=moved,
                vulnerable=vulnerable,
                narrowed=narrowed,
                disclosed=disclosed,
                absent=memory.absent,
                cp=cp,
                cp_row=cp / max(people * len(width), 1),
                dcp=int((class_sizes**2).sum()),
                dcp_true=int((release.box_people**2).sum()),
                error=float(np.mean(errors)),
                error_median=float(np.median(errors)),
                selectivity=float(np.mean(selectivities)),
                kl=kl,
                kl_sensitive=kl_sensitive,
                seconds=None if seconds is None else seconds[index],
            )
        )
    return measures


def _sighted(learned: Learned, releases: int) -> list[tuple[int, int]]:
    """Return, for each release, how many of its people all releases together narrow (a value of their group is ruled out) and disclose (one value remains)."""
    release = learned.tracks.release
    narrowed = np.bincount(release[learned.figures.left < learned.shown], minlength=releases)
    disclosed = np.bincount(release[learned.figures.left == 1], minlength=releases)
    return list(zip(narrowed.tolist(), disclosed.tolist(), strict=True))


class _Memory:
    """The most recent signature (the set of sensitive values of the group) of every person, as a number. Mutable: updated release by release."""

    def __init__(self, series: PublishedSeries) -> None:
        """Start before the first release, when nobody has a signature."""
        self._numbers: dict[tuple[int, ...], int] = {}
        self._domain = len(series.domain)
        self._last = pl.DataFrame(schema={"person": series[0].people.dtype, "then": pl.Int64, "here": pl.Boolean})
        self._sets: list[frozenset[int]] = []

    @property
    def absent(self) -> int:
        """Number of people who left and did not return."""
        return self._last.filter(~pl.col("here")).height

    def follow(self, index: int, release: SeriesRelease) -> tuple[int, int, int]:
        """Process the next release; return the lower bound on its counterfeits, the number of people whose signature moved after an update or a return, and how many of
        them have a new signature that overlaps the old one.
        """
        signatures = np.array([self._signature(release, group) for group in range(len(release))], dtype=np.int64)
        now = pl.DataFrame(
            {
                "person": release.people,
                "value": release.value_of,
                "event": release.events,
                "now": signatures[release.group_of],
            }
        )
        tracked = now.join(self._last.select("person", "then"), on="person", how="left", maintain_order="left")
        moved = tracked.filter(
            (pl.col("then") != pl.col("now"))
            & pl.col("event").is_in([EventKind.SENSITIVE_UPDATED.value, EventKind.RETURNED.value])
        )
        pairs = moved.group_by("then", "now").len()
        overlapping = sum(
            count for earlier, later, count in pairs.iter_rows() if self._sets[earlier] & self._sets[later]
        )
        least_counterfeits = self._least_counterfeits(tracked) if index else 0
        departed = self._last.join(now.select("person"), on="person", how="anti").with_columns(here=pl.lit(value=False))
        self._last = pl.concat([now.select("person", then="now", here=pl.lit(value=True)), departed])
        return least_counterfeits, moved.height, overlapping

    def _signature(self, release: SeriesRelease, group: int) -> int:
        """Return the number of a group's signature, its set of sensitive values; a new one gets the next number."""
        key = tuple(release.values[release.offsets[group] : release.offsets[group + 1]].tolist())
        if key not in self._numbers:
            self._numbers[key] = len(self._sets)
            self._sets.append(frozenset(key))
        return self._numbers[key]

    def _least_counterfeits(self, tracked: pl.DataFrame) -> int:
        """Return a lower bound on counterfeits: the values missing to complete the preserved signatures, minus the new rows that can supply them."""
        signatures = tracked.select("then").unique().drop_nulls()["then"].to_list()
        required = pl.DataFrame(
            [(signature, value) for signature in signatures for value in sorted(self._sets[signature])],
            schema={"then": pl.Int64, "value": pl.Int64},
            orient="row",
        )
        keeping = tracked.join(required, on=["then", "value"], how="semi")
        multiplicities = required.join(
            keeping.group_by("then", "value").len(), on=["then", "value"], how="left"
        ).fill_null(0)
        needed = (
            multiplicities.with_columns(need=pl.col("len").max().over("then") - pl.col("len"))
            .group_by("value")
            .agg(pl.col("need").sum())
        )
        supplied = tracked.join(keeping.select("person"), on="person", how="anti").group_by("value").len("supply")
        compared = needed.join(supplied, on="value", how="left").fill_null(0)
        return int((compared["need"].cast(pl.Int64) - compared["supply"].cast(pl.Int64)).clip(lower_bound=0).sum())


def _workload(
    queries: int, selectivity: float, low: Floats, width: Floats, steps: Floats, random: np.random.Generator
) -> list[_Query]:
    """Return random range queries on random columns with values from ``low`` to ``low + width``. Columns of integers or ordered categories have a step of 1 and ranges of
    at least one value; floats have a step of 0.
    """
    workload = []
    for _ in range(queries):
        columns = np.sort(random.choice(len(low), size=random.integers(1, len(low) + 1), replace=False))
        share = selectivity ** (1 / len(columns))
        lengths = np.where(
            steps[columns] > 0, np.maximum(np.round(share * (width[columns] + 1)) - 1, 0), share * width[columns]
        )
        offsets = random.random(len(columns)) * (width[columns] - lengths + steps[columns])
        starts = low[columns] + np.where(steps[columns] > 0, np.floor(offsets), offsets)
        workload.append(_Query(columns, starts, starts + lengths))
    return workload


def _cell_widths(series: PublishedSeries, width: Floats, requested: Mapping[str, float]) -> Floats:
    """Return the width of a grid cell in each column: as requested, otherwise 1, or a hundredth of the column's range (``width``) for floats."""
    unknown = [name for name in requested if name not in series.orders]
    if unknown or not all(cell_width > 0 for cell_width in requested.values()):
        raise PolicyError(
            f"cells must name quasi columns ({', '.join(series.orders)}) with widths above 0, but it is {dict(requested)!r}.",
            setting=("cells",),
        )
    schema = series[0].quasi.schema
    return np.array(
        [
            requested.get(name, span / 100 if schema[name].is_float() and span > 0 else 1.0)
            for name, span in zip(series.orders, width.tolist(), strict=True)
        ]
    )


def _divergences(
    release: SeriesRelease, points: Floats, widths: Floats, random: np.random.Generator
) -> tuple[float, float]:
    """Return the Kullback-Leibler divergence of the people from the published rows, spread evenly over their boxes: for quasi values, and with sensitive values.

    It is the mean over people of ln(p1 / p2): p1 is the share of people in the same cell; p2 sums, over the boxes that contain the cell, the box's share of the
    rows divided by its number of cells (for the second figure: of the rows with the same sensitive value, in the groups of the box).
    """
    people = len(points)
    box, group, row_counts = (
        (np.arange(len(release)), np.arange(len(release)), release.sizes)
        if release.buckets is None
        else release.box_groups()
    )
    spans = np.floor(release.high / widths) - np.floor(release.low / widths) + 1
    weights = row_counts / row_counts.sum() / spans.prod(axis=1)[box]
    cell_codes = [np.unique(column, return_inverse=True)[1] for column in np.floor(points / widths).T]
    cell, _ = number(*pack(cell_codes, [int(codes.max(initial=0)) + 1 for codes in cell_codes], people))
    with_value, _ = number(*pack([cell, release.value_of], [people, int(release.value_of.max(initial=0)) + 1], people))
    limit = max(1, _MOST_PAIRS // max(len(weights), 1))
    sample = random.choice(people, limit, replace=False) if limit < people else np.arange(people)
    group_of_row, weight_of_row = np.repeat(np.arange(len(release)), release.sizes), weights / release.sizes[group]
    # For each value the pairs of a box and a group that contains it, with the multiplicity in the group.
    order = np.argsort(group, kind="stable")
    offsets = np.searchsorted(group[order], np.arange(len(release) + 1))
    pairs_by_value = {
        value: _pairs_of(group_of_row[release.values == value], order, offsets)
        for value in np.unique(release.value_of[sample]).tolist()
    }
    published_logs = np.zeros((2, len(sample)))
    for index, person in enumerate(sample.tolist()):
        contains = ((release.low <= points[person]) & (points[person] <= release.high)).all(axis=1)[box]
        pairs = pairs_by_value[int(release.value_of[person])]
        published_logs[:, index] = np.log(weights[contains].sum()), np.log(weight_of_row[pairs[contains[pairs]]].sum())
    true_logs = np.log([np.bincount(codes)[codes[sample]] / people for codes in (cell, with_value)])
    kl, kl_sensitive = (true_logs - published_logs).mean(axis=1).tolist()
    return kl, kl_sensitive


def _pairs_of(groups: NDArray[np.int64], order: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the pairs of ``groups``; those of group ``g`` are ``order[offsets[g]:offsets[g + 1]]`` (CSR layout)."""
    pair_counts = np.diff(offsets)[groups]
    pairs: NDArray[np.int64] = order[places_in(offsets[groups], pair_counts)]
    return pairs


def _error(query: _Query, release: SeriesRelease, points: Floats, steps: Floats) -> tuple[float, float]:
    """Return the relative error of a counting query and the share of people that it selects. A discrete value covers the interval up to the next one, ``steps`` away."""
    values = points[:, query.columns]
    actual = int(((values >= query.low) & (values <= query.high)).all(axis=1).sum())
    low, high = release.low[:, query.columns], release.high[:, query.columns] + steps
    overlap = np.minimum(high, query.high + steps) - np.maximum(low, query.low)
    lengths = high - low
    # A box of zero width is either inside the range or outside, never partly.
    share = np.where(lengths > 0, overlap.clip(min=0) / np.where(lengths > 0, lengths, 1.0), overlap >= 0)
    expected = float((share.prod(axis=1) * release.box_people).sum())
    return abs(expected - actual) / max(actual, _FLOOR * len(points), 1.0), actual / max(len(points), 1)
