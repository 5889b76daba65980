"""Methods that group rows, so that people hide among each other.

``base``      what a method is
``lattice``   full-domain generalization with exact search; ``datafly`` the greedy baseline
``mondrian``  local recoding by repeated cuts
``rtree``     boxes of a spatial index, the baseline that Bang is compared with
``suppress``  local suppression: single cells are starred
``bang``      classes from a spatial index, cut for any k
``gather``    clusters with centres and radii, by radius or by cost
``anatomy``   buckets of different sensitive values beside exact quasi values
``buckets``   what methods that publish buckets have in common
``sets``      what each adversary sees, where there are several sets of quasi columns
``leaving``   which groups are left out, and what may be told about the people in them
"""

from reticent.anonymize.anatomy import Anatomy, Angelization
from reticent.anonymize.bang import Bang
from reticent.anonymize.datafly import Datafly
from reticent.anonymize.gather import Cellular, Gather
from reticent.anonymize.lattice import Lattice, Node, NodeView, Search, search
from reticent.anonymize.mondrian import Mondrian
from reticent.anonymize.rtree import RPlusTree
from reticent.anonymize.suppress import Suppress

__all__ = [
    "Anatomy",
    "Angelization",
    "Bang",
    "Cellular",
    "Datafly",
    "Gather",
    "Lattice",
    "Mondrian",
    "Node",
    "NodeView",
    "RPlusTree",
    "Search",
    "Suppress",
    "search",
]
