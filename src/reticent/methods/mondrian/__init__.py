"""Local recoding by repeated cuts.

``method``        Mondrian, the method that ``publish`` takes
``partition``     the rounds of cuts, all groups of a generation at once
``allowed_cuts``  which cuts a definition allows

Scales, stages and cells, which other local recodings use too, are in ``methods/grouping``.
"""

from reticent.methods.mondrian.method import Mondrian

__all__ = [
    "Mondrian",
]
