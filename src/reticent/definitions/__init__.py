"""Privacy definitions: pure, exact verdicts on equivalence classes, on mechanism plans and on release histories.

``definition``          Definition and its three kinds, Assessment, Witness, composition with ``&``
``claim_scope``         what was judged, for the wording of claims: unit, known columns, confidential columns
``verdicts``            ``judge``: the only place that makes a verdict for a release
``anonymity``           k-anonymity
``any_columns``         definitions for adversaries who know any L of the columns; ``column_sets`` enumerates their cells
``in_turn``             what the other columns disclose about a quasi-identifier
``diversity``           distinct and probabilistic l-diversity
``entropy``             entropy l-diversity; ``spread`` computes entropies, ``logarithms`` decides ties
``recursive``           recursive (c,l)-diversity, and negative/positive diversity; ``tails`` computes what remains after exclusions
``background_knowledge``  worst-case and negated background knowledge (imported when first used)
``closeness``           t-closeness and (n,t)-closeness; ``transport`` computes earth mover's distances in integers
``shares``              shares of values and sets of values: (alpha,k), p-sensitive, (l,alpha), confidence bounding, categories
``xy_privacy``          (X,Y)-privacy: what knowing some columns discloses about others
``numeric``             proximity of numbers: (k,e), (epsilon,m), ranges
``likeness``            beta-likeness, delta-disclosure privacy
``unbounded_dp``        differential privacy where a record is added or removed
``bounded_dp``          differential privacy where a record is replaced
``concentrated_dp``     zero-concentrated differential privacy
``crowd_blending``      crowd-blending privacy
``noisy_counts``        counts with noise, judged by the noise distribution
``uniqueness``          m-uniqueness, m-eligibility
``personal``            personalized privacy: guarding nodes chosen by the data subjects
``population``          k-map and delta-presence, which compare with people outside the table
``mechanisms``          bounds on prior and posterior beliefs
``local_dp``            local differential privacy
``probabilistic_dp``    probabilistic differential privacy
``unique_records``      records that are unique in some columns, beyond what is covered
``risk``                average re-identification risk, its figures, and uniqueness in a population
``weighted_estimates``  population figures estimated from survey weights
``conjunction``         definitions that are conjunctions of others
``known_rows``          adversaries who know several rows of a person; ``ever_values`` whether a person has a value in any row
``related_secrets``     guarantees about sensitive columns that are functions of others
``exchanges``           replacing groups by finer ones under a definition that judges all together; ``knowledge_exchanges`` for facts
``homogeneous_groups``  the homogeneity audit
``feasibility``         whether any generalization can pass
``catalogue``           every definition by name, constructed from plain data
``bounded``             two common shapes: an upper bound on a share, a lower bound on a figure
``scaled_comparison``   exact comparisons; ``value_sets`` don't-care values; ``diversity_figures`` figures for the steward; ``number_text``
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.definitions.feasibility import feasibility, require_feasible
from reticent.definitions.known_rows import KnownRows, RowsJudged, known_rows
from reticent.definitions.unique_records import UniqueRecords, numbers_beyond, unique_records, unique_share

if TYPE_CHECKING:
    from reticent.definitions.anonymity import KAnonymity
    from reticent.definitions.any_columns import AnyColumns, closed, closed_as_claimed
    from reticent.definitions.background_knowledge import NegatedKnowledge, WorstCaseKnowledge
    from reticent.definitions.bounded_dp import BoundedDP
    from reticent.definitions.catalogue import definition_from, entry_of, names
    from reticent.definitions.claim_scope import GENERAL, ClaimScope, CountedUnit, Openness, column_list, named_column
    from reticent.definitions.closed_sets import with_closed_sets
    from reticent.definitions.closeness import Distance, NTCloseness, TCloseness
    from reticent.definitions.column_sets import count_largest_sets, largest_sets
    from reticent.definitions.concentrated_dp import ConcentratedDP
    from reticent.definitions.crowd_blending import CrowdBlending
    from reticent.definitions.definition import (
        NOT_WITH_SETS,
        All,
        Assessment,
        CountedRows,
        Definition,
        GroupDefinition,
        HistoryDefinition,
        JudgesPatterns,
        PlanDefinition,
        Several,
        ShownPart,
        Witness,
        all_of,
    )
    from reticent.definitions.diversity import DistinctLDiversity, ProbabilisticLDiversity
    from reticent.definitions.diversity_figures import diversity_diagnostics
    from reticent.definitions.entropy import EntropyLDiversity
    from reticent.definitions.ever_values import ever_shares
    from reticent.definitions.exchanges import admitted
    from reticent.definitions.homogeneous_groups import HomogeneityAudit, homogeneity_audit
    from reticent.definitions.in_turn import InTurn
    from reticent.definitions.likeness import BetaLikeness, DeltaDisclosure, exceeds_logarithm
    from reticent.definitions.local_dp import LocalDP
    from reticent.definitions.mechanisms import (
        ADVERSARIES,
        Adversary,
        BoundedBelief,
        Ratios,
        highest_allowed,
        posterior,
    )
    from reticent.definitions.method import ExpectedError, Method, RandomMechanism, is_random
    from reticent.definitions.noisy_counts import NoisyCounts
    from reticent.definitions.numeric import EpsilonMAnonymity, KEAnonymity, RangeDiversity
    from reticent.definitions.personal import PersonalPrivacy
    from reticent.definitions.population import DeltaPresence, KMap, PopulationDefinition, require_same
    from reticent.definitions.probabilistic_dp import (
        LARGEST_EPSILON,
        PrivacyLoss,
        ProbabilisticDP,
        certainty,
        exceeds_exponential,
        ratio_within,
    )
    from reticent.definitions.recursive import NegativePositiveDiversity, RecursiveLDiversity
    from reticent.definitions.related_secrets import with_related_secrets
    from reticent.definitions.risk import (
        AverageRisk,
        Reidentification,
        Uniqueness,
        population_uniqueness,
        reidentification,
    )
    from reticent.definitions.shares import (
        AlphaKAnonymity,
        CategoryDiversity,
        ConfidenceBounding,
        LAlphaDiversity,
        PSensitive,
        SetShares,
    )
    from reticent.definitions.unbounded_dp import UnboundedDP
    from reticent.definitions.uniqueness import MEligible, MUnique
    from reticent.definitions.verdicts import (
        SUPPRESSED_RECORDS,
        about_column,
        against_all,
        by_set,
        columns_compared,
        judge,
        named_values,
        of_groups,
        own_sets,
        single_demands,
        tells_about,
        unkept,
        verdict,
    )
    from reticent.definitions.weighted_estimates import PopulationEstimate, individual_risk, population_estimate
    from reticent.definitions.xy_privacy import XYPrivacy

_HOMES = {
    "ADVERSARIES": "mechanisms",
    "Adversary": "mechanisms",
    "All": "definition",
    "AlphaKAnonymity": "shares",
    "AnyColumns": "any_columns",
    "Assessment": "definition",
    "AverageRisk": "risk",
    "BetaLikeness": "likeness",
    "BoundedBelief": "mechanisms",
    "BoundedDP": "bounded_dp",
    "CategoryDiversity": "shares",
    "ClaimScope": "claim_scope",
    "ConcentratedDP": "concentrated_dp",
    "ConfidenceBounding": "shares",
    "CountedRows": "definition",
    "CountedUnit": "claim_scope",
    "CrowdBlending": "crowd_blending",
    "Definition": "definition",
    "DeltaDisclosure": "likeness",
    "DeltaPresence": "population",
    "Distance": "closeness",
    "DistinctLDiversity": "diversity",
    "EntropyLDiversity": "entropy",
    "EpsilonMAnonymity": "numeric",
    "ExpectedError": "method",
    "GENERAL": "claim_scope",
    "GroupDefinition": "definition",
    "HistoryDefinition": "definition",
    "HomogeneityAudit": "homogeneous_groups",
    "InTurn": "in_turn",
    "JudgesPatterns": "definition",
    "KAnonymity": "anonymity",
    "KEAnonymity": "numeric",
    "KMap": "population",
    "LARGEST_EPSILON": "probabilistic_dp",
    "LAlphaDiversity": "shares",
    "LocalDP": "local_dp",
    "MEligible": "uniqueness",
    "MUnique": "uniqueness",
    "Method": "method",
    "NOT_WITH_SETS": "definition",
    "NTCloseness": "closeness",
    "NegatedKnowledge": "background_knowledge",
    "NegativePositiveDiversity": "recursive",
    "NoisyCounts": "noisy_counts",
    "Openness": "claim_scope",
    "PSensitive": "shares",
    "PersonalPrivacy": "personal",
    "PlanDefinition": "definition",
    "PopulationDefinition": "population",
    "PopulationEstimate": "weighted_estimates",
    "PrivacyLoss": "probabilistic_dp",
    "ProbabilisticDP": "probabilistic_dp",
    "ProbabilisticLDiversity": "diversity",
    "RandomMechanism": "method",
    "RangeDiversity": "numeric",
    "Ratios": "mechanisms",
    "RecursiveLDiversity": "recursive",
    "Reidentification": "risk",
    "SUPPRESSED_RECORDS": "verdicts",
    "SetShares": "shares",
    "Several": "definition",
    "ShownPart": "definition",
    "TCloseness": "closeness",
    "UnboundedDP": "unbounded_dp",
    "Uniqueness": "risk",
    "Witness": "definition",
    "WorstCaseKnowledge": "background_knowledge",
    "XYPrivacy": "xy_privacy",
    "about_column": "verdicts",
    "admitted": "exchanges",
    "against_all": "verdicts",
    "all_of": "definition",
    "by_set": "verdicts",
    "certainty": "probabilistic_dp",
    "closed": "any_columns",
    "closed_as_claimed": "any_columns",
    "column_list": "claim_scope",
    "columns_compared": "verdicts",
    "count_largest_sets": "column_sets",
    "definition_from": "catalogue",
    "diversity_diagnostics": "diversity_figures",
    "entry_of": "catalogue",
    "ever_shares": "ever_values",
    "exceeds_exponential": "probabilistic_dp",
    "exceeds_logarithm": "likeness",
    "highest_allowed": "mechanisms",
    "homogeneity_audit": "homogeneous_groups",
    "individual_risk": "weighted_estimates",
    "is_random": "method",
    "judge": "verdicts",
    "largest_sets": "column_sets",
    "named_column": "claim_scope",
    "named_values": "verdicts",
    "names": "catalogue",
    "of_groups": "verdicts",
    "own_sets": "verdicts",
    "population_estimate": "weighted_estimates",
    "population_uniqueness": "risk",
    "posterior": "mechanisms",
    "ratio_within": "probabilistic_dp",
    "reidentification": "risk",
    "require_same": "population",
    "single_demands": "verdicts",
    "tells_about": "verdicts",
    "unkept": "verdicts",
    "verdict": "verdicts",
    "with_closed_sets": "closed_sets",
    "with_related_secrets": "related_secrets",
}

__all__ = [
    "ADVERSARIES",
    "GENERAL",
    "LARGEST_EPSILON",
    "NOT_WITH_SETS",
    "SUPPRESSED_RECORDS",
    "Adversary",
    "All",
    "AlphaKAnonymity",
    "AnyColumns",
    "Assessment",
    "AverageRisk",
    "BetaLikeness",
    "BoundedBelief",
    "BoundedDP",
    "CategoryDiversity",
    "ClaimScope",
    "ConcentratedDP",
    "ConfidenceBounding",
    "CountedRows",
    "CountedUnit",
    "CrowdBlending",
    "Definition",
    "DeltaDisclosure",
    "DeltaPresence",
    "Distance",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "EpsilonMAnonymity",
    "ExpectedError",
    "GroupDefinition",
    "HistoryDefinition",
    "HomogeneityAudit",
    "InTurn",
    "JudgesPatterns",
    "KAnonymity",
    "KEAnonymity",
    "KMap",
    "KnownRows",
    "LAlphaDiversity",
    "LocalDP",
    "MEligible",
    "MUnique",
    "Method",
    "NTCloseness",
    "NegatedKnowledge",
    "NegativePositiveDiversity",
    "NoisyCounts",
    "Openness",
    "PSensitive",
    "PersonalPrivacy",
    "PlanDefinition",
    "PopulationDefinition",
    "PopulationEstimate",
    "PrivacyLoss",
    "ProbabilisticDP",
    "ProbabilisticLDiversity",
    "RandomMechanism",
    "RangeDiversity",
    "Ratios",
    "RecursiveLDiversity",
    "Reidentification",
    "RowsJudged",
    "SetShares",
    "Several",
    "ShownPart",
    "TCloseness",
    "UnboundedDP",
    "UniqueRecords",
    "Uniqueness",
    "Witness",
    "WorstCaseKnowledge",
    "XYPrivacy",
    "about_column",
    "admitted",
    "against_all",
    "all_of",
    "by_set",
    "certainty",
    "closed",
    "closed_as_claimed",
    "column_list",
    "columns_compared",
    "count_largest_sets",
    "definition_from",
    "diversity_diagnostics",
    "entry_of",
    "ever_shares",
    "exceeds_exponential",
    "exceeds_logarithm",
    "feasibility",
    "highest_allowed",
    "homogeneity_audit",
    "individual_risk",
    "is_random",
    "judge",
    "known_rows",
    "largest_sets",
    "named_column",
    "named_values",
    "names",
    "numbers_beyond",
    "of_groups",
    "own_sets",
    "population_estimate",
    "population_uniqueness",
    "posterior",
    "ratio_within",
    "reidentification",
    "require_feasible",
    "require_same",
    "single_demands",
    "tells_about",
    "unique_records",
    "unique_share",
    "unkept",
    "verdict",
    "with_closed_sets",
    "with_related_secrets",
]

__getattr__ = lazy_names(__name__, _HOMES)
