"""The spatial-index baseline for Bang: a tree of disjoint boxes, built by inserting points one by one.

``method``    RPlusTree, the method that ``publish`` takes
``_kernels``  the tree, compiled: insertion, overflow, seeds, cuts
"""

from reticent.baselines.rtree.method import RPlusTree

__all__ = ["RPlusTree"]
