"""Files, frames and databases in.

``source``       :class:`Source`: any of them, by its place; ``row_source`` what each kind can do
``csv_files``    delimited text; ``record_layout`` where its table stands; ``text_types`` the types that its columns have; ``number_formats`` numbers as people write
                 them; ``sheets`` of Excel; ``statistics_files`` of SPSS, Stata and SAS; ``confined`` reading in a process
                 whose memory is limited
``sql``          queries of DuckDB and PostgreSQL; ``sqlite``; ``databases`` any that SQLAlchemy reaches

Names are loaded when they are first used.
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
