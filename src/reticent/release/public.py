"""The public side of a release, in memory or read from its folder. Nothing here opens ``private/``."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.base.documents import read_document
from reticent.base.expansion import files_fit
from reticent.conditions import Condition
from reticent.core import AdversaryView, Groups, part_names
from reticent.errors import DataError
from reticent.registry import TABLE_FILES
from reticent.release.canonical_json import parsed
from reticent.release.certificate import CERTIFICATE, MANIFEST, read_certificate
from reticent.release.format import Answer, Format, format_of
from reticent.release.manifest import ROLES, Manifest
from reticent.release.public_tables import published_schema, read_rows, refuse_beside
from reticent.release.spool import formulas_in, judging
from reticent.table import Meaning, Rows, StoredRows

PublicFile = bytes | Path
# Tables of these file types are read out of core if they do not fit in memory.
_STREAMED = (".csv", ".parquet")
_DOCUMENTS, _LARGEST_DOCUMENT = (".json", ".txt"), 1 << 27


@dataclass(frozen=True)
class PublicSide:
    """The published tables with manifest and certificate.

    Tables too large for memory stay in their files: ``frame`` and ``tables[name]`` load them, all other access goes
    through ``rows``.
    """

    manifest: Manifest
    certificate: Mapping[str, Any]
    rows: Mapping[str, Rows] = field(repr=False)

    @property
    def format(self) -> str:
        """Name of the release format."""
        return self.manifest.format

    @property
    def form(self) -> Format:
        """The format object."""
        return format_of(self.manifest.format)

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by name, each loaded on access."""
        return _Loading(self.rows)

    @property
    def reader(self) -> Any:
        """The object that analysts use for this kind of release, such as the estimators of a randomized view."""
        return self.form.reader(self)

    @property
    def frame(self) -> pl.DataFrame:
        """The main table."""
        return self.tables[self.form.tables[0]]

    def sample(self, count: int) -> pl.DataFrame:
        """Return ``count`` rows of the main table, evenly spaced over its first loaded part (rows are sorted, so neighbours are similar)."""
        main = self.rows[self.form.tables[0]]
        part = next(iter(main.chunks()), pl.DataFrame(schema=main.schema))
        row_numbers = np.linspace(0, max(part.height - 1, 0), min(count, part.height)).astype(np.uint32)
        return part.select(pl.all().gather(row_numbers))

    @property
    def height(self) -> int:
        """The number of rows of the main table."""
        return self.rows[self.form.tables[0]].height

    @property
    def meanings(self) -> Mapping[str, Mapping[str, Meaning]]:
        """The meaning of each label of every quasi column."""
        return self.manifest.meanings

    @cached_property
    def seen(self) -> AdversaryView:
        """The adversary's view of the public tables; :func:`reticent.release.adversary_view_of` adds the certificate's disclosures."""
        declared_names = self.manifest.named("declared")
        computable = tuple(
            column.name for column in self.manifest.columns if column.name in declared_names and column.computable
        )
        declared = {name: rows for rows in self.rows.values() for name in rows.schema if name in declared_names}
        view = self.form.seen(self.rows, self.manifest.columns, self.manifest.details)
        return replace(view, sets=self.manifest.quasi_sets or view.sets, declared=declared, computable=computable)

    @property
    def groups(self) -> Groups:
        """The groups in the public tables."""
        return self.seen.true_groups

    def count(self, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """Estimate how many rows meet a condition."""
        return self.form.count(self, condition, estimator)


class _Loading(Mapping[str, pl.DataFrame]):
    """Mapping from table names to frames, loaded on access."""

    def __init__(self, rows: Mapping[str, Rows]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self._rows[name].frame()

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def public_folder(path: str | Path) -> Path:
    """Return the public folder of a release: ``path/public``, or ``path`` itself if that is a public folder."""
    folder_path = Path(path)
    for folder in (folder_path / "public", folder_path):
        if folder.is_dir() and ((folder / CERTIFICATE).exists() or folder.name == "public"):
            return folder
    if not folder_path.exists():
        raise DataError(f"There is no release at {str(folder_path)!r}.")
    raise DataError(f"{str(folder_path)!r} is not a release: it has no folder public/ with a {CERTIFICATE}.")


def open_certificate(path: str | Path) -> tuple[Path, dict[str, Any]]:
    """Return the certificate of a saved release and its file. Nothing else is read or checked."""
    certificate_path = public_folder(path) / CERTIFICATE
    try:
        return certificate_path, read_certificate(read_document(certificate_path))
    except OSError as error:
        raise DataError(f"{str(certificate_path)!r} cannot be read: {error.strerror}.") from None


def read_files(folder: Path) -> dict[str, PublicFile]:
    """Return every file of a public folder; tables too large for memory are returned as paths.

    Links and folders are refused, since they may lead to the private side.
    """
    files: dict[str, PublicFile] = {}
    paths = [folder / name for name in sorted(os.listdir(folder))]
    for path in paths:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise DataError(f"public/{path.name} is not an ordinary file.")
    is_large = not files_fit([path for path in paths if path.suffix in _STREAMED])
    for path in paths:
        try:
            files[path.name] = path if is_large and path.suffix in _STREAMED else _read(path)
        except OSError as error:
            raise DataError(f"public/{path.name} cannot be read: {error.strerror}.") from None
    return files


def _read(path: Path) -> bytes:
    if path.suffix in _DOCUMENTS and path.stat().st_size > _LARGEST_DOCUMENT:
        raise DataError(f"public/{path.name} has more than {_LARGEST_DOCUMENT:,} bytes, the limit for this file.")
    return path.read_bytes()


def read_public(files: Mapping[str, PublicFile]) -> PublicSide:
    """Parse the public side from its files; a mismatch raises a :class:`DataError` with its path."""
    certificate = read_certificate(small_file(files, CERTIFICATE))
    manifest = Manifest.from_json(parsed(small_file(files, MANIFEST), MANIFEST))
    form = format_of(manifest.format)
    if set(manifest.tables) != set(form.tables):
        raise DataError(
            f"manifest.json: a release of format {manifest.format!r} has the tables {', '.join(form.tables)}, not {', '.join(manifest.tables)}."
        )
    for column in manifest.columns:
        if column.role not in (*ROLES, *form.roles):
            known = ", ".join((*ROLES, *form.roles))
            raise DataError(
                f"manifest.json: the role of column {column.name!r} must be one of {known}, but it is {column.role!r}."
            )
    for name, table in manifest.tables.items():
        kinds = TABLE_FILES if len(table.files) == 1 else [suffix.removeprefix(".") for suffix in _STREAMED]
        if table.files not in [part_names(name, kind, len(table.files)) for kind in kinds]:
            raise DataError(f"manifest.json: table {name!r} has invalid file names: {', '.join(table.files[:9])}.")
    contents = {name: [_needed(files, file) for file in table.files] for name, table in manifest.tables.items()}
    side = PublicSide(
        manifest,
        certificate,
        {name: _rows(parts, name, manifest, form.streams) for name, parts in contents.items()},
    )
    form.check(side)
    return side


def _rows(parts: Sequence[PublicFile], name: str, manifest: Manifest, streams: bool) -> Rows:
    """Return a table loaded into memory, or as rows on disk."""
    judged = (*manifest.named("quasi"), *manifest.named("sensitive"))
    paths = tuple(part for part in parts if isinstance(part, Path))
    if not streams or not paths:
        rows = read_rows([_bytes(part) for part in parts], name, manifest)
        if manifest.tables[name].formulas != formulas_in(rows):
            raise DataError(
                f"manifest.json: table {name!r} does not list the columns with text that a spreadsheet would run as a formula: {', '.join(formulas_in(rows)) or 'none'}."
            )
        return judging(rows, judged)
    stored = StoredRows(published_schema(name, manifest), paths=paths, judged=judged)
    stored.check()
    for path in paths:
        refuse_beside(path, path.name, stored)
    return stored


def small_file(files: Mapping[str, PublicFile], name: str) -> bytes:
    """Return the content of a file that is not a table."""
    return _bytes(_needed(files, name))


def _bytes(content: PublicFile) -> bytes:
    return content.read_bytes() if isinstance(content, Path) else content


def open_public(path: str | Path, *, context: Context | None = None) -> PublicSide:
    """Open the public side of a saved release without checking its claims; use ``verify`` for that."""
    context = context or Context()
    context.step("reading the files")
    files = read_files(public_folder(path))
    context.step("reading tables and labels")
    return read_public(files)


def _needed(files: Mapping[str, PublicFile], name: str) -> PublicFile:
    if name not in files:
        raise DataError(f"public/{name} is missing.")
    return files[name]
