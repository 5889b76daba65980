"""Synthetic data with probabilistic differential privacy: every group's rows are replaced by sampled ones
([Machanavajjhala2008b]; [Machanavajjhala2008], chapter 4).

``plan`` from public facts to a plan: noise, guarantee, share of real data ``required_noise`` the noise that a group
needs; ``beta_binomial`` the tail probabilities that decide it ``least_scale`` the smallest certified noise;
``reference_sample`` that of the published closed-form criterion ``prior`` the public domain with its weights;
``keep_probabilities`` retention probabilities of its values; ``declared`` groups and domain as declared and published
``urn`` exact sampling from Polya urns ``rejection`` rejection sampling; ``domain_reduction`` values dropped with a
public probability ``disclosure_set`` the exact test of one output, private to the steward; ``disclosure_audit`` that of
a whole release ``method`` Synthetic; ``counts`` the confidential counts that it samples from ``format`` the format
``synthetic``; ``details`` its part of the manifest; ``count_estimates`` queries on it
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
