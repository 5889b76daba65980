"""Clusters of people with proven approximation factors for radius or cost ([Aggarwal2006]).

``method``    Gather and Cellular, the methods for ``fit`` and ``publish``
``units``     the clustered units: people as records of a metric space, sorted by content, and parts of them
``radii``     minimal radius: r-gather, with outliers, with at most k clusters; groups of neighbours (MDAV)
``cellular``  minimal total cost
``cluster_solver``    the algorithm on all units or by parts, refinement, centres
"""

from reticent.methods.clusters.method import Cellular, FittedClusters, Gather

__all__ = ["Cellular", "FittedClusters", "Gather"]
