"""A Spark frame as rows: all queries on them run on the cluster.

Columns are named ``c0``, ``c1`` and so on internally, since Spark takes dots in names for fields and ignores case.
Columnwise changes are deferred until rows are collected or written: counts and lookups use the source's values, so no
row passes through Python for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (everybody calls them so)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from reticent.base.context import Context
from reticent.base.memory import rows_at_once
from reticent.engine.spark.spark_jobs import JobWatch, performed
from reticent.errors import DataError, PolicyError
from reticent.table import Change, Counted, DistantRows, Profile

Result = TypeVar("Result")
TIMES = "times"
"""The multiplicity of a row, next to ``c0``, ``c1`` and so on."""
_DOUBTFUL = 10
_SMALL_INTEGERS = ("tinyint", "smallint", "int")
_BLOB = "rows binary"


@dataclass(frozen=True)
class SparkProfile(Profile):
    """The profile of the rows, with column values as in the source."""

    raw: dict[str, pl.Series] = field(default_factory=dict, repr=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class SparkRows(DistantRows):
    """The rows of a frame. ``held`` are its columns with their types there, ``schema`` their types after the ``changes``.

    Rows that are ``repeated`` are stored once, with a multiplicity column. ``most`` is an upper bound on the number of
    rows, if known.
    """

    source: DataFrame = field(repr=False)
    held: pl.Schema
    schema: pl.Schema
    changes: tuple[Change, ...] = field(default=(), repr=False)
    repeated: bool = False
    most: int | None = None
    known: SparkProfile | None = field(default=None, repr=False)
    watch: JobWatch | None = field(default=None, repr=False)

    engine: ClassVar[str] = "spark"
    again: ClassVar[bool] = True

    @classmethod
    def of(cls, frame: DataFrame, columns: Sequence[str]) -> SparkRows:
        """Some columns of a frame."""
        names = list(frame.columns)
        for name in columns:
            if names.count(name) > 1:
                raise DataError(f"Two columns are named {name!r}. Every column needs a name of its own.", column=name)
        numbered = frame.toDF(*(f"x{index}" for index in range(len(names))))
        chosen = numbered.select(
            *(_wide(numbered, names.index(name), position) for position, name in enumerate(columns))
        )
        types = performed(frame.sparkSession, None, "read the source", lambda: chosen.limit(0).toArrow())
        schema = pl.Schema(dict(zip(columns, _polars(types).dtypes, strict=True)))
        return cls(chosen, schema, schema)

    @property
    def session(self) -> SparkSession:
        """The session of the frame."""
        return self.source.sparkSession

    def column(self, name: str) -> Column:
        """A column of the frame by its public name."""
        return F.col(f"c{list(self.held).index(name)}")

    @cached_property
    def height(self) -> int:
        """Return the number of rows; counted by the executors if unknown."""
        if self.known is not None:
            return self.known.rows
        counted = self.source.agg(F.sum(TIMES) if self.repeated else F.count(F.lit(1)))
        return int(self.run("count the rows", counted.toArrow).column(0)[0].as_py() or 0)

    def values(self, column: str) -> pl.Series:
        if self.known is not None and column in self.known.values:
            return self.known.values[column]
        return self.counted([column])[0][column]

    def counted(self, columns: Sequence[str]) -> Counted:
        """Return the distinct rows of some columns with their multiplicities."""
        distinct = self.known.distinct if self.known is not None else None
        if distinct is None or not set(columns) <= set(distinct[0].columns):
            distinct = self.collected(self.grouped(columns), columns)
        return regrouped(*distinct, columns)

    def grouped(self, columns: Sequence[str], frame: DataFrame | None = None) -> DataFrame:
        """The distinct rows of some columns as in the source, renumbered, with multiplicities."""
        chosen = [self.column(name).alias(f"c{index}") for index, name in enumerate(columns)]
        times = F.sum(TIMES) if self.repeated else F.count(F.lit(1))
        return (self.source if frame is None else frame).groupBy(*chosen).agg(times.alias(TIMES))

    def collected(self, grouped: DataFrame, columns: Sequence[str]) -> Counted:
        """The result of :meth:`grouped` on the driver, with the changes applied; rows that became equal are listed several times."""
        frame = _polars(self.run("count the distinct rows", grouped.toArrow))
        times = frame[TIMES].cast(pl.Int64).fill_null(0).to_numpy()
        return self.changed(_named(frame.drop(TIMES), columns)), times

    def changed(self, part: pl.DataFrame) -> pl.DataFrame:
        """Rows of the source with the changes applied."""
        for change in self.changes:
            part = change(part)
        return part

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows by partition, packed by the executors."""
        names = self.schema.names() if columns is None else list(columns)
        chosen = [self.column(name).alias(f"c{index}") for index, name in enumerate(names)]
        packed = self.source.select(*chosen, *([TIMES] if self.repeated else [])).mapInArrow(_packed, _BLOB)
        blobs = self.run("read the rows", lambda: packed.toLocalIterator(prefetchPartitions=True))
        while True:
            blob = self.run("read the rows", lambda: next(blobs, None))
            if blob is None:
                return
            part = _polars(pa.ipc.open_stream(blob[0]).read_all())
            times = part[TIMES].to_numpy() if self.repeated else None
            rows = self.changed(_named(part.drop(TIMES) if self.repeated else part, names))
            yield from (rows if times is None else rows[np.repeat(np.arange(rows.height), times)]).iter_slices(
                rows_at_once(len(names))
            )

    def mapped(self, schema: pl.Schema, change: Change, needs: Sequence[str] = ()) -> SparkRows:
        """Return rows of ``schema`` made by ``change`` from these; lazily, unless the change ``needs`` several columns
        together.
        """
        if not needs:
            return replace(self, schema=schema, changes=(*self.changes, change), known=None)
        applied = self.applied()
        return replace(applied.through(schema, change), known=None)

    def applied(self) -> SparkRows:
        """The same rows with the changes applied by the executors."""
        if not self.changes:
            return self
        changes = self.changes

        def change(part: pl.DataFrame) -> pl.DataFrame:
            """Apply the recorded changes to a chunk, one after the other."""
            for recorded_change in changes:
                part = recorded_change(part)
            return part

        return replace(self.through(self.schema, change), changes=())

    def through(self, schema: pl.Schema, change: Change) -> SparkRows:
        """Return rows of ``schema``: ``change`` applied to every partition of these by the executors."""
        names, repeated = list(self.held), self.repeated
        arrow_schema = pl.DataFrame(schema=schema).to_arrow().schema
        fields = [pa.field(f"c{index}", told_field.type) for index, told_field in enumerate(arrow_schema)]
        arrow = pa.schema([*fields, *([pa.field(TIMES, pa.int64())] if repeated else [])])

        def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            """Apply the change to the batches of one partition."""
            for batch in batches:
                part = _polars(pa.Table.from_batches([batch]))
                rows = change(_named(part.drop(TIMES) if repeated else part, names)).cast(schema)
                columns = _named(rows, [field.name for field in fields]).with_columns([part[TIMES]] if repeated else [])
                yield from columns.to_arrow().cast(arrow).to_batches()

        frame = self.source.mapInArrow(made, spark_types(arrow))
        return replace(self, source=frame, held=schema, schema=schema)

    def frame(self) -> pl.DataFrame:
        """Raises: rows on a cluster are not collected as a whole."""
        raise PolicyError(
            "This needs all rows of the table in memory, and the table is read by the engine 'spark'. Pass engine='local' if the table fits in memory, or keep to "
            "what works on a cluster: Lattice, Datafly, Mondrian and Suppress, assess, verify and counting queries."
        )

    def watched(self, context: Context, stage: str) -> SparkRows:
        """The same rows; jobs report their completed tasks and can be cancelled."""
        return replace(self, watch=JobWatch(context, stage))

    def profiled(self, known: Profile) -> SparkRows:
        """The same rows with the profile of earlier passes."""
        return replace(self, known=cast(SparkProfile, known))

    def without_nulls(self, columns: Sequence[str]) -> SparkRows:
        """Only the rows with a value in all of some columns; NaN counts as null."""
        frame = self.source
        for name in columns:
            frame = frame.where(self.present(name).isNotNull())
        return replace(self, source=frame, known=None)

    def present(self, name: str) -> Column:
        """A column with NaN replaced by null."""
        column = self.column(name)
        return F.when(~F.isnan(column), column) if self.held[name].is_float() else column

    def doubtful(self, columns: Sequence[str], key: str) -> pl.DataFrame:
        """A sample of rows whose key is null, or of people with several distinct rows (if ``columns`` is the key alone: several rows)."""
        beside = F.struct(*(self.present(name).alias(f"c{index}") for index, name in enumerate(columns)))
        grouped = self.source.select(self.column(key).alias("key"), beside.alias("row")).groupBy("key")
        several = F.count(F.lit(1)) > 1 if len(columns) == 1 else ~F.min("row").eqNullSafe(F.max("row"))
        people = grouped.agg(F.min("row").alias("one"), F.max("row").alias("other"), several.alias("several"))
        doubtful_people = people.where(F.col("key").isNull() | F.col("several")).limit(_DOUBTFUL)
        sampled = doubtful_people.select(F.explode(F.array("one", "other")).alias("row")).select("row.*")
        frame = _polars(self.run("search for people with several rows", sampled.toArrow))
        return self.changed(_named(frame, columns))

    def drawn(self, columns: Sequence[str], most: int, seed: int) -> pl.DataFrame:
        """A random sample of at most ``most`` rows of some columns."""
        chosen = [self.column(name).alias(f"c{index}") for index, name in enumerate(columns)]
        sampled = self.source.select(*chosen).orderBy(F.rand(seed)).limit(most)
        return self.changed(_named(_polars(self.run("sample rows", sampled.toArrow)), columns))

    def run(self, what: str, work: Callable[[], Result]) -> Result:
        """The result of a job on these rows; ``what`` describes it in error messages."""
        return performed(self.session, self.watch, what, work)


