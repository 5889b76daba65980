"""Beliefs: the prior and posterior of a Bayesian adversary about a person.

``bayes``            the Bayes-optimal posterior for a stated population, and the disclosure tests on it
``bucket_beliefs``   the same for bucketized releases (quasi-identifiers and sensitive values published separately)
``release_beliefs``  the same for any release, or an unmodified table, and a list of the population
``semantic``         semantic definitions decided by enumerating databases, exactly, for small tables
``calculators``      the effect of excluded values, known values of others, and shared values on a belief
``advisor``          which definition covers which threat; ``application`` the requirements of an application

No search prunes by beliefs: they are not monotone; a coarser release may disclose what a finer one did not.
"""

from reticent.belief.advisor import ADVICE, CONCERNS, Advice, Concern, advise, uncovered
from reticent.belief.application import Application, ModelJudgement, judge
from reticent.belief.bayes import (
    Belief,
    PopulationModel,
    ReleasedGroup,
    believe,
    breach,
    distance,
    independent,
    negative,
    positive,
    posterior,
    posterior_among,
)
from reticent.belief.bucket_beliefs import BucketBelief, bucket_posterior
from reticent.belief.calculators import Guess, excluding, homogeneous_groups, knowing, worst_knowing
from reticent.belief.release_beliefs import Person, Tests, beliefs_of, people_asked
from reticent.belief.semantic import (
    PossibleView,
    Predicate,
    RandomSetting,
    SemanticAdversary,
    SemanticDefinition,
    SemanticSetting,
    SemanticVerdict,
    differential_privacy,
    gamma_amplification,
    perfect_privacy,
    rho_privacy,
    semantic_diversity,
    semantic_negative,
    semantic_sets,
)
from reticent.errors import correct_names

__all__ = [
    "ADVICE",
    "CONCERNS",
    "Advice",
    "Application",
    "Belief",
    "BucketBelief",
    "Concern",
    "Guess",
    "ModelJudgement",
    "Person",
    "PopulationModel",
    "PossibleView",
    "Predicate",
    "RandomSetting",
    "ReleasedGroup",
    "SemanticAdversary",
    "SemanticDefinition",
    "SemanticSetting",
    "SemanticVerdict",
    "Tests",
    "advise",
    "beliefs_of",
    "believe",
    "breach",
    "bucket_posterior",
    "differential_privacy",
    "distance",
    "excluding",
    "gamma_amplification",
    "homogeneous_groups",
    "independent",
    "judge",
    "knowing",
    "negative",
    "people_asked",
    "perfect_privacy",
    "positive",
    "posterior",
    "posterior_among",
    "rho_privacy",
    "semantic_diversity",
    "semantic_negative",
    "semantic_sets",
    "uncovered",
    "worst_knowing",
]

correct_names(__name__)
