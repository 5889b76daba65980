"""The kinds of hierarchy: listed, suppression, masking, taxonomy; intervals and cuts of numbers.

Each is a frozen value that validates itself on construction, and binds to a column later. Numbers are exact at any
size.
"""

from __future__ import annotations

import bisect
import csv
import io
import json
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.documents import parse_json, parse_toml, read_document
from reticent.base.exact import exact, one_of, whole
from reticent.base.expansion import gunzipped
from reticent.errors import DataError, PolicyError
from reticent.table.hierarchies.hierarchy import BoundHierarchy, Hierarchy, Level
from reticent.table.hierarchies.leaves import check_range, leaves_of, numeric_leaves, parse_leaves
from reticent.table.hierarchies.levels import (
    group,
    identity,
    level_by_label,
    level_by_number,
    optional,
    suppressed,
    values_of,
)
from reticent.table.hierarchies.public_values import LONGER, NAMES, public_groups, public_paths
from reticent.table.meaning import SUPPRESSED, Prefix

_LONGEST_CODE = 1_000


@dataclass(frozen=True)
class Listed(Hierarchy):
    """Every leaf with its label at every level, as in ARX files."""

    rows: tuple[tuple[str, ...], ...]
    source: str = "the listed hierarchy"

    def __post_init__(self) -> None:
        """Check that every row has the same number of levels, and that no value is listed twice."""
        if not self.rows:
            raise DataError(f"{self.source} has no rows. A hierarchy needs one row for each value of the column.")
        width = len(self.rows[0])
        values: set[str] = set()
        for number, row in enumerate(self.rows, start=1):
            if len(row) != width:
                raise DataError(
                    f"{self.source}, line {number}: {len(row)} levels where line 1 has {width}. Every value needs a label at each level."
                )
            if row[0] in values:
                raise DataError(
                    f"{self.source}, line {number}: the value {row[0]!r} is listed a second time. Keep one of the two."
                )
            values.add(row[0])

    @classmethod
    def read(cls, path: Path, separator: str) -> Listed:
        """Return the hierarchy of a CSV file, also gzipped. Raises with the file's name."""
        try:
            content = read_document(path)
            text = (gunzipped(content, str(path)) if content[:2] == b"\x1f\x8b" else content).decode("utf-8-sig")
        except FileNotFoundError:
            raise DataError(f"There is no hierarchy file {str(path)!r}.", setting=("file",)) from None
        except zlib.error as error:
            raise DataError(
                f"The hierarchy file {str(path)!r} is not a complete gzip file: {error}", setting=("file",)
            ) from None
        except UnicodeDecodeError as error:
            raise DataError(
                f"The hierarchy file {str(path)!r} is not UTF-8 text ({error.reason} at byte {error.start})."
            ) from None
        rows = tuple(tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row)
        return cls(rows, source=f"hierarchy file {str(path)!r}")

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column: at every level the listed labels of its values."""
        leaves = parse_leaves([row[0] for row in self.rows], series.dtype, column, self.source)
        levels = [identity(leaves)]
        for number in range(1, len(self.rows[0])):
            levels.append(level_by_label([row[number] for row in self.rows], leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=False)

    def describe(self) -> dict[str, Any]:
        return {"kind": "listed", "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Suppression(Hierarchy):
    """The value itself, or suppressed."""

    domain: tuple[Any, ...] | None = None

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column, with two levels: the values, and all of them suppressed."""
        leaves = leaves_of(series, self.domain, column)
        return BoundHierarchy(
            column, leaves, (identity(leaves), suppressed(leaves)), data_dependent=self.domain is None
        )

    def describe(self) -> dict[str, Any]:
        return {"kind": "suppression", **optional(domain=self.domain)}


