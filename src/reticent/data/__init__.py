"""Tables about people, and the few shapes that everything else is built from.

``table``        a frame with a role for every column
``hierarchy``    chains of partitions; ``recipes``, ``calendars`` and ``builders`` have the kinds, made of ``leaves`` and ``levels``;
                 ``limits`` the levels that may be published, ``domains`` public values; ``descriptions`` reads them from plain data
``meaning``      what a label stands for; ``types`` the types of values, and their way into JSON
``frames``       frames of any kind as polars frames
``encoding``     turns values into small integers
``rows``         rows in memory, in a stream or in a file; ``memory`` how much there is, ``ordering`` and ``sorting`` of rows
``engine``       what an engine does with rows
``coarsening``   coarser numbers and dates beside the quasi columns
``weights``      survey weights as exact counts
``readers``      files, frames and databases in (``readers_csv``, ``readers_sql``, ``readers_types``); ``writers`` files out
``sensitive``    sensitive columns and their domains
``frequencies``  the frequency set: distinct quasi points with sensitive histograms
``groups``       what a definition judges: sizes and histograms
``seen``         what an adversary sees: cells of labels and their groups; ``covers`` and ``fitting`` place people among them
``metric``       distances between records of mixed columns
``context``      randomness, progress, cancellation and counts of one run
``evidence``     what a release is judged by: groups, patterns, a plan, a history
``typical``      one value in a column's own type for a label, on the grid that a range gives
``recoding``     what happens to a row; ``draft`` what a method returns
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reticent.data.coarsening import (
    Bins,
    CalendarUnit,
    Coarsening,
    Digits,
    Microaggregation,
    Rounding,
    coarsening_from,
)
from reticent.data.codebook import TableCodebook
from reticent.data.context import Context, Event, never
from reticent.data.covers import Cover, cover
from reticent.data.descriptions import hierarchy_from
from reticent.data.domains import NAMES as PUBLIC_DOMAINS
from reticent.data.draft import Draft
from reticent.data.encoding import looked_up, sorted_values
from reticent.data.engine import Engine, Order, Written, WrittenFile, engine_named, opener, part_names
from reticent.data.evidence import (
    Columns,
    Comparison,
    Evidence,
    Kind,
    MechanismPlan,
    Patterns,
    ReleaseHistory,
    remainder_of,
)
from reticent.data.fitting import AskedPeople, Fitting, find_place
from reticent.data.frames import as_polars, as_type_of, is_pattern
from reticent.data.frequencies import POPULATION, WEIGHT, FrequencySet, NodeLevels
from reticent.data.groups import Groups, Histograms, SensitiveDomain
from reticent.data.hierarchy import BoundHierarchy, Codes, Hierarchy, Level, unused
from reticent.data.keys import (
    Distinct,
    first_rows,
    is_dense,
    mixed,
    number,
    pack,
    positions,
    present,
    remember,
    sort_digits,
    sort_equal,
    sum_by,
    sum_equal,
)
from reticent.data.leaves import as_type
from reticent.data.limits import LimitedLevels, beyond_limits
from reticent.data.meaning import (
    NULL_LABEL,
    OR_MISSING,
    SUPPRESSED,
    Anything,
    Interval,
    LeafIndex,
    Meaning,
    Missing,
    OrMissing,
    Value,
    Values,
    covers_missing,
    null_label,
    texts_of,
)
from reticent.data.memory import MEMORY, files_fit, fits, most_rows, rows_at_once
from reticent.data.metric import (
    CategoryDistance,
    ColumnDistance,
    HierarchyDistance,
    Metric,
    MetricChoices,
    MetricRecords,
    NumberDistance,
    PairwiseDistances,
    PlaceDistance,
    metric_over,
    round_up,
    width_of,
)
from reticent.data.ordering import in_order, is_in_order
from reticent.data.people import marks_of_people, numbered_marks, people_marks
from reticent.data.plain import clock_text, real
from reticent.data.recoding import (
    BATCH,
    BUCKET,
    COUNT,
    DRAWN,
    Allocation,
    Coupled,
    Deal,
    Levels,
    Recoded,
    Recoding,
    RegionColumn,
    Regions,
    Unseen,
    declared_domains,
    read_recoding,
    shown_meanings,
)
from reticent.data.rows import (
    Change,
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
from reticent.data.seen import NOT_TRUE, NOWHERE, SEVERAL, Channel, MadeBy, Seen, SeenColumn, WholeColumn
from reticent.data.sensitive import SensitiveColumn, SensitiveKind, bind_sensitive
from reticent.data.shape import (
    Ball,
    Compacted,
    LabelBox,
    Nested,
    Patched,
    Shape,
    balls_around,
    inside,
    read_shapes,
    shapes_json,
)
from reticent.data.table import PSEUDONYM, EngineName, Table, check_engine
from reticent.data.table_files import TableFile, table_file, write_frame
from reticent.data.types import ValueType, to_plain
from reticent.data.typical import LabelRanges, at_places, places_of
from reticent.data.writers import (
    Checksum,
    as_csv,
    as_parquet,
    csv_blocks,
    csv_header,
    parquet_blocks,
    repeated_csv_blocks,
)

if TYPE_CHECKING:
    from reticent.data.databases import database_tables
    from reticent.data.readers import Source, people_of, read_frame
    from reticent.data.readers_sql import fetch_postgres
    from reticent.data.readers_types import MISSING_WORDS, declared_kind
    from reticent.data.sources import RowSource, address_of, chosen_columns

# Readers bring databases and parsers along, which nobody should wait for who has a frame.
_READERS = {
    "Source": "readers",
    "people_of": "readers",
    "read_frame": "readers",
    "database_tables": "databases",
    "fetch_postgres": "readers_sql",
    "MISSING_WORDS": "readers_types",
    "declared_kind": "readers_types",
    "RowSource": "sources",
    "address_of": "sources",
    "chosen_columns": "sources",
}

__all__ = [
    "BATCH",
    "BUCKET",
    "COUNT",
    "DRAWN",
    "MEMORY",
    "MISSING_WORDS",
    "NOT_TRUE",
    "NOWHERE",
    "NULL_LABEL",
    "OR_MISSING",
    "POPULATION",
    "PSEUDONYM",
    "PUBLIC_DOMAINS",
    "SEVERAL",
    "SUPPRESSED",
    "WEIGHT",
    "Allocation",
    "Anything",
    "AskedPeople",
    "Ball",
    "Bins",
    "BoundHierarchy",
    "CalendarUnit",
    "CategoryDistance",
    "Change",
    "Channel",
    "Checksum",
    "Coarsening",
    "CodedRows",
    "Codes",
    "ColumnDistance",
    "Columns",
    "Compacted",
    "Comparison",
    "Context",
    "Counted",
    "Coupled",
    "Cover",
    "Deal",
    "Digits",
    "DistantRows",
    "Distinct",
    "Draft",
    "DrawnRows",
    "Engine",
    "EngineName",
    "Event",
    "Evidence",
    "Fitting",
    "FrameRows",
    "FrequencySet",
    "Groups",
    "Hierarchy",
    "HierarchyDistance",
    "Histograms",
    "Interval",
    "Kind",
    "LabelBox",
    "LabelRanges",
    "LeafIndex",
    "Level",
    "Levels",
    "LimitedLevels",
    "MadeBy",
    "Meaning",
    "MechanismPlan",
    "Metric",
    "MetricChoices",
    "MetricRecords",
    "Microaggregation",
    "Missing",
    "Nested",
    "NodeLevels",
    "NumberDistance",
    "OrMissing",
    "Order",
    "PairwiseDistances",
    "Patched",
    "Patterns",
    "PlaceDistance",
    "Profile",
    "Recoded",
    "Recoding",
    "RegionColumn",
    "Regions",
    "ReleaseHistory",
    "RepeatedRows",
    "Rounding",
    "RowSource",
    "Rows",
    "Seen",
    "SeenColumn",
    "SensitiveColumn",
    "SensitiveDomain",
    "SensitiveKind",
    "Shape",
    "Source",
    "StoredRows",
    "StreamRows",
    "Table",
    "TableCodebook",
    "TableFile",
    "Unseen",
    "Value",
    "ValueType",
    "Values",
    "WholeColumn",
    "Written",
    "WrittenFile",
    "address_of",
    "as_csv",
    "as_parquet",
    "as_polars",
    "as_type",
    "as_type_of",
    "at_places",
    "balls_around",
    "beyond_limits",
    "bind_sensitive",
    "check_engine",
    "chosen_columns",
    "clock_text",
    "coarsening_from",
    "cover",
    "covers_missing",
    "csv_blocks",
    "csv_header",
    "csv_runs",
    "database_tables",
    "declared_domains",
    "declared_kind",
    "engine_named",
    "fetch_postgres",
    "files_fit",
    "find_place",
    "first_rows",
    "fits",
    "held_frame",
    "hierarchy_from",
    "in_order",
    "inside",
    "is_dense",
    "is_in_order",
    "is_pattern",
    "looked_up",
    "marks_of_people",
    "metric_over",
    "mixed",
    "most_rows",
    "never",
    "null_label",
    "number",
    "numbered_marks",
    "opener",
    "pack",
    "parquet_blocks",
    "part_names",
    "people_marks",
    "people_of",
    "places_of",
    "positions",
    "present",
    "read_frame",
    "read_recoding",
    "read_shapes",
    "real",
    "remainder_of",
    "remember",
    "repeated_csv_blocks",
    "round_up",
    "rows_at_once",
    "shapes_json",
    "shown_meanings",
    "sort_digits",
    "sort_equal",
    "sorted_values",
    "stand_in_order",
    "sum_by",
    "sum_equal",
    "table_file",
    "texts_of",
    "to_plain",
    "unused",
    "width_of",
    "write_frame",
]


def __getattr__(name: str) -> Any:
    if name in _READERS:
        return getattr(import_module(f"reticent.data.{_READERS[name]}"), name)
    raise AttributeError(f"module 'reticent.data' has no attribute {name!r}")
