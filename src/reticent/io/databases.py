"""Tables of any database that SQLAlchemy supports (extra ``databases``): rows in, and whole releases out in one
transaction.

The URL determines the database and its driver: ``mysql+pymysql://user@host/db``, ``mssql+pyodbc://...``,
``oracle+oracledb://...``, ``sqlite:///file``. Messages never contain the password.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import polars as pl

from reticent.base.extras import needed
from reticent.base.memory import cell_memory, fits
from reticent.errors import DataError, MissingPackage, did_you_mean, first_line
from reticent.io.row_source import RowSource, address_of
from reticent.io.sql import Selection, number_from_text
from reticent.table import Rows

_BATCH = 50_000


@dataclass(frozen=True)
class DatabaseSource(RowSource):
    """A table or a query. Nothing is written: the transaction is rolled back."""

    selection: Selection

    def columns(self) -> list[str]:
        with _connected(self.selection.source) as (package, connection):
            return self.selection.check(None, self._relation(package, connection)[1])

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the requested columns, fetched in batches. Raises if they exceed the memory for an answer."""
        with _connected(self.selection.source) as (package, connection):
            relation, available = self._relation(package, connection)
            names = self.selection.check(columns, available)
            chosen = package.select(*(relation.c[name] for name in names))
            batches = connection.execution_options(stream_results=True).execute(chosen).partitions(_BATCH)
            values: list[list[Any]] = [[] for _ in names]
            for batch in batches:
                self.selection.check_answer(cell_memory(len(values[0]), len(names)))
                for column, cells in zip(values, zip(*batch, strict=True), strict=True):
                    column.extend(cells)
        return pl.DataFrame(
            [_column(name, cells, self.selection.name) for name, cells in zip(names, values, strict=True)]
        )

    def fits(self, columns: int) -> bool:
        """Return whether so many columns of all rows may be loaded into memory."""
        with _connected(self.selection.source) as (package, connection):
            relation, _ = self._relation(package, connection)
            counted = connection.execute(package.select(package.func.count()).select_from(relation)).scalar()
        return fits(int(counted), columns)

    def _relation(self, package: Any, connection: Any) -> tuple[Any, list[str]]:
        """Return what to select from (the table, or the query as a subquery) and the names of its columns."""
        query = self.selection.query
        if query is not None:
            statement = package.text(query.strip().rstrip(";"))
            names = list(connection.execute(statement).keys())
            return statement.columns(*(package.column(name) for name in names)).subquery("chosen"), names
        inspector = package.inspect(connection)
        tables = [*inspector.get_table_names(), *inspector.get_view_names()]
        name = self.selection.the_table(tables)
        schema, _, table = name.rpartition(".")
        if name in tables or not schema:
            schema, table = "", name
        if not schema and name not in tables:
            raise DataError(f"{self.selection.name} has no table {name!r}.{did_you_mean(name, tables)}")
        names = [column["name"] for column in inspector.get_columns(table, schema=schema or None)]
        return package.Table(table, package.MetaData(), schema=schema or None, autoload_with=connection), names


@contextmanager
def database_tables(address: str, tables: Mapping[str, Rows], identity: str | None = None) -> Iterator[None]:
    """Write tables and run the block; they are committed when it succeeds, and removed when it fails.

    ``schema.table`` is a table of that schema, if the database has it. ``identity`` is an additional column with row
    numbers in the order of the files. Raises if a table of that name exists. Databases that commit DDL immediately
    (MySQL, Oracle) get the table dropped again.
    """
    with _connected(address_of(address), commits=True) as (package, connection):
        inspector = package.inspect(connection)
        schema_and_table = {name: _schema_of(inspector, connection.dialect.name, name) for name in tables}
        for name, (schema, table_name) in schema_and_table.items():
            if inspector.has_table(table_name, schema=schema):
                raise DataError(
                    f"The database has a table {name!r} already. Choose another name. Nothing was written to it."
                )
        written: list[Any] = []
        try:
            for name, rows in tables.items():
                written.append(_write_table(package, connection, schema_and_table[name], rows, identity))
            yield
        except BaseException:
            connection.rollback()
            with suppress(package.exc.SQLAlchemyError):
                for table in written:
                    table.drop(connection, checkfirst=True)
                connection.commit()
            raise


def _schema_of(inspector: Any, dialect: str, name: str) -> tuple[str | None, str]:
    """The schema and the table of a name: ``reporting.visits`` if there is such a schema."""
    schema, _, table = name.partition(".")
    schemas = inspector.get_schema_names() if table else []
    if table and schema in schemas:
        return schema, table
    if table and dialect == "postgresql":
        raise DataError(
            f"The database has no schema {schema!r}.{did_you_mean(schema, schemas)} Create it first, or write the name without a dot. Nothing was written."
        )
    return None, name


