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
    told = {
        "method": index.method.describe(),
        "minimum": index.minimum,
        "fingerprint": index.fingerprint,
        "digest": str(index.digest),
        "quasi": [_hierarchy_json(each) for each in index.units.hierarchies],
        "axes": [_axis_json(each) for each in index.space.axes],
        "sensitive": [_sensitive_json(each) for each in index.units.domain.columns],
        "extras": list(index.units.extras),
    }
    try:
        with folder_aside(target, replace=overwrite, removable=is_index, mode=0o700) as aside:
            files = {}
            for name, content in _contents(arrays, frames):
                write_new(aside / name, content, mode=0o600)
                files[name] = _print_of(aside / name)
            write_new(aside / _DESCRIPTION, _sealed({**told, "files": files}), mode=0o600)
    except OSError as error:
        raise DataError(
            f"The index could not be saved at {str(target)!r}: {error.strerror or error}. No partial files were left."
        ) from error
    return target


def open_index(path: str | Path) -> BangIndex:
    """Open the index saved in a folder. A missing, truncated or changed file, or another layout version, raises a :class:`DataError`."""
    folder = Path(path)
    told = _described(folder)
    _check_files(folder, told["files"])
    try:
        return _opened(folder, told)
    except (KeyError, TypeError, ValueError, IndexError, OSError, pl.exceptions.PolarsError) as error:
        raise _damaged(folder, f"its description does not match its files ({error})") from error


def is_index(folder: Path) -> bool:
    """True if a folder is a saved index."""
    try:
        return isinstance(_described(folder), Mapping)
    except ReticentError:
        return False


def _check_target(target: Path, overwrite: bool) -> None:
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not overwrite:
        raise DataError(
            f"{str(target)!r} exists already. Choose another folder, or pass overwrite=True (--force) to replace an older index."
        )
    if not is_index(target):
        raise DataError(f"{str(target)!r} is not a saved index of Bang and will not be overwritten.")


# The description: JSON with a hash of itself.


def _sealed(told: Mapping[str, Any]) -> bytes:
    content = json.dumps(told, ensure_ascii=False, sort_keys=True)
    seal = hashlib.sha256(content.encode()).hexdigest()
    head = json.dumps({"kind": _KIND, "version": VERSION, "sha256": seal})
    return f'{head[:-1]}, "content": {content}}}'.encode()


def _described(folder: Path) -> dict[str, Any]:
    if not (folder / _DESCRIPTION).is_file():
        raise DataError(
            f"{str(folder)!r} is not a saved index of Bang: {_DESCRIPTION} is missing. Build one with `reticent index build` or index.save()."
        )
    try:
        told = parse_json(read_document(folder / _DESCRIPTION, _LARGEST_DESCRIPTION).decode())
    except (OSError, ValueError) as error:
        raise _damaged(folder, f"{_DESCRIPTION} cannot be read ({error})") from error
    if not isinstance(told, dict) or told.get("kind") != _KIND:
        raise DataError(f"{str(folder)!r} is not a saved index of Bang.")
    if told.get("version") != VERSION:
        raise DataError(
            f"The index in {str(folder)!r} has version {told.get('version')!r}, and this program reads version {VERSION}. Build it again with `reticent index build`, or use the program that wrote it."
        )
    content = json.dumps(told.get("content"), ensure_ascii=False, sort_keys=True)
    if hashlib.sha256(content.encode()).hexdigest() != told.get("sha256"):
        raise _damaged(folder, f"{_DESCRIPTION} was changed")
    found: dict[str, Any] = told["content"]
    return found


def _print_of(path: Path) -> dict[str, Any]:
    found = hashlib.sha256()
    for block in read_blocks(path):
        found.update(block)
    return {"bytes": path.stat().st_size, "sha256": found.hexdigest()}


