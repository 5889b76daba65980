"""Definitions that judge how a release is made, not its output: bounds on prior and posterior beliefs.

A mechanism is judged by the likelihood ratios of its possible outputs (views). ``highest`` is the largest value of
Pr[view | the tuple is in the table] / Pr[view | it is not] over all views, ``lowest`` the smallest. Every posterior
follows from these, so the verdict is one comparison of fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, cast, get_args, runtime_checkable

from reticent.base.exact import Number, exact, one_of
from reticent.core import MechanismPlan
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, PlanDefinition, Witness
from reticent.errors import PolicyError

Adversary = Literal["independent", "exclusive", "both", "record"]
ADVERSARIES: tuple[str, ...] = get_args(Adversary)


@dataclass(frozen=True)
class Ratios:
    """The likelihood ratios of a mechanism for an adversary; ``lowest`` is None if it is not bounded.

    Ratios ``over_time`` are those of several views of a table that changes. They apply only to adversaries whose belief
    is bounded at every time.
    """

    highest: Fraction
    lowest: Fraction | None
    over_time: bool = False


@runtime_checkable
class Mechanism(Protocol):
    """A randomized mechanism whose plan is fixed before the data are read."""

    def ratios(self, adversary: Adversary) -> Ratios:
        """The likelihood ratios of its views for this adversary. Raises :class:`PolicyError` if the mechanism is not designed for it."""


def posterior(prior: Fraction, ratio: Fraction) -> Fraction:
    """The posterior belief for a prior and the likelihood ratio of a view (Bayes)."""
    return ratio * prior / (ratio * prior + 1 - prior)


def highest_allowed(d: Fraction, gamma: Fraction) -> Fraction:
    """The likelihood ratio that raises the prior ``d`` to exactly ``gamma``: 1/x with x = d(1-gamma)/(gamma(1-d))."""
    return gamma * (1 - d) / (d * (1 - gamma))


@dataclass(frozen=True)
class BoundedBelief(PlanDefinition):
    """(d, gamma)-privacy: a prior belief in a tuple of at most ``d`` becomes a posterior of at most ``gamma``.

    Guarantee: for all views, posterior <= gamma (no positive leakage) and, against independent adversaries, posterior/prior >=
    d/gamma (no negative leakage).
    Adversary: ``independent`` (tuples independent, each with a prior of at most d or exactly 1), ``exclusive`` (exactly one tuple
    of each block is in the table: link attacks; positive leakage only), ``both``, or ``record`` (beliefs about one record;
    positive leakage only).
    ``over_time`` is the guarantee for several views of a table that changes between them: an adversary whose prior is at most ``d`` at *every*
    time has a posterior of at most ``gamma`` for any time after all views. An adversary who is nearly sure of one time and not of another is not
    covered.
    Not covered: correlated records, and another view of the same data that was sampled independently.
    Judges the plan of a mechanism: it cannot be checked from groups.
    Source: [Rastogi2007]; both conditions in their exact form.

    Parameters:
        d: the largest prior belief.
        gamma: the largest posterior belief.
        adversary, over_time: as above.

    Example:
        >>> import reticent as rt
        >>> print(rt.BoundedBelief("1/100", "1/5"))
        BoundedBelief(d=1/100, gamma=1/5, adversary=independent)
    """

    d: Number
    gamma: Number
    adversary: Adversary = "independent"
    over_time: bool = False

    kept_by: ClassVar[str] = "method=AlphaBeta(...) or Frapp(...), or call rt.randomize.plan(...)"

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        gamma = exact(self.gamma, "BoundedBelief: gamma", above=0, below=1)
        d = exact(self.d, "BoundedBelief: d")
        one_of(self.adversary, "BoundedBelief: adversary", ADVERSARIES)
        if not 0 < d < gamma:
            raise PolicyError(
                f"BoundedBelief: d, the prior belief, must be between 0 and gamma = {self.gamma}, but it is {self.d}."
            )
        if not isinstance(self.over_time, bool):
            raise PolicyError(f"BoundedBelief: over_time must be true or false, but it is {self.over_time!r}.")
        object.__setattr__(self, "d", d)
        object.__setattr__(self, "gamma", gamma)

    def fits(self, plan: MechanismPlan) -> str | None:
        if isinstance(plan, Mechanism):
            return None
        return f"BoundedBelief judges likelihood ratios, and a {type(plan).__name__} does not bound them. Publish with {self.kept_by}."

    def assess(self, plan: MechanismPlan) -> Assessment:
        """Judge a mechanism's plan exactly: the worst posterior, and a witness if it exceeds ``gamma`` or falls too far."""
        d, gamma = self._exact()
        ratios = cast(Mechanism, plan).ratios(self.adversary)
        worst = posterior(d, ratios.highest)
        diagnostics = {"highest_ratio": ratios.highest, "lowest_ratio": ratios.lowest}
        text = None
        if worst > gamma:
            text = f"A tuple with the prior {d} can reach the posterior {_told(worst)}, which is above {gamma}."
        elif ratios.lowest is not None and ratios.lowest < d / gamma:
            text = f"The belief in an unpublished tuple can fall by the factor {_told(ratios.lowest)}; at least {_told(d / gamma)} is required."
        elif ratios.over_time and not self.over_time:
            text = "Several views of a table that changes bound only an attacker who gives a tuple at most d at every time (over_time=True)."
        witness = None if text is None else Witness(0, text)
        return Assessment(self, text is None, worst, witness, diagnostics)

    def parameters(self) -> dict[str, Any]:
        over_time = {"over_time": True} if self.over_time else {}
        return {"d": str(self.d), "gamma": str(self.gamma), "adversary": self.adversary, **over_time}

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        """Return the guarantee in words: the highest belief after the release, and the lower bound."""
        d, gamma = self._exact()
        subject = {
            "independent": "An attacker who gives a record",
            "exclusive": "An attacker who knows that one of several records is in the table, and gives one of them",
            "both": "An attacker who gives a record, or one of several of which exactly one is in the table,",
            "record": "An attacker who knows which record is about a person, and gives one value of it",
        }[self.adversary]
        before, after, share = _percent(d), _percent(gamma, up=True), _percent(d / gamma)
        if self.over_time:
            sentence = f"{subject} at most {before} at every time of the series gives it at most {after} at any time after seeing all views."
            lower_bound = f"its odds against never having been in the table keep at least the share {share}."
        else:
            sentence = f"{subject} at most {before} before seeing the release gives it at most {after} after."
            lower_bound = f"at least the share {share} of the belief in it stays."
        return sentence + (
            f" Nobody can rule a record out: {lower_bound}" if self.adversary in ("independent", "both") else ""
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        if self.adversary in ("exclusive", "record"):
            additions = "A record that does not show may become much less likely. "
        else:
            additions = ""
        if self.over_time:
            additions += (
                "An attacker who gives a record more than that at one time, such as one who is nearly sure that it was in the table once and has left, "
                "may learn more about other times. "
            )
        return (
            f"{additions}Records that are correlated, such as those of a household or of brothers who share a disease, are not covered, "
            "nor is a second view of the same data that was made independently."
        )

    def _exact(self) -> tuple[Fraction, Fraction]:
        return exact(self.d, "d"), exact(self.gamma, "gamma")


def _told(value: Fraction) -> str:
    """A fraction with its decimals; only the decimals if the fraction is too long to read."""
    exactly = str(value)
    return f"{exactly} ({float(value):.6g})" if len(exactly) <= 40 else f"{float(value):.6g}"


def _percent(value: Fraction, up: bool = False) -> str:
    """A share with four digits, rounded conservatively: posteriors up, everything else down."""
    with localcontext() as context:
        context.prec, context.rounding = 4, ROUND_CEILING if up else ROUND_FLOOR
        rounded = Decimal(100 * value.numerator) / Decimal(value.denominator)
    return f"{float(rounded):.4g}%"
