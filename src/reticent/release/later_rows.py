"""Recoding rows that come later as a release recoded the first ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from reticent.base.documents import read_document
from reticent.base.frames import as_polars
from reticent.core import Draft, Recoding, Unseen, read_recoding
from reticent.errors import DataError, PolicyError
from reticent.registry import FRAMES
from reticent.release.canonical_json import parsed, settled
from reticent.table import Coarsening, opener

RECODING = "recoding.json"
POINTS = "recoding.parquet"


def apply(scheme: Any, frame: Any, unseen: Unseen = "error") -> Any:
    """Recode new rows as a release recoded the old ones: the same labels, and the same groups.

    A value is *unseen* when it lies outside its column's declared domain or, where the domain came from the data, falls under a label that no row had. Rows that
    fall into a group which was not published are suppressed either way: nobody could hide them there. So are rows that several groups of a local recoding
    would cover, unless their quasi values are those of a row of the table. What is returned is not a release: nothing was judged or recorded.

    Parameters:
        scheme: a :class:`Release`, the folder of a saved one, or its ``private/recoding.json``.
        frame: the new rows; a Spark frame gives a Spark frame, made by its executors.
        unseen: ``"error"`` refuses an unseen value by name, ``"suppress"`` suppresses its row.

    Returns:
        The labels in the order of the rows, beside the columns that were published with them.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> release = rt.publish(table, rt.KAnonymity(2), method=rt.Lattice())
        >>> rt.apply(release, {"age": [35], "town": ["Aix"], "illness": ["cold"]})["age"].to_list()
        ['[30, 40)']
    """
    if unseen not in ("error", "suppress"):
        raise PolicyError(f"unseen must be 'error' or 'suppress', but it is {unseen!r}.")
    recoding = _recoding_of(scheme)
    owner = FRAMES.get(type(frame).__module__.partition(".")[0])
    if owner is None:
        return _applied(recoding, unseen, as_polars(frame))
    if recoding.needs_row_order:
        raise PolicyError(
            "This release deals people with equal quasi values out to several groups, one row after the other, and the rows of a frame of Spark have no order. "
            "Collect the rows first."
        )
    return opener(owner).applied(frame, partial(_applied, recoding, unseen))


def _applied(recoding: Recoding, unseen: Unseen, rows: pl.DataFrame) -> pl.DataFrame:
    labels, kept = recoding.place(rows, unseen)
    there = {name: coarsening for name, coarsening in recoding.carried.items() if name in rows.columns}
    return labels.with_columns(
        [_coarse(settled(rows[name].filter(pl.Series(kept))), coarsening) for name, coarsening in there.items()]
    )


def _coarse(values: pl.Series, coarsening: Coarsening | None) -> pl.Series:
    if coarsening is None:
        return values
    coarsening.check(values.name, values.dtype)
    return coarsening.of(values).cast(coarsening.type_of(values.dtype))


def _recoding_of(given: Any) -> Recoding:
    if isinstance(given, Recoding):
        return given
    if isinstance(given, str | Path):
        path = Path(given)
        candidates = [path / "private" / RECODING, path / RECODING] if path.is_dir() else [path]
        for candidate in candidates:
            if candidate.is_file():
                return _read(candidate)
        raise DataError(
            f"There is no recoding at {str(path)!r}: give the folder of a saved release, or its {RECODING}."
        )
    recoding = getattr(given if isinstance(given, Draft) else getattr(given, "private", None), "recoding", None)
    if isinstance(recoding, Recoding):
        return recoding
    raise PolicyError(
        f"A {type(given).__name__} has no recoding; give a release of groups, its folder, or its {RECODING}."
    )


def _read(path: Path) -> Recoding:
    payload = parsed(read_document(path), str(path))
    points = path.with_name(POINTS)
    if not points.is_file():
        raise DataError(f"{str(path)!r} is not a whole recoding: {POINTS} is missing beside it.")
    try:
        stored = pl.read_parquet(points)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{str(points)!r} cannot be read: {error}") from None
    return read_recoding(payload, stored, str(path))
