"""Shared parts of methods that group records.

``method``       the template from a table to a draft; a method adds what it refuses and how it groups
``refusal``      refusal of tables in which people have several rows
``suppression``  choice of the suppressed groups, and what their absence discloses
``quasi_sets``   adversary views, where there are several sets of quasi columns
``buckets``      shared parts of methods that publish buckets
``scales``       split order of a column; ``stage`` groups during splitting; ``column_cells`` the labels of a column
``recoding``     records of one point in several groups; ``shown_groups`` labels of a local recoding; ``local_groups`` its grouping
``format``       the format ``generalize``: one table of generalized rows
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.methods.grouping.column_cells import ColumnCells, CutOrder, cells_of, column_cells

if TYPE_CHECKING:
    from reticent.methods.grouping.buckets import not_in_buckets, value_meanings
    from reticent.methods.grouping.local_groups import local_grouping
    from reticent.methods.grouping.method import Grouping, GroupMethod, GroupRun
    from reticent.methods.grouping.quasi_sets import Columns, JudgedSet, adversary_sets, judged_sets, seen_as
    from reticent.methods.grouping.recoding import Allocation
    from reticent.methods.grouping.refusal import rows_of_people
    from reticent.methods.grouping.scales import CellStyle, Ids, Scale, order_of
    from reticent.methods.grouping.shown_groups import ShownGroups, apart, narrowed
    from reticent.methods.grouping.stage import Cut, Mask, Stage
    from reticent.methods.grouping.suppression import (
        PublishedGroups,
        SuppressedGroups,
        discloses_too_much,
        failing_groups,
        together_of,
    )

_HOMES = {
    "Allocation": "recoding",
    "CellStyle": "scales",
    "Columns": "quasi_sets",
    "Cut": "stage",
    "GroupMethod": "method",
    "GroupRun": "method",
    "Grouping": "method",
    "Ids": "scales",
    "JudgedSet": "quasi_sets",
    "Mask": "stage",
    "PublishedGroups": "suppression",
    "Scale": "scales",
    "ShownGroups": "shown_groups",
    "Stage": "stage",
    "SuppressedGroups": "suppression",
    "adversary_sets": "quasi_sets",
    "apart": "shown_groups",
    "discloses_too_much": "suppression",
    "failing_groups": "suppression",
    "judged_sets": "quasi_sets",
    "local_grouping": "local_groups",
    "narrowed": "shown_groups",
    "not_in_buckets": "buckets",
    "order_of": "scales",
    "rows_of_people": "refusal",
    "seen_as": "quasi_sets",
    "together_of": "suppression",
    "value_meanings": "buckets",
}

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
    "Scale",
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

__getattr__ = lazy_names(__name__, _HOMES)
