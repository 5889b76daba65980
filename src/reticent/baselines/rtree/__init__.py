"""The baseline of spatial indexes before Bang: a tree of disjoint boxes that grows point by point.

``method``    RPlusTree, the method that ``publish`` takes
``_kernels``  the tree, compiled: insertion, overflow, seeds, cuts
"""

from reticent.baselines.rtree.method import RPlusTree

__all__ = ["RPlusTree"]
