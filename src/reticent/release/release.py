"""A release: a draft that went out. Its public side is for everybody, its private side for the steward, and they are kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import reticent
from reticent.data import Draft, Groups, Meaning, StreamRows, Table, as_parquet, parquet_blocks, to_plain
from reticent.data.predicate import Condition
from reticent.errors import DataError
from reticent.files import folder_aside, write_new
from reticent.ledger import Entry, given_out
from reticent.release.applying import POINTS, RECODING
from reticent.release.certificate import CERTIFICATE, MANIFEST, STATEMENT
from reticent.release.format import Answer
from reticent.release.manifest import Manifest
from reticent.release.public import PublicSide
from reticent.release.stored import stored_bytes
from reticent.release.tables import file_bytes
from reticent.release.values import readable
from reticent.release.wording import statement

Content = bytes | Iterable[bytes]
_PUBLIC, _PRIVATE = "public", "private"


@dataclass(frozen=True)
class Release:
    """What :func:`publish` returns: recorded in the ledger, certified, ready to be saved.

    ``public`` is everything that others may see. The rest is the steward's: the ``draft`` with the search's figures, the utility,
    the recoding that later rows are treated by, and the ledger's ``entry``.
    """

    public: PublicSide
    draft: Draft = field(repr=False)
    entry: Entry | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """The main public table. One that is too large for memory lies on disk, and is loaded here."""
        return self.public.frame

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The public tables by name."""
        return self.public.tables

    @property
    def format(self) -> str:
        """How it was published, by the name of its format."""
        return self.public.format

    @property
    def manifest(self) -> Manifest:
        """What the public tables hold."""
        return self.public.manifest

    @property
    def meanings(self) -> Mapping[str, Mapping[str, Meaning]]:
        """For every quasi column the meaning of each of its labels."""
        return self.public.meanings

    @property
    def certificate(self) -> Mapping[str, Any]:
        """What is claimed, against whom, and the fingerprints of the files."""
        return self.public.certificate

    @property
    def groups(self) -> Groups:
        """The groups that were judged. Their reference is the whole table, so this is the steward's."""
        return self.draft.evidence.published

    @property
    def utility(self) -> Mapping[str, float]:
        """What the release costs; it compares with the raw table, so it is the steward's."""
        return self.draft.utility

    def count(self, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """How many rows meet a condition, as well as the public side can tell (R-UM-4)."""
        return self.public.count(condition, estimator)

    def report(self, path: str | Path, *, table: Table | None = None, public: bool = False) -> Path:
        """Write the report, one HTML file: the steward's (fuller with the ``table``), or the one that everybody may see."""
        written: Path = reticent.report.write_report(self, path, table=table, public=public)
        return written

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write ``path/public`` and ``path/private``, both whole or not at all.

        An existing folder is refused, unless it is a release and is to be overwritten. Files below ``private`` are readable
        by their owner only. The ledger hears that the release was given out; one that was withdrawn is not written.
        """
        target = Path(path)
        _check_target(target, overwrite)
        with given_out(self.entry):
            self._write(target, overwrite)
        return target

    def _write(self, target: Path, overwrite: bool) -> None:
        try:
            with folder_aside(target, replace=overwrite) as aside:
                public, private = aside / _PUBLIC, aside / _PRIVATE
                public.mkdir(mode=0o755)
                private.mkdir(mode=0o700)
                for name, content in self._public_files():
                    write_new(public / name, content)
                for name, content in self._private_files():
                    write_new(private / name, content, mode=0o600)
        except OSError as error:
            raise DataError(
                f"The release could not be saved at {str(target)!r}: {error.strerror or error}. Nothing was left behind half written."
            ) from error

    def _public_files(self) -> Iterator[tuple[str, Content]]:
        manifest = self.public.manifest
        yield STATEMENT, statement(self.certificate, self.public.form.words(self.public)).encode()
        yield MANIFEST, readable(manifest.as_json())
        for name, table in manifest.tables.items():
            yield (
                table.files[0],
                stored_bytes(self.tables, name)
                or file_bytes(self.tables[name], Path(table.files[0]).suffix.lstrip(".")),
            )
        yield CERTIFICATE, readable(self.certificate)

    def _private_files(self) -> list[tuple[str, Content]]:
        draft = self.draft
        figures = {"suppressed_rows": draft.suppressed, **draft.search}
        return [
            *self._recoding_files(),
            ("utility.json", readable(to_plain(draft.utility))),
            ("search.json", readable(to_plain(figures))),
            *((f"{name}.parquet", _as_parquet(rows)) for name, rows in draft.private.items()),
        ]

    def _recoding_files(self) -> list[tuple[str, Content]]:
        recoding = self.draft.recoding
        if recoding is None:
            return []
        return [(RECODING, readable(recoding.as_json())), (POINTS, as_parquet(recoding.stored()))]


def _as_parquet(rows: pl.DataFrame | StreamRows) -> Content:
    return parquet_blocks(rows.schema, rows.chunks()) if isinstance(rows, StreamRows) else as_parquet(rows)


def _check_target(target: Path, overwrite: bool) -> None:
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not overwrite:
        raise DataError(
            f"{str(target)!r} exists already. Choose another folder, or say overwrite=True if it is an older release."
        )
    inside = {each.name for each in target.iterdir()} if target.is_dir() else set()
    if not {_PUBLIC} <= inside <= {_PUBLIC, _PRIVATE} or not (target / _PUBLIC / CERTIFICATE).is_file():
        raise DataError(f"{str(target)!r} is not the folder of a release and will not be overwritten.")
