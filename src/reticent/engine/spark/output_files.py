"""Public files, written by the executors: globally sorted, hashed while they are written, and accepted only from successful tasks."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F  # noqa: N812

from reticent.base.files import write_new
from reticent.base.memory import rows_at_once
from reticent.core import Written, WrittenFile, part_names
from reticent.engine.spark.spark_rows import TIMES, SparkRows
from reticent.errors import DataError
from reticent.table import Checksum, StoredRows, TableFile, csv_header, repeated_csv_blocks, table_file

_ROWS_IN_FILE = 1_000_000
_MOST_FILES = 99_999
_ROWS_IN_GROUP = 200_000
_TOLD = "part long, file string, sha256 string, size long, errno int, error string"


def write(rows: SparkRows, target: Path, kind: TableFile) -> Written:
    """Write rows as files next to ``target``, sorted by all columns with nulls last, so their order reveals nothing about
    the source's.

    Every attempt of a task writes its own file; those of successful tasks are renamed here, and all others are removed.
    The folder must be shared by the executors and the driver.
    """
    applied = rows.applied()
    order = [F.col(f"c{index}").asc_nulls_last() for index in range(len(applied.held))]
    parts = min(max(1, -(-(rows.most or rows.height) // _ROWS_IN_FILE)), _MOST_FILES)
    partitioned = applied.source.repartition(1) if parts == 1 else applied.source.repartitionByRange(parts, *order)
    written = partitioned.sortWithinPartitions(*order).mapInArrow(
        _writer(applied.schema, kind.name, target, applied.repeated), _TOLD
    )
    try:
        reports = cast(pl.DataFrame, pl.from_arrow(rows.run("write the files", written.toArrow))).sort("part")
        _require_written(reports, target)
        return _taken_over(reports, target, kind, applied.schema)
    finally:
        for leftover in target.parent.glob(f".{target.name}.*"):
            leftover.unlink(missing_ok=True)


def _require_written(reports: pl.DataFrame, target: Path) -> None:
    """Raise if a task failed to write, or if its file is not in the folder of ``target``."""
    failed = reports.filter(pl.col("errno") != 0)
    if failed.height:
        raise OSError(failed["errno"][0], failed["error"][0], str(target.parent))
    for file in reports["file"]:
        if not (target.parent / file).exists():
            raise DataError(
                f"The executors wrote to {str(target.parent)!r}, but their files are not there: it is not a folder that they share with the driver. Name one that "
                "is with scratch= or TMPDIR. Nothing was published."
            )


def _taken_over(reports: pl.DataFrame, target: Path, kind: TableFile, schema: pl.Schema) -> Written:
    """The files under their final names, in row order; one empty file if there are no rows."""
    if reports.is_empty():
        checksum = Checksum()
        write_new(target, checksum.passing(kind.blocks(schema, ())), mode=0o600, sync=False)
        return Written(StoredRows(schema, paths=(target,)), (WrittenFile(target, checksum.sha256, checksum.size),))
    files = []
    for name, part in zip(
        part_names(target.stem, kind.name, reports.height), reports.iter_rows(named=True), strict=True
    ):
        path = target.with_name(name)
        os.replace(target.parent / part["file"], path)
        files.append(WrittenFile(path, part["sha256"], part["size"]))
    return Written(StoredRows(schema, paths=tuple(file.path for file in files)), tuple(files))


class _writer:  # noqa: N801  (it is used as a function)
    """Writes the rows of a partition as a file, and returns what it wrote. Runs on the executors."""

    def __init__(self, schema: pl.Schema, kind: str, target: Path, repeated: bool) -> None:
        self.schema, self.kind, self.repeated = schema, kind, repeated
        self.folder, self.name = str(target.parent), target.name

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the batches of one partition to a hidden file, and yield a report of it: name, checksum, size or error."""
        task = TaskContext.get()
        part = task.partitionId() if task is not None else 0
        parts = self._parts(batches)
        first = next(parts, None)
        if first is None:
            return
        file = f".{self.name}.{part:05d}-{uuid.uuid4().hex}"
        checksum, path = Checksum(), Path(self.folder) / file
        errno, error = 0, ""
        try:
            write_new(path, checksum.passing(self._blocks(chain([first], parts))), mode=0o600, sync=False)
        except OSError as failure:
            # Another attempt would fail the same way, so this is returned as a result, not raised.
            errno, error = failure.errno or -1, failure.strerror or str(failure)
            path.unlink(missing_ok=True)
        report = {
            "part": [part],
            "file": [file],
            "sha256": [checksum.sha256],
            "size": [checksum.size],
            "errno": pa.array([errno], pa.int32()),
            "error": [error],
        }
        yield pa.record_batch(report)

    def _parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pl.DataFrame, np.ndarray]]:
        """The rows with their multiplicities, in batches large enough for Parquet row groups."""
        batch_queue: list[pa.RecordBatch] = []
        for batch in batches:
            if batch.num_rows:
                batch_queue.append(batch)
            if sum(queued.num_rows for queued in batch_queue) >= _ROWS_IN_GROUP:
                yield self._frame(batch_queue)
                batch_queue = []
        if batch_queue:
            yield self._frame(batch_queue)

    def _frame(self, batches: list[pa.RecordBatch]) -> tuple[pl.DataFrame, np.ndarray]:
        """Return record batches as rows with their multiplicities."""
        frame = cast(pl.DataFrame, pl.from_arrow(pa.Table.from_batches(batches)))
        rows = pl.DataFrame([frame[f"c{index}"].alias(name) for index, name in enumerate(self.schema)]).cast(
            self.schema
        )
        times = frame[TIMES].to_numpy() if self.repeated else np.ones(frame.height, dtype=np.int64)
        return rows, times

    def _blocks(self, parts: Iterable[tuple[pl.DataFrame, np.ndarray]]) -> Iterator[bytes]:
        """Yield the file of repeated rows as bytes."""
        if self.kind == "csv":
            yield csv_header(self.schema)
            for rows, times in parts:
                yield from islice(repeated_csv_blocks(self.schema, rows, times), 1, None)
        else:
            yield from table_file(self.kind).blocks(self.schema, _repeated(parts))


def _repeated(parts: Iterable[tuple[pl.DataFrame, np.ndarray]]) -> Iterator[pl.DataFrame]:
    """Every row repeated by its multiplicity."""
    for rows, times in parts:
        ends = np.cumsum(times)
        step = rows_at_once(rows.width)
        for start in range(0, int(ends[-1]), step):
            positions = np.arange(start, min(start + step, int(ends[-1])))
            yield rows[np.searchsorted(ends, positions, side="right")]
