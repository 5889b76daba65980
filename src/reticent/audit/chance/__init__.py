"""Auditing for partial disclosure: answers may change beliefs slightly, and more only with small probability.

``game``         lambda, beta, delta and rounds; the finite check and the sample sizes
``priors``       the public prior of the values
``auditor``      the common base: rounds, recording, reproducible randomness
``sum_auditor``  the sum auditor, on a ``posterior``: ``gaussian`` and ``uniform`` (with ``irwin_hall``) are exact; ``overlapping_sums`` samples sums of classes of people (``class_sums``) exactly; ``walk`` and ``monte_carlo`` estimate the rest by hit-and-run
``max_auditor``  the auditor of maxima and minima, exact

These auditors use floating point. Probabilities are rounded up and tolerances down by more than the rounding error, and
borderline cases are denied.
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
