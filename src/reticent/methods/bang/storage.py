"""The folder of a saved index: a description, and arrays that are memory-mapped on opening.

The folder is private: it holds values, points and counts of the table. It is written atomically, readable by its owner
only, and every file is checked against its hash before use.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.documents import parse_json, read_document
from reticent.base.files import folder_aside, read_blocks, write_new
from reticent.core import FrequencySet, Groups, Histograms, SensitiveDomain
from reticent.errors import DataError, ReticentError
from reticent.methods.bang.cell_space import ColumnAxis, GridSpace, LineAxis, RankAxis
from reticent.methods.bang.dendrogram import Dendrogram
from reticent.methods.bang.digest import RowDigest
from reticent.methods.bang.directory import BangDirectory
from reticent.methods.bang.region_index import BangIndex, IndexParts
from reticent.table import BoundHierarchy, Level, Meaning, SensitiveColumn, ValueType, as_parquet

if TYPE_CHECKING:
    from reticent.methods.bang.method import Bang

VERSION = 1
"""Layout version of the folder; increased by changes that older programs would misread."""

_KIND = "bang index"
_DESCRIPTION = "index.json"
_LARGEST_DESCRIPTION = 1 << 30
_SMALL = 1 << 16

Arrays = dict[str, NDArray[Any]]


def save_index(index: BangIndex, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write an index to a new folder, or replace an older index with ``overwrite``; atomic."""
    target = Path(path)
    _check_target(target, overwrite)
    arrays, frames = _arrays_of(index), _frames_of(index)
    description = {
        "method": index.method.describe(),
        "minimum": index.minimum,
        "fingerprint": index.fingerprint,
        "digest": str(index.digest),
        "quasi": [_hierarchy_json(hierarchy) for hierarchy in index.units.hierarchies],
        "axes": [_axis_json(axis) for axis in index.space.axes],
        "sensitive": [_sensitive_json(column) for column in index.units.domain.columns],
        "extras": list(index.units.extras),
    }
    try:
        with folder_aside(target, replace=overwrite, removable=is_index, mode=0o700) as aside:
            files = {}
            for name, content in _contents(arrays, frames):
                write_new(aside / name, content, mode=0o600)
                files[name] = _print_of(aside / name)
            write_new(aside / _DESCRIPTION, _sealed({**description, "files": files}), mode=0o600)
    except OSError as error:
        raise DataError(
            f"The index could not be saved at {str(target)!r}: {error.strerror or error}. No partial files were left."
        ) from error
    return target


def open_index(path: str | Path) -> BangIndex:
    """Open the index saved in a folder. A missing, truncated or changed file, or another layout version, raises a :class:`DataError`."""
    folder = Path(path)
    description = _described(folder)
    _check_files(folder, description["files"])
    try:
        return _opened(folder, description)
    except (KeyError, TypeError, ValueError, IndexError, OSError, pl.exceptions.PolarsError) as error:
        raise _damaged(folder, f"its description does not match its files ({error})") from error


def is_index(folder: Path) -> bool:
    """True if a folder is a saved index."""
    try:
        return isinstance(_described(folder), Mapping)
    except ReticentError:
        return False


