"""Full-domain generalization: every quasi column moves to one level of its hierarchy.

``method``          Lattice, the method that ``publish`` takes
``search``          rt.search and what it returns
``frontier``        the default search, exact branch and bound; ``outliers`` prunes by single people, ``forecast`` guesses where to look
``classification``  all passing nodes: by tagging, Incognito, exhaustively
``anytime``         lattices too large to hold
``evaluation``      judging one node; ``points`` merges groups (``runs`` looks several columns up at once), ``objectives`` and ``costs`` measure them
``space``           the lattice as an array
"""

from reticent.anonymize.lattice.method import Lattice
from reticent.anonymize.lattice.objectives import NodeView
from reticent.anonymize.lattice.search import Node, Search, search

__all__ = ["Lattice", "Node", "NodeView", "Search", "search"]
