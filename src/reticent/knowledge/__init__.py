"""Worst-case background knowledge: how much k facts about people can disclose, which facts, and what-if (R-WK).

``buckets``     what is measured: the falling counts of every bucket
``minimize``    the best h atoms inside one bucket, exactly
``screen``      a float pass that leaves the few buckets that can matter (``_kernels`` for very many)
``contenders``  exact arithmetic on those few
``disclosure``  the curve D(B, k), its negation-only companion, breaking point, certainty point, verdict
``witness``     the worst facts themselves, in words
``tree``        the same for buckets that change one by one; ``monitor`` for a growing table
``facts``       facts as people type them; ``population``: who is in which bucket
``solver``      exact beliefs from facts; ``sampling`` estimates them, ``worlds`` lists all worlds of a tiny table
``whatif``      the answer to "and if somebody knew this?"; ``source`` finds the people in a table or a release
``search``      the least general safe bucketizations of a chain or a lattice
"""

from reticent.knowledge.disclosure import (
    Safety,
    breaking_point,
    certainty_point,
    curve,
    negation_curve,
    safe,
)
from reticent.knowledge.monitor import Monitor, Watch
from reticent.knowledge.population import Population
from reticent.knowledge.source import what_if
from reticent.knowledge.tree import DisclosureTree
from reticent.knowledge.whatif import WhatIf, explore
from reticent.knowledge.witness import RankedAtom, Witness, negation_witness, witness

__all__ = [
    "DisclosureTree",
    "Monitor",
    "Population",
    "RankedAtom",
    "Safety",
    "Watch",
    "WhatIf",
    "Witness",
    "breaking_point",
    "certainty_point",
    "curve",
    "explore",
    "negation_curve",
    "negation_witness",
    "safe",
    "what_if",
    "witness",
]
