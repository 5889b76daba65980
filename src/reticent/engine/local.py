"""The local engine: rows in memory, encoded by column into category codes and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.encoding import looked_up
from reticent.base.files import write_new
from reticent.base.packing import Codes, Distinct, first_rows, number, pack, positions, remember, sum_by
from reticent.core import (
    WEIGHT,
    FrequencySet,
    Histograms,
    NodeLevels,
    Order,
    OwnerRows,
    Recoded,
    Recoding,
    RowsToRecode,
    SensitiveDomain,
    Written,
    WrittenFile,
)
from reticent.errors import DataError
from reticent.table import (
    BoundHierarchy,
    Checksum,
    FrameRows,
    Profile,
    RepeatedRows,
    Rows,
    SensitiveColumn,
    Table,
    TableFile,
)

# Rows, and for each encoded column its known values and the rows' codes: cached as long as the rows live.
_LOOKED_UP: WeakKeyDictionary[Rows, dict[str, tuple[pl.Series, Codes]]] = WeakKeyDictionary()


class LocalEngine:
    """Counts and recodes a table that fits into memory."""

    def count(
        self,
        table: Table,
        *,
        sensitive: bool = True,
        floor: NodeLevels | None = None,
        times: NDArray[np.int64] | None = None,
    ) -> FrequencySet:
        """Count the distinct quasi-identifier combinations of the table, at level 0 or at ``floor``; for deduplicated
        rows, ``times`` is the multiplicity of each.
        """
        levels = floor if floor is not None else (0,) * len(table.hierarchies)
        if sensitive:
            _looked_up(table, (*table.hierarchies, *table.sensitive_columns))
        codes: Sequence[Codes] = self.codes(table, levels)
        sizes = [hierarchy.levels[level].size for hierarchy, level in zip(table.hierarchies, levels, strict=True)]
        domain, joint = self._sensitive(table) if sensitive else (SensitiveDomain.none(), None)
        if table.population is None:
            points = Distinct(*pack(codes, sizes, table.rows))
            counted, people = points.sizes if times is None else sum_by(points.ids, times, len(points.sizes)), {}
        else:
            # The population is counted together with the rows: merging two counts would be far more expensive.
            codes = [
                np.concatenate(rows_and_people)
                for rows_and_people in zip(codes, self._people_codes(table, levels), strict=True)
            ]
            points = Distinct(*pack(codes, sizes, table.rows + table.population.height))
            counted = sum_by(points.ids[: table.rows], times, len(points.sizes))
            people = {"population": sum_by(points.ids[table.rows :], None, len(points.sizes))}
            joint = np.zeros(table.rows, dtype=np.uint8) if joint is None else joint
        if joint is None:
            histograms = Histograms.of_one_value(counted)
        else:
            histograms = Histograms.from_cells(points.ids[: table.rows], joint, times, len(counted), domain.size)
        distinct = tuple(column.take(points.firsts) for column in codes)
        if distinct:
            # A caller that recodes these rows need not look up their points again.
            remember(distinct, codes, points)
        return FrequencySet(
            table.hierarchies,
            levels,
            codes=distinct,
            sizes=counted,
            histograms=histograms,
            domain=domain,
            extras={**self._extras(table, points), **people},
            owners=self._owners(table, points, joint, domain.size),
        )

    def finest(self, table: Table, floor: NodeLevels) -> NodeLevels:
        """The requested levels: if the rows fit into memory, so do their points."""
        return floor

    def points(self, table: Table, counted: FrequencySet) -> Iterator[NDArray[np.int64]]:
        """The point of ``counted`` that each row belongs to (-1: none), all rows at once."""
        yield self.point_of_row(table, counted)

    def recode(self, table: Table, recoding: Recoding, context: Context) -> Recoded:
        """Public and private rows, all at once."""
        context.step("recoding rows")
        group = recoding.rows
        if group is None:
            group = recoding.groups_of(self.codes(table, recoding.coded_at))
        return recoding.recoded(RowsToRecode(table, group, context.randomness, partial(self._secrets, table)))

    def profile(self, rows: Rows, columns: Sequence[str]) -> Profile:
        """The number of rows, and the values and nulls of some columns."""
        series = {name: rows.values(name) for name in columns}
        with_nulls = [values for values in series.values() if values.null_count()]
        missing = {values.name: (values.null_count(), values.is_null().arg_max() or 0) for values in with_nulls}
        return Profile(rows.height, series, missing)

    def write(self, rows: Rows, target: Path, kind: TableFile, order: Order = "sorted") -> Written:
        """Write rows as a new file of a ``kind``, sorted unless they keep their own order."""
        in_memory = rows if isinstance(rows, FrameRows | RepeatedRows) else FrameRows(rows.frame())
        ordered = in_memory.ordered() if order == "sorted" else in_memory
        checksum = Checksum()
        # Coded or deduplicated rows are written as CSV without building a frame.
        blocks = ordered.csv_blocks() if kind.name == "csv" else kind.write(ordered.frame(), ordered.schema)
        write_new(target, checksum.passing(blocks), mode=0o600, sync=False)
        return Written(ordered, (WrittenFile(target, checksum.sha256, checksum.size),))

    def single_rows(self, table: Table, order: NDArray[np.int64]) -> FrequencySet:
        """Every row as a point of its own, in the given order: for methods that may separate people with equal quasi values."""
        codes = tuple(column.take(order) for column in self.codes(table, (0,) * len(table.hierarchies)))
        domain, joint = self._sensitive(table)
        ones = np.ones(table.rows, dtype=np.int64)
        values = np.zeros(table.rows, dtype=np.int32) if joint is None else joint.take(order).astype(np.int32)
        histograms = Histograms(np.arange(table.rows + 1), values, ones)
        extras = {name: counts.to_numpy()[order].astype(np.int64) for name, counts in table.extra_counts.items()}
        if table.weights is not None:
            extras[WEIGHT] = table.weights.counts(table.frame)[order]
        owners = tuple(
            OwnerRows.of_rows(
                unit, np.arange(table.rows), table.rows, _numbered(table.frame[column])[order], values, domain.size
            )
            for unit, column in table.owners.items()
        )
        return FrequencySet(
            table.hierarchies,
            (0,) * len(codes),
            codes,
            sizes=ones,
            histograms=histograms,
            domain=domain,
            extras=extras,
            owners=owners,
        )

    def people(self, table: Table, counted: FrequencySet) -> FrequencySet:
        """The population as points without rows, each with its number of people."""
        codes = self._people_codes(table, counted.levels)
        sizes = [h.levels[level].size for h, level in zip(table.hierarchies, counted.levels, strict=True)]
        ids, points = number(*pack(codes, sizes, cast(pl.DataFrame, table.population).height))
        firsts = first_rows(ids, points)
        nobody = Histograms(np.zeros(points + 1, dtype=np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        return FrequencySet(
            table.hierarchies,
            counted.levels,
            codes=tuple(column.take(firsts) for column in codes),
            sizes=np.zeros(points, dtype=np.int64),
            histograms=nobody,
            domain=counted.domain,
            extras={"population": sum_by(ids, None, points)},
        )

    def point_of_row(self, table: Table, frequencies: FrequencySet) -> NDArray[np.int64]:
        """For every row of the table the point of the frequency set that it was counted in."""
        codes = self.codes(table, frequencies.levels)
        sizes = [h.levels[level].size for h, level in zip(table.hierarchies, frequencies.levels, strict=True)]
        return positions(frequencies.codes, codes, sizes)

    def codes(self, table: Table, levels: NodeLevels) -> list[Codes]:
        """Return for every quasi column the code of each row's label at the column's level."""
        leaves = _looked_up(table, table.hierarchies)
        return [
            _parts(*column_level_and_leaves)
            for column_level_and_leaves in zip(table.hierarchies, levels, leaves, strict=True)
        ]

    def _people_codes(self, table: Table, levels: NodeLevels) -> list[Codes]:
        """Return for every quasi column the code of the label of each person of the population at the column's level."""
        people = cast(pl.DataFrame, table.population)
        encoded = looked_up(people, {hierarchy.column: hierarchy.leaves for hierarchy in table.hierarchies})
        codes = []
        for hierarchy, level in zip(table.hierarchies, levels, strict=True):
            try:
                leaves = hierarchy.codes(people[hierarchy.column], encoded.get(hierarchy.column))
            except DataError as error:
                raise DataError(f"In the population: {error}") from None
            codes.append(_parts(hierarchy, level, leaves))
        return codes

    def _sensitive(self, table: Table) -> tuple[SensitiveDomain, Codes | None]:
        """Return the domain of the sensitive values, combined over all sensitive columns, and each row's code in it; no codes without sensitive columns."""
        columns = table.sensitive_columns
        if not columns:
            return SensitiveDomain.none(), None
        codes = _looked_up(table, columns)
        if len(columns) == 1:
            return SensitiveDomain.single(columns[0]), codes[0]
        ids, count = number(*pack(codes, [column.size for column in columns], table.rows))
        firsts = first_rows(ids, count)
        joint = np.stack([column[firsts] for column in codes], axis=1).astype(np.int32)
        return SensitiveDomain(columns, joint), ids

    def _secrets(self, table: Table) -> tuple[Codes | None, int]:
        domain, joint = self._sensitive(table)
        return joint, domain.size

    def _extras(self, table: Table, points: Distinct) -> dict[str, NDArray[np.int64]]:
        """Return further counts per point: those that the table adds up, and the weights of rows."""
        extras = {}
        for name, counts in table.extra_counts.items():
            numbers = counts.to_numpy()
            # Few rows have something to add.
            rows = np.flatnonzero(numbers != 0)
            extras[name] = sum_by(points.ids[rows], numbers[rows], len(points.sizes))
        if table.weights is not None:
            extras[WEIGHT] = sum_by(points.ids[: table.rows], table.weights.counts(table.frame), len(points.sizes))
        return extras

    def _owners(self, table: Table, points: Distinct, joint: Codes | None, values: int) -> tuple[OwnerRows, ...]:
        """The owners of the rows of each point, if a person has several."""
        return tuple(
            OwnerRows.of_rows(
                unit, points.ids[: table.rows], len(points.sizes), _numbered(table.frame[column]), joint, values
            )
            for unit, column in table.owners.items()
        )


