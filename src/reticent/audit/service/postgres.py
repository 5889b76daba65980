"""A table or view of a PostgreSQL server as the audited table. Every snapshot is one read-only transaction."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.audit.service.database import (
    KEPT_STATEMENTS,
    AskedRows,
    Total,
    check_keys,
    check_nulls,
    check_rounding,
    check_total,
    first_line,
    floating,
    total_of_parts,
    trimmed,
)
from reticent.audit.service.settings import ProtectedColumn, Settings
from reticent.errors import DataError, did_you_mean
from reticent.io import fetch_postgres

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

_WHOLE = ("smallint", "integer", "bigint")
_FLOATS = ("real", "double precision")
_TEXTS = ("text", "character varying", "character", "uuid", "USER-DEFINED", "name")
_PUBLIC = (
    *_WHOLE,
    *_FLOATS,
    *_TEXTS,
    "numeric",
    "boolean",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
)
# The text of a row must not depend on the session. Rows hidden by row-level security must raise an error instead of
# being skipped silently: which they are may change while the table does not.
_SESSION = (
    "-c DateStyle=ISO -c extra_float_digits=3 -c TimeZone=UTC -c bytea_output=hex -c default_transaction_read_only=on "
    "-c row_security=off"
)


class PostgresDatabase:
    """A table on a server. Mutable: holds a connection and the last rows read; for one thread at a time."""

    def __init__(self, settings: Settings) -> None:
        try:
            import psycopg
        except ModuleNotFoundError:
            raise DataError(
                "PostgreSQL needs the package psycopg, which is not installed. Install it with: pip install 'reticent[postgres]'"
            ) from None
        self._psycopg = psycopg
        self._settings = settings
        self._connection: psycopg.Connection[Any] | None = None
        self._types: dict[str, str] = {}
        self._keys = np.array([], dtype=object)
        self._quiet: tuple[str, str] | None = None
        # Digests of the table are compared within this process only; an adversary cannot target a collision.
        self._seed = secrets.randbits(62)
        self.statements: deque[str] = deque(maxlen=KEPT_STATEMENTS)

    @contextmanager
    def look(self) -> Iterator[PostgresDatabase]:
        """Open a snapshot of the table: concurrent commits are not visible."""
        try:
            if self._connection is None or self._connection.closed:
                self.close()
                self._connection = self._psycopg.connect(self._settings.source.address, options=_SESSION)
                self._connection.isolation_level = self._psycopg.IsolationLevel.REPEATABLE_READ
                self._connection.read_only = True
            with self._connection.transaction():
                if not self._types:
                    self._types = self._column_types()
                yield self
        except self._psycopg.errors.QueryCanceled as error:
            raise DataError(
                f"PostgreSQL cancelled a statement: {first_line(error)} Try again, or allow more time."
            ) from None
        except self._psycopg.OperationalError as error:
            self.close()
            raise DataError(f"PostgreSQL cannot be reached: {first_line(error)}") from None
        except self._psycopg.Error as error:
            raise DataError(f"PostgreSQL reports: {first_line(error)}") from None

    def close(self) -> None:
        """Disconnect. Cached state is dropped: the server that answers next may be a restored or a different one."""
        self._quiet, self._types = None, {}
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def state(self) -> str:
        """Return a digest of all rows; cached as long as no transaction was committed anywhere on the server."""
        from psycopg import sql

        snapshot = str(self._fetch(sql.SQL("SELECT pg_current_snapshot()::text"))[0][0])
        if self._quiet is not None and self._quiet[0] == snapshot and self._is_table():
            return self._quiet[1]
        listed = sql.SQL(", ").join(sql.Identifier(name) for name in self._names())
        count, digest = self._fetch(
            sql.SQL("SELECT count(*), coalesce(sum(hashtextextended(ROW({})::text, {})), 0) FROM {}").format(
                listed, sql.Placeholder(), self._table()
            ),
            (self._seed,),
        )[0]
        self._quiet = (snapshot, f"{count}:{digest}")
        return self._quiet[1]

    def rows(self) -> AskedRows:
        """Return all rows in the order of their keys."""
        from psycopg import sql

        self._types = self._column_types()
        state = self.state()
        settings = self._settings
        for column in settings.sensitive.values():
            self._check_values(column)
        key = sql.Identifier(settings.key)
        # 7.50 and 7.5 are the same person.
        text = "trim_scale({})::text" if self._types[settings.key] == "numeric" else "{}::text"
        values = [
            sql.SQL("({})::text").format(self._value(column, self._types[column.name]))
            for column in settings.sensitive.values()
        ]
        listed = sql.SQL(", ").join([sql.SQL(text).format(key), *map(self._public, settings.public), *values])
        names = [
            "key",
            *(f"public {name}" for name in settings.public),
            *(f"value {name}" for name in settings.sensitive),
        ]
        aliased = sql.SQL("SELECT * FROM (SELECT {} FROM {} AS source ORDER BY source.{}) AS people ({})").format(
            listed, self._table(), key, sql.SQL(", ").join(map(sql.Identifier, names))
        )
        self.statements.append(aliased.as_string(self._open))
        frame = fetch_postgres(self._open, aliased, names)
        check_keys(frame["key"], settings.key)
        self._keys = frame["key"].to_numpy()
        public = frame.select(pl.col(f"public {name}").alias(name) for name in settings.public)
        return AskedRows(
            state,
            frame["key"],
            public,
            {name: trimmed(frame[f"value {name}"].rename(name)) for name in settings.sensitive},
        )

    def total(self, column: str, function: Total, chosen: NDArray[np.int64]) -> Fraction:
        """Return the exact total over rows, which are selected by their keys as a bound parameter."""
        from psycopg import sql

        value = self._value(self._settings.sensitive[column], self._types[column])
        statement = sql.SQL("SELECT {}({})::text, count({}) FROM {} WHERE {}").format(
            sql.SQL(function), value, value, self._table(), self._among()
        )
        total, count = self._fetch(statement, [self._keys[chosen].tolist()])[0]
        check_total(count, chosen)
        return Fraction(total)

    def cut_sum(self, column: str, chosen: NDArray[np.int64], low: Fraction, high: Fraction) -> Fraction:
        """Return the exact sum of values clamped to a range, whose ends are compared as fractions."""
        from psycopg import sql

        value, mark = self._value(self._settings.sensitive[column], self._types[column]), sql.Placeholder()
        below = sql.SQL("{} * {}::numeric < {}::numeric").format(value, mark, mark)
        above = sql.SQL("{} * {}::numeric > {}::numeric").format(value, mark, mark)
        within = sql.SQL("FILTER (WHERE NOT ({}) AND NOT ({}))").format(below, above)
        statement = sql.SQL(
            "SELECT (sum({}) {})::text, count(*) {}, count(*) FILTER (WHERE {}), count(*) FILTER (WHERE {}) FROM {} WHERE {}"
        ).format(value, within, within, below, above, self._table(), self._among())
        lower, upper = [low.denominator, low.numerator], [high.denominator, high.numerator]
        parameters = [*lower, *upper, *lower, *upper, *lower, *upper, self._keys[chosen].tolist()]
        return total_of_parts(self._fetch(statement, parameters)[0], chosen, low, high)

    def _among(self) -> sql.Composed:
        """Return the condition that the key is in a parameter; in its own type if that can use an index and is lossless."""
        from psycopg import sql

        key, kind = sql.Identifier(self._settings.key), self._types[self._settings.key]
        if kind not in (*_WHOLE, "uuid", "text", "numeric"):
            return sql.SQL("{}::text = ANY({})").format(key, sql.Placeholder())
        return sql.SQL("{} = ANY({}::text[]::{}[])").format(key, sql.Placeholder(), sql.SQL(kind))

    @property
    def _open(self) -> psycopg.Connection[Any]:
        assert self._connection is not None
        return self._connection

    def _fetch(self, statement: sql.Composed | sql.SQL, parameters: Any = ()) -> list[Any]:
        """Execute a statement with bound parameters, record its text, and return all rows."""
        self.statements.append(statement.as_string(self._open))
        # With bound parameters, a percent sign in a name would be read as a placeholder.
        fetched: list[Any] = self._open.execute(self._escaped(statement), parameters).fetchall()
        return fetched

    def _escaped(self, part: Any) -> Any:
        """Return a composed statement with ``%`` doubled in names, since it has placeholders."""
        from psycopg import sql

        if isinstance(part, sql.Composed):
            return sql.Composed([self._escaped(nested) for nested in part])
        if isinstance(part, sql.Identifier):
            name: Any = part.as_string(self._open).replace("%", "%%")
            return sql.SQL(name)
        return part

    def _table(self) -> sql.Identifier:
        """Return the table as an SQL identifier with its schema."""
        from psycopg import sql

        schema, name = self._place()
        return sql.Identifier(schema, name)

    def _place(self) -> tuple[str, str]:
        schema, _, name = (self._settings.source.table or self._settings.view).rpartition(".")
        return schema or "public", name

    def _is_table(self) -> bool:
        """True for a table. A view may change without a commit here (it may use the time, or another server); a table cannot."""
        from psycopg import sql

        kinds = self._fetch(
            sql.SQL(
                "SELECT relkind::text FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = {} AND relname = {}"
            ).format(sql.Placeholder(), sql.Placeholder()),
            self._place(),
        )
        return bool(kinds) and kinds[0][0] in ("r", "m")

    def _names(self) -> list[str]:
        return list(dict.fromkeys([self._settings.key, *self._settings.public, *self._settings.sensitive]))

    def _column_types(self) -> dict[str, str]:
        """Return the SQL type of every column of the table. Raises for a missing table or column."""
        from psycopg import sql

        name_types = self._fetch(
            sql.SQL(
                "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = {} AND table_name = {} "
                "ORDER BY ordinal_position"
            ).format(sql.Placeholder(), sql.Placeholder()),
            self._place(),
        )
        types = dict(name_types)
        if not types:
            raise DataError(f"The database has no table {'.'.join(self._place())!r}, or it may not be read.")
        for name in self._names():
            if name not in types:
                raise DataError(
                    f"The table has no column {name!r}.{did_you_mean(name, types)} The columns are: {', '.join(types)}.",
                    column=name,
                )
        return types

    def _public(self, name: str) -> sql.Composed:
        """Return a public column as SQL. Raises for a type that conditions cannot use."""
        from psycopg import sql

        kind = self._types[name]
        if kind not in _PUBLIC:
            raise DataError(f"The public column {name!r} has type {kind}, which conditions cannot use.", column=name)
        return sql.SQL("{}::text" if kind in _TEXTS else "{}").format(sql.Identifier(name))

    def _value(self, column: ProtectedColumn, kind: str) -> sql.Composed:
        """Return the exact value of a sensitive column."""
        from psycopg import sql

        name = sql.Identifier(column.name)
        if kind == "boolean":
            return sql.SQL("{}::integer::numeric").format(name)
        if kind in _FLOATS:
            if column.decimals is None:
                raise floating(column)
            return sql.SQL("round({}::numeric, {})").format(name, sql.Literal(column.decimals))
        if kind not in (*_WHOLE, "numeric"):
            raise DataError(
                f"The sensitive column {column.name!r} has type {kind}. Only numbers can be added and compared.",
                column=column.name,
            )
        return sql.SQL("{}::numeric").format(name)

    def _check_values(self, column: ProtectedColumn) -> None:
        """Refuse null, non-finite and inexact values of a column."""
        from psycopg import sql

        name, kind = sql.Identifier(column.name), self._types[column.name]
        nulls = self._fetch(sql.SQL("SELECT count(*) FROM {} WHERE {} IS NULL").format(self._table(), name))[0][0]
        check_nulls(nulls, column)
        if kind not in (*_FLOATS, "numeric"):
            return
        # Non-finite floating-point numbers come first: they have no exact value.
        non_finite = sql.SQL("SELECT count(*) FROM {} WHERE {}::text IN ('NaN', 'Infinity', '-Infinity')").format(
            self._table(), name
        )
        check_rounding(self._fetch(non_finite)[0][0], column)
        if kind in _FLOATS:
            exact = self._value(column, kind)
            inexact = sql.SQL("SELECT count(*) FROM {} WHERE {}::{} <> {}").format(
                self._table(), exact, sql.SQL(kind), name
            )
            check_rounding(self._fetch(inexact)[0][0], column)
