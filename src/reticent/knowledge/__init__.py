"""Worst-case background knowledge: how much k facts about people can disclose, which facts, and what-if (R-WK).

``buckets``     what is measured: the falling counts of every bucket
``minimize``    the best h atoms inside one bucket, exactly
``screen``      a float pass that leaves the few buckets that can matter (``_kernels`` for very many)
``disclosure``  the curve D(B, k), its negation-only companion, breaking point, certainty point, verdict
``witness``     the worst facts themselves, in words
"""

from reticent.knowledge.disclosure import (
    Safety,
    breaking_point,
    certainty_point,
    curve,
    negation_curve,
    safe,
)
from reticent.knowledge.witness import RankedAtom, Witness, negation_witness, witness

__all__ = [
    "RankedAtom",
    "Safety",
    "Witness",
    "breaking_point",
    "certainty_point",
    "curve",
    "negation_curve",
    "negation_witness",
    "safe",
    "witness",
]
