"""Methods that group rows, so that people hide among each other.

``base``      what a method is
``lattice``   full-domain generalization with exact search
``assembly``  from kept rows to public tables
``repair``    saving part of a failing group
"""

from reticent.anonymize.base import Method
from reticent.anonymize.lattice import Lattice, Node, NodeView, Search, search

__all__ = ["Lattice", "Method", "Node", "NodeView", "Search", "search"]
