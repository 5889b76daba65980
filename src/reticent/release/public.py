"""The public side of a release: what everybody gets, in memory or read from its folder. Nothing here opens ``private/``."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from reticent.data import NULL_LABEL, SUPPRESSED, Groups
from reticent.data.levels import interval_label
from reticent.data.memory import file_fits
from reticent.errors import DataError
from reticent.release.certificate import CERTIFICATE, MANIFEST
from reticent.release.formats import format_of, groups_from
from reticent.release.manifest import Manifest, ManifestColumn, Meaning
from reticent.release.stored import StoredTable, StoredTables, counted
from reticent.release.tables import labels_of, published_schema, read_table
from reticent.release.values import TYPES, parsed

if TYPE_CHECKING:
    from reticent.release.counting import Count

PublicFile = bytes | Path
_TABLES = (".csv", ".parquet")


@dataclass(frozen=True)
class PublicSide:
    """The published tables with their manifest and certificate.

    Tables too large for memory stay in their files: ``frame`` and ``tables[name]`` load them, everything else looks at distinct rows.
    """

    manifest: Manifest
    certificate: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame] = field(repr=False)

    @property
    def format(self) -> str:
        """How it was published: ``generalize`` or ``bucketize``."""
        return self.manifest.format

    @property
    def frame(self) -> pl.DataFrame:
        """The main table."""
        return self.tables[format_of(self.format).tables[0]]

    @property
    def meanings(self) -> Mapping[str, Mapping[str, Meaning]]:
        """For every quasi column the meaning of each of its labels."""
        return self.manifest.meanings

    @cached_property
    def groups(self) -> Groups:
        """The groups as the public tables show them."""
        return groups_from(self.tables, self.manifest)

    def count(self, condition: str, estimator: str = "uniform") -> Count:
        """How many rows meet a condition, as well as the release can tell (R-UM-4)."""
        from reticent.release.counting import count_public

        return count_public(self, condition, estimator)


def public_folder(path: str | Path) -> Path:
    """The public folder of a release: ``path/public``, or ``path`` itself when only that was handed over."""
    place = Path(path)
    for folder in (place / "public", place):
        if folder.is_dir() and ((folder / CERTIFICATE).exists() or folder.name == "public"):
            return folder
    if not place.exists():
        raise DataError(f"There is no release at {str(place)!r}.")
    raise DataError(f"{str(place)!r} is no release: it has no folder public/ with a {CERTIFICATE}.")


def read_files(folder: Path) -> dict[str, PublicFile]:
    """Every file of a public folder, a table that does not fit into memory by its path.

    Links and folders are refused, since they may lead to the private side.
    """
    files: dict[str, PublicFile] = {}
    for name in sorted(os.listdir(folder)):
        path = folder / name
        if not stat.S_ISREG(path.lstat().st_mode):
            raise DataError(f"public/{name} is not an ordinary file.")
        try:
            files[name] = path.read_bytes() if path.suffix not in _TABLES or file_fits(path) else path
        except OSError as error:
            raise DataError(f"public/{name} cannot be read: {error.strerror}.") from None
    return files


def read_public(files: Mapping[str, PublicFile]) -> PublicSide:
    """The public side that files hold; whatever does not fit is a :class:`DataError` that says where."""
    certificate = parsed(small_file(files, CERTIFICATE), CERTIFICATE)
    manifest = Manifest.from_json(parsed(small_file(files, MANIFEST), MANIFEST))
    form = format_of(manifest.format)
    if set(manifest.tables) != set(form.tables):
        raise DataError(
            f"manifest.json: a release of format {manifest.format!r} has the tables {', '.join(form.tables)}, not {', '.join(manifest.tables)}."
        )
    for name, table in manifest.tables.items():
        if table.file not in (f"{name}.csv", f"{name}.parquet"):
            raise DataError(f"manifest.json: table {name!r} cannot be in a file called {table.file!r}.")
    contents = {name: _needed(files, table.file) for name, table in manifest.tables.items()}
    tables: Mapping[str, pl.DataFrame]
    if form.streams and all(isinstance(content, Path) for content in contents.values()):
        tables = _stored(contents, manifest)
    else:
        tables = {name: read_table(_bytes(content), name, manifest) for name, content in contents.items()}
    form.check(tables, manifest)
    check_labels(tables, manifest)
    return PublicSide(manifest, certificate, tables)


def _stored(contents: Mapping[str, PublicFile], manifest: Manifest) -> StoredTables:
    """The tables as they lie on disk."""
    judged = (*manifest.named("quasi"), *manifest.named("sensitive"))
    tables = {
        name: StoredTable(path, published_schema(name, manifest), judged)
        for name, path in contents.items()
        if isinstance(path, Path)
    }
    for table in tables.values():
        table.check()
    return StoredTables(tables)


def small_file(files: Mapping[str, PublicFile], name: str) -> bytes:
    """A file that is no table."""
    return _bytes(_needed(files, name))


def _bytes(content: PublicFile) -> bytes:
    return content.read_bytes() if isinstance(content, Path) else content


def open_public(path: str | Path) -> PublicSide:
    """The public side of a saved release, as everybody can read it. Use ``verify`` to learn whether it keeps its promises."""
    from reticent.randomize.storing import is_view

    if is_view(path):
        raise DataError(
            f"{str(path)!r} is a randomized release, which has no groups of people who look alike. `reticent verify` checks its plan, "
            "`reticent attack` attacks it, and `reticent randomize` counts in it."
        )
    return read_public(read_files(public_folder(path)))


def check_labels(tables: Mapping[str, pl.DataFrame], manifest: Manifest) -> None:
    """The labels that occur are exactly those that the manifest explains, and no two mean the same."""
    rows, _ = counted(tables, format_of(manifest.format).tables[0], manifest.named("quasi"))
    for column in manifest.columns:
        if column.role != "quasi":
            continue
        occurring = set(labels_of(rows[column.name], column.labels))
        for label in sorted(occurring - set(column.labels)):
            raise DataError(f"Column {column.name!r} shows the label {label!r}, which the manifest does not explain.")
        for label in sorted(set(column.labels) - occurring):
            raise DataError(
                f"The manifest explains the label {label!r} of column {column.name!r}, which does not occur."
            )
        _check_texts(column)
        texts = [repr(sorted(meaning.items())) for meaning in column.labels.values()]
        if len(set(texts)) != len(texts):
            raise DataError(f"The manifest gives two labels of column {column.name!r} the same meaning.")


def _check_texts(column: ManifestColumn) -> None:
    """A label that is a value, a masked code, a stretch of whole numbers or the missing value is written in one way only.

    It is marked where another label is written so.
    """
    values = {label: meaning["value"] for label, meaning in column.labels.items() if "value" in meaning}
    texts = pl.Series(list(values.values()), dtype=TYPES[column.kind], strict=False).cast(pl.String).to_list()
    expected = dict(zip(values, texts, strict=True))
    for label, meaning in column.labels.items():
        if "prefix" in meaning:
            expected[label] = meaning["prefix"] + SUPPRESSED * (meaning["length"] - len(meaning["prefix"]))
        elif "interval" in meaning and column.kind in ("integer", "unsigned"):
            low, high = meaning["interval"]
            expected[label] = interval_label(low, high, meaning["closed"])
        elif "null" in meaning:
            # A value that is not published may be spelled so too, and then the label is marked all the same.
            expected[label] = NULL_LABEL + label.removeprefix(label.rstrip("'"))
    for label, text in expected.items():
        if label != text and not (text in column.labels and label.rstrip("'") == text.rstrip("'")):
            raise DataError(
                f"The label {label!r} of column {column.name!r} does not fit the meaning that the manifest gives it."
            )


def _needed(files: Mapping[str, PublicFile], name: str) -> PublicFile:
    if name not in files:
        raise DataError(f"public/{name} is missing.")
    return files[name]
