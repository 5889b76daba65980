"""Randomized views: a random part of the true tuples among random tuples of the whole domain, so that no tuple proves anything and counts
can still be estimated (alpha-beta publishing, Rastogi, Suciu and Hong 2007).

``plans``           from public facts to a plan: its rates, guarantee and cost; ``rates`` the arithmetic, ``attainable`` what can be had at all
``view_domain``          the public domain and its tuples as keys; ``tuple_sets`` sorted sets of them
``tuple_draft``     tuples as they are drawn, and the draft that they make; ``method`` AlphaBeta and Frapp; ``instance`` the private tuples
``format``          the formats ``view`` and ``perturbed_records`` of a release; ``details`` what their manifests hold; ``view_publication`` the calls of this room
``sampler``         the sampler of uniform noise; ``reference_noise`` non-uniform noise; ``draws`` randomness
``reader``          what analysts work with; ``view`` a view and what it can be asked; ``estimators``, ``exact_intervals``, ``error_bounds`` how answers and errors are made
``linear_queries``  what rows hold of a query; ``grouped_counts`` one count for each combination of values; ``marginal_counts`` those of one to three columns at once
``domain_counts``   exact counts over the domain; ``elimination`` the algorithm
``view_series``     several views of data that change
``posteriors``      the exact audit of beliefs, and the adversaries who hold them; ``informativeness`` how much a view says at all
``perturbation``    one column kept or drawn, and the format ``perturbation_format`` of it; ``kept_draws`` draws that are kept for later releases
``frapp``           the baseline and what it does to linear queries; ``perturbed_records`` what it makes; ``error_chart`` error against gamma
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
    """How many tuples of the table behind a view meet a condition; see :meth:`View.estimate`."""
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
