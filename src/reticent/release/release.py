"""A release: a certified draft. The public side is for everyone, the private side for the steward; they are stored separately."""

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
from reticent.base.pandas_frames import as_pandas
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
    """The steward's part: evidence as judged, suppressed records, cost (measures by name, loss by quasi column), search
    figures, private ``tables`` (pseudonyms), and the ``recoding`` for later rows.
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

    ``public`` holds everything that may be published, ``private`` is for the steward. The public files are spooled until they are saved.

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
        """Summarise for display: what was published, the method, the guarantee, the cost, and some rows."""
        groups = self.groups if self.private.evidence.groups else None
        facts: dict[str, object] = {"rows": self.public.height, "suppressed": self.private.suppressed}
        if groups is not None:
            facts |= {"groups": len(groups), "smallest": int(groups.people.min())}
        if "loss" in self.utility:
            facts["loss"] = self.utility["loss"]
        facts["guarantees"] = ", ".join(str(claim["definition"]) for claim in self.certificate["claims"])
        # As text, so that a year is not formatted as a number.
        rows = self.public.sample(5).cast(pl.String).fill_null("")
        return Card(
            f"Release by {self.manifest.method.get('name')}", facts, tables=[CardTable(rows.columns, rows.rows())]
        )

    @property
    def frame(self) -> pl.DataFrame:
        """The main public table. One too large for memory is on disk, and is loaded here."""
        return self.public.frame

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The public tables by name."""
        return self.public.tables

    def to_pandas(self) -> Any:
        """The main public table as a pandas frame; needs pandas."""
        return as_pandas(self.frame)

    def to_arrow(self) -> Any:
        """The main public table as a pyarrow table; needs pyarrow."""
        try:
            return self.frame.to_arrow()
        except ModuleNotFoundError as error:
            raise MissingPackage(
                f"to_arrow needs the package {error.name}. Install it with: pip install 'reticent[arrow]'"
            ) from None

    @property
    def format(self) -> str:
        """Name of the release format."""
        return self.public.format

    @property
    def manifest(self) -> Manifest:
        """Schema of the public tables."""
        return self.public.manifest

    @property
    def headline(self) -> Headline:
        """The verdict on the claims in one word, and what they do not cover."""
        return Headline.from_json(self.certificate["headline"])

    @property
    def meanings(self) -> Mapping[str, Mapping[str, Meaning]]:
        """The meaning of each label of every quasi column."""
        return self.public.meanings

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The claims, the adversary they hold against, and the hashes of the files."""
        return self.public.certificate

    @property
    def groups(self) -> Groups:
        """The groups as judged, private to the steward: their reference is the whole table."""
        return self.private.evidence.published

    @property
    def utility(self) -> Mapping[str, float]:
        """Cost of the release, private to the steward: it compares with the raw table."""
        return self.private.utility

    @property
    def reader(self) -> Any:
        """The object that analysts use for this kind of release."""
        return self.public.reader

    def count(self, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """Estimate how many rows meet a condition, from the public side."""
        return self.public.count(condition, estimator)

    def report(self, path: str | Path, *, table: Table | None = None, public: bool = False) -> Path:
        """Write the report, one HTML file: the steward's (more detailed if ``table`` is given), or the public one."""
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
        """Write ``path/public`` and ``path/private`` atomically; with ``to``, also write the public tables to a database.

        ``to`` is an SQLAlchemy URL or ``env:NAME``, and ``table`` the name of a new table there, optionally
        ``schema.table`` (a release of several tables appends their names). ``identity`` names a column there that
        numbers the rows. The database write is one transaction. An existing folder is refused unless it is a release
        and ``overwrite`` is set. Files below ``private`` are readable by their owner only. The release is recorded as
        released in the ledger, which is opened unless an open one is given; a withdrawn release is not written.
        """
        target = Path(path)
        if to is None and self._is_written(target):
            with given_out(self.entry, ledger):
                return target
        _check_target(target, overwrite)
        named_tables = self._named(to, table)
        with given_out(self.entry, ledger):
            if to is None:
                self._write(target, overwrite)
            else:
                self._deliver(target, overwrite, to, named_tables, identity)
        return target

    def _is_written(self, target: Path) -> bool:
        """True if a killed process had already written this release there, before the ledger was updated."""
        if self.entry is None or self.entry.new or not _is_release(target):
            return False
        return certificate_hash(open_public(target).certificate) == certificate_hash(self.certificate)

    def _named(self, to: str | None, table: str | None) -> dict[str, Rows]:
        """Return the public tables under their names in a database."""
        if (to is None) != (table is None):
            raise PolicyError(
                "To write to a database, pass both its address (to=, --to) and the table name (table=, --to-table).",
                setting=("to",),
            )
        rows = self.public.rows
        return {
            str(table) if len(rows) == 1 else f"{table}_{name}": rows_of_table for name, rows_of_table in rows.items()
        }

    def _deliver(
        self, target: Path, overwrite: bool, to: str, tables: Mapping[str, Rows], identity: str | None
    ) -> None:
        """Write the folder while a database transaction holds the tables: both are written, or neither."""
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
        """Write both sides of the release to a folder aside, which then replaces the target in one step."""
        try:
            with folder_aside(target, replace=overwrite, removable=_is_release) as staging:
                public, private = staging / _PUBLIC, staging / _PRIVATE
                public.mkdir()
                # The public side is readable by everyone, regardless of the umask.
                public.chmod(0o755)
                private.mkdir(mode=0o700)
                for name, content in self._public_files():
                    write_new(public / name, content)
                for name, content in self._private_files():
                    write_new(private / name, content, mode=0o600)
        except OSError as error:
            raise DataError(
                f"The release could not be saved at {str(target)!r}: {error.strerror or error}. No partial files were left."
            ) from error

    def _public_files(self) -> Iterator[tuple[str, Content]]:
        """Yield the name and content of every public file; the certificate last."""
        manifest = self.public.manifest
        yield STATEMENT, statement(self.certificate, self.public.manifest, self.public.form.words(self.public)).encode()
        yield MANIFEST, readable(manifest.as_json())
        for table in manifest.tables.values():
            for file in table.files:
                yield file, self._spool.files[file]
        yield CERTIFICATE, readable(self.certificate)

    def _private_files(self) -> Iterator[tuple[str, Content]]:
        """Yield the name and content of every private file: the recoding, measurements, and private tables."""
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
    """Refuse to save over anything but a missing or empty folder or, with ``overwrite``, an earlier release."""
    if target.is_symlink():
        raise DataError(f"{str(target)!r} is a symbolic link. Pass the folder itself, or another one.")
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not overwrite:
        raise DataError(
            f"{str(target)!r} exists already. Choose another folder, or pass overwrite=True to replace an older release."
        )
    if not _is_release(target):
        raise DataError(f"{str(target)!r} is not a release folder and will not be overwritten.")


def _is_release(folder: Path) -> bool:
    """True if a folder holds the two sides of a release and nothing else."""
    inside = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    linked = any((folder / name).is_symlink() for name in inside)
    return {_PUBLIC} <= inside <= {_PUBLIC, _PRIVATE} and not linked and (folder / _PUBLIC / CERTIFICATE).is_file()
