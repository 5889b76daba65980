"""Tracking: what somebody learns who follows people through the releases of a series (spec 004, R-TS-8).

``view``       what the adversary sees: sightings, groups, and tracks, over which a value cannot have changed
``fixpoint``   values ruled out until nothing more follows
``counting``   all consistent worlds, counted exactly
``joining``    the same as the fixpoint where groups are not known, only quasi values and boxes
``learned``    the result: values and chances for every person and release
``tracing``    the three engines behind one call
"""

from __future__ import annotations

from reticent.attack.tracking.learned import Learned
from reticent.attack.tracking.tracing import series

__all__ = ["Learned", "series"]
