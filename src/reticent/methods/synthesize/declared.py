"""Public inputs of a synthetic release, declared independently of the rows: the groups with their sizes, and the possible
values with their weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.frames import as_type_of
from reticent.base.randomness import Randomness, WordStream, uniform_below
from reticent.errors import PolicyError
from reticent.io import people_of
from reticent.methods.synthesize.keep_probabilities import KeptValues
from reticent.methods.synthesize.prior import PublicPrior
from reticent.table import ValueType

SIZE, WEIGHT, KEEP, GROUP_KEEP = "group_size", "domain_weight", "domain_keep", "group_keep"
KEEP_OF = f"{KEEP}_"
"""Prefix of the public columns of retention probabilities that groups may name."""
_SIZES, _WEIGHTS, _KEEPS, _PART = ("size", SIZE), ("weight", WEIGHT), ("keep", KEEP), "part"
_GROUP_KEEPS, _KEEPS_OF = ("keep", GROUP_KEEP), ("keep_", KEEP_OF)


@dataclass(frozen=True, eq=False)
class DeclaredGroups:
    """Every group with its public size: group columns of the table, and ``group_size``. Sorted and distinct."""

    frame: pl.DataFrame = field(repr=False)

    @classmethod
    def of(cls, source: Any, columns: Sequence[str], schema: Mapping[str, pl.DataType]) -> DeclaredGroups:
        """Build groups from a file or a frame with a column ``size``, from a mapping, or from one number for a table that is one group.

        ``columns`` are the columns of the table that may define a group; a mapping has one key, or one tuple, for all
        of them.
        """
        frame = _frame(source, columns)
        size_columns = [name for name in _SIZES if name in frame.columns]
        if len(size_columns) != 1:
            raise _wrong("groups", f"must have a column 'size', but its columns are {', '.join(frame.columns)}")
        keep_column = next((name for name in _GROUP_KEEPS if name in frame.columns and name not in columns), None)
        group_columns = [name for name in frame.columns if name not in (size_columns[0], keep_column)]
        for name in group_columns:
            if name not in columns:
                raise _wrong("groups", f"has the column {name!r}, which is not a quasi column of the table", name)
        columns_made = [as_type_of(frame[name], plain_type(schema[name])) for name in group_columns]
        keep_series = [] if keep_column is None else [frame[keep_column].cast(pl.String).alias(GROUP_KEEP)]
        return cls.checked(
            pl.DataFrame([*columns_made, _whole(frame[size_columns[0]], "groups").alias(SIZE), *keep_series])
        )

    @classmethod
    def checked(cls, frame: pl.DataFrame) -> DeclaredGroups:
        """Build groups from their frame, sorted; each must occur once and be non-empty."""
        group_columns = [name for name in frame.columns if name not in (SIZE, GROUP_KEEP)]
        if not frame.height:
            raise _wrong("groups", "is empty; declare the public size of every group")
        if frame.null_count().sum_horizontal().item():
            raise _wrong("groups", "has missing values")
        if frame[SIZE].min() < 1:  # type: ignore[operator]  # whole numbers that are there
            raise _wrong("groups", "has an empty group; remove it")
        if frame.select(group_columns).is_duplicated().any() if group_columns else frame.height > 1:
            raise _wrong("groups", "lists a group twice")
        return cls(frame.sort(group_columns) if group_columns else frame)

    @property
    def columns(self) -> list[str]:
        """The columns that define a group."""
        return [name for name in self.frame.columns if name not in (SIZE, GROUP_KEEP)]

    @cached_property
    def by_keep(self) -> dict[str, NDArray[np.int64]]:
        """The indexes of the groups that name each column of retention probabilities."""
        if GROUP_KEEP not in self.frame.columns:
            return {}
        named = self.frame[GROUP_KEEP].to_numpy()
        return {name: np.flatnonzero(named == name) for name in sorted(set(named.tolist()))}

    def some(self, indices: NDArray[np.int64]) -> DeclaredGroups:
        """Select some groups by index."""
        return DeclaredGroups(self.frame[indices])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The size of each group."""
        return self.frame[SIZE].to_numpy()


