"""Randomized views: a random part of the true tuples among random tuples of the whole domain, so that no tuple proves anything and counts
can still be estimated (alpha-beta publishing, spec 003).

``plans``        from public facts to a plan: its rates, guarantee and cost; ``rates`` the arithmetic, ``feasibility`` what can be had at all
``domain``       the public domain and its tuples as keys; ``keys`` sorted sets of them
``drafting``     tuples as they are drawn, and the draft that they make; ``methods`` AlphaBeta and Frapp; ``instance`` the private tuples
``format``       the formats ``view`` and ``records`` of a release; ``details`` what their manifests hold; ``publishing`` the calls of this room
``sampling``     the sampler of uniform noise; ``sources`` non-uniform noise; ``draws`` randomness
``reader``       what analysts work with; ``view`` a view and what it can be asked; ``estimating``, ``intervals``, ``bounds`` how answers and errors are made
``weighing``     what rows hold of a query; ``grouping`` one count for each combination of values; ``marginals`` those of one to three columns at once
``counting``     exact counts over the domain; ``elimination`` the algorithm
``series``       several views of data that change
``posteriors``   the exact audit of beliefs, and the adversaries who hold them; ``meaning`` how much a view says at all
``perturbing``   one column kept or drawn, and the format ``perturbed`` of it; ``memory`` draws that are kept for later releases
``frapp``        the baseline and what it does to linear queries; ``records`` what it makes; ``chart`` error against gamma
"""

from reticent.randomize.counting import count_domain
from reticent.randomize.details import FrappManifest, ViewManifest
from reticent.randomize.domain import Attribute, ViewDomain
from reticent.randomize.estimating import Estimate
from reticent.randomize.feasibility import Feasibility, feasibility
from reticent.randomize.frapp import FrappPlan, error_constants, frapp_plan, kept_share
from reticent.randomize.marginals import Marginal, marginals
from reticent.randomize.meaning import ViewMeaning, is_meaningless, least_k, statistical_difference, view_meaning
from reticent.randomize.methods import AlphaBeta, Frapp, declared_domain
from reticent.randomize.perturbing import Perturbation
from reticent.randomize.plans import Plan, plan
from reticent.randomize.posteriors import (
    ArbitraryAdversary,
    ExclusiveAdversary,
    IndependentAdversary,
    audit_block,
    audit_tuple,
    block_posterior,
    tuple_posterior,
    worlds_posterior,
)
from reticent.randomize.publishing import open_published, open_view, publish, publish_to
from reticent.randomize.rates import Rates, rates_for
from reticent.randomize.records import FrappView, perturb
from reticent.randomize.series import Series, read_views
from reticent.randomize.sources import NoiseSource, SourceRates
from reticent.randomize.view import View


def estimate(view: View, condition: str = "true", **options: object) -> Estimate:
    """How many tuples of the table behind a view meet a condition; see :meth:`View.estimate`."""
    return view.estimate(condition, **options)  # type: ignore[arg-type]  # passed on as they are


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
    "error_constants",
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
    "statistical_difference",
    "tuple_posterior",
    "view_meaning",
    "worlds_posterior",
]