def regrouped(rows: pl.DataFrame, times: np.ndarray[Any, np.dtype[np.int64]], columns: Sequence[str]) -> Counted:
    """The distinct rows of some columns, with multiplicities."""
    counted = _named(rows.select(columns), [f"c{index}" for index in range(len(columns))])
    added = counted.with_columns(pl.Series(TIMES, times)).group_by(counted.columns or pl.lit(0), maintain_order=True)
    summed = added.agg(pl.col(TIMES).sum())
    return _named(summed.select(counted.columns), columns), summed[TIMES].to_numpy()


def _wide(frame: DataFrame, index: int, number: int) -> Column:
    """A column under its number; small integers are widened to their published type."""
    kind, column = frame.dtypes[index][1], F.col(f"x{index}")
    return (column.cast("long") if kind in _SMALL_INTEGERS else column).alias(f"c{number}")


def _polars(table: pa.Table) -> pl.DataFrame:
    return cast(pl.DataFrame, pl.from_arrow(table))


def _named(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """A frame with its columns renamed by position."""
    return pl.DataFrame([column.alias(name) for column, name in zip(frame.get_columns(), names, strict=True)])


def spark_types(schema: pa.Schema) -> StructType:
    """The Spark types of an Arrow schema; a timestamp without a zone stays one."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as blobs, so they reach the driver without becoming Python rows."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["rows"])