@dataclass(frozen=True, eq=False)
class DeclaredDomain:
    """The possible values, sorted, with weights if these differ, and retention probabilities if listed."""

    values: pl.Series = field(repr=False)
    prior: PublicPrior
    by_group: Mapping[str, KeptValues] = field(default_factory=dict)

    def prior_of(self, name: str) -> PublicPrior:
        """Return the prior of the groups that name a column of retention probabilities."""
        if name not in self.by_group:
            raise _wrong("domain", f"has no column 'keep_{name}', which a group names under 'keep'", name)
        return replace(self.prior, kept=self.by_group[name])

    @classmethod
    def of(cls, source: Any, name: str, dtype: pl.DataType, added: Sequence[str], keep: Any = None) -> DeclaredDomain:
        """Build a domain from a file or a frame with the column and optionally ``weight`` and ``keep``, from a list, or from a mapping to weights.

        ``added`` values belong to it too. ``keep`` maps values to retention probabilities if the domain does not list
        them.
        """
        values, weights, keeps = _domain(source, name)
        by_group = _keeps_by_name(source)
        _check_listed(values)
        for value in added:
            if value not in values.cast(pl.String).to_list():
                for probabilities, kind in ((weights, "weight"), (keeps, "keep"), (by_group or None, "keep")):
                    if probabilities is not None:
                        raise _wrong("domain", f"must have a {kind} for every value, but has none for {value!r}", value)
                values = pl.concat([values.cast(pl.String), pl.Series([value])])
        typed_values = as_type_of(values.alias(name), plain_type(dtype))
        if keep is not None:
            if keeps is not None:
                raise _wrong("domain", "has a column 'keep', but keep lists probabilities too; use one of them")
            keeps = _probabilities(keep, typed_values)
        return cls.checked(typed_values, weights, keeps, by_group)

    @classmethod
    def checked(
        cls,
        values: pl.Series,
        weights: Sequence[Any] | None,
        keeps: Sequence[Any] | None = None,
        by_group: Mapping[str, Sequence[Any]] | None = None,
    ) -> DeclaredDomain:
        """Build a domain from its values, sorted; each must occur once."""
        _check_listed(values)
        if values.is_duplicated().any():
            repeated = values.filter(values.is_duplicated())[0]
            raise _wrong("domain", f"lists {repeated!r} twice", repeated)
        order = values.arg_sort()
        ordered_weights = None if weights is None else [weights[index] for index in order.to_list()]
        prior = (
            PublicPrior(len(values)) if ordered_weights is None else PublicPrior.of(dict(enumerate(ordered_weights)))
        )
        retention = (
            None if keeps is None else KeptValues.listed([keeps[index] for index in order.to_list()], len(values))
        )
        retention_by_group = {
            name: KeptValues.listed([group_probabilities[index] for index in order.to_list()], len(values))
            for name, group_probabilities in sorted((by_group or {}).items())
        }
        return cls(values.gather(order), PublicPrior(len(values), None, prior.weights, retention), retention_by_group)

    def strangers(self, values: pl.Series) -> tuple[pl.Series, pl.Series]:
        """Return which of the values are null, and which are not in the domain."""
        lost = values.is_null()
        return lost, ~values.is_in(self.values.implode()) & ~lost

    def shown(self, values: pl.Series, elsewhere: str | None, missing: str | None) -> pl.Series:
        """Return the values as published: null and values outside the domain are replaced by ``missing`` and ``elsewhere``."""
        is_missing, is_outside = self.strangers(values)
        dtype = self.values.dtype
        replacements = pl.Series([elsewhere, missing], dtype=pl.String).cast(dtype)
        replaced = (
            pl.when(is_outside)
            .then(pl.lit(replacements[0], dtype=dtype))
            .when(is_missing)
            .then(pl.lit(replacements[1], dtype=dtype))
            .otherwise(values)
        )
        return pl.select(replaced.alias(values.name)).to_series()

    def table(self) -> pl.DataFrame:
        """Return the domain as a public table."""
        weights, retention = self.prior.weights, self.prior.kept
        weighted = [] if weights is None else [pl.Series(WEIGHT, weights)]
        by_group = [
            pl.Series(f"{KEEP_OF}{name}", probabilities.texts()) for name, probabilities in self.by_group.items()
        ]
        return pl.DataFrame(
            [self.values, *weighted, *([] if retention is None else [pl.Series(KEEP, retention.texts())]), *by_group]
        )


