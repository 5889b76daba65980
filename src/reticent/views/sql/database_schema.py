"""Schemas from a running PostgreSQL or a DuckDB file: the catalogue is rendered as DDL and parsed as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reticent.errors import DataError, PolicyError, first_line
from reticent.views.schema import Schema
from reticent.views.sql.ddl import read_schema
from reticent.views.sql_text import quoted

_TABLES = """
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, l.collname, l.collisdeterministic,
  CASE WHEN l.collprovider = 'd' THEN (SELECT CASE WHEN d.datlocprovider = 'c' THEN d.datcollate END FROM pg_database d WHERE d.datname = current_database()) WHEN l.collprovider = 'c' THEN l.collcollate END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
  LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
  AND NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid)
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
ORDER BY n.nspname, c.relname, a.attnum
"""
_CONSTRAINTS = """
SELECT n.nspname, c.relname, pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u', 'f', 'c', 'x') AND (k.convalidated OR k.contype <> 'c') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY n.nspname, c.relname, k.conname
"""
_INDEXES = """
SELECT pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.indisunique AND NOT EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhrelid = c.oid) AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
  AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid)
"""
_POLICIES = """
SELECT n.nspname, c.relname, p.polname, coalesce(pg_get_expr(p.polqual, p.polrelid), 'true')
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relrowsecurity AND p.polcmd IN ('r', '*')
ORDER BY n.nspname, c.relname, p.polname
"""
_ENUMS = """
SELECT t.typname, array_agg(e.enumlabel ORDER BY e.enumsortorder)
FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid GROUP BY t.typname ORDER BY t.typname
"""
_VIEWS = """
SELECT n.nspname, c.relname, pg_get_viewdef(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY n.nspname, c.relname
"""


def from_postgres(url: str) -> Schema:
    """Return the schema of a running PostgreSQL database, including its views; only the catalogue is read."""
    return read_schema(postgres_ddl(url), "postgres")


def from_duckdb(path: Path) -> Schema:
    """Return the schema of a DuckDB file, including its views; the file is opened read-only."""
    return read_schema(duckdb_ddl(path), "duckdb")


def postgres_ddl(url: str) -> str:
    """Return the catalogue of a PostgreSQL database as DDL text."""
    try:
        import psycopg
    except ImportError:
        raise PolicyError(
            "Reading a PostgreSQL catalogue needs psycopg; install it with: pip install 'reticent[postgres]'."
        ) from None
    try:
        with psycopg.connect(url, connect_timeout=10) as connection:
            connection.read_only = True

            def rows(sql: str) -> list[Any]:
                return connection.execute(sql.encode()).fetchall()

            enums, tables, constraints = rows(_ENUMS), rows(_TABLES), rows(_CONSTRAINTS)
            indexes, views, policies = rows(_INDEXES), rows(_VIEWS), rows(_POLICIES)
    except psycopg.Error as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise DataError(
            f"The PostgreSQL catalogue could not be read: {reason}. Check the address and the privileges."
        ) from None
    parts = [f"CREATE TYPE {quoted(name)} AS ENUM ({', '.join(map(_text, labels))})" for name, labels in enums]
    by_table: dict[tuple[str, str], list[str]] = {}
    for namespace, table, column, kind, not_null, collation, is_deterministic, order in tables:
        line = (
            f"{quoted(column)} {kind}{_collation(collation, is_deterministic, order)}{' NOT NULL' if not_null else ''}"
        )
        by_table.setdefault((namespace, table), []).append(line)
    for namespace, table, definition in constraints:
        if (namespace, table) in by_table:
            by_table[namespace, table].append(definition.replace(" NOT VALID", ""))
    for (namespace, table), lines in by_table.items():
        parts.append(f"CREATE TABLE {quoted(namespace)}.{quoted(table)} (\n  " + ",\n  ".join(lines) + "\n)")
    parts += [definition for (definition,) in indexes]
    parts += [
        f"CREATE POLICY {quoted(policy)} ON {quoted(namespace)}.{quoted(table)} USING ({condition})"
        for namespace, table, policy, condition in policies
        if (namespace, table) in by_table
    ]
    parts += [
        f"CREATE VIEW {quoted(namespace)}.{quoted(view)} AS {definition.rstrip().rstrip(';')}"
        for namespace, view, definition in views
    ]
    return ";\n".join(parts)


def duckdb_ddl(path: Path) -> str:
    """Return the catalogue of a DuckDB file as DDL text."""
    import duckdb

    if not path.exists():
        raise PolicyError(f"There is no DuckDB file {path}.")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            enums = connection.execute(
                "SELECT type_name, labels FROM duckdb_types() WHERE logical_type = 'ENUM' AND NOT internal AND type_name <> 'enum'"
            ).fetchall()
            texts = connection.execute(
                "SELECT sql FROM duckdb_tables() WHERE NOT internal "
                "UNION ALL SELECT sql FROM duckdb_indexes() WHERE is_unique AND sql IS NOT NULL "
                "UNION ALL SELECT sql FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
    except duckdb.Error as error:
        raise DataError(f"The DuckDB catalogue of {path} could not be read: {first_line(error)}.") from None
    types = [f"CREATE TYPE {quoted(name)} AS ENUM ({', '.join(map(_text, labels))})" for name, labels in enums]
    return ";\n".join([*types, *(text.rstrip().rstrip(";") for (text,) in texts)])


def _collation(name: str | None, is_deterministic: bool | None, order: str | None) -> str:
    """Return the COLLATE clause of a column: by name if unequal texts may compare equal, C if texts are sorted by code
    point, else nothing.
    """
    if name is None:
        return ""
    if not is_deterministic:
        return f' COLLATE "nondeterministic {name}"'
    return ' COLLATE "C"' if order in ("C", "POSIX", "C.UTF-8", "C.utf8") else ""


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
