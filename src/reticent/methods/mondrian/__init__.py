"""Local recoding by repeated cuts, and by a search for better groups.

``method``        Mondrian, the method that ``publish`` takes
``partition``     the rounds of cuts, all groups of a generation at once
``allowed_cuts``  which cuts a definition allows
``local_search``  groups that are gathered anew while the loss falls; ``box_points`` is what its compiled loops see of the units

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