def _check_files(folder: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    for name, wanted in files.items():
        place = folder / name
        if not place.is_file():
            raise _damaged(folder, f"the file {name} is missing")
        if place.stat().st_size != wanted["bytes"]:
            raise _damaged(folder, f"{name} has {place.stat().st_size:,} bytes instead of {wanted['bytes']:,}")
        if _print_of(place)["sha256"] != wanted["sha256"]:
            raise _damaged(folder, f"the content of {name} was changed")


def _damaged(folder: Path, reason: str) -> DataError:
    return DataError(
        f"The index in {str(folder)!r} is damaged: {reason}. Restore it from a backup, or build it again with `reticent index build`."
    )


def _contents(arrays: Arrays, frames: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, bytes | Iterator[bytes]]]:
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
    directory, tree, units, blocks = index.directory, index.dendrogram, index.units, index.blocks
    found: Arrays = {
        "directory-lows": directory.lows,
        "directory-level": directory.level,
        "directory-encloser": directory.encloser,
        "directory-rows": directory.rows,
        **{f"dendrogram-{each.name}": getattr(tree, each.name) for each in fields(tree)},
        "points-region": index.region_of,
        "joint": units.domain.joint,
        "reference": blocks.reference,
    }
    for place, codes in enumerate(units.codes):
        found[f"points-codes-{place}"] = codes
    for place, axis in enumerate(index.space.axes):
        found[f"axis-{place}-cells"] = axis.cell_of
        if isinstance(axis, LineAxis):
            found[f"axis-{place}-edges"] = axis.edges
        elif isinstance(axis, RankAxis):
            found[f"axis-{place}-order"] = axis.order
    for name, each in (("points", units), ("blocks", blocks)):
        found |= _counts(name, each.sizes, each.histograms, each.extras)
    return found


def _counts(
    name: str, sizes: NDArray[np.int64], histograms: Histograms, extras: Mapping[str, NDArray[np.int64]]
) -> Arrays:
    return {
        f"{name}-sizes": sizes,
        f"{name}-offsets": histograms.offsets,
        f"{name}-values": histograms.values,
        f"{name}-counts": histograms.counts,
        **{f"{name}-extra-{place}": extras[each] for place, each in enumerate(extras)},
    }


def _frames_of(index: BangIndex) -> dict[str, pl.DataFrame]:
    found = {f"quasi-{place}": _hierarchy_frame(each) for place, each in enumerate(index.units.hierarchies)}
    for place, column in enumerate(index.units.domain.columns):
        found[f"sensitive-{place}"] = pl.DataFrame([column.labels.alias("leaf")])
        if column.hierarchy is not None:
            found[f"sensitive-{place}-tree"] = _hierarchy_frame(column.hierarchy)
    return found


def _opened(folder: Path, told: Mapping[str, Any]) -> BangIndex:
    from reticent.methods.bang.method import Bang

    settings = {name: value for name, value in told["method"].items() if name != "name"}
    method: Bang = Bang(**settings)
    hierarchies = tuple(
        _hierarchy_from(folder, f"quasi-{place}", each, pl.read_parquet(folder / f"quasi-{place}.parquet"))
        for place, each in enumerate(told["quasi"])
    )
    axes = tuple(
        _axis_from(folder, place, each, hierarchy)
        for place, (each, hierarchy) in enumerate(zip(told["axes"], hierarchies, strict=True))
    )
    space = GridSpace(axes)
    columns = tuple(_sensitive_from(folder, place, each) for place, each in enumerate(told["sensitive"]))
    domain = SensitiveDomain(columns, _array(folder, "joint"))
    lows, level = _array(folder, "directory-lows"), _array(folder, "directory-level")
    _, highs = space.boxes(lows, level)
    encloser, rows = _array(folder, "directory-encloser"), _array(folder, "directory-rows")
    directory = BangDirectory(space, lows, highs, level, encloser, rows)
    tree = Dendrogram(*(_array(folder, f"dendrogram-{each.name}") for each in fields(Dendrogram)))
    codes = tuple(_array(folder, f"points-codes-{place}") for place in range(len(hierarchies)))
    sizes, histograms, extras = _counts_from(folder, "points", told["extras"])
    units = FrequencySet(hierarchies, (0,) * len(hierarchies), codes, sizes, histograms, domain, extras)
    sizes, histograms, extras = _counts_from(folder, "blocks", told["extras"])
    blocks = Groups(sizes, histograms, _array(folder, "reference"), domain, extras)
    digest = RowDigest(tuple(int(told["digest"][place : place + 16], 16) for place in (0, 16)))
    parts = IndexParts(blocks, digest, tree)
    found = BangIndex(method, told["minimum"], space, directory, units, _array(folder, "points-region"), knows=parts)
    if found.fingerprint != told["fingerprint"]:
        raise ValueError("another fingerprint")
    return found


