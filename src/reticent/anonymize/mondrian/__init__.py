"""Local recoding by repeated cuts.

``method``     Mondrian, the method that ``publish`` takes
``partition``  the rounds of cuts, all groups of a generation at once
``stage``      the units of open groups, laid out group after group, and how they are cut
``judging``    which cuts a definition allows
``scales``     the order in which a column is cut, and how much of it a group covers
``shown``      groups as readers tell them apart, in all columns or in some
``cells``      what is published of a group in each column
``drafting``   from groups with their cells to a draft
"""

from reticent.anonymize.mondrian.cells import ColumnCells, CuttingOrder, column_cells
from reticent.anonymize.mondrian.drafting import draft_shown, recoding_of
from reticent.anonymize.mondrian.method import Mondrian
from reticent.anonymize.mondrian.scales import order_of
from reticent.anonymize.mondrian.shown import Shown

__all__ = ["ColumnCells", "CuttingOrder", "Mondrian", "Shown", "column_cells", "draft_shown", "order_of", "recoding_of"]
