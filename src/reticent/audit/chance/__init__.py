"""Auditing for partial disclosure: answers may move beliefs a little, and only rarely more (R-QA-9..12).

``game``        lambda, beta, delta and rounds; the finite check and the sample sizes
``priors``      what everybody believes before any answer
``auditor``     what the auditors share: rounds, recording, repeatable randomness
``sums``        the sum auditor, on a ``posterior``: ``gaussian`` and ``uniform`` (with ``irwin_hall``) are exact; ``overlapping``
                draws sums of classes of people (``class_sums``) exactly; ``walk`` and ``sampling`` estimate the rest by hit-and-run
``maxima``      the auditor of maxima and minima, exact

Floating point is part of these auditors. Chances are rounded up and tolerances down by more than its error, and what remains too
close to call is denied.
"""

from reticent.audit.chance.game import Game, PriorCells
from reticent.audit.chance.maxima import ProbabilisticMaxAuditor, ProbabilisticMinAuditor
from reticent.audit.chance.priors import Exponential, Gaussian, Prior, Uniform
from reticent.audit.chance.sums import ProbabilisticSumAuditor, decide

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
