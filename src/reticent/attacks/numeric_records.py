"""Records as integers, so that distances between people and published records are exact and fast.

A differing category adds one to a distance. A number or a date adds the difference of the values relative to the range
of the central 90 % of the original rows, at most one. Integers of eight or more digits that are all of one length are
codes, hence categories. Two missing values are equal. Distances are counted in millionths of a column.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks import _kernels
from reticent.base.context import Context
from reticent.core import AdversaryView
from reticent.errors import DataError

COLUMN = 1_000_000
"""The maximum distance that one column adds."""
_NO_CATEGORY, _UNHEARD_OF, _NO_NUMBER, _FAR = -1, -2, 1 << 30, 1 << 29
_LANES, _LOOKED, _LOT = 64, 128, 250
_ENOUGH, _LONG_CODE = 20, 8
Places = NDArray[np.int32]


@dataclass(frozen=True)
class Records:
    """Synthetic or real rows: ``frame`` has the distinct ones, ``times`` their multiplicities."""

    frame: pl.DataFrame = field(repr=False)
    times: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Records:
        """Return the distinct rows of a frame."""
        return cls(frame, np.ones(frame.height, dtype=np.int64))

    @classmethod
    def shown(cls, view: AdversaryView, columns: Sequence[str]) -> Records:
        """Return the records that a release publishes."""
        published = [view.column(name) for name in columns]
        return cls(
            pl.DataFrame([column.labels.gather(column.codes).alias(column.name) for column in published]), view.sizes
        )

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.times.sum())

    def drawn(self, rows: int, random: np.random.Generator) -> Records:
        """Return this many rows, sampled at random without replacement; all of them if there are no more."""
        if rows >= self.rows:
            return self
        row_indices = np.repeat(np.arange(len(self.times)), self.times)
        rows_sampled, counts = np.unique(random.choice(row_indices, rows, replace=False), return_counts=True)
        return Records(self.frame[rows_sampled], counts.astype(np.int64))


@dataclass(frozen=True)
class NumericScale:
    """The scale of some columns: an integer coordinate of every value, for each column.

    Built from all rows to be compared; the ``first`` of them, the original ones, determine the range of a number.
    """

    scales: Mapping[str, ValueLine]

    @classmethod
    def of(
        cls, columns: Sequence[str], first: pl.DataFrame, *others: pl.DataFrame, codes: Container[str] = ()
    ) -> NumericScale:
        """Build the scale for these columns of some frames; a column that cannot be compared is an error. Numbers in ``codes`` are categories."""
        parts = {name: [first[name], *(frame[name] for frame in others)] for name in columns}
        return cls({name: _scale(name, series_list, name in codes) for name, series_list in parts.items()})

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.scales)

    def places(self, frame: pl.DataFrame) -> Places:
        """Return the coordinates of all values, one row per row of the frame."""
        return np.ascontiguousarray(
            np.stack([scale.places(frame[name]) for name, scale in self.scales.items()], axis=1)
        )


@dataclass(frozen=True)
class RecordIndex:
    """An index of records in blocks of near ones, for nearest-neighbour queries.

    ``rows[block, lane]`` is the index of the record stored there, and ``times`` its multiplicity; an incomplete block
    is padded with its first record, zero times. Blocks result from repeated bisection where records differ most; they
    serve distances over any subset of the columns.
    """

    records: Records
    ruler: NumericScale
    rows: NDArray[np.int64] = field(repr=False)
    times: NDArray[np.int64] = field(repr=False)
    blocks: Places = field(repr=False)
    lows: Places = field(repr=False)
    highs: Places = field(repr=False)

    @classmethod
    def of(cls, records: Records, ruler: NumericScale) -> RecordIndex:
        """Build the index: records are scaled, batched with their neighbours, and padded to blocks of equal length."""
        coordinates = ruler.places(records.frame)
        record_batches = _batches(coordinates)
        rows = np.stack([np.concatenate([batch, np.full(_LANES - len(batch), batch[0])]) for batch in record_batches])
        is_filled = np.arange(_LANES) < np.array([len(batch) for batch in record_batches])[:, None]
        blocks = np.ascontiguousarray(coordinates[rows].transpose(0, 2, 1))
        times = np.where(is_filled, records.times[rows], 0)
        return cls(records, ruler, rows, times, blocks, lows=blocks.min(axis=2), highs=blocks.max(axis=2))

    def nearest(self, people: pl.DataFrame, columns: Sequence[str], context: Context, what: str) -> NDArray[np.int64]:
        """Return each person's distance to the nearest record, by some columns."""
        distances = np.empty(people.height, dtype=np.int64)
        queried, metric = self.ruler.places(people), self._about(columns)
        for batch in _parts(people.height, context, what):
            _kernels.nearest(
                self.blocks, self.lows, self.highs, metric[0], queried[batch], *metric[1:], distances[batch]
            )
        return distances

    def guesses(
        self, people: pl.DataFrame, columns: Sequence[str], column: str, context: Context, what: str
    ) -> pl.Series:
        """Return the most frequent value of another column among each person's nearest records by some columns."""
        distances = self.nearest(people, columns, context, what)
        distinct, value_codes = np.unique(self.blocks[:, self.ruler.columns.index(column)], return_inverse=True)
        values = value_codes.reshape(self.rows.shape).astype(np.int64)
        guesses = np.empty(people.height, dtype=np.int64)
        queried, (is_numeric, compared_columns, cap) = self.ruler.places(people), self._about(columns)
        for batch in _parts(people.height, context, what):
            _kernels.vote(
                self.blocks,
                self.lows,
                self.highs,
                is_numeric,
                queried[batch],
                compared_columns,
                cap,
                distances[batch],
                self.times,
                values,
                guesses[batch],
            )
        example_record = np.empty(len(distinct), dtype=np.int64)
        example_record[values] = self.rows
        return self.records.frame[column].gather(example_record[guesses])

    def fitting(self, least: Places, most: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the rows within the bounds of each description (2 means more than one), and return one matching record."""
        matches, example = (np.zeros(len(least), dtype=np.int64) for _ in range(2))
        _kernels.fitting(self.blocks, self.times, self.lows, self.highs, least, most, matches, example)
        return matches, self.rows.reshape(-1)[example]

    def _about(self, columns: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.int64], np.int32]:
        """Return which columns are numeric, the indices of those compared, and the largest distance that one column adds."""
        is_numeric = np.array([scale.is_number for scale in self.ruler.scales.values()])
        column_indices = np.array([self.ruler.columns.index(name) for name in columns], dtype=np.int64)
        return is_numeric, column_indices, np.int32(COLUMN)


def _parts(people: int, context: Context, stage: str) -> Iterator[slice]:
    """Yield batches of people, with a progress step before each."""
    for start in range(0, people, _LOT):
        context.step(stage, start, people)
        yield slice(start, start + _LOT)


def _batches(coordinates: Places) -> list[NDArray[np.int64]]:
    """Return the records in batches that fit a block, near ones together."""
    unsplit, batches = [np.arange(len(coordinates))], []
    while unsplit:
        rows = unsplit.pop()
        if len(rows) > _LANES:
            unsplit += _halves(coordinates, rows)
        else:
            batches.append(rows)
    return batches


def _halves(coordinates: Places, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the records ``rows`` split in two at the median of the column in which they differ most.

    Deviations are estimated on a sample, each capped at the width of a column. If all records are equal they are split
    anywhere.
    """
    sample = coordinates[rows[:: max(1, len(rows) // _LOOKED)]].astype(np.float64)
    deviation = np.minimum(np.abs(sample - np.median(sample, axis=0)), COLUMN).sum(axis=0)
    for column in np.argsort(-deviation).tolist():
        values = coordinates[rows, column]
        middle = np.partition(values, len(values) // 2)[len(values) // 2]
        is_below = values < middle
        is_below = is_below if is_below.any() else values <= middle
        if not is_below.all():
            return [rows[is_below], rows[~is_below]]
    return [rows[: len(rows) // 2], rows[len(rows) // 2 :]]


@dataclass(frozen=True)
class ValueLine:
    """The scale of one column: sorted ``values`` for a category, else the origin (``zero``) and range of a number."""

    values: pl.Series | None = None
    zero: float = 0.0
    length: float = 1.0

    @property
    def is_number(self) -> bool:
        """True if different values may be near."""
        return self.values is None

    def places(self, series: pl.Series) -> Places:
        """Return the coordinates of values: category codes, or numbers scaled so that the column's range is ``COLUMN``.

        Missing and unknown values have codes of their own.
        """
        if self.values is None:
            positions = (_numbers(series) - self.zero) / self.length
            scaled = np.clip(np.rint(np.nan_to_num(positions, nan=0.0) * COLUMN), -_FAR, _FAR)
            return np.where(np.isnan(positions), _NO_NUMBER, scaled).astype(np.int32)
        code_of_value = pl.DataFrame({"value": self.values, "code": np.arange(len(self.values), dtype=np.int32)})
        texts = series.cast(pl.String).alias("value").to_frame()
        value_codes = texts.join(code_of_value, on="value", how="left", maintain_order="left")["code"].fill_null(
            _UNHEARD_OF
        )
        return np.where(series.is_null().to_numpy(), _NO_CATEGORY, value_codes.to_numpy()).astype(np.int32)

    def alike(self, first: pl.Series, second: pl.Series, tolerance: int = 0) -> NDArray[np.bool_]:
        """Return which values are equal: numbers within some millionths of their range."""
        gaps = np.abs(self.places(first).astype(np.int64) - self.places(second))
        return np.asarray(gaps <= (tolerance if self.is_number else 0))


def _scale(name: str, samples: Sequence[pl.Series], is_code: bool) -> ValueLine:
    """Return the scale of a column from its values in the original table (first) and in other tables.

    Numbers are scaled by their 5 % and 95 % quantiles in the original, unless they look like codes; other values are
    categories. Refused if another table has no category in common with the original.
    """
    if not is_code and all(_is_number(series) for series in samples) and not _looks_like_codes(samples[0]):
        original_numbers = _numbers(samples[0])
        finite = original_numbers[np.isfinite(original_numbers)]
        if not len(finite):
            return ValueLine()
        low, high = np.quantile(finite, (0.05, 0.95))
        if high <= low:
            low, high = finite.min(), finite.max()
        return ValueLine(zero=float(low), length=float(high - low) or 1.0)
    texts = [sample.cast(pl.String).drop_nulls() for sample in samples]
    for series in texts[1:]:
        if len(series) >= _ENOUGH <= len(texts[0]) and not series.is_in(texts[0].implode()).any():
            raise DataError(
                f"Column {name!r} has no value in common with the original: {series[0]!r} etc. here, {texts[0][0]!r} etc. there. Use the same coding in both, or drop the column.",
                column=name,
            )
    return ValueLine(pl.concat(texts).unique().sort())


def _looks_like_codes(series: pl.Series) -> bool:
    """True if integers are codes, such as those of places: long, and all of one length."""
    if not series.dtype.is_integer() or not len(series.drop_nulls()):
        return False
    lengths = series.drop_nulls().unique().cast(pl.String).str.len_chars().unique().to_list()
    return len(lengths) == 1 and lengths[0] >= _LONG_CODE


def _is_number(series: pl.Series) -> bool:
    return series.dtype.is_numeric() or series.dtype.is_temporal() or series.dtype == pl.Null


def _numbers(series: pl.Series) -> NDArray[np.float64]:
    physical = series.to_physical() if series.dtype.is_temporal() else series
    return physical.cast(pl.Float64).fill_null(float("nan")).to_numpy()
