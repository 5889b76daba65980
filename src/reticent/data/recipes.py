"""The kinds of hierarchy for codes and categories: listed, suppression, masking, taxonomy.

Each is a frozen value that checks itself when it is made, and binds to a column when it meets one. Numbers are in
``recipes_numbers``, dates in ``recipes_dates``.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from reticent.data.hierarchy import BoundHierarchy, Hierarchy, Level
from reticent.data.leaves import leaves_of, parse_leaves
from reticent.data.levels import group, identity, level_by_label, optional, suppressed, values_of
from reticent.data.meaning import SUPPRESSED, Prefix
from reticent.errors import DataError, PolicyError
from reticent.exact import whole


@dataclass(frozen=True)
class Listed(Hierarchy):
    """Every leaf with its label on every level, as ARX writes them."""

    rows: tuple[tuple[str, ...], ...]
    source: str = "the listed hierarchy"

    def __post_init__(self) -> None:
        if not self.rows:
            raise DataError(f"{self.source} has no rows. A hierarchy needs one row for each value of the column.")
        width = len(self.rows[0])
        seen: set[str] = set()
        for number, row in enumerate(self.rows, start=1):
            if len(row) != width:
                raise DataError(
                    f"{self.source}, line {number}: {len(row)} levels where line 1 has {width}. Every value needs a label on each level."
                )
            if row[0] in seen:
                raise DataError(
                    f"{self.source}, line {number}: the value {row[0]!r} is listed a second time. Keep one of the two."
                )
            seen.add(row[0])

    @classmethod
    def read(cls, path: Path, separator: str) -> Listed:
        try:
            content = path.read_bytes()
            text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8-sig")
        except FileNotFoundError:
            raise DataError(f"There is no hierarchy file {str(path)!r}.", setting=("file",)) from None
        except (EOFError, gzip.BadGzipFile) as error:
            raise DataError(
                f"The hierarchy file {str(path)!r} is not a whole gzip file: {error}", setting=("file",)
            ) from None
        except UnicodeDecodeError as error:
            raise DataError(
                f"The hierarchy file {str(path)!r} is not UTF-8 text ({error.reason} at byte {error.start})."
            ) from None
        rows = tuple(tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row)
        return cls(rows, source=f"hierarchy file {str(path)!r}")

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        leaves = parse_leaves([row[0] for row in self.rows], series.dtype, column, self.source)
        levels = [identity(leaves)]
        for number in range(1, len(self.rows[0])):
            levels.append(level_by_label([row[number] for row in self.rows], leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=False)

    def describe(self) -> dict[str, Any]:
        return {"kind": "listed", "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Suppression(Hierarchy):
    """The value itself, or nothing at all."""

    domain: tuple[Any, ...] | None = None

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
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
        whole(self.digits, "masking: digits", low=1)
        kept = [whole(length, "masking: keep", low=0) for length in self.kept]
        if kept != sorted(set(kept), reverse=True) or not kept or kept[0] != self.digits:
            raise PolicyError(
                f"masking: keep must fall from {self.digits} to 0 or more, but it is {kept}.", setting=("keep",)
            )

    @property
    def kept(self) -> tuple[int, ...]:
        """How many characters stay on each level."""
        return self.keep if self.keep is not None else tuple(range(self.digits, -1, -1))

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
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
        for kept in self.kept[1:]:
            if kept == 0:
                levels.append(suppressed(leaves))
                continue
            prefixes = texts.str.slice(0, kept)
            stars = SUPPRESSED * (self.digits - kept)
            labels, parts = group(prefixes.to_list())
            meanings = tuple(Prefix(prefix, self.digits) for prefix in labels)
            levels.append(Level(parts, tuple(prefix + stars for prefix in labels), meanings))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=self.domain is None)

    def describe(self) -> dict[str, Any]:
        return {"kind": "masking", "digits": self.digits, **optional(keep=self.keep, domain=self.domain)}


@dataclass(frozen=True)
class Taxonomy(Hierarchy):
    """A tree of categories. A leaf less deep than others stays itself until its branch begins."""

    paths: tuple[tuple[str, ...], ...]
    source: str = "the taxonomy"

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for path in self.paths:
            if path[0] in seen:
                raise DataError(
                    f"In {self.source} the value {path[0]!r} stands twice. Every value belongs to one place."
                )
            seen.add(path[0])
        if not self.paths:
            raise DataError(f"{self.source} has no leaves.")

    @classmethod
    def read(cls, tree: Mapping[str, Any] | str | Path) -> Taxonomy:
        """From nested mappings, or a file that holds them."""
        if isinstance(tree, Mapping):
            return cls(tuple(_leaf_paths(tree, ())))
        path = Path(tree)
        try:
            content = path.read_text(encoding="utf-8")
            parsed = tomllib.loads(content) if path.suffix == ".toml" else json.loads(content)
        except FileNotFoundError:
            raise DataError(f"There is no taxonomy file {str(path)!r}.", setting=("file",)) from None
        except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
            raise DataError(f"The taxonomy file {str(path)!r} cannot be read: {error}.", setting=("file",)) from None
        return cls(tuple(_leaf_paths(parsed, ())), source=f"taxonomy file {str(path)!r}")

    def bind(self, series: pl.Series, column: str) -> BoundHierarchy:
        leaves = parse_leaves([path[0] for path in self.paths], series.dtype, column, self.source)
        depth = max(len(path) for path in self.paths)
        padded = [(path[0],) * (depth - len(path)) + path for path in self.paths]
        levels = [identity(leaves)]
        # Categories are told apart by their whole way to the root: two branches may both have an "other".
        for number in range(1, depth):
            labels, parts = group([row[number:] for row in padded])
            meanings = values_of(parts, len(labels), leaves)
            levels.append(Level(parts, _unambiguous(labels), meanings))
        levels.append(suppressed(leaves))
        return BoundHierarchy(column, leaves, tuple(levels), data_dependent=False)

    def describe(self) -> dict[str, Any]:
        return {"kind": "taxonomy", "tree": _tree_of([tuple(reversed(path)) for path in self.paths])}


def _unambiguous(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The category's own name, or its whole way to the root where two categories share a name."""
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
    if all(len(path) == 1 for path in paths):
        return [path[0] for path in paths]
    branches: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        branches.setdefault(path[0], []).append(path[1:])
    return {name: _tree_of(below) for name, below in branches.items()}
