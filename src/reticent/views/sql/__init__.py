"""The SQL front end: schemas from DDL or a live catalogue, queries from text, and dialect differences.

- ``dialect``: parsing, positions, constants, and query texts that SQLite and DuckDB run
- ``ddl``: CREATE TABLE, CREATE TYPE, ALTER TABLE, CREATE VIEW as a schema
- ``database_schema``: the same from a running PostgreSQL or a DuckDB file
- ``row_conditions``, ``conditions``, ``scopes``, ``outputs``, ``translator``: the semantics of the parts of a SELECT
- ``translate``: the query of a whole text
- ``query_files``: named queries from files, directories and dbt-style models
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from reticent.views.sql.database_schema import from_duckdb, from_postgres
    from reticent.views.sql.query_files import read_queries

_HOMES = {
    "from_duckdb": "database_schema",
    "from_postgres": "database_schema",
    "read_queries": "query_files",
}

__all__ = [
    "from_duckdb",
    "from_postgres",
    "read_queries",
]

__getattr__ = lazy_names(__name__, _HOMES)
