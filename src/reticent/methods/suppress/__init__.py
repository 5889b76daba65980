"""Local suppression: single cells are starred, so that rows with equal labels are classes that pass (R-KS).

``method``      the method :class:`Suppress`, and what its ``fit`` tells
``partitions``  one partition for each set of columns that an adversary may hold; what it costs, and the least that it could
``strategy``    which algorithm is used, in one piece or in parts, and what is proven of it
``forest``      any k, by near neighbours; ``factors`` k = 2 and 3, by factors of a graph; ``optimum`` the least cost, for small tables
``patterns``    the scalable greedy, and the lower bound by patterns; ``cell_search`` the local search after it (``_kernels``); ``leftovers`` the last rows
``nearest``     the lower bound by nearest neighbours; ``wildcards`` the count under the other reading, to compare with
``ladders``     what hiding a cell costs, and the units that are hidden together
"""

from reticent.methods.suppress.method import Suppress, SuppressionFit

__all__ = ["Suppress", "SuppressionFit"]
