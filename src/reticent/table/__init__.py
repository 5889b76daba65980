"""Tables about people: rows, roles, hierarchies, and the meanings of labels.

``table``            a frame with a role for every column; ``sensitive`` columns with their domains; survey ``weights`` as exact counts
``declarations``     columns that the steward declares unknown to adversaries, with reasons
``rows``             rows in memory, in a stream or in a file; ``row_order`` sorts them; ``row_classes`` equivalence classes; ``blocks`` and ``table_files`` write them
``relations``        which columns can be computed from which others
``hierarchies``      chains of increasingly coarse partitions of a column
``meaning``          what a label represents; ``value_types`` the types of values, and their JSON encoding
``canonical_types``  the canonical storage types; ``coarsening`` rounds and bins numbers and dates outside the quasi columns
``formula_cells``    text that a spreadsheet would execute, and how CSV files escape it
``codebook``         value labels of statistics packages; ``person_marks`` keyed fingerprints of a table's people
``opener``           what a table needs from an engine
"""

from reticent.table.blocks import Checksum, as_parquet, csv_blocks, csv_header, parquet_blocks, repeated_csv_blocks
from reticent.table.canonical_types import clock_text, plain, real
from reticent.table.coarsening import (
    CalendarUnit,
    Coarsening,
    Digits,
    Microaggregation,
    Rounding,
    Steps,
    coarsening_from,
)
from reticent.table.codebook import Code, TableCodebook
from reticent.table.declarations import declared_reasons
from reticent.table.formula_cells import formula_columns
from reticent.table.hierarchies.descriptions import hierarchy_from
from reticent.table.hierarchies.hierarchy import BoundHierarchy, Hierarchy, Level, unused
from reticent.table.hierarchies.leaves import as_type
from reticent.table.hierarchies.level_limits import LimitedLevels, beyond_limits
from reticent.table.hierarchies.public_values import NAMES
from reticent.table.meaning import (
    NULL_LABEL,
    OR_MISSING,
    SUPPRESSED,
    Anything,
    Interval,
    LeafIndex,
    LineSegment,
    Meaning,
    Missing,
    OrMissing,
    Prefix,
    Value,
    Values,
    are_disjoint,
    covers_missing,
    null_label,
    texts_of,
)
from reticent.table.opener import opener
from reticent.table.person_marks import contents_marks, marks_of_columns, marks_of_people
from reticent.table.relations import ColumnRelation, RelationFormula, find_relations
from reticent.table.row_classes import class_sizes
from reticent.table.row_order import in_order
from reticent.table.rows import (
    Change,
    Chunks,
    CodedRows,
    Counted,
    DistantRows,
    DrawnRows,
    FrameRows,
    Profile,
    RepeatedRows,
    Rows,
    StoredRows,
    StreamRows,
    csv_runs,
    held_frame,
    stand_in_order,
)
from reticent.table.sensitive import SensitiveColumn, SensitiveKind, bind_sensitive
from reticent.table.table import PSEUDONYM, EngineName, Table, Unit, check_engine
from reticent.table.table_files import (
    LossyTable,
    TableFile,
    TableRows,
    as_plain_text,
    conformed,
    plain_names,
    table_file,
    write_frame,
)
from reticent.table.table_relations import relations_in
from reticent.table.value_types import ValueType, to_plain

__all__ = [
    "NAMES",
    "NULL_LABEL",
    "OR_MISSING",
    "PSEUDONYM",
    "SUPPRESSED",
    "Anything",
    "BoundHierarchy",
    "CalendarUnit",
    "Change",
    "Checksum",
    "Chunks",
    "Coarsening",
    "Code",
    "CodedRows",
    "ColumnRelation",
    "Counted",
    "Digits",
    "DistantRows",
    "DrawnRows",
    "EngineName",
    "FrameRows",
    "Hierarchy",
    "Interval",
    "LeafIndex",
    "Level",
    "LimitedLevels",
    "LineSegment",
    "LossyTable",
    "Meaning",
    "Microaggregation",
    "Missing",
    "OrMissing",
    "Prefix",
    "Profile",
    "RelationFormula",
    "RepeatedRows",
    "Rounding",
    "Rows",
    "SensitiveColumn",
    "SensitiveKind",
    "Steps",
    "StoredRows",
    "StreamRows",
    "Table",
    "TableCodebook",
    "TableFile",
    "TableRows",
    "Unit",
    "Value",
    "ValueType",
    "Values",
    "are_disjoint",
    "as_parquet",
    "as_plain_text",
    "as_type",
    "beyond_limits",
    "bind_sensitive",
    "check_engine",
    "class_sizes",
    "clock_text",
    "coarsening_from",
    "conformed",
    "contents_marks",
    "covers_missing",
    "csv_blocks",
    "csv_header",
    "csv_runs",
    "declared_reasons",
    "find_relations",
    "formula_columns",
    "held_frame",
    "hierarchy_from",
    "in_order",
    "marks_of_columns",
    "marks_of_people",
    "null_label",
    "opener",
    "parquet_blocks",
    "plain",
    "plain_names",
    "real",
    "relations_in",
    "repeated_csv_blocks",
    "stand_in_order",
    "table_file",
    "texts_of",
    "to_plain",
    "unused",
    "write_frame",
]
