"""Worst-case background knowledge: how much k facts about people can disclose, which facts, and what-if (R-WK).

``buckets``     what is measured: the falling counts of every bucket
``minimize``    the best h atoms inside one bucket, exactly
``screen``      a float pass that leaves the few buckets that can matter (``_kernels`` for very many)
``contenders``  exact arithmetic on those few
``disclosure``  the curve D(B, k), its negation-only companion, breaking point, certainty point, verdict
``witness``     the worst facts themselves, in words
``tree``        the same for buckets that change one by one; ``monitor`` and ``growth`` for a growing table
``facts``       facts as people type them; ``population``: who is in which bucket
``solver``      exact beliefs from facts; ``sampling`` estimates them, ``worlds`` lists all worlds of a tiny table
``whatif``      the answer to "and if somebody knew this?"; ``source`` finds the people in a table or a release,
                ``placing`` by what is published
``subject``     a table or a release with names, for explanations; ``chart`` draws both curves
``search``      the least general safe bucketizations of a chain or a lattice; ``rollup`` makes the nodes of a table

Measuring histograms needs numpy only; what deals with tables is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reticent.knowledge.disclosure import (
    Safety,
    breaking_point,
    certainty_point,
    curve,
    negation_curve,
    safe,
)
from reticent.knowledge.monitor import Monitor, Watch
from reticent.knowledge.population import Population
from reticent.knowledge.tree import DisclosureTree
from reticent.knowledge.whatif import WhatIf, explore
from reticent.knowledge.witness import RankedAtom, Witness, negation_witness, witness

if TYPE_CHECKING:
    from reticent.knowledge.growth import Growth, watch
    from reticent.knowledge.source import what_if
    from reticent.knowledge.subject import Explanation, Subject

_ABOUT_TABLES = {
    "Explanation": "subject",
    "Growth": "growth",
    "Subject": "subject",
    "watch": "growth",
    "what_if": "source",
}

__all__ = [
    "DisclosureTree",
    "Explanation",
    "Growth",
    "Monitor",
    "Population",
    "RankedAtom",
    "Safety",
    "Subject",
    "Watch",
    "WhatIf",
    "Witness",
    "breaking_point",
    "certainty_point",
    "curve",
    "explore",
    "negation_curve",
    "negation_witness",
    "safe",
    "watch",
    "what_if",
    "witness",
]


def __getattr__(name: str) -> Any:
    if name in _ABOUT_TABLES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_ABOUT_TABLES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