def _write_table(
    package: Any, connection: Any, schema_and_name: tuple[str | None, str], rows: Rows, identity: str | None = None
) -> Any:
    """Create a table, insert the rows, and return it; ``identity`` is an additional column that numbers the rows."""
    schema, name = schema_and_name
    columns = [package.Column(column, _sql_type(package, connection, dtype)) for column, dtype in rows.schema.items()]
    if identity is not None:
        if identity in rows.schema:
            raise DataError(
                f"The release has a column {identity!r} already. Choose another name for the identity column."
            )
        number = package.BigInteger().with_variant(package.Integer(), "sqlite")
        columns.insert(0, package.Column(identity, number, package.Identity(always=True), primary_key=True))
    table = package.Table(name, package.MetaData(), *columns, schema=schema)
    table.create(connection)
    as_text = [
        column for column, dtype in rows.schema.items() if dtype == pl.UInt64 and connection.dialect.name == "sqlite"
    ]
    for chunk in rows.chunks():
        for part in chunk.with_columns(pl.col(as_text).cast(pl.String)).iter_slices(_BATCH):
            connection.execute(package.insert(table), part.to_dicts())
    return table


def _sql_type(package: Any, connection: Any, dtype: pl.DataType) -> Any:
    """Return the SQLAlchemy type for a column of a polars type."""
    if dtype == pl.UInt64:
        # SQLite stores long decimals as floats.
        return package.Text() if connection.dialect.name == "sqlite" else package.Numeric(20, 0)
    if dtype.is_integer():
        return package.BigInteger()
    if dtype.is_float():
        return package.Double()
    if dtype == pl.Boolean:
        return package.Boolean()
    if dtype == pl.Date:
        return package.Date()
    return package.DateTime() if isinstance(dtype, pl.Datetime) else package.Text()


def _column(name: str, cells: Sequence[Any], source: str) -> pl.Series:
    """Values returned by drivers, in one type. Raises for a column with mixed types."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        return pl.Series(name, cells, dtype=pl.String)
    if kinds == {bool}:
        return pl.Series(name, cells, dtype=pl.Boolean)
    if kinds <= {int, Decimal, bool}:
        return number_from_text(pl.Series(name, [_digits(cell) for cell in cells], dtype=pl.String))
    if kinds <= {int, float, Decimal, bool}:
        return pl.Series(name, [None if cell is None else float(cell) for cell in cells], dtype=pl.Float64)
    if kinds <= {str, UUID}:
        return pl.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=pl.String)
    if kinds == {datetime.date}:
        return pl.Series(name, cells, dtype=pl.Date)
    if kinds <= {datetime.datetime, datetime.date}:
        return pl.Series(name, [_moment(cell) for cell in cells], dtype=pl.Datetime("us"))
    if kinds == {datetime.time}:
        return pl.Series(name, cells, dtype=pl.Time)
    type_names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise DataError(
        f"{source}: column {name!r} has values of the types {type_names}, which do not form a column. Select it in a query with one type (CAST).",
        column=name,
    )


def _digits(cell: Any) -> str | None:
    if cell is None:
        return None
    return format(cell, "f") if isinstance(cell, Decimal) else str(int(cell))


def _moment(cell: Any) -> datetime.datetime | None:
    """Return a timestamp without time zone, in UTC."""
    if cell is None:
        return None
    if not isinstance(cell, datetime.datetime):
        return datetime.datetime(cell.year, cell.month, cell.day)
    return cell if cell.tzinfo is None else cell.astimezone(datetime.UTC).replace(tzinfo=None)


@contextmanager
def _connected(address: str, *, commits: bool = False) -> Iterator[tuple[Any, Any]]:
    """SQLAlchemy and a connection in a transaction, committed at the end if ``commits`` and rolled back otherwise."""
    package = needed("sqlalchemy", "databases", "A database with such an address")
    try:
        engine = _engine(package, address)
        try:
            with engine.connect() as connection:
                connection.begin()
                yield package, connection
                if commits:
                    connection.commit()
        finally:
            engine.dispose()
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"The database needs the driver {error.name}, which is not installed. Install it with: pip install {error.name}"
        ) from None
    except package.exc.NoSuchModuleError:
        kind = address.partition("://")[0]
        raise DataError(
            f"SQLAlchemy knows no database of the kind {kind!r}. Check the address, or install its dialect."
        ) from None
    except package.exc.ArgumentError:
        raise DataError(
            "The address of the database is invalid. It should look like mysql+pymysql://user@host/name."
        ) from None
    except package.exc.SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        raise DataError(f"The database says: {first_line(cause).rstrip('.')}.") from None


def _engine(package: Any, address: str) -> Any:
    """An engine whose transactions include DDL, also with SQLite, whose driver begins them late."""
    sqlalchemy_address = (
        address.replace("postgres://", "postgresql://", 1) if address.startswith("postgres://") else address
    )
    if sqlalchemy_address.startswith("postgresql://"):
        sqlalchemy_address = sqlalchemy_address.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = package.create_engine(sqlalchemy_address)
    if engine.dialect.name == "sqlite":
        package.event.listen(engine, "connect", _left_alone)
        package.event.listen(engine, "begin", _begun)
    return engine


def _left_alone(connection: Any, _: Any) -> None:
    connection.isolation_level = None


def _begun(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN")
