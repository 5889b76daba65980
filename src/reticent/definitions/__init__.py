"""What private means: pure, exact judgements of groups.

``base``         Definition, Assessment, Witness, composition with ``&``
``anonymity``    k-anonymity
``diversity``    distinct and probabilistic l-diversity
``entropy``      entropy l-diversity; ``spread`` computes entropies, ``logarithms`` decides ties
``recursive``    recursive (c,l)-diversity, and negative/positive diversity; ``tails`` computes what exclusions leave
``knowledge``    worst-case and negated background knowledge (loaded when first used)
``closeness``    t-closeness; ``transport`` computes earth mover's distances in whole numbers
``homogeneity``  the homogeneity audit
``feasibility``  whether any generalization can pass
``catalogue``    every definition by name, made from plain data
``comparison``   exact comparisons; ``value_sets`` don't-care values; ``diagnostics`` figures for the steward; ``wording``
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reticent.definitions.anonymity import KAnonymity
from reticent.definitions.base import All, Assessment, Definition, Witness
from reticent.definitions.catalogue import definition_from
from reticent.definitions.closeness import TCloseness
from reticent.definitions.diversity import DistinctLDiversity, ProbabilisticLDiversity
from reticent.definitions.entropy import EntropyLDiversity
from reticent.definitions.feasibility import feasibility, require_feasible
from reticent.definitions.homogeneity import HomogeneityAudit, homogeneity_audit
from reticent.definitions.recursive import NegativePositiveDiversity, RecursiveLDiversity

if TYPE_CHECKING:
    from reticent.definitions.knowledge import NegatedKnowledge, WorstCaseKnowledge

__all__ = [
    "All",
    "Assessment",
    "Definition",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "HomogeneityAudit",
    "KAnonymity",
    "NegatedKnowledge",
    "NegativePositiveDiversity",
    "ProbabilisticLDiversity",
    "RecursiveLDiversity",
    "TCloseness",
    "Witness",
    "WorstCaseKnowledge",
    "definition_from",
    "feasibility",
    "homogeneity_audit",
    "require_feasible",
]


def __getattr__(name: str) -> Any:
    """The knowledge definitions bring compiled kernels along, which nobody should wait for who does not use them."""
    if name in ("NegatedKnowledge", "WorstCaseKnowledge"):
        return getattr(import_module("reticent.definitions.knowledge"), name)
    raise AttributeError(f"module 'reticent.definitions' has no attribute {name!r}")
