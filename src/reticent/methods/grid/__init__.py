"""Releases on a public grid: columns are split into cells that are declared independently of the data.

``axes``        the grid: columns, their cells, and the meanings of these
``sample_law``  the exact delta of publishing cells with enough sampled rows
``bisection``   repeated bisection of the grid, guided by noisy counts
``details``     the manifest details: the grid, and the plans that definitions judge
``method``      ``GridSample`` and ``GridCounts``: from a table to a draft
``box_tables``  cells and boxes by their labels
``format``      both release formats; ``counts`` counting queries with intervals
"""

from reticent.errors import correct_names
from reticent.methods.grid.method import GridCounts, GridSample
from reticent.methods.grid.required_rows import GridPlan, plan

__all__ = ["GridCounts", "GridPlan", "GridSample", "plan"]

correct_names(__name__)
