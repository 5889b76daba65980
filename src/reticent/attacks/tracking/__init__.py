"""Tracking: what an adversary learns who tracks people through the releases of a series.

``tracked_view``   what the adversary sees: sightings, groups, and tracks, over which a value cannot have changed
``fixpoint``       values ruled out until a fixpoint
``world_counts``   all possible worlds, counted exactly
``join_attack``    the fixpoint if group membership is unknown, only quasi-identifiers and boxes
``learned``        the result: values and chances for every person and release
``series_attack``  the three engines behind one call
``hold_back``      the additional knowledge of who waited
``beside``         the same tables published with weaker protection, for comparison
``story``          the chain of reasoning about one person, in words
``cracks``, ``decoys``, ``updates``  BCF-anonymity, HD-composition and m-Distinct, other definitions for series
"""

from __future__ import annotations

from reticent.attacks.tracking.beside import WORDS, republished
from reticent.attacks.tracking.cracks import BcfAnonymity, bcf_of_releases
from reticent.attacks.tracking.decoys import HdComposition, hd_composition
from reticent.attacks.tracking.hold_back import WaitingFindings, waiting
from reticent.attacks.tracking.learned import Learned
from reticent.attacks.tracking.series_attack import series
from reticent.attacks.tracking.story import Clue, explain
from reticent.attacks.tracking.updates import MDistinctness, m_distinct

__all__ = [
    "WORDS",
    "BcfAnonymity",
    "Clue",
    "HdComposition",
    "Learned",
    "MDistinctness",
    "WaitingFindings",
    "bcf_of_releases",
    "explain",
    "hd_composition",
    "m_distinct",
    "republished",
    "series",
    "waiting",
]