def _numbered(keys: pl.Series) -> Codes:
    """An id for every distinct key, from 0."""
    return keys.rank("dense").to_numpy().astype(np.int64) - 1


def _looked_up(table: Table, columns: Sequence[BoundHierarchy | SensitiveColumn]) -> list[Codes]:
    """Return for each column the index of every row's value among the column's known values; cached while the table is
    in memory.
    """
    cached, names_and_values = _LOOKED_UP.setdefault(table.held, {}), [_known(column) for column in columns]
    uncached = [
        index
        for index, (name, values) in enumerate(names_and_values)
        if name not in cached or cached[name][0] is not values
    ]
    encoded = looked_up(table.frame, dict(names_and_values[index] for index in uncached)) if uncached else {}
    for index in uncached:
        name, values = names_and_values[index]
        cached[name] = values, columns[index].codes(table.frame[name], encoded.get(name), table.first_row)
    return [cached[name][1] for name, _ in names_and_values]


def _known(column: BoundHierarchy | SensitiveColumn) -> tuple[str, pl.Series]:
    """The name of a column, and its known values."""
    return (column.column, column.leaves) if isinstance(column, BoundHierarchy) else (column.name, column.labels)


def _parts(hierarchy: BoundHierarchy, level: int, leaves: Codes) -> Codes:
    return leaves if level == 0 else hierarchy.levels[level].parts.take(leaves)
