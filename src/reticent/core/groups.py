"""Groups: the equivalence classes of a release, reduced to what a privacy definition may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import Codes, first_rows, number, pack, sum_by
from reticent.core.histograms import Histograms
from reticent.core.owners import Owners
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import SensitiveColumn

if TYPE_CHECKING:
    from reticent.core.group_labels import GroupLabels

Found = TypeVar("Found")


@dataclass(frozen=True)
class SensitiveDomain:
    """The sensitive columns, and for each joint value the value of every column.

    With one column a joint value is that column's value. With several, only combinations that occur have a code;
    ``joint[i]`` lists the columns' values of combination ``i``.
    """

    columns: tuple[SensitiveColumn, ...]
    joint: NDArray[np.int32] = field(compare=False)

    @classmethod
    def none(cls) -> SensitiveDomain:
        """A table without sensitive columns: one joint value, shared by all rows."""
        return cls((), np.zeros((1, 0), dtype=np.int32))

    @classmethod
    def single(cls, column: SensitiveColumn) -> SensitiveDomain:
        """One sensitive column: a joint value is the column's value."""
        return cls((column,), np.arange(column.size, dtype=np.int32).reshape(-1, 1))

    @property
    def size(self) -> int:
        """The number of joint values."""
        return len(self.joint)

    def index(self, name: str) -> int:
        """The index of a column among the sensitive ones."""
        if name not in self._places:
            raise PolicyError(
                f"There is no sensitive column {name!r}.{did_you_mean(name, self._places)} There are: {', '.join(self._places) or 'none'}."
            )
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {column.name: index for index, column in enumerate(self.columns)}

    def together(self, names: Sequence[str]) -> tuple[NDArray[np.int64], SensitiveColumn]:
        """Return several sensitive columns as one: the code of each joint value, and the combined column (texts joined
        by ' / ').
        """
        indices = [self.index(name) for name in names]
        if len(indices) == 1:
            return self.joint[:, indices[0]].astype(np.int64), self.columns[indices[0]]
        numbers, count = _numbered(self.joint[:, indices])
        joint_values = self.joint[first_rows(numbers, count)]
        texts = [[self.columns[index].texts[code] for code in joint_values[:, index]] for index in indices]
        labels = [" / ".join(parts) for parts in zip(*texts, strict=True)]
        return numbers, SensitiveColumn(" and ".join(names), pl.Series(labels, dtype=pl.String))


