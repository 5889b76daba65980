"""A release: a draft that went out. Its public side is for everybody, its private side for the steward, and they are kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import reticent
from reticent.data import Evidence, Groups, Meaning, Recoding, Rows, Table, as_parquet, parquet_blocks, to_plain
from reticent.data.predicate import Condition
from reticent.errors import DataError
from reticent.files import folder_aside, write_new
from reticent.ledger import Entry, given_out
from reticent.release.applying import POINTS, RECODING
from reticent.release.certificate import CERTIFICATE, MANIFEST, STATEMENT
from reticent.release.format import Answer
from reticent.release.manifest import Manifest
from reticent.release.public import PublicSide
from reticent.release.spool import Spool
from reticent.release.values import readable
from reticent.release.wording import statement

Content = bytes | Iterable[bytes]
_PUBLIC, _PRIVATE = "public", "private"


@dataclass(frozen=True)
class PrivateSide:
    """What only the steward may see: the evidence as it was judged, what was left out, what the release costs, the figures of the search, private
    ``tables`` (pseudonyms), and the ``recoding`` that later rows are treated by.
    """

    evidence: Evidence
    suppressed: int = 0
    utility: Mapping[str, float] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    recoding: Recoding | None = None


@dataclass(frozen=True)
class Release:
    """What :func:`publish` returns: reserved in the ledger (``entry``), certified, ready to be saved.

    ``public`` is everything that others may see, ``private`` the steward's. The public files are spooled until they are saved.
    """

    public: PublicSide
    private: PrivateSide = field(repr=False)
    entry: Entry | None = None
    _spool: Spool = field(repr=False, kw_only=True)

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
        return self.private.evidence.published

    @property
    def utility(self) -> Mapping[str, float]:
        """What the release costs; it compares with the raw table, so it is the steward's."""
        return self.private.utility

    @property
    def reader(self) -> Any:
        """What analysts of this kind of release work with."""
        return self.public.reader

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
                public.mkdir()
                # Whatever the umask: the public side is for everybody.
                public.chmod(0o755)
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
        for table in manifest.tables.values():
            for file in table.files:
                yield file, self._spool.content(file)
        yield CERTIFICATE, readable(self.certificate)

    def _private_files(self) -> Iterator[tuple[str, Content]]:
        private = self.private
        if private.recoding is not None:
            yield RECODING, readable(private.recoding.as_json())
            yield POINTS, as_parquet(private.recoding.stored())
        yield "utility.json", readable(to_plain(private.utility))
        yield "search.json", readable(to_plain({"suppressed_rows": private.suppressed, **private.search}))
        for name, rows in private.tables.items():
            yield (
                f"{name}.parquet",
                as_parquet(rows.frame()) if rows.engine == "local" else parquet_blocks(rows.schema, rows.chunks()),
            )


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
