"""Full-domain generalization: every quasi column moves to one level of its hierarchy.

``method`` Lattice, the method that ``publish`` takes ``search`` rt.search and what it returns ``frontier`` the default
search, exact branch and bound; ``outliers`` prunes by single records, ``forecast`` orders the search ``classification``
all passing nodes: by predictive tagging, Incognito, or exhaustively ``anytime`` lattices too large for memory,
with ``box_search`` for their lower bound ``node_evaluation`` judging one node; ``points`` merges groups (``packed_columns`` packs several columns into one code),
``objectives`` and ``costs`` measure them ``node_space`` the lattice as an array
"""

from reticent.methods.lattice.method import Lattice
from reticent.methods.lattice.node_evaluation import Evaluator
from reticent.methods.lattice.node_space import NodeSpace
from reticent.methods.lattice.objectives import NodeView, objective_for
from reticent.methods.lattice.points import Points
from reticent.methods.lattice.search import Node, Search, levels_of, search

__all__ = [
    "Evaluator",
    "Lattice",
    "Node",
    "NodeSpace",
    "NodeView",
    "Points",
    "Search",
    "levels_of",
    "objective_for",
    "search",
]
