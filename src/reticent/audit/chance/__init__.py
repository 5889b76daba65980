"""Auditing for partial disclosure: answers may move beliefs a little, and only rarely more.

``game``         lambda, beta, delta and rounds; the finite check and the sample sizes
``priors``       what everybody believes before any answer
``auditor``      what the auditors share: rounds, recording, repeatable randomness
``sum_auditor``  the sum auditor, on a ``posterior``: ``gaussian`` and ``uniform`` (with ``irwin_hall``) are exact; ``overlapping_sums``
                 draws sums of classes of people (``class_sums``) exactly; ``walk`` and ``monte_carlo`` estimate the rest by hit-and-run
``max_auditor``  the auditor of maxima and minima, exact

Floating point is part of these auditors. Chances are rounded up and tolerances down by more than its error, and what remains too
close to call is denied.
"""

from reticent.audit.chance.game import Game, PriorCells
from reticent.audit.chance.max_auditor import ProbabilisticMaxAuditor, ProbabilisticMinAuditor
from reticent.audit.chance.priors import Exponential, Gaussian, Prior, Uniform
from reticent.audit.chance.sum_auditor import ProbabilisticSumAuditor, decide

__all__ = [
    "Exponential",
    "Game",
    "Gaussian",
    "Prior",
    "PriorCells",
    "ProbabilisticMaxAuditor",
    "ProbabilisticMinAuditor",
    "ProbabilisticSumAuditor",
    "Uniform",
    "decide",
]
