"""Recode new rows by the recoding of a release."""

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
    """Recode new rows by the recoding of a release: the same labels, and the same groups.

    A value is *unseen* if it is outside its column's declared domain or, if the domain was derived from the data, has a
    label that no row had. Rows in a group that was not published are always suppressed: no other record would hide
    them. So are rows that several groups of a local recoding cover, unless a row of the table has the same quasi
    values. The result is not a release: nothing was judged or recorded.

    Parameters:
        scheme: a :class:`Release`, the folder of a saved one, or its ``private/recoding.json``.
        frame: the new rows; a Spark frame gives a Spark frame, made by its executors.
        unseen: ``"error"`` refuses an unseen value by name, ``"suppress"`` suppresses its row.

    Returns:
        The labels in row order, with the columns that were published with them.

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
            "This release distributes people with equal quasi values over several groups in row order, and a Spark frame has no row order. "
            "Collect the rows first."
        )
    return opener(owner).applied(frame, partial(_applied, recoding, unseen))


def _applied(recoding: Recoding, unseen: Unseen, rows: pl.DataFrame) -> pl.DataFrame:
    """Recode new rows: labels of the rows that were not suppressed, and their carried columns, rounded as published."""
    labels, is_kept = recoding.place(rows, unseen)
    coarsenings = {name: coarsening for name, coarsening in recoding.carried.items() if name in rows.columns}
    return labels.with_columns(
        [
            _coarse(settled(rows[name].filter(pl.Series(is_kept))), coarsening)
            for name, coarsening in coarsenings.items()
        ]
    )


def _coarse(values: pl.Series, coarsening: Coarsening | None) -> pl.Series:
    """Return the values coarsened, if the column is published so."""
    if coarsening is None:
        return values
    coarsening.check(values.name, values.dtype)
    return coarsening.of(values).cast(coarsening.type_of(values.dtype))


def _recoding_of(source: Any) -> Recoding:
    """Return the recoding of a release, a draft, the folder of a saved release, or its file."""
    if isinstance(source, Recoding):
        return source
    if isinstance(source, str | Path):
        path = Path(source)
        candidates = [path / "private" / RECODING, path / RECODING] if path.is_dir() else [path]
        for candidate in candidates:
            if candidate.is_file():
                return _read(candidate)
        raise DataError(
            f"There is no recoding at {str(path)!r}: pass the folder of a saved release, or its {RECODING}."
        )
    recoding = getattr(source if isinstance(source, Draft) else getattr(source, "private", None), "recoding", None)
    if isinstance(recoding, Recoding):
        return recoding
    raise PolicyError(
        f"A {type(source).__name__} has no recoding; pass a group-based release, its folder, or its {RECODING}."
    )


def _read(path: Path) -> Recoding:
    """Read a recoding from its JSON file and the Parquet file of its points beside it."""
    payload = parsed(read_document(path), str(path))
    points = path.with_name(POINTS)
    if not points.is_file():
        raise DataError(f"{str(path)!r} is not a complete recoding: {POINTS} is missing in the same folder.")
    try:
        stored = pl.read_parquet(points)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{str(points)!r} cannot be read: {error}") from None
    return read_recoding(payload, stored, str(path))
