"""The adversary's view of a table or a release: label combinations, their meanings, and the groups that they belong to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.encoding import encode, sorted_values
from reticent.base.packing import first_rows, number, pack, sum_by
from reticent.base.ragged import places_in
from reticent.core.candidate_join import QueriedPeople, find_place
from reticent.core.covers import Cover, cover
from reticent.core.evidence import Columns
from reticent.core.frequencies import POPULATION
from reticent.core.group_labels import GroupLabels, LabelClasses, LabelColumn, RawValues
from reticent.core.groups import Groups
from reticent.core.shape import LabelBox, Shape
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import (
    NULL_LABEL,
    Meaning,
    Missing,
    Rows,
    SensitiveColumn,
    Value,
    are_disjoint,
    bind_sensitive,
    null_label,
)

NOWHERE, SEVERAL = -1, -2
_MOST_COMPARED = 500
_COVERS_KEPT = 4
_Array = NDArray[np.int64]


@dataclass(frozen=True)
class AdversaryColumn:
    """A published column: the label of every cell as an index into ``labels`` (ascending), and the meaning of each label."""

    name: str
    codes: _Array
    labels: pl.Series
    meanings: tuple[Meaning, ...]

    @cached_property
    def texts(self) -> list[str]:
        """The labels as text."""
        return self.labels.cast(pl.String).fill_null(NULL_LABEL).to_list()

    def cover(self, values: pl.Series, *, null_is_unknown: bool = True) -> Cover:
        """Which of some distinct values match which label. A null is either unknown (all labels match) or a missing value.

        The last few answers are kept: adversaries look up the same people one after another.
        """
        for known, unknown, matches in self._covers:
            if unknown == null_is_unknown and known.dtype == values.dtype and known.equals(values):
                return matches
        matches = cover(values, self.meanings, self.name, null_is_unknown=null_is_unknown)
        self._covers.appendleft((values, null_is_unknown, matches))
        return matches

    @cached_property
    def _covers(self) -> deque[tuple[pl.Series, bool, Cover]]:
        """The values that were looked up last, how nulls were read, and what matched."""
        return deque(maxlen=_COVERS_KEPT)

    @classmethod
    def of(cls, series: pl.Series, meanings: Mapping[str, Meaning] | None = None) -> AdversaryColumn:
        """Build it from a published column, cell by cell. Without ``meanings`` every label represents itself."""
        coded = series.dtype == pl.Categorical or series.dtype == pl.Enum
        labels = sorted_values(series.unique().cast(pl.String) if coded else series)
        codes: Any = encode(series, labels, series.name, len(labels) - 1 if labels.null_count() else None)
        if meanings is None:
            own_meanings = tuple(Missing() if value is None else Value(value) for value in labels.to_list())
            return cls(series.name, codes, labels, own_meanings)
        missing = null_label(meanings)
        resolved = []
        for text in labels.cast(pl.String).to_list():
            label = missing if text is None else text
            if label not in meanings:
                raise DataError(f"Column {series.name!r} has the label {label!r}, whose meaning was not published.")
            resolved.append(meanings[label])
        return cls(series.name, codes, labels, tuple(resolved))

    def as_labels(self, sizes: _Array) -> LabelColumn:
        """Return the labels of the view's cells (label combinations, with these ``sizes`` in rows), with functions that
        count them on demand.

        If each label means one value they count as raw values, otherwise by classes of labels that do not overlap.
        """
        is_single_value = np.array([isinstance(meaning, Value | Missing) for meaning in self.meanings], dtype=bool)

        def counted(values: pl.Series) -> RawValues:
            """Return the raw values of each cell, as many as it has rows."""
            column = bind_sensitive(self.name, None, values)
            return RawValues.counted(column, np.arange(len(sizes)), len(sizes), column.codes(values)[self.codes], sizes)

        def exact() -> RawValues:
            """Return the counts of the values that the labels mean."""
            values = [getattr(meaning, "value", None) for meaning in self.meanings]
            return counted(pl.Series(self.name, values, strict=False))

        def classified() -> LabelClasses:
            """Return the counts of classes of overlapping labels, and which classes are one raw value."""
            classes = _disjoint_classes(self.meanings)
            is_only_label = np.bincount(classes) == 1
            return LabelClasses(
                counted(pl.Series(self.name, classes)),
                is_only_label & is_single_value[first_rows(classes, len(is_only_label))],
            )

        if is_single_value.all():
            return LabelColumn(self.name, self.codes, self.texts, exact)
        return LabelColumn(self.name, self.codes, texts=self.texts, raw=None, classes=classified)

    def at(self, cells: NDArray[Any]) -> AdversaryColumn:
        """The column restricted to some cells."""
        return replace(self, codes=self.codes[cells].astype(np.int64))


def _disjoint_classes(meanings: Sequence[Meaning]) -> _Array:
    """Class ids of labels such that labels of different classes have no common value; one class if there are too many labels to compare."""
    if len(meanings) > _MOST_COMPARED:
        return np.zeros(len(meanings), dtype=np.int64)
    pairs = [
        (first, second)
        for first, second in combinations(range(len(meanings)), 2)
        if not are_disjoint(meanings[first], meanings[second])
    ]
    # scipy is imported lazily: small releases must not wait for it.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    shared = coo_array((np.ones(len(pairs)), np.array(pairs).reshape(-1, 2).T), shape=(len(meanings), len(meanings)))
    return connected_components(shared, directed=False)[1].astype(np.int64)


@dataclass(frozen=True)
class WholeColumn:
    """A sensitive column of the whole table: its domain and its histogram."""

    column: SensitiveColumn
    counts: _Array


@dataclass(frozen=True)
class Channel:
    """The sampling process of a noisy release, for an adversary who looks up whole records in it.

    A record of the data is published with probability ``true``, any other with probability ``other`` (per row), and a
    record that is not in the data appears at all with probability ``noise``. ``d`` and ``gamma`` are the guaranteed
    prior and posterior beliefs. ``shows`` returns which of some records are published. ``is_set``: records are
    published once however many people have them; ``refusal`` is the reason why the probabilities are not the same for
    all records, if so.
    """

    true: Fraction
    other: Fraction
    noise: Fraction | float
    d: Fraction
    gamma: Fraction
    shows: Callable[[pl.DataFrame], NDArray[np.bool_]] = field(repr=False)
    is_set: bool = False
    refusal: str | None = None


@dataclass(frozen=True)
class Provenance:
    """How a release was made, by its public files: the method with its parameters, the claims as in the certificate, and the unit of a claim."""

    method: Mapping[str, Any]
    claims: tuple[Mapping[str, Any], ...]
    unit: str = "row"


@dataclass(frozen=True)
class AdversaryView:
    """Everything an adversary sees: distinct label combinations (*cells*), with the group that each belongs to.

    Cells and groups are always numbered in the order of their labels. In a generalized release a cell is a group. In a
    bucketized release many cells, each with its exact labels, belong to one group, and equal labels may belong to
    several: ``sizes[c]`` rows of cell ``c`` are in group ``group_of[c]``. ``groups`` is None if rows are not true rows;
    a ``channel`` then describes how they were sampled.

    ``sets`` are the sets of columns of which an adversary knows one. ``people`` is the number of people per cell, if it
    is known that a person may have several rows. ``reference`` has the whole table's histograms, as far as they were
    declared, and ``made`` how the release was made; None for an unpublished table. ``called`` are the release's own
    names of its groups, if any (buckets, numbered groups). ``declared`` are the columns that the steward declared
    unknown, each with its rows, and ``computable`` those of them that nevertheless follow from the quasi columns.
    ``shapes`` is what each cell covers beyond its labels; without any, cells are boxes.
    """

    columns: tuple[AdversaryColumn, ...]
    sizes: _Array
    group_of: _Array
    groups: Groups | None
    sets: tuple[Columns, ...]
    people: _Array | None = None
    channel: Channel | None = None
    reference: Mapping[str, WholeColumn] = field(default_factory=dict)
    made: Provenance | None = None
    called: pl.Series | None = None
    declared: Mapping[str, Rows] = field(default_factory=dict, repr=False)
    computable: Columns = ()
    shapes: tuple[Shape, ...] = ()

    @classmethod
    def in_rows(
        cls,
        rows: pl.DataFrame,
        times: _Array | None,
        meanings: Mapping[str, Mapping[str, Meaning]],
        sensitive: Sequence[str],
        called: str | None = None,
    ) -> AdversaryView:
        """The view of rows with labels and sensitive values together: rows with equal labels form a group. ``times`` is
        the multiplicity of each row.

        If labels do not distinguish all groups, ``called`` names the column that does.
        """
        columns = tuple(AdversaryColumn.of(rows[name], meanings_of) for name, meanings_of in meanings.items())
        group_column = () if called is None else (AdversaryColumn.of(rows[called]),)
        ids, count = number(*_keys([*columns, *group_column], rows.height))
        firsts = first_rows(ids, count)
        groups = _grouped(ids, count, rows, sensitive, times)
        cells = tuple(column.at(firsts) for column in columns)
        names = group_column[0].labels.gather(group_column[0].codes[firsts]) if group_column else None
        return cls(cells, groups.sizes, group_of=np.arange(count), groups=groups, sets=(tuple(meanings),), called=names)

    @classmethod
    def in_buckets(
        cls,
        people: pl.DataFrame,
        values: pl.DataFrame,
        meanings: Mapping[str, Mapping[str, Meaning]],
        sensitive: Sequence[str],
        bucket: str,
        times: _Array | None = None,
        multiplicities: _Array | None = None,
    ) -> AdversaryView:
        """The view of exact labels in one table and sensitive values in another, linked by a bucket only: a bucket is a
        group.

        ``times`` is the number of rows that each row of ``values`` represents, ``multiplicities`` that of each row of ``people``.
        """
        columns = [AdversaryColumn.of(people[name], meanings_of) for name, meanings_of in meanings.items()]
        numbers = values[bucket].unique().sort()
        bucket_of_people, bucket_of_values = (
            encode(table[bucket], numbers, bucket, None).astype(np.int64) for table in (people, values)
        )
        bucket_column = AdversaryColumn(bucket, bucket_of_people, numbers, ())
        ids, count = number(*_keys([*columns, bucket_column], people.height))
        firsts = first_rows(ids, count)
        groups = _grouped(bucket_of_values, len(numbers), values, sensitive, times)
        cells = tuple(column.at(firsts) for column in columns)
        return cls(
            cells,
            sum_by(ids, multiplicities, count),
            group_of=bucket_of_people[firsts],
            groups=groups,
            sets=(tuple(meanings),),
            called=numbers,
        )

    @classmethod
    def in_noise(cls, rows: pl.DataFrame) -> AdversaryView:
        """The view of rows that are not true rows: distinct records, without groups."""
        columns = [AdversaryColumn.of(rows[name]) for name in rows.columns]
        ids, count = number(*_keys(columns, rows.height))
        firsts = first_rows(ids, count)
        cells = tuple(column.at(firsts) for column in columns)
        return cls(cells, sum_by(ids, None, count), group_of=np.arange(count), groups=None, sets=(tuple(rows.columns),))

    @property
    def names(self) -> Columns:
        """The column names."""
        return tuple(column.name for column in self.columns)

    @property
    def rows(self) -> int:
        """The number of published rows."""
        return int(self.sizes.sum())

    @property
    def is_artificial(self) -> bool:
        """True if rows describe no real person: neither true rows, nor sampled from true rows with known probabilities."""
        return self.groups is None and self.channel is None

    @property
    def candidates(self) -> _Array:
        """The number of candidates in each cell: people if known, otherwise rows."""
        return self.sizes if self.people is None else self.people

    @property
    def counted(self) -> str:
        """The unit of the counts: people, or records if a release has several per person without linking them."""
        return "people" if self.made is None or self.made.unit == "row" else "records"

    @property
    def true_groups(self) -> Groups:
        """The groups. Raises if rows are not true rows."""
        if self.groups is None:
            raise PolicyError(NOT_TRUE)
        return self.groups

    @property
    def labelled_groups(self) -> Groups:
        """Return the groups with their labels per column; without labels if a group has several label combinations, or
        if regions are narrower than their labels.
        """
        groups = self.true_groups
        if self.shapes or not self.is_row_by_row or not self.columns:
            return groups
        return replace(groups, labels=GroupLabels(lambda: [column.as_labels(self.sizes) for column in self.columns]))

    @property
    def is_row_by_row(self) -> bool:
        """True if each row has its labels and its sensitive values together: cells are groups."""
        return (
            self.groups is not None
            and len(self.group_of) == len(self.groups)
            and bool((self.group_of == np.arange(len(self.groups))).all())
        )

    @property
    def sensitive(self) -> Columns:
        """The names of the sensitive columns."""
        return () if self.groups is None else tuple(column.name for column in self.groups.domain.columns)

    def column(self, name: str) -> AdversaryColumn:
        """Return the published quasi column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(f"No quasi column {name!r} was published.{did_you_mean(name, self.names)}")

    def spread(self, column: str) -> tuple[_Array, int]:
        """The histogram of a sensitive column in everything public, and its number of rows.

        That is the whole table if its histogram was declared (suppressed rows included), otherwise the published rows.
        """
        groups, declared = self.true_groups.marginal(column), self.reference.get(column)
        if declared is None:
            return groups.reference, int(groups.reference.sum())
        counts = dict(zip(declared.column.texts, declared.counts.tolist(), strict=True))
        counts_in_order = np.array([counts[text] for text in groups.domain.columns[0].texts], dtype=np.int64)
        return counts_in_order, int(declared.counts.sum())

    def known(self, columns: Sequence[str]) -> AdversaryView:
        """The view of an adversary who knows some of the columns only: rows with equal labels there are merged."""
        if set(columns) == set(self.names):
            return self
        chosen = [self.column(name) for name in columns]
        codes, sizes = [column.codes for column in chosen], [len(column.labels) for column in chosen]
        row_by_row = self.is_row_by_row
        if not row_by_row and self.groups is not None:
            codes, sizes = [*codes, self.group_of], [*sizes, len(self.groups)]
        ids, count = number(*pack(codes, sizes, len(self.sizes)))
        firsts = first_rows(ids, count)
        groups = self.true_groups.merged(ids, count) if row_by_row else self.groups
        return replace(
            self,
            columns=tuple(column.at(firsts) for column in chosen),
            sizes=sum_by(ids, self.sizes, count),
            group_of=np.arange(count) if row_by_row or self.groups is None else self.group_of[firsts],
            groups=groups,
            people=None if self.people is None or groups is None else groups.distinct_people,
            shapes=self.shapes_of(ids, count, columns),
        )

    def knowing(self, names: Sequence[str]) -> AdversaryView:
        """The view of an adversary who also knows some declared columns of people: cells are split by their values."""
        chosen = [name for name in self.declared if name in names]
        if not chosen:
            return self
        rows, row_by_row = self.declared[chosen[0]], self.is_row_by_row
        keys = [] if self.called is None else [self.called.name]
        keys += [] if row_by_row and keys else self.names
        distinct, times = rows.counted([*keys, *chosen, *(self.sensitive if row_by_row else ())])
        cells, known_columns = self._cells_of(distinct), [AdversaryColumn.of(distinct[name]) for name in chosen]
        sizes = [len(self.sizes), *(len(column.labels) for column in known_columns)]
        ids, count = number(
            *pack([cells, *(known_column.codes for known_column in known_columns)], sizes, distinct.height)
        )
        firsts = first_rows(ids, count)
        parent_cells = cells[firsts]
        return replace(
            self,
            columns=(
                *(column.at(parent_cells) for column in self.columns),
                *(known_column.at(firsts) for known_column in known_columns),
            ),
            sizes=sum_by(ids, times, count),
            group_of=np.arange(count) if row_by_row else self.group_of[parent_cells],
            groups=_grouped(ids, count, distinct, self.sensitive, times) if row_by_row else self.groups,
            sets=tuple((*columns, *chosen) for columns in self.sets),
            people=None,
            called=None if row_by_row else self.called,
            declared={name: rows_of_name for name, rows_of_name in self.declared.items() if name not in chosen},
            shapes=tuple(self.shapes[cell] for cell in parent_cells.tolist()) if self.shapes else (),
        )

    def _cells_of(self, rows: pl.DataFrame) -> _Array:
        """The cell of each published row, by its own labels."""
        group = self.of_rows(rows)
        if self.is_row_by_row:
            return group
        codes_of_rows = [self._codes_of(rows, column) for column in self.columns]
        sizes = [*(len(column.labels) for column in self.columns), len(self.true_groups)]
        return find_place([*(column.codes for column in self.columns), self.group_of], [*codes_of_rows, group], sizes)

    @staticmethod
    def _codes_of(rows: pl.DataFrame, column: AdversaryColumn) -> _Array:
        missing = len(column.labels) - 1 if column.labels.null_count() else None
        return encode(rows[column.name], column.labels, column.name, missing).astype(np.int64)

    def shapes_of(self, ids: NDArray[Any], count: int, columns: Sequence[str]) -> tuple[Shape, ...]:
        """The shapes of merged cells for an adversary who knows some columns; empty if cells are boxes.

        Cells with equal labels in these columns may have different shapes; then all that is known is that a person is
        in one of them.
        """
        if not self.shapes:
            return ()
        firsts = first_rows(ids, count)
        if set(columns) == set(self.names):
            return tuple(self.shapes[cell] for cell in firsts.tolist())
        is_alone = np.bincount(ids, minlength=count) == 1
        return tuple(
            self.shapes[cell].known(columns) if single else LabelBox()
            for cell, single in zip(firsts.tolist(), is_alone.tolist(), strict=True)
        )

    def shaped(self, shapes: Mapping[tuple[str, ...], Shape]) -> AdversaryView:
        """The view with the shape of every cell, looked up by its labels."""
        texts = [column.texts for column in self.columns]
        labels = list(
            zip(
                *([text[c] for c in column.codes] for text, column in zip(texts, self.columns, strict=True)),
                strict=True,
            )
        )
        for missing in set(labels) ^ set(shapes):
            raise DataError(f"The shapes do not match the cells: {', '.join(missing)} has no counterpart.")
        return replace(self, shapes=tuple(shapes[label] for label in labels))

    def occurrences(self) -> Iterator[tuple[pl.Series, _Array]]:
        """The values of each sensitive and each declared column, and the number of rows with each."""
        groups = self.true_groups
        for column in groups.domain.columns:
            counts = groups.marginal(column.name).histograms.total(column.size)
            occurring = np.flatnonzero(counts)
            yield column.labels.gather(occurring).alias(column.name), counts[occurring]
        for name, rows in self.declared.items():
            values, counts_by_value = rows.counted([name])
            order = values[name].arg_sort(nulls_last=True).to_numpy()
            yield values[name].gather(order), counts_by_value[order]

    def ask(
        self, people: pl.DataFrame, columns: Sequence[str] | None = None, *, null_is_unknown: bool = True
    ) -> QueriedPeople:
        """Match people against the labels of some columns (default: all). People with equal values are looked up once."""
        return QueriedPeople.of(
            people,
            self.names if columns is None else columns,
            lambda name, values: self.column(name).cover(values, null_is_unknown=null_is_unknown),
        )

    def covering(self, points: pl.DataFrame) -> tuple[_Array, _Array]:
        """Return the pairs (point, cell) such that the labels and shape of the cell cover the values of the point, as
        two index arrays, ascending.

        ``points`` has a row per point; a null is a missing value.
        """
        queried, (ids, firsts) = self.ask(points, null_is_unknown=False), self._combinations()
        order = np.argsort(ids, kind="stable")
        starts = np.searchsorted(ids[order], np.arange(len(firsts) + 1))
        pairs: list[tuple[_Array, _Array]] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
        for pairs_of_people in queried.fits(
            [column.codes[firsts] for column in self.columns], self.shapes_of(ids, len(firsts), self.names)
        ):
            people, lengths = pairs_of_people.people[pairs_of_people.person], np.diff(starts)[pairs_of_people.place]
            pairs.append((np.repeat(people, lengths), order[places_in(starts[pairs_of_people.place], lengths)]))
        distinct, cells = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
        # Equal people were looked up once.
        order_of_people = np.argsort(queried.owners, kind="stable")
        starts_of_people = np.searchsorted(queried.owners[order_of_people], np.arange(len(queried) + 1))
        multiplicities = queried.times[distinct]
        all_people, all_cells = (
            order_of_people[places_in(starts_of_people[distinct], multiplicities)],
            np.repeat(cells, multiplicities),
        )
        rising = np.lexsort((all_cells, all_people))
        return all_people[rising], all_cells[rising]

    def place(self, people: pl.DataFrame) -> _Array:
        """The group of every person: NOWHERE if no cell covers them, SEVERAL if cells of several groups do; a null is a missing value."""
        if not self.columns:
            return np.zeros(people.height, dtype=np.int64)
        queried, (ids, firsts) = self.ask(people, null_is_unknown=False), self._combinations()
        lowest_group = np.full(len(firsts), np.iinfo(np.int64).max)
        highest_group = np.full(len(firsts), -1, dtype=np.int64)
        np.minimum.at(lowest_group, ids, self.group_of)
        np.maximum.at(highest_group, ids, self.group_of)
        lowest_of_person = np.full(len(queried), np.iinfo(np.int64).max)
        highest_of_person = np.full(len(queried), -1, dtype=np.int64)
        for pairs in queried.fits(
            [column.codes[firsts] for column in self.columns], self.shapes_of(ids, len(firsts), self.names)
        ):
            person = pairs.people[pairs.person]
            np.minimum.at(lowest_of_person, person, lowest_group[pairs.place])
            np.maximum.at(highest_of_person, person, highest_group[pairs.place])
        groups = np.where(
            highest_of_person < 0, NOWHERE, np.where(lowest_of_person == highest_of_person, lowest_of_person, SEVERAL)
        )
        return groups[queried.owners]

    def of_rows(self, rows: pl.DataFrame) -> _Array:
        """The group of each published row, by its labels or by the release's own name of the group."""
        if self.called is not None:
            return encode(rows[self.called.name], self.called, self.called.name).astype(np.int64)
        if not self.columns:
            return np.zeros(rows.height, dtype=np.int64)
        cells = find_place(
            [column.codes for column in self.columns],
            [self._codes_of(rows, column) for column in self.columns],
            [len(column.labels) for column in self.columns],
        )
        return self.group_of[cells]

    def describe(self, group: int) -> dict[str, str]:
        """The common description of a group: its labels or, if these are ambiguous, the release's own name of it."""
        if self.called is not None and not self.is_row_by_row:
            return {self.called.name: str(self.called[group])}
        return {column.name: column.texts[column.codes[self._cell_of[group]]] for column in self.columns}

    @cached_property
    def _cell_of(self) -> _Array:
        """One cell of every group."""
        return first_rows(self.group_of, len(self.true_groups))

    def _combinations(self) -> tuple[_Array, _Array]:
        """Ids of the cells by labels and shapes, regardless of group, and one cell per id."""
        ids, count = self.combined(self.names)
        return ids, first_rows(ids, count)

    def combined(self, columns: Sequence[str]) -> tuple[_Array, int]:
        """Return an id for each cell by its labels in some columns, and the number of ids; for an adversary who knows
        all columns equal labels with different shapes (regions narrower than the labels) have different ids.
        """
        chosen = [self.column(name) for name in columns]
        ids, count = number(*_keys(chosen, len(self.sizes)))
        if not self.shapes or count == len(ids) or set(columns) != set(self.names):
            return ids.astype(np.int64), count
        combined_ids = ids.astype(np.int64)
        cells_by_id: dict[int, list[int]] = {}
        for cell in np.flatnonzero(np.bincount(ids, minlength=count)[ids] > 1).tolist():
            known_cells = cells_by_id.setdefault(int(ids[cell]), [])
            equal_cell = next((other for other in known_cells if self.shapes[other] == self.shapes[cell]), None)
            if equal_cell is not None:
                combined_ids[cell] = combined_ids[equal_cell]
                continue
            if known_cells:
                combined_ids[cell] = count
                count += 1
            known_cells.append(cell)
        return combined_ids, count

    def with_population(self, people: pl.DataFrame) -> AdversaryView:
        """The view with the number of people of a population who match each group; a person who matches several counts in each."""
        if not self.is_row_by_row:
            raise PolicyError(
                "The number of people of a population who match a group cannot be computed for this release: it publishes quasi values exactly, separate from "
                "the groups."
            )
        for name in self.names:
            if name not in people.columns:
                raise DataError(f"The population has no column {name!r}.{did_you_mean(name, people.columns)}")
            if people[name].null_count():
                raise DataError(f"The population has missing values in column {name!r}: such people match no group.")
        counts = np.zeros(len(self.sizes), dtype=np.int64)
        if self.columns:
            queried = self.ask(people, null_is_unknown=False)
            for pairs in queried.fits([column.codes for column in self.columns], self.shapes):
                counts += sum_by(pairs.place, queried.times[pairs.people[pairs.person]], len(counts))
        else:
            counts += people.height
        groups = self.true_groups
        return replace(self, groups=replace(groups, extras={**groups.extras, POPULATION: counts}))

    def naive(self, quasi: Sequence[str], sensitive: Sequence[str]) -> AdversaryView:
        """The view of an adversary who takes all rows for true rows, with these column roles."""
        chosen, secret = [self.column(name) for name in quasi], [self.column(name) for name in sensitive]
        ids, count = number(*_keys(chosen, len(self.sizes)))
        firsts = first_rows(ids, count)
        sensitive_columns = [bind_sensitive(column.name, None, column.labels) for column in secret]
        values = [
            column.codes(role_column.labels)[role_column.codes]
            for column, role_column in zip(sensitive_columns, secret, strict=True)
        ]
        groups = Groups.of_rows(ids, count, sensitive_columns, values, self.sizes)
        columns = tuple(column.at(firsts) for column in chosen)
        return AdversaryView(
            columns, groups.sizes, group_of=np.arange(count), groups=groups, sets=(tuple(quasi),), made=self.made
        )

    def looks(self) -> list[Any]:
        """The published content independent of group numbering: for each group its cells with their sizes, and its sensitive values."""
        groups, texts = self.true_groups, [column.texts for column in self.columns]
        rows: list[list[Any]] = [[] for _ in range(len(groups))]
        for cell, group in enumerate(self.group_of.tolist()):
            labels = tuple(text[column.codes[cell]] for text, column in zip(texts, self.columns, strict=True))
            rows[group].append((labels, int(self.sizes[cell])))
        content = [(sorted(cells), sorted(groups.histogram(group).items())) for group, cells in enumerate(rows)]
        return sorted(content, key=repr)


def _keys(columns: Sequence[AdversaryColumn], rows: int) -> tuple[NDArray[Any], int]:
    """One key per row, in label order."""
    return pack([column.codes for column in columns], [max(len(column.labels), 1) for column in columns], rows)


def _grouped(
    ids: NDArray[Any], count: int, rows: pl.DataFrame, sensitive: Sequence[str], times: _Array | None
) -> Groups:
    """Group rows by ``ids``, with the histograms of their sensitive values; ``times`` is the multiplicity of each row."""
    columns = [bind_sensitive(name, None, rows[name]) for name in sensitive]
    return Groups.of_rows(ids, count, columns, [column.codes(rows[column.name]) for column in columns], times)


NOT_TRUE = (
    "A randomized release has no groups of people who look alike: most of its rows are not true. `reticent verify` checks its plan, `reticent "
    "randomize` counts in it, and `reticent attack` looks records up in it (Sighting; with --raw, or compare(table, release), a model too)."
)
