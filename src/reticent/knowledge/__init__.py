"""Worst-case background knowledge about tables and releases: curves, worst facts, what-if, growing tables. Source:
[Martin2007].

``whatif``                the belief given stated facts; ``people_source`` finds the people in a table or a release
``world_samples``         estimated beliefs if exact ones take too long; ``tiny_worlds`` enumerates all possible worlds of a tiny table
``named_groups``          a table or a release with names, for explanations; ``disclosure_curves`` plots both curves
``bucket_monitor``        buckets that grow; ``row_stream`` for a growing table
``bucketization_search``  the minimal safe bucketizations of a chain or a lattice, or of a table (``Rollup``)

The arithmetic is in ``worst_case``, whose names are also exported here. Measuring histograms needs numpy only; the
modules for tables are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.errors import correct_names
from reticent.knowledge.bucket_monitor import Monitor, Watch
from reticent.knowledge.whatif import WhatIf, explore
from reticent.worst_case import (
    DisclosureTree,
    Population,
    RankedAtom,
    Safety,
    WorstFacts,
    breaking_point,
    certainty_point,
    curve,
    negation_curve,
    negation_witness,
    safe,
    witness,
)

if TYPE_CHECKING:
    from reticent.knowledge.disclosure_curves import save_chart
    from reticent.knowledge.named_groups import Explanation, Subject
    from reticent.knowledge.people_source import what_if
    from reticent.knowledge.row_stream import Growth, watch

_ABOUT_TABLES = {
    "Explanation": "named_groups",
    "Growth": "row_stream",
    "Subject": "named_groups",
    "save_chart": "disclosure_curves",
    "watch": "row_stream",
    "what_if": "people_source",
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
    "WorstFacts",
    "breaking_point",
    "certainty_point",
    "curve",
    "explore",
    "negation_curve",
    "negation_witness",
    "safe",
    "save_chart",
    "watch",
    "what_if",
    "witness",
]

correct_names(__name__)
__getattr__ = lazy_names(__name__, _ABOUT_TABLES)
