"""Counts of the cells of a public domain, with noise.

``method``      CentralCounts and JointCounts; ``format`` the format ``noisy counts``; ``details`` its part of the manifest
``deployment``  a party on its own host, from its settings to the release
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from reticent.methods.counts.deployment import PartyConfig, encoded

_HOMES = {
    "PartyConfig": "deployment",
    "encoded": "deployment",
}

__all__ = [
    "PartyConfig",
    "encoded",
]

__getattr__ = lazy_names(__name__, _HOMES)
