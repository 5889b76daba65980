"""Releases on a public grid: columns are cut into cells that were declared before anybody looked at the data.

``axes``        the grid: columns, their cells, and what these stand for
``sample_law``  what a random sample hides: the exact delta of cells with enough sampled rows
``bisection``   cutting the grid in the middle again and again, where noisy counts say so
``details``     what a release tells of its grid, and the plans that definitions judge
``method``      ``GridSample`` and ``GridCounts``: from a table to a draft
``box_tables``  cells and boxes by their labels
``format``      both kinds of release; ``counts`` counts in them with intervals
"""

from reticent.errors import correct_names
from reticent.methods.grid.method import GridCounts, GridSample
from reticent.methods.grid.required_rows import GridPlan, plan

__all__ = ["GridCounts", "GridPlan", "GridSample", "plan"]

correct_names(__name__)
