"""Synthetic data with probabilistic differential privacy: every group's rows are replaced by as many drawn ones (Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber 2008).

``plan``            from public facts to a plan: noise, promise, share of real data
``required_noise``  how much noise a group needs; ``beta_binomial`` the tails that decide it
``least_scale``     the least noise that is certified; ``reference_sample`` that of the literature's closed criterion
``prior``           the public domain with its weights; ``keep_probabilities`` with which probabilities its values stay; ``declared`` groups and domain as they are declared and published
``urn``             exact draws from Polya urns
``rejection``       draws that are drawn again; ``domain_reduction`` values that are left out with a public probability
``disclosure_set``  the exact test of one output, for the steward only; ``disclosure_audit`` that of a whole release
``method``          Synthetic; ``counts`` the confidential counts that it draws from
``format``          the format ``synthetic`` of a release; ``details`` what its manifest holds; ``count_estimates`` queries on it
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.errors import correct_names
from reticent.methods.synthesize.declared import declared_prior, declared_sizes, refine
from reticent.methods.synthesize.disclosure_set import disclosure
from reticent.methods.synthesize.domain_reduction import DroppingPlan, plan_dropping, sample_dropped
from reticent.methods.synthesize.method import Synthetic
from reticent.methods.synthesize.plan import SynthesisPlan, plan
from reticent.methods.synthesize.prior import PublicPrior
from reticent.methods.synthesize.urn import sample

if TYPE_CHECKING:
    from reticent.methods.synthesize.comparison import ComparedDraw, ErrorComparison, compare
    from reticent.methods.synthesize.disclosure_audit import DisclosureAudit, audit_release

_HOMES = {
    "ComparedDraw": "comparison",
    "ErrorComparison": "comparison",
    "compare": "comparison",
    "DisclosureAudit": "disclosure_audit",
    "audit_release": "disclosure_audit",
}

__all__ = [
    "ComparedDraw",
    "DisclosureAudit",
    "DroppingPlan",
    "ErrorComparison",
    "PublicPrior",
    "SynthesisPlan",
    "Synthetic",
    "audit_release",
    "compare",
    "declared_prior",
    "declared_sizes",
    "disclosure",
    "plan",
    "plan_dropping",
    "refine",
    "sample",
    "sample_dropped",
]

correct_names(__name__)


__getattr__ = lazy_names(__name__, _HOMES)
