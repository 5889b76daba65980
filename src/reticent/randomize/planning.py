"""Planning before data (R-AB-4..6): from public facts to a plan, or to the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reticent.definitions.mechanisms import Adversary, check_adversary
from reticent.errors import Infeasible, PolicyError
from reticent.exact import Number, exact, whole
from reticent.randomize.domain import Attribute, ViewDomain
from reticent.randomize.feasibility import prior_of
from reticent.randomize.plans import COUNT, Plan
from reticent.randomize.rates import Rates, rates_for
from reticent.randomize.sources import Source, SourceRates


def plan(
    n: int,
    domain: ViewDomain | Mapping[str, Any],
    k: Number | None = None,
    gamma: Number = "1/5",
    preset: str = "tight",
    adversary: Adversary = "independent",
    views: int = 1,
    *,
    d: Number | None = None,
    floor: Number | None = None,
    frozen: bool = False,
    alpha: Number | None = None,
    beta: Number | None = None,
    n_public: int | None = None,
    count: int | None = None,
    error: Number = "0.05",
    source: Source | Mapping[str, Any] | None = None,
    rho: Number | None = None,
) -> Plan:
    """A plan from public facts (R-AB-4..6, R-AB-9): nothing here looks at data.

    ``domain`` gives for every column its values or their number; ``k`` (times the average density) or ``d`` the belief before, ``gamma`` the
    belief after. ``n_public`` is an upper bound of the number of tuples that may be known instead of ``n``; then ``n`` appears nowhere.
    ``count`` adds a column of how often a tuple occurs, capped. ``alpha`` and ``beta`` together replace a preset. ``rho`` is a target for the
    printed error constant; below 1 it is refused, since such accuracy gives tuples away (R-AB-26).

    ``source`` is a public distribution that noise is drawn from (3.7). ``k`` is then times its density, tuple by tuple, and ``plan.d`` what that
    means for every tuple alike; with ``d`` the least likely tuple has enough noise, which costs more than uniform noise would.
    """
    rows = whole(n, "n", low=1)
    if n_public is not None:
        if whole(n_public, "n_public", low=1) < rows:
            raise PolicyError("n_public must be an upper bound: it is smaller than n.")
        rows = n_public
    space = ViewDomain.of(domain)
    if count is not None:
        space = _with_count(space, count, adversary)
    check_adversary(adversary, "adversary")
    if rows >= space.size:
        raise PolicyError(
            f"n = {rows} is not below the size of the domain, {space.size}. Declare more possible values."
        )
    prior, belief = prior_of(rows, space.size, k, d), exact(gamma, "gamma")
    if not 0 < belief < 1:
        raise PolicyError(f"gamma must lie between 0 and 1, but it is {gamma}.")
    if prior >= belief:
        raise Infeasible(
            f"d = {float(prior):.6g} is not below gamma = {float(belief):.6g}: the belief before is already what is allowed after. Impossible; "
            "ask for a smaller k or a larger gamma."
        )
    whole(views, "views", low=1)
    if (alpha is None) != (beta is None):
        raise PolicyError("alpha= and beta= are given together or not at all.")
    if alpha is not None and beta is not None:
        if views > 1:
            raise PolicyError("Rates of one's own are for one view; several views use a preset.")
        rates, preset = Rates(exact(alpha, "alpha"), exact(beta, "beta")), "own"
    else:
        least = None if floor is None else exact(floor, "floor")
        rates = rates_for(prior, belief, preset, adversary, floor=least, views=views, frozen=frozen)
    made = Plan(rows, space, prior, belief, adversary, preset, rates, exact(error, "error"))
    if source is not None:
        chosen = source if isinstance(source, Source) else Source.of(space, source)
        made = made.with_source(chosen) if k is None else _by_density(made, chosen)
    _check_target(made, rho)
    return made


def _by_density(made: Plan, source: Source) -> Plan:
    """The plan with noise for whoever believes at most k times the source's density of each tuple (3.7)."""
    found = SourceRates.calibrated(source, made.n, made.k, made.gamma, made.s)
    rates = Rates(found.alpha, found.scale / made.domain.size)
    return replace(made, d=made.k * made.n * source.least, rates=rates, source=source)


def _with_count(domain: ViewDomain, cap: int, adversary: str) -> ViewDomain:
    if COUNT in domain.names:
        raise PolicyError(f"The domain has a column {COUNT!r} already; rename it to use count=.")
    if adversary == "independent":
        raise PolicyError(
            "With a count column exactly one count of a tuple can be true, which is an exclusive correlation: plan with "
            "adversary='exclusive' or 'both' (R-AB-8)."
        )
    return ViewDomain((*domain.attributes, Attribute.of(COUNT, range(1, whole(cap, "count", low=1) + 1))))


def _check_target(made: Plan, rho: Number | None) -> None:
    if rho is None:
        return
    target = exact(rho, "rho")
    if target < 1:
        raise PolicyError(
            f"rho = {rho} asks for an error below sqrt(n) for every query: any algorithm that delivers it lets some tuple of average prior reach a "
            "posterior of 2/3. The target must be at least 1."
        )
    if made.rho > target:
        raise Infeasible(
            f"With these rates rho is {made.rho:.4g}, above the target {float(target):.4g}. Ask for a smaller k, a larger gamma, or preset='max-utility'."
        )
