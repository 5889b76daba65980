"""Multidimensional local recoding by recursive splits [LeFevre2006], refined by local search.

``method``        Mondrian, the method that ``publish`` takes
``partition``     recursive splits, all groups of one depth at once
``allowed_cuts``  which splits a definition allows
``local_search``  local search over groups after the splits; ``box_points`` is the input of its compiled loops

Scales, stages and cells, which other local recodings use too, are in ``methods/grouping``.
"""

from reticent.methods.mondrian.allowed_cuts import CutJudge
from reticent.methods.mondrian.method import Mondrian
from reticent.methods.mondrian.partition import Choice, Partition

__all__ = [
    "Choice",
    "CutJudge",
    "Mondrian",
    "Partition",
]
