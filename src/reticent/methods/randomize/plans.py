"""Plans: the rates of a view, their guarantee, cost and feasibility."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from reticent.base.cards import Card, CardTable
from reticent.base.exact import Number, exact, one_of, whole
from reticent.definitions import ADVERSARIES, Adversary, BoundedBelief, Ratios, posterior
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.methods.randomize.attainable import Feasibility, judge, prior_of
from reticent.methods.randomize.error_bounds import MEAN_DISTANCE, bernstein, noise_ratio, printed_rho, variance
from reticent.methods.randomize.informativeness import is_meaningless, least_k
from reticent.methods.randomize.rates import Rates, rates_for
from reticent.methods.randomize.reference_noise import NoiseSource, SourceRates
from reticent.methods.randomize.view_domain import Attribute, ViewDomain

VERSION = 1
COUNT = "count"
# Up to this domain size a plan decides at once whether its rates are meaningless; larger ones take seconds.
_DECIDED_CELLS = 64


@dataclass(frozen=True)
class SampleQuery:
    """Expected accuracy of a query: the number of tuples that meet it in the domain and in the table, and the error of its count."""

    name: str
    domain_count: int
    true_count: int
    standard_error: float

    @property
    def mean_error(self) -> float:
        """The predicted mean absolute error."""
        return MEAN_DISTANCE * self.standard_error


@dataclass(frozen=True)
class Plan:
    """The parameters of a view, from public facts alone.

    ``n`` is the public number of tuples (or an upper bound), ``d`` and ``gamma`` bound the prior and the posterior,
    ``rates`` are the inclusion probabilities. ``error`` is the probability with which stated error bounds may fail. The
    definition was verified on the rates, exactly. With a ``source`` noise is not uniform: ``rates.beta`` is then the
    average probability of a tuple that is not true, and :attr:`law` has that of each.
    """

    n: int
    domain: ViewDomain
    d: Fraction
    gamma: Fraction
    adversary: Adversary
    preset: str
    rates: Rates
    error: Fraction
    source: NoiseSource | None = None

    def __post_init__(self) -> None:
        if self.n >= self.domain.size:
            raise PolicyError(
                f"n = {self.n} is not below the size of the domain, {self.domain.size}. Declare more possible values."
            )
        exact(self.error, "error", above=0, below=1)
        if self.source is not None and (self.views > 1 or self.source.domain.sizes != self.domain.sizes):
            raise PolicyError(
                "A plan with a source is for one view, and its source must cover the columns of the domain."
            )
        assessment = self.definition.assess(self)
        if not assessment.holds:
            assert assessment.witness is not None
            raise Infeasible(
                f"The rates do not satisfy the definition: {assessment.witness.text} Use a smaller s (preset='tight' or 'floor'), fewer views, or more noise."
            )

    @property
    def definition(self) -> BoundedBelief:
        """The guarantee of the plan; for several views of a changing table, against adversaries whose prior is bounded at every time."""
        return BoundedBelief(self.d, self.gamma, self.adversary, self.views > 1 and not self.rates.frozen)

    @cached_property
    def source_rates(self) -> SourceRates | None:
        """The rates of non-uniform noise, or None."""
        if self.source is None:
            return None
        return SourceRates(self.source, self.rates.alpha, self.rates.beta * self.domain.size)

    @property
    def law(self) -> Rates | SourceRates:
        """The inclusion probabilities of tuples."""
        return self.source_rates or self.rates

    def on(self, domain: ViewDomain) -> Plan:
        """Return the plan with the values of its domain."""
        return replace(self, domain=domain, source=None if self.source is None else replace(self.source, domain=domain))

    def with_source(self, declared: NoiseSource | Mapping[str, Any]) -> Plan:
        """Return the plan with noise from a public distribution and the same guarantee: the least likely tuple still has enough noise."""
        source = declared if isinstance(declared, NoiseSource) else NoiseSource.of(self.domain, declared)
        if self.source is not None and self.source.as_json() != source.as_json():
            raise PolicyError("The plan was made for another source. Plan again with this one.")
        if self.source is not None:
            return self
        if self.views > 1 or self.adversary != "independent":
            raise PolicyError(
                "Non-uniform noise needs a plan for one view and adversary='independent'. Change the plan, or remove the source."
            )
        rates = SourceRates.covering(source, self.d, self.gamma, self.s)
        return replace(self, source=source, rates=Rates(rates.alpha, rates.scale / self.domain.size))

    def ratios(self, adversary: Adversary) -> Ratios:
        """Return the likelihood ratios of its views for an adversary.

        If people are counted, an adversary who knows all other people's tuples and wonders which of two tuples a person
        has compares two exchanged records: the ratio of one exchange counts twice.
        """
        ratios, swap_ratio = self.law.ratios(adversary), self.law.swap_ratio()
        if not self.counts_people or adversary == "independent" or swap_ratio is None:
            return ratios
        return replace(ratios, highest=max(ratios.highest, swap_ratio**2))

    @property
    def counts_people(self) -> bool:
        """True if a column of the view is the number of people with a tuple."""
        return COUNT in self.domain.names

    @property
    def alpha(self) -> Fraction:
        """Difference between the inclusion probabilities of a true tuple and of any other."""
        return self.rates.alpha

    @property
    def beta(self) -> Fraction:
        """Inclusion probability of every other tuple of the domain; with a source, its average."""
        return self.rates.beta

    @property
    def s(self) -> Fraction:
        """Inclusion probability of a true tuple, alpha + beta; with a source, its average over the domain."""
        return self.rates.s

    @property
    def views(self) -> int:
        """How many views are planned."""
        return self.rates.views

    @property
    def k(self) -> Fraction:
        """d in units of the average density, or with a source of the density of its least likely tuple."""
        return self.d / self.n * (self.domain.size if self.source is None else 1 / self.source.least)

    @property
    def expected_fakes(self) -> Fraction:
        """Expected number of tuples in a view that are not in the table."""
        return self.beta * (self.domain.size - self.n)

    @property
    def expected_rows(self) -> Fraction:
        """Expected number of tuples in a view: s n + beta (m - n)."""
        return self.s * self.n + self.expected_fakes

    @property
    def worst_posterior(self) -> Fraction:
        """Largest posterior that any view can cause, for a prior of d."""
        return posterior(self.d, self.ratios(self.adversary).highest)

    @property
    def worst_ratio(self) -> Fraction | None:
        """Smallest ratio of posterior to prior, over all priors up to d; None if not bounded."""
        return self.ratios(self.adversary).lowest

    @property
    def absent_ratio(self) -> Fraction:
        """Ratio of posterior to prior of a tuple with prior d that one view does not include."""
        return self.law.posterior(self.d, seen=False) / self.d

    @property
    def r(self) -> Fraction:
        """beta m / (alpha^2 n): noise relative to signal."""
        return noise_ratio(self.rates, self.n, self.domain.size)

    @property
    def rho(self) -> float:
        """The printed error constant (one query, error at most rho sqrt(n)); see :func:`printed_rho` for its validity."""
        return printed_rho(self.rates, self.n, self.domain.size, self.error)

    @property
    def dp_epsilon(self) -> float:
        """Epsilon of differential privacy for replacing one person's tuple, rounded up; infinite if s = 1."""
        swap = self.law.swap_ratio()
        return logarithm_above(swap**2 if swap is not None and self.counts_people else swap)

    @property
    def dp_epsilon_change(self) -> float:
        """Epsilon for adding or removing one person, which exchanges two counts of a tuple if people are counted."""
        return logarithm_above(self.law.swap_ratio() if self.counts_people else self.law.change_ratio())

    @cached_property
    def feasibility(self) -> Feasibility:
        """Whether the guarantee is feasible with useful accuracy, with the reason."""
        return judge(self.n, self.domain.size, self.d, self.gamma, self.law, self.error)

    @property
    def verdict(self) -> str:
        """``guaranteed``, ``open`` or ``impossible``."""
        return self.feasibility.verdict

    @property
    def relative_error(self) -> float:
        """Rule of thumb for large queries: sqrt(k(1-gamma)/(gamma s n))."""
        return math.sqrt(float(self.k * (1 - self.gamma) / (self.gamma * self.s * self.n)))

    @cached_property
    def is_meaningless(self) -> bool | None:
        """True if its views are meaningless; None if the domain is too large to decide."""
        if self.domain.size > _DECIDED_CELLS or self.views > 1 or self.source is not None:
            return None
        return is_meaningless(self.rates, self.domain.size, self.n)

    @property
    def meaningless_k(self) -> float:
        """The k from which a typical view is k-meaningless: it discloses nothing beyond n(1 - 1/k) tuples (a rule of thumb)."""
        return least_k(self.rates, self.domain.size, self.n)

    def error_bound(self, domain_count: int, queries: int = 1) -> float:
        """Return Bernstein's bound on the error of a query, or of ``queries`` queries simultaneously."""
        return bernstein(self.law, self.n, domain_count, self.error / queries)

    @cached_property
    def samples(self) -> tuple[SampleQuery, ...]:
        """Return the expected accuracy of queries that half, a tenth, a hundredth of the domain (or of the source) and a single tuple meet."""
        size, reference = self.domain.size, "domain" if self.source is None else "source"
        queries = [
            ("all tuples", 1),
            (f"half of the {reference}", 2),
            ("a tenth", 10),
            ("a hundredth", 100),
            ("a thousandth", 1000),
        ]
        samples = []
        for name, divisor in queries:
            if size >= divisor:
                true = self.n // divisor
                spread = math.sqrt(variance(self.law, Fraction(true), size // divisor))
                samples.append(SampleQuery(name, size // divisor, true, spread))
        samples.append(SampleQuery("one tuple", 1, 0, math.sqrt(variance(self.law, Fraction(0), 1))))
        return tuple(samples)

    def words(self) -> str:
        """Describe the plan in plain language."""
        bound, reference = self.error_bound(self.domain.size), "domain" if self.source is None else "source"
        parts = [
            self.definition.meaning(),
            f"A view has about {round(self.expected_rows):,} rows: {self._chances()}",
            f"A count that half of the {reference} meets has a mean error of about {upwards(self.samples[1].mean_error, 1)}; any one count has an error below "
            f"{math.ceil(bound):,}, except with probability {float(self.error):g}."
            if len(self.samples) > 2
            else "",
            f"In terms of differential privacy, epsilon is {upwards(self.dp_epsilon)} for replacing a tuple.",
            f"A view does not reveal whether about {self.n / self.meaningless_k:,.0f} records are inside or outside a query; it is k-meaningless from k = "
            f"{math.ceil(self.meaningless_k):,} on.",
            "The rates are meaningless: views of tables inside and outside of a query hardly differ."
            if self.is_meaningless
            else "",
            f"Verdict: {self.verdict}. {self.feasibility.reason}",
            f"Not covered: {self.definition.not_covered()}",
        ]
        if self.views > 1:
            parts.insert(2, f"At most {self.views} views may be published, all of them by this plan.")
        if self.alpha < Fraction(1, 2):
            parts.append(
                "The published bound rho sqrt(n) is valid only for alpha of at least 1/2; rely on the other bound."
            )
        return "\n".join(part for part in parts if part)

    def _chances(self) -> str:
        """Return in words with what probability true and other tuples are included."""
        if self.source_rates is None:
            return (
                f"a true tuple is included with probability {float(self.s):.6g}, any other of the {self.domain.size:,} tuples of the domain with "
                f"{float(self.beta):.6g}."
            )
        rates = self.source_rates
        return (
            f"any of the {self.domain.size:,} tuples of the domain is included with probability {float(rates.least):.6g} to {float(rates.largest):.6g}, as the "
            f"source determines, and a true one with {float(rates.alpha):.6g} more."
        )

    @property
    def ok(self) -> bool:
        """True if a view can be made."""
        return self.verdict != "impossible"

    def card(self) -> Card:
        """Summarise the plan for display, with the expected accuracy of counts."""
        title, *sentences = self.words().splitlines()
        rows = [
            (sample.name, f"{sample.true_count:,}", f"{sample.standard_error:,.1f}", f"{sample.mean_error:,.1f}")
            for sample in self.samples
        ]
        expected = CardTable(("query", "true count", "standard error", "mean error"), rows, "What to expect")
        return Card(title, tables=[expected], sentences=sentences)

    def as_dict(self) -> dict[str, Any]:
        """Everything about the plan as plain data."""
        return {
            **self.as_json(),
            "k": self.k,
            "m": self.domain.size,
            "s": self.s,
            "views": self.views,
            "expected_rows": self.expected_rows,
            "expected_fakes": self.expected_fakes,
            "worst_posterior": self.worst_posterior,
            "worst_ratio": self.worst_ratio,
            "absent_ratio": self.absent_ratio,
            "r": float(self.r),
            "rho": self.rho,
            "rho_is_trusted": self.alpha >= Fraction(1, 2),
            "error_bound": self.error_bound(self.domain.size),
            "relative_error": self.relative_error,
            "dp_epsilon": self.dp_epsilon,
            "dp_epsilon_change": self.dp_epsilon_change,
            "is_meaningless": self.is_meaningless,
            "meaningless_k": self.meaningless_k,
            "verdict": self.verdict,
            "reason": self.feasibility.reason,
            "threshold_d": self.feasibility.threshold,
            "threshold_k": self.feasibility.threshold_k,
            "samples": [
                {
                    "query": sample.name,
                    "true": sample.true_count,
                    "standard_error": sample.standard_error,
                    "mean_error": sample.mean_error,
                }
                for sample in self.samples
            ],
            "words": self.words(),
        }

    def as_json(self) -> dict[str, Any]:
        """What a plan file and a view's manifest write down; everything else follows from it."""
        return {
            "plan": VERSION,
            "n": self.n,
            "domain": self.domain.as_json(),
            "d": str(self.d),
            "gamma": str(self.gamma),
            "adversary": self.adversary,
            "preset": self.preset,
            "alpha": str(self.alpha),
            "beta": str(self.beta),
            "views": self.views,
            "carry": str(self.rates.carry),
            "frozen": self.rates.frozen,
            "error": str(self.error),
            **({} if self.source is None else {"source": self.source.as_json()}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`as_json` wrote; the promise is verified again."""
        if written.get("plan") != VERSION:
            raise DataError(f"This is not a plan of version {VERSION}: its entry 'plan' is {written.get('plan')!r}.")
        try:
            if not isinstance(written["frozen"], bool) or not isinstance(written["domain"], Mapping):
                raise DataError("In the plan 'frozen' must be true or false, and 'domain' an object of columns.")
            rates = Rates(
                exact(written["alpha"], "alpha"),
                exact(written["beta"], "beta"),
                whole(written["views"], "views", low=1),
                exact(written["carry"], "carry"),
                written["frozen"],
            )
            one_of(written["adversary"], "adversary", ADVERSARIES)
            domain, source = ViewDomain.from_json(written["domain"]), written.get("source")
            return cls(
                whole(written["n"], "n", low=1),
                domain,
                exact(written["d"], "d"),
                exact(written["gamma"], "gamma"),
                written["adversary"],
                str(written["preset"]),
                rates,
                exact(written["error"], "error"),
                None if source is None else NoiseSource.from_json(source, domain),
            )
        except KeyError as missing:
            raise DataError(f"The plan lacks the entry {missing}.") from None


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
    source: NoiseSource | Mapping[str, Any] | None = None,
    rho: Number | None = None,
) -> Plan:
    """Make a plan from public facts alone; no data are read.

    ``domain`` gives for every column its values or their number; ``k`` (times the average density) or ``d`` bounds the
    prior, ``gamma`` the posterior. ``n_public`` is a publishable upper bound of the number of tuples; ``n`` is then not
    disclosed. ``count`` adds a column with the multiplicity of a tuple, capped. ``alpha`` and ``beta`` together replace
    a preset. ``rho`` is a target for the printed error constant; below 1 it is refused, since such accuracy discloses tuples.

    ``source`` is a public distribution that noise is sampled from. ``k`` is then times its density, tuple by tuple, and
    ``plan.d`` the resulting bound for all tuples; with ``d`` the least likely tuple has enough noise, which costs more
    than uniform noise would.
    """
    rows = whole(n, "n", low=1)
    if n_public is not None:
        if whole(n_public, "n_public", low=1) < rows:
            raise PolicyError("n_public must be an upper bound: it is smaller than n.")
        rows = n_public
    space = ViewDomain.of(domain)
    if count is not None:
        space = _with_count(space, count, adversary)
    one_of(adversary, "adversary", ADVERSARIES)
    if rows >= space.size:
        raise PolicyError(
            f"n = {rows} is not below the size of the domain, {space.size}. Declare more possible values."
        )
    prior, belief = prior_of(rows, space.size, k, d), exact(gamma, "gamma", above=0, below=1)
    if prior >= belief:
        raise Infeasible(
            f"d = {float(prior):.6g} is not below gamma = {float(belief):.6g}: the prior already exceeds the allowed posterior. Impossible; "
            "choose a smaller k or a larger gamma."
        )
    whole(views, "views", low=1)
    if (alpha is None) != (beta is None):
        raise PolicyError("Pass alpha= and beta= together, or neither.")
    if alpha is not None and beta is not None:
        if views > 1:
            raise PolicyError("alpha= and beta= are for one view; several views use a preset.")
        rates, preset = Rates(exact(alpha, "alpha"), exact(beta, "beta")), "own"
    else:
        floor_exact = None if floor is None else exact(floor, "floor")
        counted = count is not None
        rates = rates_for(
            prior, belief, preset, adversary, floor=floor_exact, views=views, frozen=frozen, counted=counted
        )
    planned = Plan(rows, space, prior, belief, adversary, preset, rates, exact(error, "error"))
    if source is not None:
        chosen = source if isinstance(source, NoiseSource) else NoiseSource.of(space, source)
        planned = planned.with_source(chosen) if k is None else _by_density(planned, chosen)
    _check_target(planned, rho)
    return planned


def _by_density(planned: Plan, source: NoiseSource) -> Plan:
    """Return the plan with noise against adversaries whose prior in each tuple is at most k times its density under the source."""
    rates_found = SourceRates.calibrated(source, planned.n, planned.k, planned.gamma, planned.s)
    rates = Rates(rates_found.alpha, rates_found.scale / planned.domain.size)
    return replace(planned, d=planned.k * planned.n * source.least, rates=rates, source=source)


def _with_count(domain: ViewDomain, cap: int, adversary: str) -> ViewDomain:
    """Return the domain with one more column for the multiplicity of a record, up to ``cap``."""
    if COUNT in domain.names:
        raise PolicyError(f"The domain has a column {COUNT!r} already; rename it to use count=.")
    if adversary == "independent":
        raise PolicyError(
            "With a count column exactly one count of a tuple can be true, which is an exclusive correlation: plan with "
            "adversary='exclusive' or 'both'."
        )
    return ViewDomain((*domain.attributes, Attribute.of(COUNT, range(1, whole(cap, "count", low=1) + 1))))


def _check_target(planned: Plan, rho: Number | None) -> None:
    """Raise if the planned error exceeds the required one, or if the latter is impossible."""
    if rho is None:
        return
    target = exact(rho, "rho")
    if target < 1:
        raise PolicyError(
            f"rho = {rho} requires an error below sqrt(n) for every query: any algorithm that achieves it lets some tuple of average prior reach a "
            "posterior of 2/3. The target must be at least 1."
        )
    if planned.rho > target:
        raise Infeasible(
            f"With these rates rho is {planned.rho:.4g}, above the target {float(target):.4g}. Choose a smaller k, a larger gamma, or preset='max-utility'."
        )


def logarithm_above(value: Fraction | None) -> float:
    """Return a float not below the logarithm of a fraction."""
    if value is None:
        return math.inf
    logarithm = math.log(value.numerator) - math.log(value.denominator)
    return math.nextafter(logarithm + 1e-12 * max(1.0, abs(logarithm)), math.inf)


def upwards(value: float, digits: int = 4) -> str:
    """Format a cost or an error rounded up, so that the stated guarantee holds."""
    return f"{math.ceil(value * 10**digits) / 10**digits:,.{digits}f}" if math.isfinite(value) else "without bound"
