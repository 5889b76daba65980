"""Synthetic data with probabilistic differential privacy: every group's rows are replaced by as many drawn ones (spec 000b, part B).

``plan``           from public facts to a plan: noise, promise, share of real data
``need``           how much noise a group needs; ``beta_binomial`` the tails that decide it
``prior``          the public domain with its weights
``urn``            exact draws from Polya urns
``disclosure``     the exact test of one output, for the steward only
"""

from reticent.synthesize.disclosure import disclosure
from reticent.synthesize.plan import SynthesisPlan, plan
from reticent.synthesize.prior import PublicPrior
from reticent.synthesize.urn import sample

__all__ = ["PublicPrior", "SynthesisPlan", "disclosure", "plan", "sample"]
