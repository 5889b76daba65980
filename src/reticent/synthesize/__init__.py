"""Synthetic data with probabilistic differential privacy: every group's rows are replaced by as many drawn ones (spec 000b, part B).

``plan``           from public facts to a plan: noise, promise, share of real data
``need``           how much noise a group needs; ``beta_binomial`` the tails that decide it
``least_scale``    the least noise that is certified; ``reference`` that of the literature's closed criterion
``prior``          the public domain with its weights; ``kept`` with which probabilities its values stay; ``declared`` groups and domain as they are declared and published
``urn``            exact draws from Polya urns
``screening``      draws that are drawn again; ``dropping`` values that are left out with a public probability
``disclosure``     the exact test of one output, for the steward only; ``audit`` that of a whole release
``method``         Synthetic; ``counts`` the confidential counts that it draws from
``format``         the format ``synthetic`` of a release; ``details`` what its manifest holds; ``counting`` queries on it
"""

from typing import TYPE_CHECKING, Any

from reticent.synthesize.declared import refine
from reticent.synthesize.disclosure import disclosure
from reticent.synthesize.dropping import DroppingPlan, plan_dropping, sample_dropped
from reticent.synthesize.method import Synthetic
from reticent.synthesize.plan import SynthesisPlan, plan
from reticent.synthesize.prior import PublicPrior
from reticent.synthesize.urn import sample

if TYPE_CHECKING:
    from reticent.synthesize.audit import DisclosureAudit, audit_release

__all__ = [
    "DisclosureAudit",
    "DroppingPlan",
    "PublicPrior",
    "SynthesisPlan",
    "Synthetic",
    "audit_release",
    "disclosure",
    "plan",
    "plan_dropping",
    "refine",
    "sample",
    "sample_dropped",
]


def __getattr__(name: str) -> Any:
    """The audit needs releases, which planning and drawing do not."""
    if name in ("DisclosureAudit", "audit_release"):
        from reticent.synthesize import audit

        return getattr(audit, name)
    raise AttributeError(f"module 'reticent.synthesize' has no attribute {name!r}")
