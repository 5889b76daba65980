"""The requirements of an application: what to protect, against which adversary and by which measure; and the models that satisfy them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from reticent.belief.advisor import ADVICE, CONCERNS, Advice, Concern
from reticent.errors import PolicyError, did_you_mean

Knowledge = Literal["quasi", "exclusions", "others", "distribution", "population", "alternatives"]
KNOWLEDGE: dict[Knowledge, str] = {
    "quasi": "a person's quasi-identifiers, and that the person is in the table",
    "exclusions": "values that the person does not have",
    "others": "other people's rows",
    "distribution": "the distribution of values in the whole table",
    "population": "the quasi-identifiers of everyone who could be in the table",
    "alternatives": "that the person has one of two values, or any other prior belief",
}
Measure = Literal["likely", "excluded", "changed"]
MEASURES: dict[Measure, str] = {
    "likely": "something becomes too likely",
    "excluded": "something becomes too unlikely",
    "changed": "a belief changes too much",
}


@dataclass(frozen=True)
class Power:
    """What a model protects against: the adversary's knowledge, the measures, and whether similar values count as one."""

    knowledge: frozenset[Knowledge]
    measures: frozenset[Measure]
    near: bool


def _power(knowledge: str, measures: str, near: bool = False) -> Power:
    """Return the strength of a model; ``knowledge`` and ``measures`` are kinds separated by spaces, ``near`` is True if
    similar values count as one.
    """
    knowledge_kinds, measure_kinds = frozenset(knowledge.split()), frozenset(measures.split())
    assert knowledge_kinds <= set(get_args(Knowledge))
    assert measure_kinds <= set(get_args(Measure))
    return Power(knowledge_kinds, measure_kinds, near)  # type: ignore[arg-type]  # checked above


POWERS: Mapping[str, Power] = {
    "k-anonymity": _power("quasi", "likely"),
    "k-anonymity of people with several rows": _power("quasi", "likely"),
    "any L columns (LKC-privacy)": _power("quasi", "likely"),
    "a known column learned from the others": _power("quasi", "likely"),
    "k-map": _power("population", "likely"),
    "average risk": _power("quasi", "likely"),
    "distinct l-diversity": _power("quasi exclusions", "likely"),
    "probabilistic l-diversity": _power("quasi", "likely"),
    "entropy l-diversity": _power("quasi", "likely"),
    "recursive (c,l)-diversity": _power("quasi exclusions", "likely"),
    "negative/positive diversity": _power("quasi exclusions", "likely excluded"),
    "confidence bounding": _power("quasi", "likely"),
    "(alpha,k)-anonymity": _power("quasi", "likely"),
    "p-sensitive k-anonymity": _power("quasi", "likely"),
    "(l,alpha)-diversity": _power("quasi", "likely"),
    "(X,Y)-privacy": _power("quasi", "likely"),
    "(k,e)-anonymity": _power("quasi", "likely", near=True),
    "(epsilon,m)-anonymity": _power("quasi", "likely", near=True),
    "range predicates": _power("quasi", "likely", near=True),
    "category predicates": _power("quasi", "likely", near=True),
    "personalised privacy": _power("quasi", "likely", near=True),
    "t-closeness": _power("quasi distribution", "changed", near=True),
    "(n,t)-closeness": _power("quasi distribution", "changed", near=True),
    "beta-likeness": _power("quasi distribution", "changed likely"),
    "delta-disclosure privacy": _power("quasi distribution", "changed"),
    "m-uniqueness": _power("quasi", "likely"),
    "m-eligibility": _power("quasi", "likely"),
    "(c,k)-safety": _power("quasi exclusions others", "likely"),
    "(c,k)-safety against negations": _power("quasi exclusions", "likely"),
    "m-confidentiality": _power("quasi", "likely"),
    "privacy-maxent": _power("quasi distribution", "likely"),
    "skyline (B,t)-privacy": _power("quasi distribution population", "changed"),
    "delta-presence": _power("population", "likely excluded"),
    "(d,gamma)-privacy": _power("quasi distribution population others", "changed likely", near=True),
    "differential privacy": _power(" ".join(KNOWLEDGE), "changed likely excluded", near=True),
    "local differential privacy": _power(" ".join(KNOWLEDGE), "changed likely excluded", near=True),
    "differential privacy of unknown size": _power(" ".join(KNOWLEDGE), "changed likely excluded", near=True),
    "crowd-blending": _power("quasi", "likely"),
    "(rho1,rho2)-privacy": _power("quasi distribution alternatives", "changed likely", near=True),
    "gamma-amplification": _power("quasi distribution others alternatives", "changed likely", near=True),
    "(c,t)-isolation": _power("", "likely"),
    "distributional privacy": _power("distribution", "changed"),
    "perfect privacy": _power("quasi distribution", "changed likely excluded", near=True),
}
"""What each model of the catalogue protects against, by its name."""


@dataclass(frozen=True)
class Application:
    """Requirements: what to protect, what the adversary knows, and how much is too much.

    ``near`` also protects similar values: the neighbourhood, not only the house.
    """

    protect: Concern
    knows: frozenset[Knowledge] = frozenset({"quasi"})
    measure: Measure = "likely"
    near: bool = False

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        object.__setattr__(self, "knows", frozenset(self.knows))
        for kind, values, options in (
            ("concern", [self.protect], CONCERNS),
            ("knowledge", sorted(self.knows), KNOWLEDGE),
            ("measure", [self.measure], MEASURES),
        ):
            for value in values:
                if value not in options:
                    raise PolicyError(
                        f"There is no {kind} {value!r}.{did_you_mean(value, options)} It is one of: {', '.join(options)}."
                    )


@dataclass(frozen=True)
class ModelJudgement:
    """Whether a model covers an application, and if not, why."""

    advice: Advice
    reasons: tuple[str, ...]

    @property
    def covers(self) -> bool:
        """True if there is no reason against it."""
        return not self.reasons


def judge(application: Application) -> tuple[ModelJudgement, ...]:
    """Return every model of the catalogue, those that cover the application first, then those with the fewest reasons against them."""
    judged = [ModelJudgement(entry, _reasons(entry, POWERS[entry.model], application)) for entry in ADVICE]
    return tuple(sorted(judged, key=lambda entry: len(entry.reasons)))


def _reasons(advice: Advice, power: Power, application: Application) -> tuple[str, ...]:
    """Return the reasons why a model does not cover an application; empty if it does."""
    reasons = []
    # A model that bounds the change of any belief bounds it for values, rows and membership alike.
    bounds_beliefs = application.measure == "changed" and "belief" in advice.covers
    if application.protect not in advice.covers and not bounds_beliefs:
        reasons.append(f"it does not protect {CONCERNS[application.protect]}")
    reasons += [
        f"the adversary may know {KNOWLEDGE[kind]}" for kind in KNOWLEDGE if kind in application.knows - power.knowledge
    ]
    if application.measure not in power.measures:
        prevented = " or ".join(MEASURES[measure] for measure in MEASURES if measure in power.measures)
        reasons.append(f"it prevents that {prevented}, not that {MEASURES[application.measure]}")
    if application.near and not power.near:
        reasons.append("similar values count as different")
    return tuple(reasons)
