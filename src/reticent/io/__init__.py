"""Reading files, frames and databases.

``source``       :class:`Source`: any of them, by location; ``row_source`` the interface of each kind
``csv_files``    delimited text; ``record_layout`` finds header and rows; ``text_types`` infers column types; ``number_formats`` formatted
                 numbers; ``sheets`` of Excel; ``statistics_files`` of SPSS, Stata and SAS; ``confined`` reading in a process
                 with limited memory
``sql``          queries of DuckDB and PostgreSQL; ``sqlite``; ``databases`` any that SQLAlchemy supports

Names are imported on first use.
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from reticent.io.databases import database_tables
    from reticent.io.number_formats import WrittenNumbers
    from reticent.io.row_source import RowSource, address_of, chosen_columns
    from reticent.io.source import Source, people_of, read_frame
    from reticent.io.sql import fetch_postgres, quoted
    from reticent.io.text_types import MISSING_WORDS, declared_kind

_HOMES = {
    "MISSING_WORDS": "text_types",
    "RowSource": "row_source",
    "Source": "source",
    "WrittenNumbers": "number_formats",
    "address_of": "row_source",
    "chosen_columns": "row_source",
    "database_tables": "databases",
    "declared_kind": "text_types",
    "fetch_postgres": "sql",
    "people_of": "source",
    "quoted": "sql",
    "read_frame": "source",
}

__all__ = [
    "MISSING_WORDS",
    "RowSource",
    "Source",
    "WrittenNumbers",
    "address_of",
    "chosen_columns",
    "database_tables",
    "declared_kind",
    "fetch_postgres",
    "people_of",
    "quoted",
    "read_frame",
]

__getattr__ = lazy_names(__name__, _HOMES)