@dataclass(frozen=True)
class Groups:
    """Sizes and sensitive histograms of groups, and the whole table's histogram.

    ``domain`` lists the sensitive values that the histograms count; ``extras`` are further counts of each group by name, such as its population.
    ``reference`` is the histogram of the whole table, suppressed rows included. Groups never share a row: overlapping ones are
    :class:`reticent.core.Patterns`. ``labels`` are the groups' labels by column, if known: for definitions about adversaries who know some of the
    columns. Merging groups discards them. ``owners`` identifies whose rows they are, if a person has several: people, and households if these
    are protected as well.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> rt.publish(table, rt.KAnonymity(2), method="Mondrian").groups.sizes.tolist()
        [2, 2]
    """

    sizes: NDArray[np.int64]
    histograms: Histograms
    reference: NDArray[np.int64]
    domain: SensitiveDomain
    extras: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    labels: GroupLabels | None = field(default=None, compare=False, repr=False)
    owners: tuple[Owners, ...] = ()

    def __post_init__(self) -> None:
        """Check that there is one histogram per group."""
        if len(self.sizes) != len(self.histograms.offsets) - 1:
            raise DataError(
                f"{len(self.sizes)} group sizes do not match {len(self.histograms.offsets) - 1} histograms."
            )

    @classmethod
    def from_histograms(
        cls,
        histograms: Iterable[Mapping[object, int] | Sequence[int]],
        labels: Sequence[object] | None = None,
        name: str = "value",
    ) -> Groups:
        """Groups given explicitly: mappings from value to count, or plain counts."""
        rows = [dict(h) if isinstance(h, Mapping) else {str(i): n for i, n in enumerate(h)} for h in histograms]
        texts = list(labels) if labels is not None else sorted({str(value) for row in rows for value in row})
        column = SensitiveColumn(name, pl.Series(name, [str(label) for label in texts], dtype=pl.String))
        ids = np.array([g for g, row in enumerate(rows) for _ in row], dtype=np.int64)
        values = np.array([column.position(value) for row in rows for value in row], dtype=np.int64)
        counts = np.array([count for row in rows for count in row.values()], dtype=np.int64)
        if (counts < 0).any():
            raise DataError("A histogram has a negative count.")
        cells = Histograms.from_cells(ids, values, counts, len(rows), max(column.size, 1))
        return cls(sum_by(ids, counts, len(rows)), cells, cells.total(column.size), SensitiveDomain.single(column))

    @classmethod
    def single(cls, counts: NDArray[np.int64], reference: NDArray[np.int64], column: SensitiveColumn) -> Groups:
        """Return a single group with these ``counts`` of one column's values, and those of the whole table as the
        reference.
        """
        values = np.flatnonzero(counts)
        cells = Histograms(np.array([0, len(values)]), values.astype(np.int32), counts[values])
        return cls(np.array([int(counts.sum())]), cells, reference, SensitiveDomain.single(column))

    @classmethod
    def of_rows(
        cls,
        ids: Codes,
        groups: int,
        columns: Sequence[SensitiveColumn],
        codes: Sequence[Codes],
        counts: NDArray[np.int64] | None = None,
    ) -> Groups:
        """Groups of rows, given each row's group id and value in each sensitive column (``counts``: the multiplicity of each row)."""
        if not columns:
            domain, joint = SensitiveDomain.none(), np.zeros(len(ids), dtype=np.int64)
        elif len(columns) == 1:
            domain, joint = SensitiveDomain.single(columns[0]), codes[0].astype(np.int64)
        else:
            joint, count = number(*pack(codes, [column.size for column in columns], len(ids)))
            firsts = first_rows(joint, count)
            domain = SensitiveDomain(
                tuple(columns), np.stack([code[firsts] for code in codes], axis=1).astype(np.int32)
            )
        histograms = Histograms.from_cells(ids, joint, counts, groups, domain.size)
        return cls(sum_by(ids, counts, groups), histograms, histograms.total(domain.size), domain)

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def _findings(self) -> dict[object, Any]:
        return {}

    def found(self, key: object, measure: Callable[[], Found]) -> Found:
        """A measurement of these groups cached under ``key``, computed by ``measure`` if absent: definitions share intermediate results."""
        if key not in self._findings:
            self._findings[key] = measure()
        return cast(Found, self._findings[key])

    @cached_property
    def filled(self) -> NDArray[np.int64]:
        """The indices of non-empty groups."""
        return np.flatnonzero(self.sizes > 0)

    @cached_property
    def people(self) -> NDArray[np.int64]:
        """The number of people among whom each group hides one of its rows.

        Rows, if each person has one. Otherwise the largest k for which the group has k different owners, none of whom
        owns more than one in k of its rows: then no row belongs to a given person with probability above 1/k, even for
        an adversary who knows all rows of all people. Merging two groups never lowers it below the smaller of the two.
        """
        hidden = [owner.hidden_among(self.sizes) for owner in self.owners]
        return np.minimum.reduce(hidden) if hidden else self.sizes

    @property
    def distinct_people(self) -> NDArray[np.int64]:
        """The number of different owners per group. Unlike :attr:`people` it never falls when rows join."""
        per_unit = [owners.distinct for owners in self.owners]
        return np.minimum.reduce(per_unit) if per_unit else self.sizes

    def of(self, column: str | None) -> Groups:
        """One sensitive column's groups, refined by the raw values of the other sensitive columns.

        An adversary who knows a person's other sensitive values considers only the rows that share them, so these form the
        group in which the column must be diverse. With one sensitive column these are the groups themselves.
        """
        if not self.domain.columns:
            raise PolicyError(
                "This definition protects a sensitive column, but the table has none. Declare one with sensitive=."
            )
        if column is None and len(self.domain.columns) > 1:
            raise PolicyError("There are several sensitive columns; choose one with column=.")
        index = 0 if column is None else self.domain.index(column)
        chosen = self.domain.columns[index]
        if len(self.domain.columns) == 1:
            return self
        other_names = tuple(column.name for column in self.domain.columns if column.name != chosen.name)
        return self.refined(other_names, (chosen.name,))

    def refined(self, known: Sequence[str], secret: Sequence[str]) -> Groups:
        """Return the groups split by the raw values of the ``known`` sensitive columns; their values are the joint
        values of the ``secret`` ones.

        The group that each was split from is in ``extras["parent"]``.
        """
        joint, cells = self.domain.joint, self.histograms
        other_ids, other_count = _numbered(joint[:, [self.domain.index(name) for name in known]])
        values, column = self.domain.together(secret)
        refined, count = number(cells.owners * other_count + other_ids[cells.values], len(self) * other_count)
        histograms = Histograms.from_cells(refined, values[cells.values], cells.counts, count, column.size)
        reference = sum_by(values, self.reference, column.size)
        parents = np.zeros(count, dtype=np.int64)
        parents[refined] = cells.owners
        sizes = sum_by(refined, cells.counts, count)
        owners = tuple(owners.split(other_ids, other_count, sizes).revalued(values) for owners in self.owners)
        return Groups(
            sizes,
            histograms,
            reference,
            domain=SensitiveDomain.single(column),
            extras={"parent": parents},
            owners=owners,
        )

    @property
    def is_refined(self) -> bool:
        """True if these were split from other groups by the values of other sensitive columns."""
        return "parent" in self.extras

    def parents(self) -> NDArray[np.int64]:
        """For refined groups the group that each was split from; for others their own index."""
        return self.extras["parent"] if self.is_refined else np.arange(len(self))

    def marginal(self, column: str) -> Groups:
        """One sensitive column's groups, ignoring the other sensitive columns."""
        index = self.domain.index(column)
        if len(self.domain.columns) == 1:
            return self
        chosen = self.domain.columns[index]
        values = self.domain.joint[self.histograms.values, index]
        histograms = Histograms.from_cells(
            self.histograms.owners, values, self.histograms.counts, len(self), chosen.size
        )
        reference = sum_by(self.domain.joint[:, index], self.reference, chosen.size)
        domain, owners = (
            SensitiveDomain.single(chosen),
            tuple(owners.revalued(self.domain.joint[:, index]) for owners in self.owners),
        )
        return Groups(self.sizes, histograms, reference, domain, extras=self.extras, labels=self.labels, owners=owners)

    def side_by_side(self, columns: Sequence[str]) -> Groups:
        """The groups of several sensitive columns, each ignoring the others, as refined groups: by group, then by column.

        Values are coded per column, so only definitions by counts can be judged here; there is no reference.
        """
        indices = [self.domain.index(column) for column in columns]
        widest = max((self.domain.columns[index] for index in indices), key=lambda column: column.size)
        cells, column_count = self.histograms, len(indices)
        owners = cells.owners[:, None] * column_count + np.arange(column_count)
        values = self.domain.joint[:, indices][cells.values]
        histograms = Histograms.from_cells(
            owners.ravel(), values.ravel(), np.repeat(cells.counts, column_count), len(self) * column_count, widest.size
        )
        extras = {"parent": np.repeat(np.arange(len(self)), column_count)}
        no_reference = np.zeros(widest.size, dtype=np.int64)
        return Groups(
            np.repeat(self.sizes, column_count),
            histograms,
            reference=no_reference,
            domain=SensitiveDomain.single(widest),
            extras=extras,
        )

    def select(self, mask: NDArray[np.bool_]) -> Groups:
        """Only the groups under ``mask``; the reference stays the whole table."""
        extras = {name: counts[mask] for name, counts in self.extras.items()}
        labels = None if self.labels is None else self.labels.select(mask)
        owners, histograms = tuple(owner.select(mask) for owner in self.owners), self.histograms.select(mask)
        return Groups(
            self.sizes[mask],
            histograms,
            reference=self.reference,
            domain=self.domain,
            extras=extras,
            labels=labels,
            owners=owners,
        )

    def compared_with_published(self, stays: Mapping[str, NDArray[np.bool_]]) -> Groups:
        """The same groups with their own rows as the reference, instead of the whole table.

        Values that do not occur in these rows are removed from the domain, unless ``stays`` marks them for their
        column.
        """
        published = self.histograms.total(self.domain.size)
        kept_masks = [
            (np.bincount(self.domain.joint[:, index], weights=published, minlength=column.size) > 0)
            | stays[column.name]
            for index, column in enumerate(self.domain.columns)
        ]
        if all(mask.all() for mask in kept_masks):
            return replace(self, reference=published)
        new_codes = [np.cumsum(mask) - 1 for mask in kept_masks]
        columns = tuple(column.only(mask) for column, mask in zip(self.domain.columns, kept_masks, strict=True))
        # With one column a joint value is the column's; with several, unused combinations are dropped.
        joint = kept_masks[0] if len(columns) == 1 else published > 0
        codes = np.stack([index[self.domain.joint[joint, j]] for j, index in enumerate(new_codes)], axis=1).astype(
            np.int32
        )
        new_code = np.maximum(np.cumsum(joint) - 1, 0).astype(np.int32)
        histograms = replace(self.histograms, values=new_code[self.histograms.values])
        domain, owners = SensitiveDomain(columns, codes), tuple(owner.revalued(new_code) for owner in self.owners)
        return replace(self, histograms=histograms, reference=published[joint], domain=domain, owners=owners)

    def merged(self, ids: Codes, groups: int) -> Groups:
        """Return the groups merged by id: group ``g`` goes into group ``ids[g]`` of ``groups``."""
        if len(ids) == groups and np.array_equal(ids, np.arange(groups)):
            return self if self.labels is None else replace(self, labels=None)
        return Groups(
            sum_by(ids, self.sizes, groups),
            self.histograms.merge(ids, groups),
            reference=self.reference,
            domain=self.domain,
            extras={name: sum_by(ids, counts, groups) for name, counts in self.extras.items()},
            owners=tuple(owner.merged(ids, groups) for owner in self.owners),
        )

    def bound_to(
        self, columns: Sequence[SensitiveColumn], reference: Mapping[str, NDArray[np.int64]] | None = None
    ) -> Groups:
        """Return the same groups with the codes of these ``columns``, which may have more values, and the whole table's
        histograms as the ``reference``, if known.
        """
        codes = [_positions(new, old) for new, old in zip(columns, self.domain.columns, strict=True)]
        if len(columns) == 1:
            domain, cells = SensitiveDomain.single(columns[0]), self.histograms
            values = codes[0][cells.values]
            histograms = Histograms.from_cells(cells.owners, values, cells.counts, len(self), domain.size)
        else:
            joint = [code[self.domain.joint[:, index]] for index, code in enumerate(codes)]
            domain = replace(
                self.domain,
                columns=tuple(columns),
                joint=np.stack(joint, axis=1).astype(np.int32) if joint else self.domain.joint,
            )
            histograms = self.histograms
        total = histograms.total(domain.size)
        if reference and len(columns) == 1:
            total = reference[columns[0].name]
        elif reference:
            domain, total = _joint_reference(domain, total, reference)
        return Groups(
            self.sizes,
            histograms,
            reference=total,
            domain=domain,
            extras=self.extras,
            labels=self.labels,
            owners=self.owners,
        )

    def whole(self) -> Groups:
        """All rows in a single group: the most general release."""
        everything = np.zeros(len(self), dtype=np.int64)
        extras = {name: np.array([counts.sum()]) for name, counts in self.extras.items() if name != "parent"}
        # One group's labels, but the raw values of all rows.
        labels = None if self.labels is None else self.labels.seen_by(None, everything, 1)
        return Groups(
            np.array([self.sizes.sum()]),
            self.histograms.merge(everything, 1),
            reference=self.reference,
            domain=self.domain,
            extras=extras,
            labels=labels,
            owners=tuple(owner.merged(everything, 1) for owner in self.owners),
        )

    def histogram(self, group: int) -> dict[str, int]:
        """One group's histogram with the values as text, most frequent first (several columns joined by ' / ')."""
        # Definitions that fail together often report the same group.
        return dict(self.found(("histogram", group), lambda: self._histogram(group)))

    def _histogram(self, group: int) -> dict[str, int]:
        """Return the sensitive values of a group in words with their counts, the most frequent first."""
        low, high = self.histograms.offsets[group], self.histograms.offsets[group + 1]
        order = np.argsort(-self.histograms.counts[low:high], kind="stable") + low
        texts = [column.texts for column in self.domain.columns]
        return {
            " / ".join(
                text[code] for text, code in zip(texts, self.domain.joint[self.histograms.values[cell]], strict=True)
            ): int(self.histograms.counts[cell])
            for cell in order
        }


