"""The ledger's file: SQLite in WAL mode with full sync, every write one immediate transaction, every row a link of a keyed
hash chain.

A write that returned is on disk: a later ``kill -9``, crash or power cut loses nothing and leaves no partial entry.
Processes take turns; a timeout raises an error. A row that is read is compared with its last link, and the links with
each other and with the newest position, so a damaged, forged or older file raises :class:`LedgerError` instead of being
a shorter record.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
import time
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from reticent.base.files import make_folder
from reticent.errors import LedgerError, PolicyError
from reticent.ledger import rollback_guard as newest
from reticent.ledger.layouts import (
    SEALED,
    VERSION,
    Schema,
    columns_of,
    expected_schema,
    is_chained,
    rows_to_seal,
    schema_of,
    types_of,
    upgrade,
)
from reticent.ledger.location import LedgerLocation, check_trusted
from reticent.ledger.rollback_guard import Position, RollbackGuard
from reticent.ledger.secret import Secret

_APPLICATION = 0x52455449
_CODES = {name: code for code, name in enumerate(SEALED)}
_LINK = struct.Struct(">QQQQ")
_REMEMBERED = ("datasets", "entries")
_LAST_REMEMBERED = ("audit_decisions",)
_TROUBLES = (sqlite3.Error, UnicodeDecodeError, OSError)
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
Row = dict[str, Any]
Names = dict[str, list[tuple[str, int]]]
"""Data set names and their numbers, by normalized name. An early version distinguished more names."""


class Chain:
    """The links checked so far: the last digest of every row, its data set, and the last link of every table. Mutable: the
    file grows.

    For tables that every decision reads, rows that were ``checked`` are cached (of audited decisions the last one),
    until a later link changes them.
    """

    def __init__(self, secret: Secret) -> None:
        """Start an empty chain whose links are authenticated with this key."""
        # HMAC with both key blocks hashed beforehand takes less than half of the time.
        self._inner, self._outer = (hashlib.sha256(pad) for pad in secret.pads)
        self.position = Position()
        self.digests: dict[tuple[int, int], bytes] = {}
        self.owned: dict[tuple[int, int], list[int]] = {}
        self.checked: dict[tuple[int, int], tuple[bytes, Row]] = {}
        self._newest_of: dict[int, int] = {}
        self.last = [newest.START] * len(SEALED)
        self._undo: list[tuple[tuple[int, int], bytes | None, int, bytes, Position]] = []

    @classmethod
    def of(cls, secret: Secret) -> Chain:
        """The empty chain of a ledger with this key."""
        return cls(secret.derived("the chain of entries"))

    def follow(self, connection: sqlite3.Connection) -> Iterator[tuple[int, int]]:
        """Check and add the links of a file that are new since the last call; yields the table and the row of each."""
        for number, code, row, dataset, digest, link in connection.execute(
            "SELECT id, tab, row, dataset, digest, link FROM chain WHERE id > ? ORDER BY id", (self.position.length,)
        ):
            try:
                position = self.link(code, row, dataset, digest)
            except (TypeError, struct.error):
                position = Position()
            if position.length != number or position.link != link:
                raise sqlite3.DatabaseError(f"link {number} of the chain is not what was written with this key")
            self.add(code, row, dataset, digest, position)
            yield code, row

    def link(self, code: int, row: int, dataset: int, digest: bytes) -> Position:
        """The position after one more link."""
        count = self.position.length + 1
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(self.position.link + _LINK.pack(count, code, row, dataset) + digest)
        outer.update(inner.digest())
        return Position(count, outer.digest())

    def add(self, code: int, row: int, dataset: int, digest: bytes, position: Position) -> None:
        """Take over the link of the chain for a row: its digest, its number, and the position that it moves the chain to."""
        before = self.digests.get((code, row))
        self._undo.append(((code, row), before, dataset, self.last[code], self.position))
        if before is None:
            self.owned.setdefault((code, dataset), []).append(row)
        self.digests[code, row] = digest
        self.last[code] = position.link
        self.position = position

    def remembered(self, code: int, row: int) -> Row | None:
        """A cached row that was checked before and has not changed since."""
        digest, cached = self.checked.get((code, row), (None, None))
        return cached if digest is not None and digest == self.digests.get((code, row)) else None

    def remember(self, table: str, row: Row) -> None:
        """Cache a checked row, if rows of its table are cached."""
        code, number = _CODES[table], row["id"]
        if table in _LAST_REMEMBERED:
            self.checked.pop((code, self._newest_of.get(code, 0)), None)
            self._newest_of[code] = number
        elif table not in _REMEMBERED:
            return
        self.checked[code, number] = self.digests[code, number], row

    def keep(self) -> None:
        """Mark the added links as committed."""
        self._undo.clear()

    def undo(self) -> None:
        """Discard the links added since :meth:`keep`."""
        for (code, row), before, dataset, last, position in reversed(self._undo):
            if before is None:
                self.owned[code, dataset].pop()
                del self.digests[code, row]
            else:
                self.digests[code, row] = before
            self.last[code], self.position = last, position
        self._undo.clear()


class ReadTransaction:
    """A consistent snapshot of the rows, each checked against the chain."""

    def __init__(self, connection: sqlite3.Connection, chain: Chain, names: Names) -> None:
        self.connection, self._chain, self._names = connection, chain, names

    def rows(self, table: str, dataset: int, after: int = 0) -> list[Row]:
        """All rows of a data set in a table with numbers above ``after``, in insertion order."""
        code = _CODES[table]
        numbers = self._chain.owned.get((code, dataset), [])
        numbers = numbers[bisect_right(numbers, after) :]
        if not numbers:
            return []
        if table in _REMEMBERED or len(numbers) == 1:
            cached = [self._chain.remembered(code, number) for number in numbers]
            if None not in cached:
                return cached  # type: ignore[return-value]  # none is None
        # The plus keeps SQLite from using an index: rows are found by their numbers alone.
        owner_condition = "" if table == "datasets" else f"AND +dataset = {dataset}"
        cursor = self.connection.execute(
            f"SELECT * FROM {table} WHERE id BETWEEN ? AND ? {owner_condition} ORDER BY id", (numbers[0], numbers[-1])
        )
        by_number = {values[0]: values for values in cursor}
        return [self._checked(table, code, number, by_number.get(number)) for number in numbers]

    def row(self, table: str, number: int) -> Row:
        """One row, which must exist."""
        cached = self._chain.remembered(_CODES[table], number)
        if cached is not None:
            return cached
        values = self.connection.execute(f"SELECT * FROM {table} WHERE id = ?", (number,)).fetchone()
        return self._checked(table, _CODES[table], number, values)

    def last(self, *tables: str) -> tuple[bytes, ...]:
        """A version of some tables: it changes when they do."""
        return _places(tables)(self._chain.last)

    def count(self, table: str) -> int:
        """The number of rows of a table, of all data sets."""
        return sum(len(numbers) for (code, _), numbers in self._chain.owned.items() if code == _CODES[table])

    def numbers(self, table: str) -> list[int]:
        """The numbers of rows that belong to no data set."""
        return list(self._chain.owned.get((_CODES[table], 0), ()))

    def known(self, name: str) -> int | None:
        """The number of a data set, None if unknown. Case, character width and outer spaces of names are ignored."""
        numbers = self._names.get(key_of(name), ())
        if len(numbers) > 1:
            return next((number for written, number in numbers if written == name), numbers[0][1])
        return numbers[0][1] if numbers else None

    def namesakes(self, name: str) -> list[int]:
        """All data sets of a name."""
        return [number for _, number in self._names.get(key_of(name), [])]

    def name(self, dataset: int) -> str:
        """The name of a data set, as first written."""
        return str(self.row("datasets", dataset)["name"])

    @property
    def datasets(self) -> list[str]:
        """The names of all data sets, first to last."""
        return [str(row["name"]) for row in self.rows("datasets", 0)]

    def _checked(self, table: str, code: int, number: int, values: tuple[Any, ...] | None) -> Row:
        """Return a row, checked against its digest in the chain."""
        if values is None or self._chain.digests.get((code, number)) != digest_of(values):
            raise _changed(table, number)
        row = dict(zip(columns_of(table), values, strict=True))
        self._chain.remember(table, row)
        return row


class WriteTransaction(ReadTransaction):
    """A write transaction. Every row that it adds or changes becomes a link of the chain."""

    def add(self, table: str, dataset: int, **values: Any) -> Row:
        """Add a row; returns it with its number."""
        if table != "datasets":
            values["dataset"] = dataset
        parameters = tuple(values.values())
        statement, empty = _insertion(table, tuple(values), tuple(map(type, parameters)))
        row = empty | values
        row["id"] = self.connection.execute(statement, parameters).lastrowid
        return self._seal(table, row)

    def change(self, table: str, number: int, **values: Any) -> None:
        """Change a row. Its other values come from the checked chain, not from the file."""
        row = self.row(table, number) | values
        parameters = tuple(values.values())
        statement = _update(table, tuple(values), tuple(map(type, parameters)))
        self.connection.execute(statement, (*parameters, number))
        self._seal(table, row)

    def seal(self, table: str, number: int) -> None:
        """Append a link for a row as it is in the file."""
        (values,) = self.connection.execute(f"SELECT * FROM {table} WHERE id = ?", (number,))
        self._seal(table, dict(zip(columns_of(table), values, strict=True)))

    def _seal(self, table: str, row: Row) -> Row:
        """Append a link for a row."""
        code, number, dataset = _CODES[table], row["id"], row.get("dataset", 0)
        digest = digest_of(row.values())
        position = self._chain.link(code, number, dataset, digest)
        self.connection.execute(
            "INSERT INTO chain (id, tab, row, dataset, digest, link) VALUES (?, ?, ?, ?, ?, ?)",
            (position.length, code, number, dataset, digest, position.link),
        )
        self._chain.add(code, number, dataset, digest, position)
        self._chain.remember(table, row)
        return row

    def dataset(self, name: str) -> int:
        """The number of a data set, recorded if new."""
        number = self.known(name)
        if number is None:
            number = int(self.add("datasets", 0, name=name.strip(), made=now())["id"])
            self._names[key_of(name)] = [(name.strip(), number)]
        return number


class Store:
    """An open ledger file. Mutable: it is a file handle; use it from one thread at a time."""

    def __init__(self, place: LedgerLocation, timeout: float = 30.0, *, accept: bool = False) -> None:
        """Open the ledger's database, created or upgraded if needed, and check it against its chain and its newest
        positions; ``accept`` a ledger that is behind.
        """
        self.place, self.timeout = place, timeout
        self._names: Names = {}
        self._newest = [RollbackGuard(path, mapped=number == 0) for number, path in enumerate(place.newest)]
        self._durable = True
        with self._explained():
            check_trusted(self.path, place.key, *place.newest)
            create_privately(self.path)
            self._connection = sqlite3.connect(self.path, timeout=timeout, isolation_level=None)
            try:
                self._patiently(self._set_up)
                self.secret = Secret.read(place.key)
                self._chain = Chain.of(self.secret)
                self._writing = WriteTransaction(self._connection, self._chain, self._names)
                # Earlier writes are visible to reads from now on.
                kept = [self._kept(path, accept) for path in place.newest]
                with self.reading():
                    self.behind = self._check_newest(kept, accept)
            except BaseException:
                self.close()
                raise

    @property
    def path(self) -> Path:
        """The file."""
        return self.place.path

    @property
    def position(self) -> Position:
        """The last link that was checked."""
        return self._chain.position

    def close(self) -> None:
        """Close the file."""
        with self._explained():
            for file in self._newest:
                file.close()
            self._connection.close()

    def writing(self, *, durable: bool = True) -> AbstractContextManager[WriteTransaction]:
        """An exclusive write transaction: all of it is on disk when the block ends, or none.

        Without ``durable`` it survives ``kill -9``, but a power cut may lose it; for what can be recomputed.
        """
        return _Transaction(self, durable)

    @contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        """A consistent snapshot of the rows."""
        try:
            self._begin("BEGIN")
            try:
                self._catch_up()
                yield self._writing
            finally:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
        except _TROUBLES as error:
            raise self._told(error) from error

    def _start(self, durable: bool) -> WriteTransaction:
        """Begin a write transaction."""
        if durable != self._durable:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        self._begin("BEGIN IMMEDIATE")
        try:
            self._catch_up()
        except BaseException:
            self._roll_back()
            raise
        return self._writing

    def _commit(self) -> None:
        """Commit, synced to disk if the transaction is durable, and then update the newest position outside the file."""
        try:
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        self._chain.keep()
        if self._durable:
            for file in self._newest:
                file.write(self._chain.position)

    def _roll_back(self) -> None:
        """Restore the file and the cached chain to their state before the transaction."""
        # A failed commit may already have rolled back.
        with suppress(sqlite3.Error):
            self._connection.execute("ROLLBACK")
        self._chain.undo()
        for key, cached in list(self._names.items()):
            if (_CODES["datasets"], cached[0][1]) not in self._chain.digests:
                del self._names[key]

    def _begin(self, statement: str) -> None:
        """Begin a transaction; waits while another process has the database locked."""
        try:
            self._connection.execute(statement)
        except sqlite3.OperationalError:
            self._patiently(lambda: self._connection.execute(statement))

    def accept(self) -> None:
        """Make the ledger's position the newest, forward or back: on the steward's decision."""
        for file in self._newest:
            file.write(self.position, back=True)

    def _catch_up(self) -> None:
        """Check the links that are new since the last time."""
        for code, row in self._chain.follow(self._connection):
            if code == _CODES["datasets"]:
                name = self._writing.name(row)
                self._names.setdefault(key_of(name), []).append((name, row))
        self._chain.keep()

    def _kept(self, path: Path, accept: bool) -> Position | None:
        """The newest position in one of its files; None if it must not count."""
        try:
            position = newest.read(path)
        except LedgerError:
            if not accept:
                raise
            return None
        if position is None and not accept and self._had(path):
            raise LedgerError(
                f"The file {str(path)!r}, which holds the newest position of the ledger, is missing. Nothing was published. Restore it, "
                "or accept the ledger in its current state: reticent ledger accept."
            )
        return position

    def _had(self, path: Path) -> bool:
        """True if there was a newest position at this path: always next to the ledger, at a second path if it was used before."""
        beside = self.place.newest[0]
        return path == beside or newest.name_of(path) in newest.seconds(beside)

    def _check_newest(self, positions: list[Position | None], accept: bool) -> int:
        """The number of links by which the ledger is behind. Raises if any, unless the steward accepts it."""
        behind = 0
        for file, position in zip(self._newest, positions, strict=True):
            if position is None:
                # Then it cannot be known whether anything is missing: if there was a file, accepting counts as going
                # back.
                behind = max(behind, int(accept and self._had(file.path)))
                file.write(self.position, back=accept)
            elif not self._passes(position):
                behind = max(behind, position.length - self.position.length, 1)
        if behind and not accept:
            raise LedgerError(
                f"The ledger {str(self.path)!r} is an older copy, or another ledger: it ends at position {self.position.length}, but a later one was written "
                "before. Later disclosures are missing in it, so nothing was published. Restore the newest file; if there is none, accept "
                "this one, which is recorded: reticent ledger accept."
            )
        if self.place.second is not None:
            newest.remember_second(self.place.newest[0], self.place.second)
        return behind

    def _passes(self, position: Position) -> bool:
        """True if the ledger's hash chain contains this position (a length and the link there)."""
        if position.length == 0 or position == self.position:
            return position.link == newest.START or position == self.position
        record = self._connection.execute("SELECT link FROM chain WHERE id = ?", (position.length,)).fetchone()
        return position.length < self.position.length and record is not None and record[0] == position.link

    def _set_up(self) -> None:
        """Set the durability of the connection, and create or upgrade the tables in one transaction."""
        connection = self._connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN")
        try:
            schema = schema_of(connection)
            layout = self._layout(schema)
        finally:
            connection.execute("ROLLBACK")
        if layout != VERSION:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._upgrade(self._layout(schema_of(connection)))
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            schema = schema_of(connection)
        if schema != expected_schema():
            raise sqlite3.DatabaseError("its tables are not those of a ledger")

    def _upgrade(self, layout: int) -> None:
        """Upgrade the file to this layout, and link its rows into the chain. Key and newest position exist before anything depends on them."""
        if layout == VERSION:
            return
        before = self.path.with_name(f"{self.path.name}-audit-key")
        check_trusted(before)
        if before.exists() and not self.place.key.exists():
            os.rename(before, self.place.key)
        chain = self._chain_before() if is_chained(layout) else self._new_chain()
        upgrade(self._connection, layout)
        writing = WriteTransaction(self._connection, chain, {})
        for table, number in rows_to_seal(self._connection, layout):
            writing.seal(table, number)
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _new_chain(self) -> Chain:
        """The chain of a file without one."""
        secret = Secret.create(self.place.key)
        position_file = self.place.newest[0]
        position = newest.read(position_file)
        if position is not None and position.length:
            raise LedgerError(
                f"The ledger {str(self.path)!r} is missing, or was replaced by one of an earlier version: by {str(position_file)!r} it had "
                f"{position.length} links. Nothing was published. Restore it, or start a new one at another path."
            )
        self._newest[0].write(Position())
        return Chain.of(secret)

    def _chain_before(self) -> Chain:
        """The chain of a file of an earlier layout, whose rows are checked before they are converted."""
        chain = Chain.of(Secret.read(self.place.key))
        for _ in chain.follow(self._connection):
            pass
        for (code, number), digest in chain.digests.items():
            values = self._connection.execute(f"SELECT * FROM {SEALED[code]} WHERE id = ?", (number,)).fetchone()
            if values is None or digest_of(values) != digest:
                raise _changed(SEALED[code], number)
        return chain

    def _patiently(self, step: Callable[[], object]) -> None:
        """Retry a step while the file is locked.

        SQLite waits for writers by itself, but not while a file changes its journal mode, is recovered after a crash,
        or is checkpointed by the last process that closes it.
        """
        end = time.monotonic() + self.timeout
        while True:
            try:
                step()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _layout(self, schema: Schema) -> int:
        """The layout of the ledger; 0 for a new file. Raises for anything but a ledger that this version reads.

        Only inside a transaction, for a consistent view: another process may be creating the file.
        """
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if application == 0 and version == 0 and not schema:
            return 0
        if application != _APPLICATION:
            raise LedgerError(
                f"{str(self.path)!r} is another kind of database, not a ledger. Nothing was changed in it and nothing was published. "
                "Name another file with ledger= or RETICENT_LEDGER."
            )
        if not 1 <= version <= VERSION:
            raise LedgerError(
                f"The ledger {str(self.path)!r} was written by another version of Reticent (its layout is {version}, this one reads "
                f"up to {VERSION}). Nothing was published. Use the version that wrote it, or a newer one."
            )
        return int(version)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Context manager that raises errors of the database or its files with an explanation."""
        try:
            yield
        except _TROUBLES as error:
            raise self._told(error) from error

    def _told(self, error: sqlite3.Error | UnicodeDecodeError | OSError) -> Exception:
        """An error of the file as a :class:`LedgerError`; other errors unchanged."""
        if isinstance(error, sqlite3.Error):
            return LedgerError(_explain(self.path, error, self.timeout))
        if isinstance(error, UnicodeDecodeError):
            # SQLite quotes a damaged schema in its message, which then is not valid text.
            return LedgerError(_explain(self.path, sqlite3.DatabaseError("invalid text"), self.timeout))
        ours = (self.path, self.place.key, *self.place.newest)
        if error.filename is None or Path(os.fsdecode(error.filename)) not in (*ours, *self.path.parents):
            return error
        return LedgerError(
            f"The ledger {str(self.path)!r} cannot be opened: {error.strerror}. Nothing was published. "
            "Name a file that can be written with ledger= or RETICENT_LEDGER."
        )


class _Transaction:
    """The block of :meth:`Store.writing`: every decision uses it, and a generator would take twice the time."""

    __slots__ = ("_durable", "_store")

    def __init__(self, store: Store, durable: bool) -> None:
        self._store, self._durable = store, durable

    def __enter__(self) -> WriteTransaction:
        """Start the transaction."""
        try:
            return self._store._start(self._durable)
        except _TROUBLES as error:
            raise self._store._told(error) from error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: object) -> None:
        """Commit the transaction, or roll it back after an error."""
        store = self._store
        if error is not None:
            store._roll_back()
            if isinstance(error, _TROUBLES):
                raise store._told(error) from error
            return
        try:
            store._commit()
        except _TROUBLES as trouble:
            raise store._told(trouble) from trouble


@cache
def _places(tables: tuple[str, ...]) -> Callable[[list[bytes]], tuple[bytes, ...]]:
    """A function that selects the chain's entries of some tables, two or more."""
    return itemgetter(*(_CODES[table] for table in tables))


