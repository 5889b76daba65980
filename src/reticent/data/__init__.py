"""Tables about people, and the few shapes that everything else is built from.

``table``        a frame with a role for every column
``hierarchy``    chains of partitions; ``recipes``, ``recipes_numbers`` and ``recipes_dates`` have the kinds, made of
                 ``leaves`` and ``levels``; ``descriptions`` reads them from plain data
``meaning``      what a label stands for; ``types`` the types of values, and their way into JSON
``frames``       frames of any kind as polars frames
``encoding``     turns values into small integers
``stream``       rows that are never in memory together; ``profile`` what one pass finds out, ``memory`` how much there is,
                 ``sorting`` more rows than fit
``weights``      survey weights as exact counts
``readers``      files, frames and databases in (``readers_csv``, ``readers_sql``, ``readers_types``); ``writers`` files out
``sensitive``    sensitive columns and their domains
``frequencies``  the frequency set: distinct quasi points with sensitive histograms
``groups``       what a definition judges: sizes and histograms
``context``      randomness, progress, cancellation and counts of one run
``evidence``     what a release is judged by: groups, patterns, a plan, a history
``recoding``     what happens to a row; ``draft`` what a method returns
"""

from reticent.data.context import Context, Event
from reticent.data.draft import Draft
from reticent.data.evidence import Columns, Evidence, History, Kind, Patterns, Plan
from reticent.data.frames import as_polars
from reticent.data.frequencies import FrequencySet
from reticent.data.groups import Groups, Histograms, SensitiveDomain
from reticent.data.hierarchy import BoundHierarchy, Hierarchy, Level
from reticent.data.meaning import NULL_LABEL, SUPPRESSED, LeafIndex, Meaning
from reticent.data.recoding import Allocation, Levels, Recoding, Regions
from reticent.data.sensitive import SensitiveColumn
from reticent.data.table import Table
from reticent.data.types import ValueType, to_plain

__all__ = [
    "NULL_LABEL",
    "SUPPRESSED",
    "Allocation",
    "BoundHierarchy",
    "Columns",
    "Context",
    "Draft",
    "Event",
    "Evidence",
    "FrequencySet",
    "Groups",
    "Hierarchy",
    "Histograms",
    "History",
    "Kind",
    "LeafIndex",
    "Level",
    "Levels",
    "Meaning",
    "Patterns",
    "Plan",
    "Recoding",
    "Regions",
    "SensitiveColumn",
    "SensitiveDomain",
    "Table",
    "ValueType",
    "as_polars",
    "to_plain",
]
