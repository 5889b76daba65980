"""Local suppression: single cells are suppressed, so that the equivalence classes of rows with equal labels satisfy the definition.

``method`` the method :class:`Suppress`, and the result of its ``fit`` ``partitions`` one partition for each set of
columns that an adversary may know; its cost, and lower bounds ``strategy`` choice of the algorithm, on the whole or by
parts, and its proven factor ``forest`` any k, by near neighbours; ``factors`` k = 2 and 3, by graph factors;
``optimum`` the optimal cost, for small tables ``patterns`` the scalable greedy, and the lower bound by patterns;
``cell_search`` the local search after it (``_kernels``); ``leftovers`` the last rows ``nearest`` the lower bound by
nearest neighbours; ``wildcards`` the count under the wildcard reading, for comparison ``ladders`` the cost of
suppressing a cell, and the units that are suppressed together
"""

from reticent.methods.suppress.method import Suppress, SuppressionFit

__all__ = ["Suppress", "SuppressionFit"]
