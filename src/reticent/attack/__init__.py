"""Adversaries that run: each gets what the public gets plus knowledge that it states, and says what it found.

``published``    what the public holds: labels, their meanings, rows, sensitive values beside them
``base``         ``Adversary``, ``Findings``, confidence intervals
``linkage``      look people of another list up (``matching`` places them, ``labels`` reads what labels mean)
``homogeneity``  groups that share a sensitive value
"""

from __future__ import annotations

from typing import Any

from reticent.attack.base import Adversary, Findings, wilson
from reticent.attack.homogeneity import Homogeneity
from reticent.attack.linkage import Linkage
from reticent.attack.published import Published, PublishedColumn

__all__ = ["Adversary", "Findings", "Homogeneity", "Linkage", "Published", "PublishedColumn", "attack", "wilson"]


def attack(target: Any, *adversaries: Adversary) -> list[Findings]:
    """Run adversaries against a table as it stands, a draft, a release or its folder. Without any: homogeneity."""
    published = Published.of(target)
    return [adversary.attack(published) for adversary in adversaries or (Homogeneity(),)]