def _array(folder: Path, name: str) -> NDArray[Any]:
    """Return a saved array, memory-mapped copy-on-write, so that compiled loops accept it like any other."""
    place = folder / f"{name}.npy"
    small = place.stat().st_size < _SMALL
    return np.asarray(np.load(place, mmap_mode=None if small else "c", allow_pickle=False))


def _counts_from(
    folder: Path, name: str, extras: Sequence[str]
) -> tuple[NDArray[np.int64], Histograms, dict[str, NDArray[np.int64]]]:
    histograms = Histograms(*(_array(folder, f"{name}-{part}") for part in ("offsets", "values", "counts")))
    further = {each: _array(folder, f"{name}-extra-{place}") for place, each in enumerate(extras)}
    return _array(folder, f"{name}-sizes"), histograms, further


def _hierarchy_frame(hierarchy: BoundHierarchy) -> pl.DataFrame:
    parts = [pl.Series(f"level {number}", level.parts) for number, level in enumerate(hierarchy.levels)]
    return pl.DataFrame([hierarchy.leaves.alias("leaf"), *parts])


def _hierarchy_json(hierarchy: BoundHierarchy) -> dict[str, Any]:
    return {
        "column": hierarchy.column,
        "data_dependent": hierarchy.data_dependent,
        "null_leaf": hierarchy.null_leaf,
        "lowest": hierarchy.lowest,
        "capped": hierarchy.capped,
        "levels": [
            {"labels": list(level.labels), "meanings": [each.as_json() for each in level.meanings]}
            for level in hierarchy.levels
        ],
    }


def _hierarchy_from(folder: Path, name: str, told: Mapping[str, Any], frame: pl.DataFrame) -> BoundHierarchy:
    leaves = frame["leaf"].alias(told["column"])
    kind = ValueType.published(leaves.dtype)
    levels = tuple(
        Level(
            frame[f"level {number}"].to_numpy().astype(np.int32),
            tuple(each["labels"]),
            tuple(Meaning.read(given, kind, f"{folder / name}") for given in each["meanings"]),
        )
        for number, each in enumerate(told["levels"])
    )
    return BoundHierarchy(
        told["column"], leaves, levels, told["data_dependent"], told["null_leaf"], told["lowest"], told["capped"]
    )


def _axis_json(axis: ColumnAxis) -> dict[str, Any]:
    if isinstance(axis, LineAxis):
        return {"bits": axis.bits, "kind": str(axis.kind), "missing": axis.missing}
    return {"bits": axis.bits}


def _axis_from(folder: Path, place: int, told: Mapping[str, Any], hierarchy: BoundHierarchy) -> ColumnAxis:
    cells = _array(folder, f"axis-{place}-cells")
    if "kind" not in told:
        return RankAxis(hierarchy, told["bits"], cells, _array(folder, f"axis-{place}-order"))
    edges = _array(folder, f"axis-{place}-edges")
    return LineAxis(hierarchy, told["bits"], cells, ValueType(told["kind"]), edges, told["missing"])


def _sensitive_json(column: SensitiveColumn) -> dict[str, Any]:
    tree = None if column.hierarchy is None else _hierarchy_json(column.hierarchy)
    return {"name": column.name, "ordered": column.ordered, "tree": tree}


def _sensitive_from(folder: Path, place: int, told: Mapping[str, Any]) -> SensitiveColumn:
    labels = pl.read_parquet(folder / f"sensitive-{place}.parquet")["leaf"].alias(told["name"])
    if told["tree"] is None:
        return SensitiveColumn(told["name"], labels, told["ordered"])
    name = f"sensitive-{place}-tree"
    tree = _hierarchy_from(folder, name, told["tree"], pl.read_parquet(folder / f"{name}.parquet"))
    return SensitiveColumn(told["name"], labels, told["ordered"], tree)
