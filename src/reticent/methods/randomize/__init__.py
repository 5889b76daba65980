"""Randomized views: a random subset of the true tuples among random tuples of the whole domain. No tuple in a view proves
anything, and counts can still be estimated (alpha-beta publishing).

Source: [Rastogi2007].

``plans``           from public facts to a plan: its rates, guarantee and cost; ``rates`` the arithmetic, ``attainable`` feasibility
``view_domain``     the public domain and its tuples as keys; ``tuple_sets`` sorted sets of them
``tuple_draft``     sampled tuples, and the draft of them; ``method`` AlphaBeta and Frapp; ``instance`` the private tuples
``format``          the formats ``view`` and ``perturbed_records``; ``details`` their part of the manifest; ``view_publication`` the calls of this package
``sampler``         the sampler of uniform noise; ``reference_noise`` non-uniform noise; ``draws`` randomness
``reader``          what analysts work with; ``view`` queries on a view; ``estimators``, ``exact_intervals``, ``error_bounds`` estimates and their errors
``linear_queries``  linear queries on rows; ``grouped_counts`` one count for each combination of values; ``marginal_counts`` those of one to three columns
``domain_counts``   exact counts over the domain; ``elimination`` the algorithm
``view_series``     several views of changing data
``posteriors``      exact posteriors, and the adversaries who hold them; ``informativeness`` whether a view is meaningless
``perturbation``    randomized response on one column, and its format ``perturbation_format``; ``kept_draws`` memoized samples
``frapp``           the FRAPP baseline for linear queries; ``perturbed_records`` its output; ``error_chart`` error against gamma
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.errors import correct_names
from reticent.methods.randomize.attainable import Feasibility, feasibility
from reticent.methods.randomize.details import FrappManifest, ViewManifest
from reticent.methods.randomize.domain_counts import count_domain
from reticent.methods.randomize.estimators import Estimate
from reticent.methods.randomize.frapp import FrappPlan, error_constants, frapp_plan, kept_share
from reticent.methods.randomize.informativeness import (
    ViewMeaning,
    is_meaningless,
    least_k,
    statistical_difference,
    view_meaning,
)
from reticent.methods.randomize.marginal_counts import Marginal, marginals
from reticent.methods.randomize.method import AlphaBeta, Frapp, declared_domain
from reticent.methods.randomize.perturbation import Perturbation
from reticent.methods.randomize.perturbed_records import FrappView, perturb
from reticent.methods.randomize.plans import Plan, plan
from reticent.methods.randomize.posteriors import (
    ArbitraryAdversary,
    ExclusiveAdversary,
    IndependentAdversary,
    audit_block,
    audit_tuple,
    block_posterior,
    tuple_posterior,
    worlds_posterior,
)
from reticent.methods.randomize.rates import Rates, rates_for
from reticent.methods.randomize.reference_noise import NoiseSource, SourceRates
from reticent.methods.randomize.view import View
from reticent.methods.randomize.view_domain import Attribute, ViewDomain
from reticent.methods.randomize.view_publication import open_published, open_view, publish, publish_to
from reticent.methods.randomize.view_series import Series, read_views


def estimate(view: View, condition: str = "true", **options: object) -> Estimate:
    """Estimate how many tuples of the table behind a view meet a condition; see :meth:`View.estimate`."""
    return view.estimate(condition, **options)  # type: ignore[arg-type]  # passed on as they are


if TYPE_CHECKING:
    from reticent.methods.randomize.error_chart import draw_chart, errors_by_gamma, red_zone

_HOMES = {
    "draw_chart": "error_chart",
    "errors_by_gamma": "error_chart",
    "red_zone": "error_chart",
}

__all__ = [
    "AlphaBeta",
    "ArbitraryAdversary",
    "Attribute",
    "Estimate",
    "ExclusiveAdversary",
    "Feasibility",
    "Frapp",
    "FrappManifest",
    "FrappPlan",
    "FrappView",
    "IndependentAdversary",
    "Marginal",
    "NoiseSource",
    "Perturbation",
    "Plan",
    "Rates",
    "Series",
    "SourceRates",
    "View",
    "ViewDomain",
    "ViewManifest",
    "ViewMeaning",
    "audit_block",
    "audit_tuple",
    "block_posterior",
    "count_domain",
    "declared_domain",
    "draw_chart",
    "error_constants",
    "errors_by_gamma",
    "estimate",
    "feasibility",
    "frapp_plan",
    "is_meaningless",
    "kept_share",
    "least_k",
    "marginals",
    "open_published",
    "open_view",
    "perturb",
    "plan",
    "publish",
    "publish_to",
    "rates_for",
    "read_views",
    "red_zone",
    "statistical_difference",
    "tuple_posterior",
    "view_meaning",
    "worlds_posterior",
]

correct_names(__name__)
__getattr__ = lazy_names(__name__, _HOMES)
