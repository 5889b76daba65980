"""Reticent: share data about people without giving anybody away.

Everything a user needs is here, ``import reticent as rt``; names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.3.0"

_NAMES = {
    "reticent.data": ("Groups", "Hierarchy", "Table"),
    "reticent.definitions": (
        "AlphaKAnonymity",
        "Assessment",
        "AverageRisk",
        "BetaLikeness",
        "CategoryDiversity",
        "ConfidenceBounding",
        "Definition",
        "DeltaDisclosure",
        "DeltaPresence",
        "DistinctLDiversity",
        "EntropyLDiversity",
        "EpsilonMAnonymity",
        "KAnonymity",
        "KEAnonymity",
        "KMap",
        "LAlphaDiversity",
        "MEligible",
        "MUnique",
        "NTCloseness",
        "NegatedKnowledge",
        "NegativePositiveDiversity",
        "PSensitive",
        "PersonalPrivacy",
        "ProbabilisticLDiversity",
        "RangeDiversity",
        "RecursiveLDiversity",
        "TCloseness",
        "WorstCaseKnowledge",
        "XYPrivacy",
        "homogeneity_audit",
    ),
    "reticent.definitions.mechanisms": ("BoundedBelief",),
    "reticent.randomize": ("AlphaBeta", "Frapp"),
    "reticent.anonymize": ("Datafly", "Lattice", "Mondrian", "search"),
    "reticent.release": ("Release", "apply", "publish", "verify"),
    "reticent.release.assessing": ("assess",),
    "reticent.policy": ("inspect", "read"),
    "reticent.errors": ("DataError", "Denied", "Infeasible", "LedgerError", "PolicyError", "ReticentError"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_ROOMS = ("attack", "audit", "belief", "demo", "knowledge", "randomize", "report", "views")

__all__ = ["__version__", *_HOMES, *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"reticent.{name}")
    raise AttributeError(f"module 'reticent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
