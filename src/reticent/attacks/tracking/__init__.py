"""Tracking: what an adversary learns who follows people through the releases of a series.

``tracked_view``   what the adversary sees: sightings, groups, and tracks, over which a value cannot have changed
``fixpoint``       values ruled out until nothing more follows
``world_counts``   all consistent worlds, counted exactly
``join_attack``    the same as the fixpoint where groups are not known, only quasi values and boxes
``learned``        the result: values and chances for every person and release
``series_attack``  the three engines behind one call
``hold_back``      what knowledge of who waited adds
``beside``         the same tables published in a weaker way, for comparison
``story``          the chain of reasoning about one person, in words
``cracks``, ``decoys``, ``updates``  BCF-anonymity, HD-composition and m-Distinct, other promises about series
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
