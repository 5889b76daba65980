"""The advisor: which definition covers which threat, and why the others do not.

A threat has three parts: *what* must not be learned (a row, a value, a value up to similarity, membership), *by whom*
(background knowledge), and *how much* is too much (becoming likely, being excluded, changing at all).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from reticent.definitions import names
from reticent.errors import PolicyError, did_you_mean

Concern = Literal["identity", "attribute", "membership", "belief"]
CONCERNS: dict[Concern, str] = {
    "identity": "which row is about a person",
    "attribute": "a person's sensitive value",
    "membership": "that a person is in the table at all",
    "belief": "how much a belief about a person changes",
}


@dataclass(frozen=True)
class Advice:
    """One model of the catalogue: what it covers, against which adversary, and its definition.

    ``definition`` is None for models that are explained only; ``adversary`` is the background knowledge that it
    tolerates; ``protects`` what must not be learned and how much is too much; ``leaves`` what it does not cover.
    """

    model: str
    covers: tuple[Concern, ...]
    definition: str | None
    adversary: str
    protects: str
    leaves: str

    @property
    def available(self) -> bool:
        """True if there is a definition; other models are explained only."""
        return self.definition in names()


def _advice(
    model: str, covers: Sequence[Concern], definition: str | None, adversary: str, protects: str, leaves: str
) -> Advice:
    return Advice(model, tuple(covers), definition, adversary, protects, leaves)


_QUASI = "knows quasi values and that the person is in the table"

ADVICE: tuple[Advice, ...] = (
    _advice(
        "k-anonymity", ["identity"], "KAnonymity", _QUASI, "fewer than k candidates", "values that a whole group shares"
    ),
    _advice(
        "k-anonymity of people with several rows",
        ["identity"],
        "KAnonymity",
        _QUASI,
        "fewer than k people, counted by key (unit='person')",
        "values that a whole group shares",
    ),
    _advice(
        "any L columns (LKC-privacy)",
        ["identity", "attribute"],
        "AnyColumns",
        "knows at most L quasi-identifiers, of one person or the same ones of every person, and that the person is in the table",
        "fewer than k candidates, or values of them that the inner definition forbids",
        "adversaries who know more than L columns, or different columns of different people",
    ),
    _advice(
        "a known column learned from the others",
        ["attribute"],
        "InTurn",
        "knows all quasi-identifiers of a person except one",
        "a value of that column that nearly all records with the same other values share",
        "sensitive columns, which need a separate definition",
    ),
    _advice(
        "k-map",
        ["identity"],
        "KMap",
        "knows the quasi-identifiers of a population, not who is in the table",
        "fewer than k candidates in the population",
        "adversaries who know that a person is in the table",
    ),
    _advice(
        "average risk",
        ["identity"],
        "AverageRisk",
        "matches every person, and counts the successes",
        "a high share of correct matches",
        "single people who are unique",
    ),
    _advice(
        "distinct l-diversity",
        ["identity", "attribute"],
        "DistinctLDiversity",
        f"{_QUASI}; rules out l-2 values",
        "certainty",
        "a value that is nearly certain",
    ),
    _advice(
        "probabilistic l-diversity",
        ["identity", "attribute"],
        "ProbabilisticLDiversity",
        _QUASI,
        "a belief above 1/l",
        "excluding values",
    ),
    _advice(
        "entropy l-diversity",
        ["identity", "attribute"],
        "EntropyLDiversity",
        _QUASI,
        "little uncertainty, measured by entropy",
        "a single likely value",
    ),
    _advice(
        "recursive (c,l)-diversity",
        ["identity", "attribute"],
        "RecursiveLDiversity",
        f"{_QUASI}; rules out any l-2 values",
        "a belief of c/(c+1) or more",
        "similar values; dependencies between people",
    ),
    _advice(
        "negative/positive diversity",
        ["identity", "attribute"],
        "NegativePositiveDiversity",
        f"{_QUASI}; rules out any l-2 values",
        "a belief of c/(c+1) or more, or that a listed value is excluded",
        "values that are not listed",
    ),
    _advice(
        "confidence bounding",
        ["attribute"],
        "ConfidenceBounding",
        _QUASI,
        "a belief above h in a listed value",
        "values that are not listed",
    ),
    _advice(
        "(alpha,k)-anonymity",
        ["identity", "attribute"],
        "AlphaKAnonymity",
        _QUASI,
        "fewer than k candidates, or a belief above alpha",
        "excluding values",
    ),
    _advice(
        "p-sensitive k-anonymity",
        ["identity", "attribute"],
        "PSensitive",
        _QUASI,
        "fewer than k candidates, or certainty",
        "a value that is nearly certain",
    ),
    _advice(
        "(l,alpha)-diversity",
        ["attribute"],
        "LAlphaDiversity",
        _QUASI,
        "that only grave values are possible",
        "how likely each value is",
    ),
    _advice(
        "(X,Y)-privacy",
        ["identity", "attribute"],
        "XYPrivacy",
        _QUASI,
        "fewer than k values, or a belief above h",
        "excluding values",
    ),
    _advice(
        "(k,e)-anonymity",
        ["attribute"],
        "KEAnonymity",
        _QUASI,
        "a number, or a range narrower than e, for certain",
        "numbers that are close together",
    ),
    _advice(
        "(epsilon,m)-anonymity",
        ["attribute"],
        "EpsilonMAnonymity",
        _QUASI,
        "a number to within epsilon with a belief above 1/m",
        "excluding numbers",
    ),
    _advice(
        "range predicates",
        ["attribute"],
        "RangeDiversity",
        _QUASI,
        "a belief of c or more in any range of some length",
        "wider ranges",
    ),
    _advice(
        "category predicates",
        ["attribute"],
        "CategoryDiversity",
        _QUASI,
        "a belief of c or more in a category",
        "categories that are not listed",
    ),
    _advice(
        "personalised privacy",
        ["attribute"],
        "PersonalPrivacy",
        _QUASI,
        "what each person named, with a belief above the person's own threshold",
        "people who named nothing",
    ),
    _advice(
        "t-closeness",
        ["attribute", "belief"],
        "TCloseness",
        "knows quasi values and the whole table's distribution",
        "a change of belief by more than t",
        "rare values, whose share may grow by t; facts about the whole population",
    ),
    _advice(
        "(n,t)-closeness",
        ["attribute", "belief"],
        "NTCloseness",
        "knows quasi values and the distribution of large groups",
        "a change of belief by more than t about fewer than n people",
        "what groups of n people have in common",
    ),
    _advice(
        "beta-likeness",
        ["attribute", "belief"],
        "BetaLikeness",
        "knows quasi values and the whole table's distribution",
        "a relative increase of a belief by more than beta",
        "that a value is absent",
    ),
    _advice(
        "delta-disclosure privacy",
        ["attribute", "belief"],
        "DeltaDisclosure",
        "knows quasi values and the whole table's distribution",
        "a belief that changes by a factor of 2^delta or more",
        "that a value is absent",
    ),
    _advice(
        "m-uniqueness",
        ["identity", "attribute"],
        "MUnique",
        _QUASI,
        "a belief above 1/m",
        "comparing several releases; see republishing",
    ),
    _advice(
        "m-eligibility",
        ["identity", "attribute"],
        "MEligible",
        _QUASI,
        "a belief above 1/m",
        "excluding values; comparing several releases",
    ),
    _advice(
        "(c,k)-safety",
        ["attribute"],
        "WorstCaseKnowledge",
        "knows who is in which group, and any k implications about people",
        "a belief of c or more",
        "probabilistic knowledge; several releases",
    ),
    _advice(
        "(c,k)-safety against negations",
        ["attribute"],
        "NegatedKnowledge",
        "knows who is in which group, and any k facts such as 'she does not have flu'",
        "a belief of c or more",
        "facts that link two people; several releases",
    ),
    _advice(
        "m-confidentiality",
        ["attribute"],
        None,
        "knows quasi-identifiers, and that the least distorted safe release was chosen",
        "a belief above 1/m",
        "explained only; the attack Minimality of reticent attack reasons like that for small tables",
    ),
    _advice(
        "privacy-maxent",
        ["attribute", "belief"],
        None,
        "knows the shares of values among some people, and assumes nothing else",
        "a belief above a bound",
        "explained only: there is no checker",
    ),
    _advice(
        "skyline (B,t)-privacy",
        ["attribute", "belief"],
        None,
        "knows how values depend on quasi-identifiers, to any of several degrees B",
        "a change of belief by more than the t of each B",
        "explained only; reticent belief computes the change for a stated population",
    ),
    _advice(
        "delta-presence",
        ["membership"],
        "DeltaPresence",
        "knows the quasi-identifiers of a population that contains the table",
        "a belief outside low to high that a person is in the table",
        "sensitive values",
    ),
    _advice(
        "(d,gamma)-privacy",
        ["membership", "belief"],
        "BoundedBelief",
        "believes tuples to be independent, each with a prior of at most d or certain",
        "a belief above gamma",
        "exclusive alternatives ('from here or from there') and priors above d",
    ),
    _advice(
        "differential privacy",
        ["membership", "belief"],
        "ProbabilisticDP",
        "knows everything about all other people",
        "a change of any belief by a factor of more than e^epsilon",
        "facts about the population, independent of who is in the table",
    ),
    _advice(
        "local differential privacy",
        ["attribute"],
        "LocalDP",
        "knows which row is a person's, and everything about all other people",
        "a change of any belief about the value by a factor of more than e^epsilon",
        "who is in the table: other columns are published unchanged",
    ),
    _advice(
        "differential privacy of unknown size",
        ["membership", "belief"],
        "UnboundedDP",
        "knows everything about all other people, but not the number of rows",
        "a change of any belief, including membership, by a factor of more than e^epsilon",
        "facts about the population, independent of who is in the table",
    ),
    _advice(
        "crowd-blending",
        ["identity"],
        "CrowdBlending",
        "sees the release",
        "distinguishing a person from fewer than k - 1 others",
        "adversaries who know all other people of a cell, and what all of them have in common",
    ),
    _advice(
        "(rho1,rho2)-privacy",
        ["attribute", "belief"],
        None,
        "has any prior belief about the person, with a probability below rho1",
        "a belief above rho2, or the reverse",
        "explained; gamma-amplification implies it, and reticent belief --rho tests it for a stated population",
    ),
    _advice(
        "gamma-amplification",
        ["attribute", "belief"],
        None,
        "has any prior belief about the person, and knows how rows are randomized",
        "two values of a row under which the probability of the output differs by a factor of more than gamma",
        "for randomized rows: reticent randomize, method Frapp",
    ),
    _advice(
        "(c,t)-isolation",
        ["identity", "belief"],
        None,
        "knows auxiliary points",
        "a point nearer to a person than to t others",
        "explained only: there is no checker",
    ),
    _advice(
        "distributional privacy",
        ["membership", "belief"],
        None,
        "knows the distribution that the table was sampled from",
        "more about the table than about that distribution",
        "explained only: there is no checker",
    ),
    _advice(
        "perfect privacy",
        ["attribute", "belief"],
        None,
        "believes tuples to be independent, with any priors",
        "any change of any belief about a secret query",
        "for views: reticent views check",
    ),
)


def advise(concerns: Iterable[Concern], chosen: Collection[str] = ()) -> tuple[Advice, ...]:
    """Return the models that cover any of the concerns, those that cover most first; ``chosen`` definitions first among equals."""
    concern_list = list(concerns)
    for concern in concern_list:
        if concern not in get_args(Concern):
            raise PolicyError(
                f"There is no concern {concern!r}.{did_you_mean(concern, CONCERNS)} The concerns are: {', '.join(CONCERNS)}."
            )
    covering = [advice for advice in ADVICE if set(advice.covers) & set(concern_list)]
    return tuple(
        sorted(
            covering, key=lambda advice: (-len(set(advice.covers) & set(concern_list)), advice.definition not in chosen)
        )
    )


def uncovered(chosen: Collection[str]) -> tuple[Concern, ...]:
    """Return the concerns that none of the chosen definitions covers."""
    covered = {concern for advice in ADVICE if advice.definition in chosen for concern in advice.covers}
    return tuple(concern for concern in CONCERNS if concern not in covered)
