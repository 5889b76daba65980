"""Clusters of people with proven radii or costs.

``method``    Gather and Cellular, the methods that ``fit`` points and that ``publish`` takes
``units``     what is clustered: people as records of a metric, in the order of their content, and parts of them
``radii``     clusters of the least radius: r-gather, with outliers, with at most k clusters; groups of neighbours (MDAV)
``cellular``  clusters of the least total cost
``cluster_solver``    the algorithm on all units or part by part, finer clusters, centres
"""

from reticent.methods.clusters.method import Cellular, FittedClusters, Gather

__all__ = ["Cellular", "FittedClusters", "Gather"]
