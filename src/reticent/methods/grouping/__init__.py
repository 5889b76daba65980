"""What methods that group rows share.

``method``       the one way from a table to a draft, by what a method refuses and how it groups
``refusal``      how methods refuse people with several rows
``suppression``  which groups are left out, and what may be told about the people in them
``quasi_sets``   what each adversary sees, where there are several sets of quasi columns
``buckets``      what methods that publish buckets have in common
``scales``       the order in which a column is cut; ``stage`` groups while they are cut; ``column_cells`` what is published of a group in one column
``recoding``     rows of one point in several groups; ``shown_groups`` what a local recoding shows; ``local_groups`` its grouping
``format``       the format ``generalize``: one table of generalized rows
"""

from reticent.methods.grouping.buckets import not_in_buckets, value_meanings
from reticent.methods.grouping.column_cells import ColumnCells, CutOrder, cells_of, column_cells
from reticent.methods.grouping.local_groups import local_grouping
from reticent.methods.grouping.method import Grouping, GroupMethod, GroupRun
from reticent.methods.grouping.quasi_sets import Columns, JudgedSet, adversary_sets, judged_sets, seen_as
from reticent.methods.grouping.recoding import Allocation
from reticent.methods.grouping.refusal import rows_of_people
from reticent.methods.grouping.scales import CellStyle, Ids, order_of
from reticent.methods.grouping.shown_groups import ShownGroups, apart, narrowed
from reticent.methods.grouping.stage import Cut, Mask, Stage
from reticent.methods.grouping.suppression import (
    PublishedGroups,
    SuppressedGroups,
    discloses_too_much,
    failing_groups,
    together_of,
)

__all__ = [
    "Allocation",
    "CellStyle",
    "ColumnCells",
    "Columns",
    "Cut",
    "CutOrder",
    "GroupMethod",
    "GroupRun",
    "Grouping",
    "Ids",
    "JudgedSet",
    "Mask",
    "PublishedGroups",
    "ShownGroups",
    "Stage",
    "SuppressedGroups",
    "adversary_sets",
    "apart",
    "cells_of",
    "column_cells",
    "discloses_too_much",
    "failing_groups",
    "judged_sets",
    "local_grouping",
    "narrowed",
    "not_in_buckets",
    "order_of",
    "rows_of_people",
    "seen_as",
    "together_of",
    "value_meanings",
]