def _changed(table: str, number: int) -> sqlite3.DatabaseError:
    return sqlite3.DatabaseError(f"row {number} of {table} is not what was written")


def key_of(name: object) -> str:
    """The normalized name of a data set: without case, character width and outer spaces."""
    if not isinstance(name, str) or not name.strip():
        raise PolicyError(f"The data set's name must be a non-empty text, but it is {name!r}.")
    return _folded(name)


@lru_cache
def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


@lru_cache
def _insertion(table: str, names: tuple[str, ...], kinds: tuple[type, ...]) -> tuple[str, Row]:
    """The statement that inserts a row, and a row template without values."""
    _check_types(table, names, kinds)
    statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    return statement, dict.fromkeys(columns_of(table))


@lru_cache
def _update(table: str, names: tuple[str, ...], kinds: tuple[type, ...]) -> str:
    _check_types(table, names, kinds)
    return f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?"


def _check_types(table: str, names: tuple[str, ...], kinds: tuple[type, ...]) -> None:
    """Check value types: rows are hashed as passed, so a value must have the type that it will be read as."""
    for name, kind in zip(names, kinds, strict=True):
        if kind not in (types_of(table)[name], type(None)):
            raise TypeError(f"{name} of {table} cannot be a {kind.__name__}")


def digest_of(values: Iterable[Any]) -> bytes:
    """The hash of a row: every value with its type and length, so different rows have different encodings."""
    digest = hashlib.sha256()
    text = ""
    for value in values:
        kind = type(value)
        if kind is bytes:
            digest.update(f"{text}bytes{len(value)}:".encode(errors="surrogatepass"))
            digest.update(value)
            text = ""
        else:
            written = value if kind is str else str(value)
            length = len(written) if written.isascii() else len(written.encode(errors="surrogatepass"))
            text += f"{kind.__name__}{length}:{written}"
    digest.update(text.encode(errors="surrogatepass"))
    return digest.digest()


