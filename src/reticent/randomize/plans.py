"""Plans (R-AB-4..6): the rates of a view, their guarantee, their cost, and whether it is worth it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from reticent.definitions.mechanisms import Adversary, BoundedBelief, Ratios, check_adversary, posterior
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.exact import exact, whole
from reticent.randomize.bounds import MEAN_DISTANCE, bernstein, noise_ratio, printed_rho, variance
from reticent.randomize.domain import ViewDomain
from reticent.randomize.feasibility import Feasibility, judge
from reticent.randomize.meaning import is_meaningless, least_k
from reticent.randomize.notions import logarithm_above, upwards
from reticent.randomize.rates import Rates

VERSION = 1
COUNT = "count"
# Up to this size of the domain a plan decides at once whether its rates are meaningless; larger ones take seconds.
_DECIDED_CELLS = 64


@dataclass(frozen=True)
class SampleQuery:
    """What to expect of a query: how many tuples meet it in the domain and in the table, and how far its count will be off."""

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
    """How a view will be made, from public facts alone.

    ``n`` is the public number of tuples (or an upper bound of it), ``d`` and ``gamma`` the belief before and after, ``rates`` the chances.
    ``error`` is the probability with which stated error bounds may fail. The definition was verified on the rates, exactly.
    """

    n: int
    domain: ViewDomain
    d: Fraction
    gamma: Fraction
    adversary: Adversary
    preset: str
    rates: Rates
    error: Fraction

    def __post_init__(self) -> None:
        if self.n >= self.domain.size:
            raise PolicyError(
                f"n = {self.n} is not below the size of the domain, {self.domain.size}. Declare more possible values."
            )
        if not 0 < self.error < 1:
            raise PolicyError(f"error must lie between 0 and 1, but it is {self.error}.")
        found = self.definition.assess_plan(self)
        if not found.holds:
            assert found.witness is not None
            raise Infeasible(
                f"The rates do not keep the promise: {found.witness.text} Use a smaller s (preset='tight' or 'floor'), fewer views, or more noise."
            )

    @property
    def definition(self) -> BoundedBelief:
        """What the plan promises."""
        return BoundedBelief(self.d, self.gamma, self.adversary)

    def ratios(self, adversary: Adversary) -> Ratios:
        """What its views can tell an adversary."""
        return self.rates.ratios(adversary)

    @property
    def alpha(self) -> Fraction:
        """By how much a true tuple is likelier to be published than any other."""
        return self.rates.alpha

    @property
    def beta(self) -> Fraction:
        """The chance of every other tuple of the domain."""
        return self.rates.beta

    @property
    def s(self) -> Fraction:
        """The chance of a true tuple, alpha + beta."""
        return self.rates.s

    @property
    def views(self) -> int:
        """How many views are planned."""
        return self.rates.views

    @property
    def k(self) -> Fraction:
        """d on the natural scale: how many times the average density."""
        return self.d * self.domain.size / self.n

    @property
    def expected_fakes(self) -> Fraction:
        """How many tuples that are not in the table a view shows on average."""
        return self.beta * (self.domain.size - self.n)

    @property
    def expected_rows(self) -> Fraction:
        """How many tuples a view shows on average: s n + beta (m - n)."""
        return self.s * self.n + self.expected_fakes

    @property
    def worst_posterior(self) -> Fraction:
        """The highest belief that any view can lead to, for a prior of d."""
        return posterior(self.d, self.ratios(self.adversary).highest)

    @property
    def worst_ratio(self) -> Fraction | None:
        """The least that can stay of a belief, over all priors up to d; None where nothing is promised."""
        return self.ratios(self.adversary).lowest

    @property
    def absent_ratio(self) -> Fraction:
        """Posterior/prior of a tuple with prior d that one view does not show."""
        return self.rates.posterior(self.d, seen=False) / self.d

    @property
    def r(self) -> Fraction:
        """beta m / (alpha^2 n): noise against signal."""
        return noise_ratio(self.rates, self.n, self.domain.size)

    @property
    def rho(self) -> float:
        """The printed error constant (one query, error at most rho sqrt(n)); see :func:`printed_rho` for what it is worth."""
        return printed_rho(self.rates, self.n, self.domain.size, self.error)

    @property
    def dp_epsilon(self) -> float:
        """Epsilon of differential privacy for exchanging one tuple for another, rounded up; infinite when s = 1."""
        return logarithm_above(self.rates.swap_ratio())

    @property
    def dp_epsilon_change(self) -> float:
        """The same for adding or removing one tuple."""
        return logarithm_above(self.rates.change_ratio())

    @cached_property
    def feasibility(self) -> Feasibility:
        """The verdict of R-AB-25 with its reason."""
        return judge(self.n, self.domain.size, self.d, self.gamma, self.rates, self.error)

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
        """Whether its views say nothing (R-AB-3), where the domain is small enough to decide that; None elsewhere."""
        if self.domain.size > _DECIDED_CELLS or self.views > 1:
            return None
        return is_meaningless(self.rates, self.domain.size, self.n)

    @property
    def meaningless_k(self) -> float:
        """From about which k on a usual view is k-meaningless: it says nothing beyond n(1 - 1/k) tuples (R-AB-3; a rule of thumb)."""
        return least_k(self.rates, self.domain.size, self.n)

    def error_bound(self, domain_count: int, queries: int = 1) -> float:
        """Bernstein's bound on the error of a query; with many queries, of all of them at once."""
        return bernstein(self.rates, self.n, domain_count, self.error / queries)

    @cached_property
    def samples(self) -> tuple[SampleQuery, ...]:
        """What to expect of queries that half, a tenth, a hundredth of the domain and a single tuple meet."""
        size = self.domain.size
        asked = [
            ("all tuples", 1),
            ("half of the domain", 2),
            ("a tenth", 10),
            ("a hundredth", 100),
            ("a thousandth", 1000),
        ]
        found = []
        for name, part in asked:
            if size >= part:
                true = self.n // part
                spread = math.sqrt(variance(self.rates, Fraction(true), size // part))
                found.append(SampleQuery(name, size // part, true, spread))
        found.append(SampleQuery("one tuple", 1, 0, math.sqrt(variance(self.rates, Fraction(0), 1))))
        return tuple(found)

    def words(self) -> str:
        """The plan in plain language."""
        bound = self.error_bound(self.domain.size)
        parts = [
            self.definition.meaning(),
            f"A view has about {round(self.expected_rows):,} rows: a true tuple shows with probability {float(self.s):.6g}, any other of the "
            f"{self.domain.size:,} tuples of the domain with {float(self.beta):.6g}.",
            f"A count that half of the domain meets is off by about {upwards(self.samples[1].mean_error, 1)} on average; any one count is off by less than "
            f"{math.ceil(bound):,}, except with probability {float(self.error):g}."
            if len(self.samples) > 2
            else "",
            f"Read as differential privacy, epsilon is {upwards(self.dp_epsilon)} for exchanging a tuple.",
            f"Whether about {self.n / self.meaningless_k:,.0f} records lie inside a query or outside is beyond a view; it is k-meaningless from k = "
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
                "The printed bound rho sqrt(n) is only believed for alpha of at least 1/2; rely on the other bound."
            )
        return "\n".join(part for part in parts if part)

    def describe(self) -> dict[str, Any]:
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
                    "query": each.name,
                    "true": each.true_count,
                    "standard_error": each.standard_error,
                    "mean_error": each.mean_error,
                }
                for each in self.samples
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
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`as_json` wrote; the promise is verified again."""
        if written.get("plan") != VERSION:
            raise DataError(f"This is no plan of version {VERSION}: its entry 'plan' is {written.get('plan')!r}.")
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
            check_adversary(written["adversary"], "adversary")
            return cls(
                whole(written["n"], "n", low=1),
                ViewDomain.from_json(written["domain"]),
                exact(written["d"], "d"),
                exact(written["gamma"], "gamma"),
                written["adversary"],
                str(written["preset"]),
                rates,
                exact(written["error"], "error"),
            )
        except KeyError as missing:
            raise DataError(f"The plan lacks the entry {missing}.") from None
