"""The arithmetic of worst-case background knowledge: how much k facts about people can disclose, and which facts.

``histogram_buckets``  the input: the descending counts of every bucket
``minimize1``          the best h atoms inside one bucket, exactly
``screen``             a float pass that leaves the few buckets that can matter (``_kernels`` for very many)
``contenders``         exact arithmetic on those few; ``fraction_order`` sorts fractions exactly
``disclosure``         the curve D(B, k), its negation-only companion, breaking point, certainty point, verdict
``worst_facts``        the worst facts themselves, in words
``tree``               the same for buckets that change one by one
``known_facts``        facts as people type them; ``bucket_people``: the bucket of each person; ``solver``: exact beliefs from facts

This package is below ``definitions`` and needs numpy only. The tools for tables and releases are in ``knowledge``.
Source: [Martin2007].
"""

from __future__ import annotations

from reticent.worst_case.bucket_people import GroupHistograms, Population
from reticent.worst_case.disclosure import (
    Safety,
    as_probability,
    breaking_point,
    certainty_point,
    curve,
    fact_count,
    holds,
    negation_curve,
    negations_unsafe,
    safe,
    screened_verdict,
    unsafe_alone,
)
from reticent.worst_case.histogram_buckets import Buckets, Measured
from reticent.worst_case.known_facts import Clause, Fact, PersonValue, parse_fact
from reticent.worst_case.screen import Floats, least_chances, merge, merge_all
from reticent.worst_case.solver import (
    BUDGET,
    BudgetExceeded,
    WorkBudget,
    components,
    conditional,
    disclosure_risk,
    probability,
)
from reticent.worst_case.tree import DisclosureTree
from reticent.worst_case.worst_facts import RankedAtom, WorstFacts, negation_witness, witness

__all__ = [
    "BUDGET",
    "Buckets",
    "BudgetExceeded",
    "Clause",
    "DisclosureTree",
    "Fact",
    "Floats",
    "GroupHistograms",
    "Measured",
    "PersonValue",
    "Population",
    "RankedAtom",
    "Safety",
    "WorkBudget",
    "WorstFacts",
    "as_probability",
    "breaking_point",
    "certainty_point",
    "components",
    "conditional",
    "curve",
    "disclosure_risk",
    "fact_count",
    "holds",
    "least_chances",
    "merge",
    "merge_all",
    "negation_curve",
    "negation_witness",
    "negations_unsafe",
    "parse_fact",
    "probability",
    "safe",
    "screened_verdict",
    "unsafe_alone",
    "witness",
]