@dataclass(frozen=True, eq=False)
class DeclaredParts:
    """A public partition of the values: each value with its part, and integer weights for its probability within the part."""

    values: pl.Series = field(repr=False)
    parts: pl.Series = field(repr=False)
    weights: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, source: Any, name: str, dtype: pl.DataType | None = None) -> DeclaredParts:
        """Build a partition from a mapping, or from a file or frame with the column of values, ``part`` and optionally ``weight``."""
        if isinstance(source, Mapping):
            frame = pl.DataFrame({name: list(source), _PART: list(source.values())}, strict=False)
        else:
            frame = _read(source, "parts")
        weight = next((column for column in _WEIGHTS if column in frame.columns), None)
        if name not in frame.columns or _PART not in frame.columns:
            raise _wrong(
                "parts", f"must have the columns {name!r} and {_PART!r}, but its columns are {', '.join(frame.columns)}"
            )
        values = frame[name] if dtype is None else as_type_of(frame[name], plain_type(dtype))
        if values.null_count() or frame[_PART].null_count():
            raise _wrong("parts", "has missing values")
        if values.is_duplicated().any():
            raise _wrong("parts", f"puts {values.filter(values.is_duplicated())[0]!r} in two parts")
        weights = pl.Series([1] * frame.height) if weight is None else _whole(frame[weight], "parts")
        if weights.min() < 1:  # type: ignore[operator]  # whole numbers that are there
            raise _wrong("parts", "has a weight below 1")
        return cls(values, frame[_PART].alias(name), weights.to_numpy())

    def domain(self, added: Sequence[str], keep: Any = None) -> DeclaredDomain:
        """Return the parts as the domain to sample from; ``keep`` may map them to retention probabilities."""
        return DeclaredDomain.of(self.parts.unique().to_list(), self.parts.name, self.parts.dtype, added, keep)

    def refined(self, sampled_parts: pl.Series, words: WordStream) -> pl.Series:
        """Return a value of each sampled part, drawn with exactly the public weights of the values within it."""
        order = self.parts.arg_sort().to_numpy()
        ordered = self.parts.gather(order)
        ends = np.cumsum(self.weights[order])
        segments = ordered.rle().struct.unnest()
        last = np.cumsum(segments["len"].to_numpy()) - 1
        upper, totals = ends[last], np.diff(ends[last], prepend=0)
        part_index = pl.DataFrame({"part": sampled_parts}).join(
            segments.select(part="value").with_row_index("#place"), on="part", how="left", maintain_order="left"
        )["#place"]
        if part_index.null_count():
            unknown = sampled_parts.filter(part_index.is_null())[0]
            raise _wrong("parts", f"has no part {unknown!r}", unknown)
        indices = part_index.to_numpy()
        units = uniform_below(totals[indices].astype(np.uint64), words).astype(np.int64) + (upper - totals)[indices]
        return self.values.gather(order[np.searchsorted(ends, units, side="right")]).alias(sampled_parts.name)


def refine(frame: pl.DataFrame, column: str, parts: Any, insecure_seed: int | None = None) -> pl.DataFrame:
    """Replace every part in ``column`` of synthetic rows by a value sampled within it from a public density.

    ``parts`` is the public partition that the release was made with, with weights where values of a part are not
    equally likely. No confidential data are used, so the guarantee of the release holds for the result too (post-processing).
    """
    partition = DeclaredParts.of(parts, column)
    return frame.with_columns(partition.refined(frame[column], Randomness(insecure_seed).words()))


def declared_sizes(path: str | Path) -> list[int]:
    """Read the public group sizes from the column ``size`` of a file, whatever columns define the groups."""
    frame = _read(path, "groups")
    sized = next((name for name in _SIZES if name in frame.columns), None)
    if sized is None:
        raise _wrong("groups", f"must have a column 'size', but its columns are {', '.join(frame.columns)}")
    sizes: list[int] = _whole(frame[sized], "groups").to_list()
    return sizes


def declared_prior(path: str | Path) -> PublicPrior:
    """Read the prior from a file with one row per value, and optionally columns ``weight`` and ``keep``."""
    frame = _read(path, "domain")
    names = [name for name in frame.columns if name not in (*_WEIGHTS, *_KEEPS)]
    if not names:
        raise _wrong("domain", "must have a column of values")
    return DeclaredDomain.checked(*_domain(frame, names[0])).prior


def plain_type(dtype: pl.DataType) -> pl.DataType:
    """Return the type in which the values of a column are declared and published."""
    return ValueType.published(dtype).dtype


def _frame(source: Any, columns: Sequence[str]) -> pl.DataFrame:
    """Return the declared groups as a frame: from one size, a mapping, or a file or frame."""
    if isinstance(source, int) and not isinstance(source, bool):
        return pl.DataFrame({SIZE: [source]})
    if isinstance(source, Mapping):
        keys = [key if isinstance(key, tuple) else (key,) for key in source]
        if any(len(key) != len(columns) for key in keys):
            column_text = " and ".join(map(repr, columns)) or "no column"
            raise _wrong(
                "groups", f"must have one key for each group, with a value of {column_text}", next(iter(source))
            )
        parts = {name: [key[index] for key in keys] for index, name in enumerate(columns)}
        return pl.DataFrame({**parts, SIZE: list(source.values())}, strict=False)
    return _read(source, "groups")