def _positions(new: SensitiveColumn, old: SensitiveColumn) -> Codes:
    """The index of each value of a column in another column's domain that contains them all."""
    return np.arange(old.size) if new.labels.equals(old.labels, check_dtypes=True) else new.codes(old.labels)


def _numbered(rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], int]:
    """The id of each row among the distinct rows, and their number."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows), dtype=np.int64), 1
    _, inverse = np.unique(rows, axis=0, return_inverse=True)
    numbers = inverse.reshape(-1).astype(np.int64)  # numpy 2.0 returns a column here, later versions a row
    return numbers, int(numbers.max(initial=0)) + 1


def _joint_reference(
    domain: SensitiveDomain, published: NDArray[np.int64], reference: Mapping[str, NDArray[np.int64]]
) -> tuple[SensitiveDomain, NDArray[np.int64]]:
    """A joint histogram that contains the published rows and has the reference histograms as its marginals.

    Definitions use a column's marginal only, so any such histogram gives the same verdict; the unpublished rows are
    matched column by column in order. A column without a reference gets its first value.
    """
    unpublished = [
        reference[column.name] - sum_by(domain.joint[:, index], published, column.size)
        for index, column in enumerate(domain.columns)
        if column.name in reference
    ]
    rows = int(unpublished[0].sum())
    if any((counts < 0).any() or int(counts.sum()) != rows for counts in unpublished):
        raise DataError("The reference histograms of the sensitive columns do not contain the published rows.")
    boundaries = np.unique(np.concatenate([[0], *(np.cumsum(counts) for counts in unpublished)]))
    starts, lengths = boundaries[:-1], np.diff(boundaries)
    unpublished_joint = np.zeros((len(starts), len(domain.columns)), dtype=np.int32)
    with_reference = [index for index, column in enumerate(domain.columns) if column.name in reference]
    for index, counts in zip(with_reference, unpublished, strict=True):
        unpublished_joint[:, index] = np.searchsorted(np.cumsum(counts), starts, side="right")
    joint = np.concatenate([domain.joint, unpublished_joint])
    return SensitiveDomain(domain.columns, joint), np.concatenate([published, lengths])
