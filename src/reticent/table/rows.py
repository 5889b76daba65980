"""Rows of one schema: in memory, streamed in chunks, or in a file.

Everything above an engine accesses rows only through :class:`Rows`: distinct rows with their counts, or chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.encoding import occurring
from reticent.base.expansion import check_parquet
from reticent.base.memory import budget, rows_at_once
from reticent.errors import DataError, PolicyError, first_line
from reticent.table.blocks import csv_blocks, csv_header, csv_layout, repeated_csv_blocks
from reticent.table.formula_cells import unescaped_values
from reticent.table.hierarchies.hierarchy import unused
from reticent.table.row_order import in_order, is_in_order, order_of
from reticent.table.table_files import check_header

Chunks = Iterator[pl.DataFrame]
Counted = tuple[pl.DataFrame, NDArray[np.int64]]
Change = Callable[[pl.DataFrame], pl.DataFrame]
# A distinct row of a key and its quasi values, and the hash table of equal ones.
_BYTES_PER_PERSON_CELL = 64
_ROWS_OF_TEXT = 100_000
_ROWS_OF_CSV = 200_000
# Casting this few values is faster than planning a query.
_FEW_ROWS = 10_000
_NO_DELIMITER = b"\x1f"
_NOT_DRAWN_YET = "These rows are sampled while they are written; nothing is known about them before."


@runtime_checkable
class Rows(Protocol):
    """Rows of one schema. ``engine`` names the engine that scans them; ``again`` is True if they can be read twice."""

    @property
    def schema(self) -> pl.Schema:
        """The columns with their types."""

    @property
    def height(self) -> int:
        """The number of rows."""

    @property
    def engine(self) -> str:
        """The name of the engine that scans them, a key of ``reticent.registry.ENGINES``."""

    @property
    def again(self) -> bool:
        """True if the rows can be read more than once."""

    def values(self, column: str) -> pl.Series:
        """The values of a column, each at least once."""

    def chunks(self, columns: Sequence[str] | None = None) -> Chunks:
        """The rows of some columns (default: all), in the same order every time."""

    def counted(self, columns: Sequence[str]) -> Counted:
        """The distinct rows of some columns, and their multiplicities."""

    def mapped(self, schema: pl.Schema, change: Change, needs: Sequence[str] = ()) -> Rows:
        """The rows with ``change`` applied to each chunk, which then has the types of ``schema``.

        Without ``needs``, ``change`` works on every column by itself. Otherwise a chunk always contains the columns in
        ``needs``, and ``change`` may drop rows.
        """

    def frame(self) -> pl.DataFrame:
        """All rows in memory. Raises :class:`PolicyError` with the reason if that is impossible."""


@dataclass(frozen=True)
class Profile:
    """The number of rows, and for some columns the values (each at least once) and the nulls: their number, and the index
    of the first if rows are ordered.

    ``distinct`` has the distinct rows of these columns with their counts, if they were computed on the way.
    """

    rows: int
    values: Mapping[str, pl.Series]
    missing: Mapping[str, tuple[int, int | None]]
    distinct: Counted | None = field(default=None, repr=False)


class DistantRows(ABC):
    """Rows in a remote back end (a cluster) that computes aggregates in place, so they need not be fetched. They have no
    order.

    An abstract class, not a protocol: a protocol's isinstance check would read ``height``, which costs a pass.
    """

    @abstractmethod
    def watched(self, context: Context, stage: str) -> Rows:
        """The same rows; work on them reports progress and can be cancelled."""

    @abstractmethod
    def profiled(self, known: Profile) -> Rows:
        """The same rows with the profile of a pass."""

    @abstractmethod
    def without_nulls(self, columns: Sequence[str]) -> Rows:
        """Only the rows with a value in all of some columns."""

    @abstractmethod
    def doubtful(self, columns: Sequence[str], key: str) -> pl.DataFrame:
        """A sample of the distinct rows of some columns whose ``key`` is null or occurs in several of them (if ``columns``
        is the key alone: in several rows).
        """

    @abstractmethod
    def drawn(self, columns: Sequence[str], most: int, seed: int) -> pl.DataFrame:
        """A random sample of at most ``most`` rows of some columns."""


@dataclass(frozen=True, eq=False)
class _CountedRows(ABC):
    """Rows whose ``judged`` columns are queried repeatedly: their distinct rows are cached."""

    schema: pl.Schema
    judged: tuple[str, ...] = field(default=(), kw_only=True)

    again: ClassVar[bool] = True

    def counted(self, columns: Sequence[str]) -> Counted:
        """The distinct rows of some columns, and their multiplicities."""
        count_column = self._times
        if set(columns) <= set(self.judged):
            grouped = self._judged_in(tuple(columns))
        else:
            grouped = self._grouped(columns)
        distinct = pl.DataFrame([grouped[name] for name in columns]) if columns else grouped.select(columns)
        return distinct, grouped[count_column].to_numpy()

    @cached_property
    def _judged(self) -> pl.DataFrame:
        return self._grouped(self.judged)

    def _judged_in(self, columns: tuple[str, ...]) -> pl.DataFrame:
        """The distinct rows of some judged columns. The last result is cached: describing and checking a table use the same."""
        if columns == self.judged:
            return self._judged
        if columns not in self._latest:
            self._latest.clear()
            grouped = self._judged.group_by(columns or pl.lit(0), maintain_order=True)
            self._latest[columns] = grouped.agg(pl.col(self._times).sum())
        return self._latest[columns]

    @cached_property
    def _latest(self) -> dict[tuple[str, ...], pl.DataFrame]:
        return {}

    @property
    def _times(self) -> str:
        """A name for counts that no column has."""
        return unused("times", self.schema)

    @property
    def _count(self) -> pl.Expr:
        return pl.len().cast(pl.Int64).alias(self._times)

    @abstractmethod
    def _grouped(self, columns: Sequence[str]) -> pl.DataFrame:
        """The distinct rows of some columns, with multiplicities in the column ``_times``."""


@dataclass(frozen=True, eq=False, init=False)
class FrameRows(_CountedRows):
    """Rows in memory."""

    held: pl.DataFrame = field(repr=False)

    engine: ClassVar[str] = "local"

    def __init__(self, frame: pl.DataFrame, judged: Sequence[str] = ()) -> None:
        object.__setattr__(self, "held", frame)
        object.__setattr__(self, "schema", frame.schema)
        object.__setattr__(self, "judged", tuple(judged))

    @property
    def height(self) -> int:
        return self.held.height

    def values(self, column: str) -> pl.Series:
        return self.held[column]

    def chunks(self, columns: Sequence[str] | None = None) -> Chunks:
        yield self.held if columns is None else self.held.select(columns)

    def mapped(self, schema: pl.Schema, change: Change, needs: Sequence[str] = ()) -> FrameRows:
        return FrameRows(change(self.held), self.judged)

    def frame(self) -> pl.DataFrame:
        return self.shown(self.held)

    def shown(self, part: pl.DataFrame) -> pl.DataFrame:
        """Some of the stored rows, in the types of the schema."""
        return part

    def judging(self, columns: Sequence[str]) -> Self:
        """The same rows, with the distinct rows of some columns cached on first use."""
        return type(self)(self.held, [name for name in self.schema if name in columns])

    def ordered(self) -> Self:
        """The rows sorted by all columns, nulls last."""
        return type(self)(in_order(self.held), self.judged)

    def csv_blocks(self) -> Iterator[bytes]:
        """The rows as CSV."""
        return csv_blocks(self.schema, self.held.iter_slices(_ROWS_OF_CSV))

    def _grouped(self, columns: Sequence[str]) -> pl.DataFrame:
        return self.shown(self.held.group_by(columns or pl.lit(0), maintain_order=True).agg(self._count))


@dataclass(frozen=True, eq=False, init=False)
class CodedRows(FrameRows):
    """Rows in memory with text columns as codes (enums with sorted categories). They sort, group and are written without decoding."""

    def __init__(self, frame: pl.DataFrame, judged: Sequence[str] = ()) -> None:
        super().__init__(frame, judged)
        text = {name: pl.String() for name, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)}
        object.__setattr__(self, "schema", pl.Schema({**frame.schema, **text}))

    @classmethod
    def of(cls, frame: pl.DataFrame, judged: Sequence[str] = ()) -> CodedRows:
        """Rows with text encoded here: each column is encoded once, instead of at every sort or grouping."""
        kinds = {each.name: pl.Enum(occurring(each)) for each in frame if each.dtype == pl.String}
        return cls(_cast(frame, kinds), judged)

    def values(self, column: str) -> pl.Series:
        return self.held[column].unique().cast(self.schema[column])

    def chunks(self, columns: Sequence[str] | None = None) -> Chunks:
        selected = self.held if columns is None else self.held.select(columns)
        for part in selected.iter_slices(_ROWS_OF_TEXT):
            yield self.shown(part)

    def mapped(self, schema: pl.Schema, change: Change, needs: Sequence[str] = ()) -> FrameRows:
        """Return the rows after a change; columns of codes that it does not touch stay coded."""
        coded = [name for name, dtype in self.held.schema.items() if isinstance(dtype, pl.Enum)]
        if needs or any(schema[name] != pl.String for name in coded):
            return FrameRows(change(self.frame()), self.judged)
        changed = change(self.held.drop(coded)) if len(coded) < self.held.width else pl.DataFrame()
        return CodedRows(pl.DataFrame([self.held[name] if name in coded else changed[name] for name in schema]))

    def shown(self, part: pl.DataFrame) -> pl.DataFrame:
        return _cast(part, {name: pl.String() for name, dtype in part.schema.items() if isinstance(dtype, pl.Enum)})


@dataclass(frozen=True, eq=False, init=False)
class RepeatedRows(_CountedRows):
    """Rows in memory with many duplicates: the ``distinct`` ones and their multiplicities (``times``). Sorting, grouping
    and writing process each once.
    """

    distinct: FrameRows = field(repr=False)
    times: NDArray[np.int64] = field(repr=False)

    engine: ClassVar[str] = "local"

    def __init__(self, distinct: FrameRows, times: NDArray[np.int64], judged: Sequence[str] = ()) -> None:
        """Store distinct rows with the multiplicity of each (``times``); ``judged`` are the columns whose distinct rows
        are cached.
        """
        object.__setattr__(self, "distinct", distinct)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "schema", distinct.schema)
        object.__setattr__(self, "judged", tuple(judged))

    @cached_property
    def height(self) -> int:
        return int(self.times.sum())

    def values(self, column: str) -> pl.Series:
        return self.distinct.values(column)

    def chunks(self, columns: Sequence[str] | None = None) -> Chunks:
        """Yield the rows, each repeated by its multiplicity."""
        selected = self.distinct.held if columns is None else self.distinct.held.select(columns)
        ends = np.cumsum(self.times)
        for start in range(0, self.height, _ROWS_OF_TEXT):
            row_numbers = np.arange(start, min(start + _ROWS_OF_TEXT, self.height))
            yield self.distinct.shown(selected[np.searchsorted(ends, row_numbers, side="right")])

    def mapped(self, schema: pl.Schema, change: Change, needs: Sequence[str] = ()) -> FrameRows | RepeatedRows:
        if needs:
            return FrameRows(change(self.frame()), self.judged)
        return RepeatedRows(self.distinct.mapped(schema, change), self.times, self.judged)

    def frame(self) -> pl.DataFrame:
        return self.distinct.shown(self.distinct.held[np.repeat(np.arange(len(self.times)), self.times)])

    def judging(self, columns: Sequence[str]) -> RepeatedRows:
        """The same rows, with the distinct rows of some columns cached on first use."""
        return RepeatedRows(self.distinct, self.times, [name for name in self.schema if name in columns])

    def ordered(self) -> RepeatedRows:
        """The rows sorted by all columns, nulls last."""
        order = order_of(self.distinct.held)
        sorted_rows = type(self.distinct)(self.distinct.held[order])
        return RepeatedRows(sorted_rows, self.times[order], self.judged)

    def csv_blocks(self) -> Iterator[bytes]:
        """The rows as CSV."""
        return repeated_csv_blocks(self.schema, self.distinct.held, self.times)

    def _grouped(self, columns: Sequence[str]) -> pl.DataFrame:
        counted = self.distinct.held.hstack([pl.Series(self._times, self.times)])
        grouped = counted.group_by(columns or pl.lit(0), maintain_order=True).agg(pl.col(self._times).sum())
        return self.distinct.shown(grouped)


@dataclass(frozen=True, eq=False)
class StreamRows:
    """Rows that are never in memory together. ``make(columns)`` reads some columns from the beginning, in the same order
    every time.

    ``known`` is the profile of a pass, if there was one.
    """

    schema: pl.Schema
    make: Callable[[Sequence[str]], Chunks] = field(repr=False)
    known: Profile | None = field(default=None, repr=False)

    engine: ClassVar[str] = "streaming"
    again: ClassVar[bool] = True

    @classmethod
    def of_lazy(cls, rows: pl.LazyFrame) -> StreamRows:
        """The rows of a query, by the streaming engine of polars."""

        def make(columns: Sequence[str]) -> Chunks:
            """Yield the chunks of some columns; runs the query again."""
            yield from rows.select(columns).collect_batches(
                chunk_size=rows_at_once(len(columns)), maintain_order=True, lazy=True, engine="streaming"
            )

        try:
            return cls(rows.collect_schema(), make)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(f"The source cannot be read: {str(error).strip().splitlines()[0]}.") from None

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> StreamRows:
        """The rows of a frame that is already in memory."""
        return cls(frame.schema, lambda columns: iter([frame.select(columns)]))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.schema.names()

    @cached_property
    def height(self) -> int:
        if self.known is not None:
            return self.known.rows
        return sum(chunk.height for chunk in self.chunks(self.columns[:1]))

    def values(self, column: str) -> pl.Series:
        if self.known is not None and column in self.known.values:
            return self.known.values[column]
        return distinct_values(self.schema[column], (chunk[column] for chunk in self.chunks([column])))

    def chunks(self, columns: Sequence[str] | None = None) -> Chunks:
        """The rows of some columns (or all), in chunks as large as memory allows."""
        names = self.columns if columns is None else list(columns)
        for chunk in self.make(names):
            yield from chunk.iter_slices(rows_at_once(len(names))) if chunk.height else ()

    def counted(self, columns: Sequence[str]) -> Counted:
        """Return the distinct rows of some columns with their multiplicities."""
        count_column = unused("times", self.schema)
        added = pl.DataFrame(schema={**{name: self.schema[name] for name in columns}, count_column: pl.Int64()})
        for chunk in self.chunks(columns):
            grouped = chunk.group_by(columns).agg(pl.len().cast(pl.Int64).alias(count_column))
            added = pl.concat([added, grouped]).group_by(columns).agg(pl.col(count_column).sum())
        return added.select(columns), added[count_column].to_numpy()

    def mapped(self, schema: pl.Schema, change: Change, needs: Sequence[str] = ()) -> StreamRows:
        """Return the rows after a change of every chunk."""

        def make(columns: Sequence[str]) -> Chunks:
            read = list(dict.fromkeys([*columns, *needs]))
            return (change(chunk).select(columns) for chunk in self.chunks(read))

        return StreamRows(schema, make)

    def watched(self, context: Context, stage: str) -> StreamRows:
        """The same rows, which report the progress of a pass and can be cancelled."""
        if not context.watched:
            return self
        total = self.known.rows if self.known is not None else None

        def make(columns: Sequence[str]) -> Chunks:
            """Yield the chunks of some columns, reporting progress."""
            done = 0
            for chunk in self.make(columns):
                context.step(stage, done, total)
                done += chunk.height
                yield chunk

        return replace(self, make=make)

    def profiled(self, known: Profile) -> StreamRows:
        """The same rows with the profile of a pass."""
        return replace(self, known=known)

    def frame(self) -> pl.DataFrame:
        """Refuse: streamed rows are not held in memory."""
        raise PolicyError(
            "This needs all rows of the table in memory, and the table is streamed. Pass engine='local' if the table fits in memory, or keep to what "
            "streams: Lattice, Datafly and Mondrian with format='generalize', assess, verify and counting queries."
        )


@dataclass(frozen=True, eq=False)
class StoredRows(_CountedRows):
    """Rows in CSV or Parquet files in sequence, as written by :mod:`reticent.table.blocks`. ``keeps`` keeps the folder of
    the files alive with the rows.
    """

    paths: tuple[Path, ...] = field(kw_only=True)
    keeps: Any = field(default=None, repr=False, kw_only=True)

    engine: ClassVar[str] = "streaming"

    @cached_property
    def height(self) -> int:
        return int(self._judged[self._times].sum())

    def judging(self, columns: Sequence[str]) -> StoredRows:
        """The same rows, with the distinct rows of some columns cached on first use."""
        return replace(self, judged=tuple(name for name in self.schema if name in columns))

    def values(self, column: str) -> pl.Series:
        return self.counted([column])[0][column]

    def chunks(self, columns: Sequence[str] | None = None) -> Chunks:
        yield from StreamRows.of_lazy(self.scan()).chunks(columns)

    def mapped(self, schema: pl.Schema, change: Change, needs: Sequence[str] = ()) -> StreamRows:
        return StreamRows.of_lazy(self.scan()).mapped(schema, change, needs)

    def frame(self) -> pl.DataFrame:
        return self._collected(self.scan())

    def scan(self) -> pl.LazyFrame:
        """The rows as a lazy frame."""
        return self._scanned(self.paths)

    def _scanned(self, paths: Sequence[Path]) -> pl.LazyFrame:
        """Return the rows of the stored files as a lazy frame."""
        if paths[0].suffix == ".parquet":
            return pl.scan_parquet(list(paths))
        read = pl.scan_csv(list(paths), **csv_layout(self.schema))
        return read.with_columns(unescaped_values(pl.col(pl.String))) if pl.String in self.schema.values() else read

    def check(self) -> None:
        """Check that each file has the expected columns and types."""
        for path in self.paths:
            self._check_file(path)

    def _check_file(self, path: Path) -> None:
        """Check that a stored file has the columns and types of the schema."""
        try:
            if path.suffix == ".parquet":
                check_parquet(path, path.name)
            else:
                with path.open("rb") as file:
                    check_header(file.read(len(csv_header(self.schema))), self.schema, path.name)
            types = self._scanned([path]).collect_schema()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from None
        if list(types) != list(self.schema):
            raise DataError(f"{path.name} has the columns {list(types)}, but the manifest lists {list(self.schema)}.")
        for name, dtype in self.schema.items():
            if types[name] != dtype:
                raise DataError(f"{path.name}: column {name!r} has type {types[name]}, not {dtype}.")

    def _grouped(self, columns: Sequence[str]) -> pl.DataFrame:
        if not columns:
            return self._collected(self.scan().select(self._count))
        return self._collected(self.scan().group_by(columns).agg(self._count))

    def _collected(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """Return a lazy frame in memory; a file that cannot be read is explained."""
        try:
            return rows.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> DataError:
        named = f"{self.paths[0].name}{f' (to {self.paths[-1].name})' if len(self.paths) > 1 else ''}"
        return DataError(f"{named} cannot be read as the manifest describes it: {first_line(error)}")


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows that are sampled while they are read: they can be written once, and nothing is known about them before."""

    schema: pl.Schema
    drawn: Iterator[pl.DataFrame] = field(repr=False)

    engine: ClassVar[str] = "streaming"
    again: ClassVar[bool] = False

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        return (chunk if columns is None else chunk.select(columns) for chunk in self.drawn)

    def mapped(
        self, schema: pl.Schema, change: Callable[[pl.DataFrame], pl.DataFrame], needs: Sequence[str] = ()
    ) -> DrawnRows:
        return DrawnRows(schema, (change(chunk) for chunk in self.drawn))

    @property
    def height(self) -> int:
        raise PolicyError(_NOT_DRAWN_YET)

    def values(self, column: str) -> pl.Series:
        raise PolicyError(_NOT_DRAWN_YET)

    def counted(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        raise PolicyError(_NOT_DRAWN_YET)

    def frame(self) -> pl.DataFrame:
        raise PolicyError(_NOT_DRAWN_YET)


def _cast(frame: pl.DataFrame, kinds: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Cast some columns of a frame; in parallel for many rows."""
    if not kinds or frame.height > _FEW_ROWS:
        return frame.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())
    return pl.DataFrame([each.cast(kinds[each.name]) if each.name in kinds else each for each in frame])


def held_frame(rows: Rows) -> pl.DataFrame:
    """All rows in memory, with text as codes (enums) if stored so: for callers that compare and count values without reading them."""
    return rows.held if isinstance(rows, FrameRows) else rows.frame()


def stand_in_order(rows: Rows) -> bool:
    """True if rows are sorted by all columns, nulls last."""
    if isinstance(rows, FrameRows | RepeatedRows):
        return is_in_order(rows.held if isinstance(rows, FrameRows) else rows.distinct.held)
    before = pl.DataFrame(schema=rows.schema)
    for chunk in rows.chunks():
        if not is_in_order(pl.concat([before, chunk]) if before.height else chunk):
            return False
        before = chunk.tail(1)
    return True


def csv_runs(content: bytes, schema: pl.Schema) -> tuple[bytes, NDArray[np.int64]] | None:
    """A CSV file with one line for each run of equal lines, and the run lengths; None if most lines are distinct, or are
    not one row each.

    Equal lines are equal rows unless a value contains a line break. Then a line has an odd number of quotation marks.
    """
    header = csv_header(schema)
    if _NO_DELIMITER in content or b"\r" in content or not content.startswith(header):
        return None
    as_lines = {**csv_layout(schema), "schema": {"line": pl.String()}}
    read = pl.read_csv(content, **as_lines, separator=_NO_DELIMITER.decode(), quote_char=None)
    runs = read["line"].rle().struct.unnest()
    lines = runs["value"]
    if read.height != content.count(b"\n", len(header)) or 2 * runs.height > read.height or lines.null_count():
        return None
    if (lines.str.count_matches('"', literal=True) % 2 == 1).any():
        return None
    distinct = "".join(f"{line}\n" for line in lines.to_list())
    return header + distinct.encode(), runs["len"].to_numpy().astype(np.int64)


def distinct_values(dtype: pl.DataType, parts: Iterator[pl.Series]) -> pl.Series:
    """The distinct values of a column that comes in chunks."""
    values = pl.Series([], dtype=dtype)
    for part in parts:
        values = pl.concat([values, part.unique()]).unique()
    return values


def without_nulls(rows: Rows, columns: Sequence[str]) -> Rows:
    """Only the rows with a value in all of some columns."""
    if isinstance(rows, DistantRows):
        return rows.without_nulls(columns)
    return rows.mapped(rows.schema, lambda part: part.drop_nulls(columns), needs=columns)


def by_person(rows: Rows, columns: Sequence[str], key: str) -> Chunks:
    """Some columns of all rows, with all rows of a person in one frame, in as many frames as memory requires.

    Every frame takes a pass of its own and holds the people whose key hashes to its index: nothing is written to disk.
    Of remote rows, only those of people with several rows are fetched.
    """
    if isinstance(rows, DistantRows):
        yield rows.doubtful(columns, key)
        return
    parts = max(1, -(-rows.height * len(columns) * _BYTES_PER_PERSON_CELL // max(budget() // 2, 1)))
    for number in range(parts):
        chunks = [
            chunk.filter(chunk[key].hash(seed=0) % parts == number) if parts > 1 else chunk
            for chunk in rows.chunks(columns)
        ]
        yield pl.concat(chunks)
