"""Tables about people, and the few shapes that everything else is built from.

``table``        a frame with a role for every column
``hierarchy``    chains of partitions; ``recipes`` has the kinds, made of
                 ``leaves`` and ``levels``; ``descriptions`` reads them from plain data
``meaning``      what a label stands for; ``types`` the types of values, and their way into JSON
``frames``       frames of any kind as polars frames
``encoding``     turns values into small integers
``rows``         rows in memory, in a stream or in a file; ``memory`` how much there is, ``ordering`` and ``sorting`` of rows
``engine``       what an engine does with rows
``weights``      survey weights as exact counts
``readers``      files, frames and databases in (``readers_csv``, ``readers_sql``, ``readers_types``); ``writers`` files out
``sensitive``    sensitive columns and their domains
``frequencies``  the frequency set: distinct quasi points with sensitive histograms
``groups``       what a definition judges: sizes and histograms
``seen``         what an adversary sees: cells of labels and their groups; ``covers`` and ``fitting`` place people among them
``context``      randomness, progress, cancellation and counts of one run
``evidence``     what a release is judged by: groups, patterns, a plan, a history
``recoding``     what happens to a row; ``draft`` what a method returns
"""

from reticent.data.context import Context, Event
from reticent.data.draft import Draft
from reticent.data.engine import Engine, Order, Written, engine_named
from reticent.data.evidence import Columns, Comparison, Evidence, History, Kind, Patterns, Plan, remainder_of
from reticent.data.fitting import AskedPeople, Fitting, find_place
from reticent.data.frames import as_polars
from reticent.data.frequencies import POPULATION, WEIGHT, FrequencySet
from reticent.data.groups import Groups, Histograms, SensitiveDomain
from reticent.data.hierarchy import BoundHierarchy, Codes, Hierarchy, Level, unused
from reticent.data.keys import Distinct, first_rows, number, pack, positions, sum_by
from reticent.data.meaning import NULL_LABEL, SUPPRESSED, LeafIndex, Meaning
from reticent.data.ordering import group_rows, in_order, is_in_order
from reticent.data.people import people_marks, people_of
from reticent.data.recoding import Allocation, Levels, Recoded, Recoding, RegionColumn, Regions, Unseen, read_recoding
from reticent.data.rows import CodedRows, FrameRows, Profile, Rows, StoredRows, StreamRows, check_header, stand_in_order
from reticent.data.seen import NOT_TRUE, NOWHERE, SEVERAL, Channel, MadeBy, Seen, SeenColumn, WholeColumn
from reticent.data.sensitive import SensitiveColumn
from reticent.data.table import Table
from reticent.data.types import ValueType, to_plain
from reticent.data.writers import (
    BLOCKS,
    FORMATS,
    Checksum,
    as_csv,
    as_parquet,
    csv_blocks,
    csv_layout,
    parquet_blocks,
    write_frame,
)

__all__ = [
    "BLOCKS",
    "FORMATS",
    "NOT_TRUE",
    "NOWHERE",
    "NULL_LABEL",
    "POPULATION",
    "SEVERAL",
    "SUPPRESSED",
    "WEIGHT",
    "Allocation",
    "AskedPeople",
    "BoundHierarchy",
    "Channel",
    "Checksum",
    "CodedRows",
    "Codes",
    "Columns",
    "Comparison",
    "Context",
    "Distinct",
    "Draft",
    "Engine",
    "Event",
    "Evidence",
    "Fitting",
    "FrameRows",
    "FrequencySet",
    "Groups",
    "Hierarchy",
    "Histograms",
    "History",
    "Kind",
    "LeafIndex",
    "Level",
    "Levels",
    "MadeBy",
    "Meaning",
    "Order",
    "Patterns",
    "Plan",
    "Profile",
    "Recoded",
    "Recoding",
    "RegionColumn",
    "Regions",
    "Rows",
    "Seen",
    "SeenColumn",
    "SensitiveColumn",
    "SensitiveDomain",
    "StoredRows",
    "StreamRows",
    "Table",
    "Unseen",
    "ValueType",
    "WholeColumn",
    "Written",
    "as_csv",
    "as_parquet",
    "as_polars",
    "check_header",
    "csv_blocks",
    "csv_layout",
    "engine_named",
    "find_place",
    "first_rows",
    "group_rows",
    "in_order",
    "is_in_order",
    "number",
    "pack",
    "parquet_blocks",
    "people_marks",
    "people_of",
    "positions",
    "read_recoding",
    "remainder_of",
    "stand_in_order",
    "sum_by",
    "to_plain",
    "unused",
    "write_frame",
]