def _check_target(target: Path, overwrite: bool) -> None:
    """Raise unless the folder is free, or holds an index that may be overwritten."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not overwrite:
        raise DataError(
            f"{str(target)!r} exists already. Choose another folder, or pass overwrite=True (--force) to replace an older index."
        )
    if not is_index(target):
        raise DataError(f"{str(target)!r} is not a saved index of Bang and will not be overwritten.")


# The description: JSON with a hash of itself.


def _sealed(description: Mapping[str, Any]) -> bytes:
    """Return a description as JSON with its hash, which is checked when it is read."""
    content = json.dumps(description, ensure_ascii=False, sort_keys=True)
    seal = hashlib.sha256(content.encode()).hexdigest()
    head = json.dumps({"kind": _KIND, "version": VERSION, "sha256": seal})
    return f'{head[:-1]}, "content": {content}}}'.encode()


def _described(folder: Path) -> dict[str, Any]:
    """Return the description of a saved index. Raises if it is missing, of another version, or changed."""
    if not (folder / _DESCRIPTION).is_file():
        raise DataError(
            f"{str(folder)!r} is not a saved index of Bang: {_DESCRIPTION} is missing. Build one with `reticent index build` or index.save()."
        )
    try:
        document = parse_json(read_document(folder / _DESCRIPTION, _LARGEST_DESCRIPTION).decode())
    except (OSError, ValueError) as error:
        raise _damaged(folder, f"{_DESCRIPTION} cannot be read ({error})") from error
    if not isinstance(document, dict) or document.get("kind") != _KIND:
        raise DataError(f"{str(folder)!r} is not a saved index of Bang.")
    if document.get("version") != VERSION:
        raise DataError(
            f"The index in {str(folder)!r} has version {document.get('version')!r}, and this program reads version {VERSION}. Build it again with `reticent index build`, or use the program that wrote it."
        )
    content = json.dumps(document.get("content"), ensure_ascii=False, sort_keys=True)
    if hashlib.sha256(content.encode()).hexdigest() != document.get("sha256"):
        raise _damaged(folder, f"{_DESCRIPTION} was changed")
    content_read: dict[str, Any] = document["content"]
    return content_read


def _print_of(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file."""
    digest = hashlib.sha256()
    for block in read_blocks(path):
        digest.update(block)
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def _check_files(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if a file of a saved index is missing, or differs from its description."""
    for name, expected in files.items():
        path = folder / name
        if not path.is_file():
            raise _damaged(folder, f"the file {name} is missing")
        if path.stat().st_size != expected["bytes"]:
            raise _damaged(folder, f"{name} has {path.stat().st_size:,} bytes instead of {expected['bytes']:,}")
        if _print_of(path)["sha256"] != expected["sha256"]:
            raise _damaged(folder, f"the content of {name} was changed")


def _damaged(folder: Path, reason: str) -> DataError:
    return DataError(
        f"The index in {str(folder)!r} is damaged: {reason}. Restore it from a backup, or build it again with `reticent index build`."
    )


def _contents(arrays: Arrays, frames: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, bytes | Iterator[bytes]]]:
    """Yield the name and the content of every file of an index."""
    for name, array in arrays.items():
        yield f"{name}.npy", _npy(array)
    for name, frame in frames.items():
        yield f"{name}.parquet", as_parquet(frame)


def _npy(array: NDArray[Any]) -> Iterator[bytes]:
    """Yield an array in .npy format, a few megabytes at a time."""
    plain, head = np.ascontiguousarray(array), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(plain))
    yield head.getvalue()
    flat = plain.reshape(-1)
    for start in range(0, len(flat), 1 << 20):
        yield flat[start : start + (1 << 20)].tobytes()


# Between an index and arrays or frames.


def _arrays_of(index: BangIndex) -> Arrays:
    """Return every array of an index by the name of its file."""
    directory, tree, units, blocks = index.directory, index.dendrogram, index.units, index.blocks
    arrays: Arrays = {
        "directory-lows": directory.lows,
        "directory-level": directory.level,
        "directory-encloser": directory.encloser,
        "directory-rows": directory.rows,
        **{f"dendrogram-{field.name}": getattr(tree, field.name) for field in fields(tree)},
        "points-region": index.region_of,
        "joint": units.domain.joint,
        "reference": blocks.reference,
    }
    for number, codes in enumerate(units.codes):
        arrays[f"points-codes-{number}"] = codes
    for number, axis in enumerate(index.space.axes):
        arrays[f"axis-{number}-cells"] = axis.cell_of
        if isinstance(axis, LineAxis):
            arrays[f"axis-{number}-edges"] = axis.edges
        elif isinstance(axis, RankAxis):
            arrays[f"axis-{number}-order"] = axis.order
    for name, counted in (("points", units), ("blocks", blocks)):
        arrays |= _counts(name, counted.sizes, counted.histograms, counted.extras)
    return arrays


def _counts(
    name: str, sizes: NDArray[np.int64], histograms: Histograms, extras: Mapping[str, NDArray[np.int64]]
) -> Arrays:
    """Return the arrays of counted points or blocks by the name of their file."""
    return {
        f"{name}-sizes": sizes,
        f"{name}-offsets": histograms.offsets,
        f"{name}-values": histograms.values,
        f"{name}-counts": histograms.counts,
        **{f"{name}-extra-{number}": extras[extra] for number, extra in enumerate(extras)},
    }


def _frames_of(index: BangIndex) -> dict[str, pl.DataFrame]:
    """Return the leaves and trees of every column of an index by the name of their file."""
    frames = {
        f"quasi-{number}": _hierarchy_frame(hierarchy) for number, hierarchy in enumerate(index.units.hierarchies)
    }
    for number, column in enumerate(index.units.domain.columns):
        frames[f"sensitive-{number}"] = pl.DataFrame([column.labels.alias("leaf")])
        if column.hierarchy is not None:
            frames[f"sensitive-{number}-tree"] = _hierarchy_frame(column.hierarchy)
    return frames


def _opened(folder: Path, description: Mapping[str, Any]) -> BangIndex:
    """Return the index that the files of a folder and their description hold."""
    from reticent.methods.bang.method import Bang

    settings = {name: value for name, value in description["method"].items() if name != "name"}
    method: Bang = Bang(**settings)
    hierarchies = tuple(
        _hierarchy_from(
            folder, f"quasi-{number}", description_part, pl.read_parquet(folder / f"quasi-{number}.parquet")
        )
        for number, description_part in enumerate(description["quasi"])
    )
    axes = tuple(
        _axis_from(folder, number, description_part, hierarchy)
        for number, (description_part, hierarchy) in enumerate(zip(description["axes"], hierarchies, strict=True))
    )
    space = GridSpace(axes)
    columns = tuple(
        _sensitive_from(folder, number, description_part)
        for number, description_part in enumerate(description["sensitive"])
    )
    domain = SensitiveDomain(columns, _array(folder, "joint"))
    lows, level = _array(folder, "directory-lows"), _array(folder, "directory-level")
    _, highs = space.boxes(lows, level)
    encloser, rows = _array(folder, "directory-encloser"), _array(folder, "directory-rows")
    directory = BangDirectory(space, lows, highs, level, encloser, rows)
    tree = Dendrogram(*(_array(folder, f"dendrogram-{field.name}") for field in fields(Dendrogram)))
    codes = tuple(_array(folder, f"points-codes-{number}") for number in range(len(hierarchies)))
    sizes, histograms, extras = _counts_from(folder, "points", description["extras"])
    units = FrequencySet(hierarchies, (0,) * len(hierarchies), codes, sizes, histograms, domain, extras)
    sizes, histograms, extras = _counts_from(folder, "blocks", description["extras"])
    blocks = Groups(sizes, histograms, _array(folder, "reference"), domain, extras)
    digest = RowDigest(tuple(int(description["digest"][number : number + 16], 16) for number in (0, 16)))
    parts = IndexParts(blocks, digest, tree)
    index = BangIndex(
        method, description["minimum"], space, directory, units, _array(folder, "points-region"), knows=parts
    )
    if index.fingerprint != description["fingerprint"]:
        raise ValueError("another fingerprint")
    return index


def _array(folder: Path, name: str) -> NDArray[Any]:
    """Return a saved array, memory-mapped copy-on-write, so that compiled loops accept it like any other."""
    path = folder / f"{name}.npy"
    is_small = path.stat().st_size < _SMALL
    return np.asarray(np.load(path, mmap_mode=None if is_small else "c", allow_pickle=False))


def _counts_from(
    folder: Path, name: str, extras: Sequence[str]
) -> tuple[NDArray[np.int64], Histograms, dict[str, NDArray[np.int64]]]:
    """Return the arrays that :func:`_counts` stored."""
    histograms = Histograms(*(_array(folder, f"{name}-{part}") for part in ("offsets", "values", "counts")))
    further = {extra: _array(folder, f"{name}-extra-{number}") for number, extra in enumerate(extras)}
    return _array(folder, f"{name}-sizes"), histograms, further


def _hierarchy_frame(hierarchy: BoundHierarchy) -> pl.DataFrame:
    parts = [pl.Series(f"level {number}", level.parts) for number, level in enumerate(hierarchy.levels)]
    return pl.DataFrame([hierarchy.leaves.alias("leaf"), *parts])


def _hierarchy_json(hierarchy: BoundHierarchy) -> dict[str, Any]:
    """Return a hierarchy without its leaves and parts as plain data."""
    return {
        "column": hierarchy.column,
        "data_dependent": hierarchy.data_dependent,
        "null_leaf": hierarchy.null_leaf,
        "lowest": hierarchy.lowest,
        "capped": hierarchy.capped,
        "levels": [
            {"labels": list(level.labels), "meanings": [meaning.as_json() for meaning in level.meanings]}
            for level in hierarchy.levels
        ],
    }


def _hierarchy_from(folder: Path, name: str, description: Mapping[str, Any], frame: pl.DataFrame) -> BoundHierarchy:
    """Return the hierarchy that :func:`_hierarchy_json` and its frame describe."""
    leaves = frame["leaf"].alias(description["column"])
    kind = ValueType.published(leaves.dtype)
    levels = tuple(
        Level(
            frame[f"level {number}"].to_numpy().astype(np.int32),
            tuple(level["labels"]),
            tuple(Meaning.read(meaning, kind, f"{folder / name}") for meaning in level["meanings"]),
        )
        for number, level in enumerate(description["levels"])
    )
    return BoundHierarchy(
        description["column"],
        leaves,
        levels,
        description["data_dependent"],
        description["null_leaf"],
        description["lowest"],
        description["capped"],
    )


def _axis_json(axis: ColumnAxis) -> dict[str, Any]:
    if isinstance(axis, LineAxis):
        return {"bits": axis.bits, "kind": str(axis.kind), "missing": axis.missing}
    return {"bits": axis.bits}


def _axis_from(folder: Path, number: int, description: Mapping[str, Any], hierarchy: BoundHierarchy) -> ColumnAxis:
    """Return the axis of a column from its arrays and description."""
    cells = _array(folder, f"axis-{number}-cells")
    if "kind" not in description:
        return RankAxis(hierarchy, description["bits"], cells, _array(folder, f"axis-{number}-order"))
    edges = _array(folder, f"axis-{number}-edges")
    return LineAxis(
        hierarchy, description["bits"], cells, ValueType(description["kind"]), edges, description["missing"]
    )


def _sensitive_json(column: SensitiveColumn) -> dict[str, Any]:
    tree = None if column.hierarchy is None else _hierarchy_json(column.hierarchy)
    return {"name": column.name, "ordered": column.ordered, "tree": tree}


def _sensitive_from(folder: Path, number: int, description: Mapping[str, Any]) -> SensitiveColumn:
    """Return a sensitive column from its labels, tree and description."""
    labels = pl.read_parquet(folder / f"sensitive-{number}.parquet")["leaf"].alias(description["name"])
    if description["tree"] is None:
        return SensitiveColumn(description["name"], labels, description["ordered"])
    name = f"sensitive-{number}-tree"
    tree = _hierarchy_from(folder, name, description["tree"], pl.read_parquet(folder / f"{name}.parquet"))
    return SensitiveColumn(description["name"], labels, description["ordered"], tree)
