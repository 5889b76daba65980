"""What the public holds: labels with their meaning, how many rows show them, and the sensitive values beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data import NULL_LABEL, Groups, Meaning, Table, first_rows, number, pack, sum_by
from reticent.data.covers import Cover, cover
from reticent.data.sensitive import bind_sensitive
from reticent.engine import count_table
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.randomize import FrappView, View, is_view
from reticent.release.cells import Cells, groups_of_cells
from reticent.release.public import PublicSide, open_public
from reticent.release.reference import read_reference


@dataclass(frozen=True)
class PublishedColumn:
    """A quasi column as published: the label of every cell, and what each label means."""

    name: str
    codes: NDArray[np.int64]
    meanings: tuple[Meaning, ...]

    def cover(self, values: pl.Series) -> Cover:
        """Which of some distinct values fit which label. A null is a detail that the adversary does not know: every label fits."""
        return cover(values, self.meanings, self.name, null_is_unknown=True)


@dataclass(frozen=True)
class Published:
    """Everything an adversary is given: distinct combinations of labels (*cells*), with the group that they lie in.

    In a generalized release a cell is a group. In a bucketized one many cells, each with its exact labels, lie in one
    group, and the same labels may lie in several: ``sizes[c]`` rows of cell ``c`` lie in group ``group_of[c]``. ``people`` says how
    many people these rows are about, where it is known that somebody may have several. ``made`` is the release itself, with its manifest and
    certificate, where it is one.
    """

    columns: tuple[PublishedColumn, ...]
    sizes: NDArray[np.int64]
    group_of: NDArray[np.int64]
    groups: Groups
    people: NDArray[np.int64] | None = None
    made: PublicSide | None = None

    @classmethod
    def of(cls, target: Any) -> Published:
        """From a table as it stands, a release, or the folder of a release (of which only ``public/`` is read)."""
        if isinstance(target, Published):
            return target
        if isinstance(target, Table):
            return cls.from_table(target)
        if isinstance(target, PublicSide):
            return cls.from_release(target)
        if isinstance(target, View | FrappView) or (isinstance(target, str | Path) and is_view(target)):
            raise PolicyError(
                "A randomized release has no groups, and most of its rows are not true. Sighting looks records up in it; with the table "
                "a model is trained on it too: compare(table, release), or reticent attack RELEASE --raw POLICY."
            )
        side = open_public(target) if isinstance(target, str | Path) else getattr(target, "public", None)
        if not isinstance(side, PublicSide):
            raise PolicyError(f"An attack takes a Table, a release or the folder of one, not {type(target).__name__}.")
        return cls.from_release(side)

    @classmethod
    def from_release(cls, release: PublicSide) -> Published:
        """The public side of a release: its tables, and what its manifest says about them."""
        manifest, tables = release.manifest, release.tables
        meanings, quasi, sensitive = manifest.meanings, manifest.named("quasi"), manifest.named("sensitive")
        bucket = manifest.only("bucket")
        if bucket is None:
            found = cls.from_generalized(tables["data"], meanings, quasi, sensitive)
        else:
            found = cls.from_bucketized(
                tables["quasi"],
                tables["sensitive"],
                meanings,
                quasi,
                sensitive,
                bucket,
                manifest.only("count"),
            )
        return replace(found, made=release)

    @classmethod
    def from_table(cls, table: Table) -> Published:
        """A table published as it stands, identifiers dropped: the naive release."""
        found = count_table(table)
        columns = []
        for hierarchy, codes in zip(found.hierarchies, found.codes, strict=True):
            present, places = np.unique(codes, return_inverse=True)
            meanings = hierarchy.levels[0].meanings
            columns.append(PublishedColumn(hierarchy.column, places, tuple(meanings[code] for code in present)))
        return cls(tuple(columns), found.sizes, np.arange(len(found)), found.groups(), found.extras.get("persons"))

    @classmethod
    def from_generalized(
        cls,
        data: pl.DataFrame,
        meanings: Mapping[str, Mapping[str, Meaning]],
        quasi: Sequence[str],
        sensitive: Sequence[str],
    ) -> Published:
        """One published table whose quasi columns hold labels: rows with the same labels are a group."""
        columns, codes = _label_columns(data, meanings, quasi)
        ids, count = number(*pack(codes, [len(column.meanings) for column in columns], data.height))
        firsts = first_rows(ids, count)
        cells = tuple(PublishedColumn(each.name, each.codes[firsts], each.meanings) for each in columns)
        bound = tuple(bind_sensitive(name, None, data[name]) for name in sensitive)
        groups = groups_of_cells(Cells(ids, count, data.select(sensitive)), bound)
        return cls(cells, groups.sizes, np.arange(count), groups)

    @classmethod
    def from_bucketized(
        cls,
        quasi_rows: pl.DataFrame,
        sensitive_rows: pl.DataFrame,
        meanings: Mapping[str, Mapping[str, Meaning]],
        quasi: Sequence[str],
        sensitive: Sequence[str],
        bucket: str,
        count_column: str | None = None,
    ) -> Published:
        """Two published tables joined by a bucket: exact quasi values in one, sensitive values (or their counts) in the other."""
        columns, codes = _label_columns(quasi_rows, meanings, quasi)
        buckets = sensitive_rows[bucket].unique().sort()
        place = quasi_rows[bucket].replace_strict(buckets, np.arange(len(buckets)), return_dtype=pl.Int64).to_numpy()
        sizes = [*(len(column.meanings) for column in columns), len(buckets)]
        ids, count = number(*pack([*codes, place], sizes, quasi_rows.height))
        firsts = first_rows(ids, count)
        cells = tuple(PublishedColumn(each.name, each.codes[firsts], each.meanings) for each in columns)
        bound = tuple(bind_sensitive(name, None, sensitive_rows[name]) for name in sensitive)
        owners = sensitive_rows[bucket].replace_strict(buckets, np.arange(len(buckets)), return_dtype=pl.Int64)
        counts = None if count_column is None else sensitive_rows[count_column].to_numpy().astype(np.int64)
        listed = Cells(owners.to_numpy(), len(buckets), sensitive_rows.select(sensitive), counts)
        groups = groups_of_cells(listed, bound)
        return cls(cells, sum_by(ids, None, count), place[firsts], groups)

    @property
    def known_sets(self) -> tuple[tuple[str, ...], ...]:
        """The sets of quasi columns that an adversary may know: all of them together, unless the release names several (R-LD-4)."""
        return (self.quasi,) if self.made is None else self.made.manifest.adversary_sets

    def known(self, columns: Sequence[str]) -> Published:
        """What somebody sees who knows some of the quasi columns only: rows that these do not tell apart are together."""
        if set(columns) == set(self.quasi):
            return self
        chosen = [self.column(name) for name in columns]
        codes, sizes = [each.codes for each in chosen], [len(each.meanings) for each in chosen]
        apart = self.is_row_by_row
        if not apart:
            codes, sizes = [*codes, self.group_of], [*sizes, len(self.groups)]
        ids, count = number(*pack(codes, sizes, len(self.sizes)))
        firsts = first_rows(ids, count)
        return Published(
            tuple(PublishedColumn(each.name, each.codes[firsts], each.meanings) for each in chosen),
            sum_by(ids, self.sizes, count),
            np.arange(count) if apart else self.group_of[firsts],
            self._merged(ids, count) if apart else self.groups,
            None if self.people is None else sum_by(ids, self.people, count),
            self.made,
        )

    def _merged(self, ids: NDArray[Any], count: int) -> Groups:
        groups = self.groups
        return Groups(
            sum_by(ids, groups.sizes, count),
            groups.histograms.merge(ids, count),
            groups.reference,
            groups.domain,
            {name: sum_by(ids, each, count) for name, each in groups.extras.items()},
        )

    def spread(self, column: str) -> tuple[NDArray[np.int64], int]:
        """How often each value of a sensitive column occurs in all that the public knows, and how many rows that is.

        That is the whole table where the certificate tells its histogram (rows that were left out included), else the published rows.
        """
        groups = self.groups.marginal(column)
        if self.made is None:
            return groups.reference, int(groups.reference.sum())
        kinds = {each.name: each.kind for each in self.made.manifest.columns if each.role == "sensitive"}
        declared = read_reference(self.made.certificate.get("reference"), kinds).get(column)
        if declared is None:
            return groups.reference, int(groups.reference.sum())
        counts = dict(zip(declared.column.texts, declared.counts.tolist(), strict=True))
        shown = np.array([counts[text] for text in groups.domain.columns[0].texts], dtype=np.int64)
        return shown, int(declared.counts.sum())

    @property
    def rows(self) -> int:
        """How many rows are published."""
        return int(self.sizes.sum())

    @property
    def candidates(self) -> NDArray[np.int64]:
        """Among how many one has to choose in each cell: people where they are known, else rows."""
        return self.sizes if self.people is None else self.people

    @property
    def is_row_by_row(self) -> bool:
        """Whether a row shows its labels and its sensitive values together: cells are groups."""
        return len(self.group_of) == len(self.groups) and bool((self.group_of == np.arange(len(self.groups))).all())

    @property
    def quasi(self) -> tuple[str, ...]:
        """The names of the quasi columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> PublishedColumn:
        """One quasi column."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(f"No quasi column {name!r} was published.{did_you_mean(name, self.quasi)}")

    def sensitive(self, name: str | None) -> str | None:
        """The sensitive column that is meant: the named one, or the first; None when there is none."""
        names = [column.name for column in self.groups.domain.columns]
        if name is None:
            return names[0] if names else None
        self.groups.domain.index(name)
        return name


def _label_columns(
    data: pl.DataFrame, meanings: Mapping[str, Mapping[str, Meaning]], quasi: Sequence[str]
) -> tuple[tuple[PublishedColumn, ...], list[NDArray[np.int64]]]:
    """The label columns of a published table, row by row."""
    columns = []
    for name in quasi:
        texts = data[name].cast(pl.String).fill_null(NULL_LABEL)
        labels = texts.unique(maintain_order=True)
        known = meanings.get(name, {})
        for label in labels:
            if label not in known:
                raise DataError(f"Column {name!r} shows the label {label!r}, whose meaning was not published.")
        codes = texts.replace_strict(labels, np.arange(len(labels)), return_dtype=pl.Int64).to_numpy()
        columns.append(PublishedColumn(name, codes, tuple(known[label] for label in labels)))
    return tuple(columns), [column.codes for column in columns]