@dataclass(frozen=True)
class Masking(Hierarchy):
    """Codes such as postcodes, masked from the right; integers are read with leading zeros."""

    digits: int
    keep: tuple[int, ...] | None = None
    domain: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check the length of the codes, and that fewer characters are kept at each level."""
        whole(self.digits, "masking: digits", low=1, high=_LONGEST_CODE)
        lengths = [whole(length, "masking: keep", low=0) for length in self.kept]
        if lengths != sorted(set(lengths), reverse=True) or not lengths or lengths[0] != self.digits:
            raise PolicyError(
                f"masking: keep must begin with the {self.digits} characters of a code and descend to at least 0, but it is {lengths}.",
                setting=("keep",),
            )

    @property
    def kept(self) -> tuple[int, ...]:
        """The number of characters kept at each level."""
        return self.keep if self.keep is not None else tuple(range(self.digits, -1, -1))

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column of codes: at every level the last characters are masked."""
        leaves = leaves_of(series, self.domain, column)
        texts = leaves.cast(pl.String)
        if leaves.dtype.is_integer():
            texts = texts.str.zfill(self.digits)
        wrong = texts.filter(texts.str.len_chars() != self.digits)
        if len(wrong):
            raise DataError(
                f"Column {column!r}: {wrong[0]!r} does not have the {self.digits} characters that its masking hierarchy expects.",
                column=column,
                value=wrong[0],
            )
        levels = [identity(leaves)]
        for length in self.kept[1:]:
            if length == 0:
                levels.append(suppressed(leaves))
                continue
            prefixes = texts.str.slice(0, length)
            stars = SUPPRESSED * (self.digits - length)
            labels, parts = group(prefixes.to_list())
            meanings = tuple(Prefix(prefix, self.digits) for prefix in labels)
            levels.append(Level(parts, tuple(prefix + stars for prefix in labels), meanings))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.domain is None)

    def describe(self) -> dict[str, Any]:
        return {"kind": "masking", "digits": self.digits, **optional(keep=self.keep, domain=self.domain)}


@dataclass(frozen=True)
class Taxonomy(Hierarchy):
    """A tree of categories. A leaf at less depth than others stays itself until its branch begins.

    ``from_data``: the values come from the data and are not public.
    """

    paths: tuple[tuple[str, ...], ...]
    source: str = "the taxonomy"
    from_data: bool = False

    def __post_init__(self) -> None:
        """Refuse a tree without leaves, and one in which a value occurs twice."""
        values: set[str] = set()
        for path in self.paths:
            if path[0] in values:
                raise DataError(
                    f"In {self.source} the value {path[0]!r} occurs twice. Every value must occur once in the tree."
                )
            values.add(path[0])
        if not self.paths:
            raise DataError(f"{self.source} has no leaves.")

    @classmethod
    def read(cls, tree: Mapping[str, Any] | str | Path, from_data: bool = False) -> Taxonomy:
        """Construct it from nested mappings, or a file that holds them."""
        if isinstance(tree, Mapping):
            return cls(tuple(_leaf_paths(tree, ())), from_data=from_data)
        path = Path(tree)
        try:
            content = read_document(path).decode("utf-8")
            parsed = parse_toml(content) if path.suffix == ".toml" else parse_json(content)
        except FileNotFoundError:
            raise DataError(f"There is no taxonomy file {str(path)!r}.", setting=("file",)) from None
        except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
            raise DataError(f"The taxonomy file {str(path)!r} cannot be read: {error}.", setting=("file",)) from None
        return cls(tuple(_leaf_paths(parsed, ())), f"taxonomy file {str(path)!r}", from_data)

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column: at every level the categories above the values."""
        leaves = parse_leaves([path[0] for path in self.paths], series.dtype, column, self.source)
        depth = max(len(path) for path in self.paths)
        padded = [(path[0],) * (depth - len(path)) + path for path in self.paths]
        levels = [identity(leaves)]
        # Categories are identified by their path to the root: two branches may both have an "other".
        for number in range(1, depth):
            labels, parts = group([row[number:] for row in padded])
            meanings = values_of(parts, len(labels), leaves)
            levels.append(Level(parts, _unambiguous(labels), meanings))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.from_data)

    def describe(self) -> dict[str, Any]:
        tree = _tree_of([tuple(reversed(path)) for path in self.paths])
        return {"kind": "taxonomy", "tree": tree, **({"from_data": True} if self.from_data else {})}


@dataclass(frozen=True)
class PublicDomain(Hierarchy):
    """A publicly known code list, in its official groups (:mod:`reticent.table.hierarchies.public_values`).

    Codes may be longer than the listed ones (``J45.1`` below the category J45 of ICD-10); then the leaves are the codes
    that occur, below public groups.
    """

    name: str

    def __post_init__(self) -> None:
        one_of(self.name, "public: name", NAMES)

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column of codes of a public domain, also of longer codes below its own."""
        source = f"the public domain {self.name!r}"
        longer = LONGER.get(self.name)
        if longer is not None and series.dtype == pl.String:
            codes, groups = leaves_of(series, None, column).to_list(), public_groups(self.name)
            if not all(code in groups for code in codes):
                paths = [longer.path(code, groups) for code in codes]
                if None in paths:
                    wrong = codes[paths.index(None)]
                    raise DataError(
                        f"Column {column!r}: {wrong!r} is not a code of {source} ({NAMES[self.name]}).",
                        column=column,
                        value=wrong,
                    )
                return Taxonomy(tuple(path for path in paths if path), source, from_data=True).bind(series, column)
        return Taxonomy(public_paths(self.name), source).bind(series, column)

    def describe(self) -> dict[str, Any]:
        return {"kind": "public", "name": self.name}