def now() -> str:
    """The time in UTC to the second, as in entries and certificates."""
    return _written(int(time.time()))


@lru_cache(maxsize=1)
def _written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime(TIME_FORMAT)


def is_time(text: str) -> bool:
    """True if a text is a time in its canonical form (four-digit years): such texts sort by time."""
    try:
        return datetime.strptime(text, TIME_FORMAT).strftime(TIME_FORMAT) == text
    except ValueError:
        return False


def create_privately(path: Path) -> None:
    """Create the file, if there is none, readable by its owner only; SQLite gives its side files the same mode."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:
        make_folder(path.parent, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.close(handle)


def _explain(path: Path, error: sqlite3.Error, timeout: float) -> str:
    """Return the message for an error of SQLite: what is wrong with the ledger, and what to do."""
    reason = " ".join(str(error).split())
    if "locked" in reason or "busy" in reason:
        problem = f"is in use by another process and did not become free within {timeout:g} seconds. Try again"
    elif "not a database" in reason:
        problem = "is not a ledger: the file holds something else, or is damaged. Restore it from a backup, or name another file with ledger="
    elif "full" in reason:
        problem = "could not be written: the disk is full. Make room and try again"
    elif "readonly" in reason or "unable to open" in reason:
        problem = f"cannot be written ({reason}). Check the permissions of the file and its folder, or name another with ledger="
    elif "malformed" in reason or isinstance(error, sqlite3.IntegrityError) or type(error) is sqlite3.DatabaseError:
        problem = f"is damaged ({reason}). Restore it from a backup: its record is needed to judge the next release"
    else:
        problem = f"could not be written or read ({reason}). Check the disk it is on"
    return f"The ledger {str(path)!r} {problem}. Nothing was published."
