"""A release: a draft that went out. Its public side is for everybody, its private side for the steward, and they are kept apart."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import reticent
from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.files import folder_aside, write_new
from reticent.conditions import Condition
from reticent.core import Evidence, Groups, Recoding
from reticent.errors import DataError, MissingPackage, PolicyError
from reticent.io import database_tables
from reticent.ledger import Entry, Ledger, given_out
from reticent.release.canonical_json import private_json, readable
from reticent.release.certificate import CERTIFICATE, MANIFEST, STATEMENT, certificate_hash
from reticent.release.format import Answer
from reticent.release.headline import Headline
from reticent.release.later_rows import POINTS, RECODING
from reticent.release.manifest import Manifest
from reticent.release.public import PublicSide, open_public
from reticent.release.spool import Spool
from reticent.release.statements import statement
from reticent.table import Meaning, Rows, Table, as_parquet, parquet_blocks, to_plain

Content = bytes | Iterable[bytes] | Path
_PUBLIC, _PRIVATE = "public", "private"


@dataclass(frozen=True)
class PrivateSide:
    """What only the steward may see: the evidence as it was judged, what was left out, what the release costs (measures by name, and the loss of each
    quasi column), the figures of the search, private ``tables`` (pseudonyms), and the ``recoding`` that later rows are treated by.
    """

    evidence: Evidence
    suppressed: int = 0
    utility: Mapping[str, float] = field(default_factory=dict)
    loss_by_column: Mapping[str, float] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    recoding: Recoding | None = None


@dataclass(frozen=True, repr=False)
class Release(ShownAsCard):
    """What :func:`publish` returns: reserved in the ledger (``entry``), certified, ready to be saved.

    ``public`` is everything that others may see, ``private`` the steward's. The public files are spooled until they are saved.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> release = rt.publish(table, rt.KAnonymity(2), method="Mondrian")
        >>> folder = release.save("release")
        >>> rt.verify(folder).holds
        True
    """

    public: PublicSide
    private: PrivateSide = field(repr=False)
    entry: Entry | None = None
    _spool: Spool = field(repr=False, kw_only=True)

    def card(self) -> Card:
        """What was published, by which method, under which promise, and what it costs; with some of its rows."""
        groups = self.groups if self.private.evidence.groups else None
        facts: dict[str, object] = {"rows": self.public.height, "left out": self.private.suppressed}
        if groups is not None:
            facts |= {"groups": len(groups), "smallest": int(groups.people.min())}
        if "loss" in self.utility:
            facts["loss"] = self.utility["loss"]
        facts["promises"] = ", ".join(str(claim["definition"]) for claim in self.certificate["claims"])
        # As text: a year is no number of things.
        rows = self.public.sample(5).cast(pl.String).fill_null("")
        return Card(
            f"Release by {self.manifest.method.get('name')}", facts, tables=[CardTable(rows.columns, rows.rows())]
        )

    @property
    def frame(self) -> pl.DataFrame:
        """The main public table. One that is too large for memory lies on disk, and is loaded here."""
        return self.public.frame

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The public tables by name."""
        return self.public.tables

    def to_pandas(self) -> Any:
        """The main public table as a pandas frame; needs pandas."""
        try:
            return self.frame.to_pandas()
        except ModuleNotFoundError as error:
            raise MissingPackage(
                f"to_pandas needs the package {error.name}. Install it with: pip install pandas"
            ) from None

    def to_arrow(self) -> Any:
        """The main public table as a pyarrow table."""
        return self.frame.to_arrow()

    @property
    def format(self) -> str:
        """How it was published, by the name of its format."""
        return self.public.format

    @property
    def manifest(self) -> Manifest:
        """What the public tables hold."""
        return self.public.manifest

    @property
    def headline(self) -> Headline:
        """The verdict on the claims in one word, and what they do not cover."""
        return Headline.from_json(self.certificate["headline"])

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
        """How many rows meet a condition, as well as the public side can tell."""
        return self.public.count(condition, estimator)

    def report(self, path: str | Path, *, table: Table | None = None, public: bool = False) -> Path:
        """Write the report, one HTML file: the steward's (fuller with the ``table``), or the one that everybody may see."""
        written: Path = reticent.reports.write_report(self, path, table=table, public=public)
        return written

    def save(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        to: str | None = None,
        table: str | None = None,
        identity: str | None = None,
        ledger: Ledger | None = None,
    ) -> Path:
        """Write ``path/public`` and ``path/private``, both whole or not at all; with ``to`` also the public tables to a database.

        ``to`` is an address as SQLAlchemy takes it, or ``env:NAME``, and ``table`` the name of a new table there, also ``schema.table`` (a release of several tables adds
        their names to it); ``identity`` names a column there that numbers the rows; all of it is one transaction. An existing folder is refused, unless it is a release and is to be overwritten. Files below ``private`` are readable
        by their owner only. The ledger, which is opened unless an open one is given, hears that the release was given out; one that was withdrawn is not written.
        """
        target = Path(path)
        if to is None and self._is_written(target):
            with given_out(self.entry, ledger):
                return target
        _check_target(target, overwrite)
        named = self._named(to, table)
        with given_out(self.entry, ledger):
            if to is None:
                self._write(target, overwrite)
            else:
                self._deliver(target, overwrite, to, named, identity)
        return target

    def _is_written(self, target: Path) -> bool:
        """Whether a process that was killed wrote this very release there, before the ledger heard of it."""
        if self.entry is None or self.entry.new or not _is_release(target):
            return False
        return certificate_hash(open_public(target).certificate) == certificate_hash(self.certificate)

    def _named(self, to: str | None, table: str | None) -> dict[str, Rows]:
        """The public tables under the names that they get in a database."""
        if (to is None) != (table is None):
            raise PolicyError(
                "A database is named by its address (to=, --to) together with the table there (table=, --to-table).",
                setting=("to",),
            )
        rows = self.public.rows
        return {str(table) if len(rows) == 1 else f"{table}_{name}": each for name, each in rows.items()}

    def _deliver(
        self, target: Path, overwrite: bool, to: str, tables: Mapping[str, Rows], identity: str | None
    ) -> None:
        """Write the folder while the database holds the tables ready: both are there in the end, or neither."""
        saved = False
        try:
            with database_tables(to, tables, identity):
                self._write(target, overwrite)
                saved = True
        except BaseException:
            if saved and not overwrite:
                shutil.rmtree(target)
            raise

    def _write(self, target: Path, overwrite: bool) -> None:
        try:
            with folder_aside(target, replace=overwrite, removable=_is_release) as aside:
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
        yield STATEMENT, statement(self.certificate, self.public.manifest, self.public.form.words(self.public)).encode()
        yield MANIFEST, readable(manifest.as_json())
        for table in manifest.tables.values():
            for file in table.files:
                yield file, self._spool.files[file]
        yield CERTIFICATE, readable(self.certificate)

    def _private_files(self) -> Iterator[tuple[str, Content]]:
        private = self.private
        if private.recoding is not None:
            yield RECODING, private_json(private.recoding.as_json())
            yield POINTS, as_parquet(private.recoding.stored())
        yield "utility.json", private_json(to_plain(private.utility))
        yield "search.json", private_json(to_plain({"suppressed_rows": private.suppressed, **private.search}))
        for name, rows in private.tables.items():
            yield (
                f"{name}.parquet",
                as_parquet(rows.frame()) if rows.engine == "local" else parquet_blocks(rows.schema, rows.chunks()),
            )


def _check_target(target: Path, overwrite: bool) -> None:
    if target.is_symlink():
        raise DataError(f"{str(target)!r} is a symbolic link. Name the folder itself, or another one.")
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not overwrite:
        raise DataError(
            f"{str(target)!r} exists already. Choose another folder, or pass overwrite=True to replace an older release."
        )
    if not _is_release(target):
        raise DataError(f"{str(target)!r} is not the folder of a release and will not be overwritten.")


def _is_release(folder: Path) -> bool:
    """Whether a folder holds the two sides of a release and nothing else."""
    inside = {each.name for each in folder.iterdir()} if folder.is_dir() else set()
    linked = any((folder / name).is_symlink() for name in inside)
    return {_PUBLIC} <= inside <= {_PUBLIC, _PRIVATE} and not linked and (folder / _PUBLIC / CERTIFICATE).is_file()
