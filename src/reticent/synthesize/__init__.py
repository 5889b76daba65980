"""Synthetic data with probabilistic differential privacy: every group's rows are replaced by as many drawn ones (spec 000b, part B).

``plan``           from public facts to a plan: noise, promise, share of real data
``need``           how much noise a group needs; ``beta_binomial`` the tails that decide it
``least_scale``    the least noise that is certified; ``reference`` that of the literature's closed criterion
``prior``          the public domain with its weights; ``declared`` groups and domain as they are declared and published
``urn``            exact draws from Polya urns
``disclosure``     the exact test of one output, for the steward only
``method``         Synthetic; ``counts`` the confidential counts that it draws from
``format``         the format ``synthetic`` of a release; ``details`` what its manifest holds; ``counting`` queries on it
"""

from reticent.synthesize.disclosure import disclosure
from reticent.synthesize.method import Synthetic
from reticent.synthesize.plan import SynthesisPlan, plan
from reticent.synthesize.prior import PublicPrior
from reticent.synthesize.urn import sample

__all__ = ["PublicPrior", "SynthesisPlan", "Synthetic", "disclosure", "plan", "sample"]