def _check_listed(values: pl.Series) -> None:
    if values.null_count():
        raise _wrong("domain", "has missing values; set the value to replace them with missing=")


def _domain(source: Any, name: str) -> tuple[pl.Series, list[Any] | None, list[Any] | None]:
    """Return the values, and their weights and retention probabilities if listed."""
    if isinstance(source, Mapping):
        return pl.Series(list(source), strict=False), list(source.values()), None
    if isinstance(source, list | tuple | pl.Series | np.ndarray):
        try:
            return pl.Series(source), None, None
        except TypeError:
            raise _wrong("domain", "lists values of different types", source) from None
    frame = _read(source, "domain")
    weight, keep = (
        next((name_found for name_found in names if name_found in frame.columns), None) for names in (_WEIGHTS, _KEEPS)
    )
    value_columns = [
        column for column in frame.columns if column not in (weight, keep) and not column.startswith(_KEEPS_OF)
    ]
    if name not in value_columns and len(value_columns) != 1:
        raise _wrong("domain", f"must have a column {name!r}, but its columns are {', '.join(frame.columns)}")
    values = frame[name if name in value_columns else value_columns[0]]
    return (
        values,
        None if weight is None else frame[weight].to_list(),
        None if keep is None else frame[keep].to_list(),
    )


def _keeps_by_name(source: Any) -> dict[str, list[Any]]:
    """Return the columns ``keep_NAME`` of a declared domain by their names: retention probabilities for the groups that name them."""
    if isinstance(source, Mapping | list | tuple | pl.Series | np.ndarray):
        return {}
    frame = _read(source, "domain")
    return named_keeps(frame)


def named_keeps(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of retention probabilities in a frame, by the names that groups use."""
    return {
        column.removeprefix(KEEP_OF).removeprefix("keep_"): frame[column].to_list()
        for column in frame.columns
        if column.startswith(_KEEPS_OF) and column not in _KEEPS
    }


def _probabilities(keep: Any, values: pl.Series) -> list[Any]:
    """Return the retention probability of each value: from a mapping, or from a file or frame with the column of values and ``keep``."""
    if isinstance(keep, Mapping):
        values_and_keeps = pl.Series(list(keep), strict=False), list(keep.values())
    else:
        frame = _read(keep, "keep")
        column = next((column_name for column_name in _KEEPS if column_name in frame.columns), None)
        if column is None or values.name not in frame.columns:
            raise _wrong(
                "keep",
                f"must have the columns {values.name!r} and 'keep', but its columns are {', '.join(frame.columns)}",
            )
        values_and_keeps = frame[values.name], frame[column].to_list()
    listed_values = as_type_of(values_and_keeps[0].alias(values.name), values.dtype).to_list()
    if len(set(listed_values)) < len(listed_values):
        raise _wrong("keep", "lists a value twice")
    keep_of = dict(zip(listed_values, values_and_keeps[1], strict=True))
    unknown = set(listed_values) - set(values.to_list())
    if unknown:
        raise _wrong(
            "keep", f"has the value {min(unknown, key=str)!r}, which is not in the domain", min(unknown, key=str)
        )
    missing = [value for value in values.to_list() if keep_of.get(value) is None]
    if missing:
        raise _wrong(
            "keep",
            f"must have a probability for every value of the domain, but has none for {missing[0]!r}",
            missing[0],
        )
    return [keep_of[value] for value in values.to_list()]


def _read(source: Any, declaration: str) -> pl.DataFrame:
    """Return a declaration as a frame; it is a file or a frame."""
    if isinstance(source, str | Path) or hasattr(source, "columns"):
        return people_of(source)
    raise _wrong(declaration, "must be a file, a frame or a mapping", source)


def _whole(column: pl.Series, declaration: str) -> pl.Series:
    """Return a column of group sizes as whole numbers; anything else is refused."""
    try:
        cast = column.cast(pl.Int64)
    except (pl.exceptions.PolarsError, TypeError):
        raise _wrong(declaration, "has sizes that are not whole numbers") from None
    if column.dtype.is_float() and not (cast.cast(pl.Float64) == column).all():
        raise _wrong(declaration, "has sizes that are not whole numbers")
    return cast


def _wrong(declaration: str, problem: str, value: Any = None) -> PolicyError:
    """Return the error for an unusable declaration."""
    return PolicyError(f"Synthetic: {declaration} {problem}.", setting=(declaration,), value=value)