def _unambiguous(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The category's own name, or its path to the root if two categories share a name."""
    names = [path[0] for path in paths]
    return tuple(
        name if names.count(name) == 1 else " / ".join(reversed(path)) for name, path in zip(names, paths, strict=True)
    )


def _leaf_paths(tree: Any, above: tuple[str, ...]) -> Any:
    """Every leaf with its categories, nearest first."""
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            yield from _leaf_paths(below, (str(name), *above))
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for leaf in tree:
            if isinstance(leaf, Mapping | list | tuple):
                raise DataError(
                    f"taxonomy: a list may only hold values, but under {' / '.join(reversed(above))!r} it holds {leaf!r}."
                )
            yield (str(leaf), *above)
    else:
        raise DataError(
            f"taxonomy: {' / '.join(reversed(above))!r} must hold categories or a list of values, but it is {tree!r}."
        )


def _tree_of(paths: Sequence[tuple[str, ...]]) -> Any:
    """Return paths of categories as a nested tree."""
    if all(len(path) == 1 for path in paths):
        return [path[0] for path in paths]
    branches: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        branches.setdefault(path[0], []).append(path[1:])
    return {name: _tree_of(below) for name, below in branches.items()}


@dataclass(frozen=True)
class Intervals(Hierarchy):
    """Half-open intervals ``[origin + i * width, origin + (i + 1) * width)`` on each level, then suppressed."""

    widths: tuple[float | str, ...]
    origin: float | str = 0
    domain: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        """Check that each width is a multiple of the one before, so that levels nest."""
        exact(self.origin, "origin")
        if not self.widths:
            raise PolicyError(
                "intervals: widths is empty. Give at least one width, or use suppression.", setting=("widths",)
            )
        exact_widths = [exact(width, "widths") for width in self.widths]
        for low, high in zip([None, *exact_widths], exact_widths, strict=False):
            if high <= 0:
                raise PolicyError(f"intervals: a width of {high} is not positive.", setting=("widths",), value=high)
            if low is not None and (high / low).denominator != 1:
                raise PolicyError(
                    f"intervals: width {high} is not a multiple of width {low}, so its intervals would split the finer ones. "
                    "Choose widths that divide each other, such as 5, 10, 20.",
                    setting=("widths",),
                    value=high,
                )
        check_range(self.domain)

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column of numbers: at every level intervals of one width."""
        leaves = numeric_leaves(series, self.domain, column)
        origin, whole = exact(self.origin, "origin"), leaves.dtype.is_integer()
        levels = [identity(leaves)]
        for width_given in self.widths:
            width = exact(width_given, "widths")
            numbers = _floor_divide(leaves, origin, width)
            levels.append(level_by_number(numbers, lambda i, w=width: (origin + i * w, origin + (i + 1) * w)))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.domain is None or not whole)

    def describe(self) -> dict[str, Any]:
        """Return the recipe as the mapping that a policy contains."""
        return {
            "kind": "intervals",
            "widths": list(self.widths),
            "origin": self.origin,
            **optional(domain=self.domain),
        }


@dataclass(frozen=True)
class Cuts(Hierarchy):
    """Intervals between explicit cut points; the outermost ones are open-ended."""

    points: tuple[tuple[float | str, ...], ...]
    domain: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        """Check that the cut points of each level are among those of the one before, so that levels nest."""
        if not self.points:
            raise PolicyError("cuts: no level given. Give at least one list of cut points.", setting=("levels",))
        finer: set[Fraction] | None = None
        for number, level in enumerate(self.points, start=1):
            cuts = [exact(point, "cuts") for point in level]
            if cuts != sorted(set(cuts)) or not cuts:
                raise PolicyError(
                    f"cuts, level {number}: the points {list(level)} must be ascending and not empty.",
                    setting=("levels",),
                )
            if finer is not None and not set(cuts) <= finer:
                extra = sorted(set(cuts) - finer)[0]
                raise PolicyError(
                    f"cuts, level {number}: point {extra} is not among those of level {number - 1}, so the levels do not nest."
                )
            finer = set(cuts)
        check_range(self.domain)

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        """Return the hierarchy for a column of numbers: at every level the intervals between cut points."""
        leaves = numeric_leaves(series, self.domain, column)
        whole = leaves.dtype.is_integer()
        levels = [identity(leaves)]
        for points_given in self.points:
            cuts = [exact(point, "cuts") for point in points_given]
            edges: list[Fraction | None] = [None, *cuts, None]
            numbers = _count_below(leaves, cuts)
            levels.append(level_by_number(numbers, lambda i, e=edges: (e[i], e[i + 1])))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.domain is None or not whole)

    def describe(self) -> dict[str, Any]:
        return {"kind": "cuts", "levels": [list(level) for level in self.points], **optional(domain=self.domain)}


def _floor_divide(leaves: pl.Series, origin: Fraction, width: Fraction) -> NDArray[Any]:
    """``floor((leaf - origin) / width)``, exact: in 64-bit integers if they suffice, otherwise in Python's."""
    if leaves.dtype.is_integer() and len(leaves):
        scale = origin.denominator * width.denominator
        shift, step = int(origin * scale), int(width * scale)
        ends = [int(end) * scale - shift for end in (leaves[0], leaves[-1])]
        largest_term = max(
            abs(number) for number in (*ends, *(int(end) * scale for end in (leaves[0], leaves[-1])), shift, step)
        )
        if largest_term < 2**63:
            quotient: NDArray[np.int64] = np.floor_divide(leaves.cast(pl.Int64).to_numpy() * scale - shift, step)
            return quotient
    if leaves.dtype.is_float() and len(leaves):
        return _floor_divide_floats(leaves, origin, width)
    return _integers([(exact(value, "value") - origin) // width for value in leaves.to_list()])


def _floor_divide_floats(leaves: pl.Series, origin: Fraction, width: Fraction) -> NDArray[Any]:
    """Return ``floor((leaf - origin) / width)`` for floats, read as decimals: exactly near the end of an interval, by floats where rounding cannot reach one."""
    values, start, step = leaves.cast(pl.Float64).to_numpy(), float(origin), float(width)
    with np.errstate(all="ignore"):
        quotient = (values - start) / step
        # Each rounding has a relative error below 2.3e-16; the margin is a thousand times the sum of them.
        margin = 1e-12 * ((np.abs(values) + abs(start)) / step + 1)
        is_certain = np.abs(quotient - np.round(quotient)) > margin
    if not np.isfinite(quotient).all() or np.abs(quotient).max() >= 2**53:
        is_certain[:] = False
    uncertain_rows = np.flatnonzero(~is_certain)
    exactly = _integers(
        [(exact(value, "value") - origin) // width for value in leaves.gather(uncertain_rows).to_list()]
    )
    if not is_certain.any():
        return exactly
    quotients = np.floor(np.where(is_certain, quotient, 0)).astype(np.int64)
    quotients[uncertain_rows] = exactly
    return quotients


def _count_below(leaves: pl.Series, cuts: Sequence[Fraction]) -> NDArray[Any]:
    """The number of ascending ``cuts`` at or below each leaf, exact."""
    if leaves.dtype.is_integer():
        # An integer reaches a cut when it reaches the next integer.
        thresholds = [-((-cut) // 1) for cut in cuts]
        if all(-(2**63) <= cut < 2**63 for cut in thresholds) and leaves.dtype not in (pl.UInt64, pl.Int128):
            return np.searchsorted(np.array(thresholds, dtype=np.int64), leaves.cast(pl.Int64).to_numpy(), side="right")
    return _integers([bisect.bisect_right(cuts, exact(value, "value")) for value in leaves.to_list()])


def _integers(numbers: Sequence[int]) -> NDArray[Any]:
    """Integers as an int64 array, or as objects if one does not fit."""
    fits = all(-(2**63) <= number < 2**63 for number in numbers)
    return np.array(numbers, dtype=np.int64 if fits else object)
