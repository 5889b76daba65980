"""docs/reference/definitions.md: its examples run, and it leaves no definition out."""

from __future__ import annotations

import re
from pathlib import Path

from reticent.definitions.catalogue import entries

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "definitions.md").read_text(encoding="utf-8")
OF_OTHER_PAGES = {
    "BoundedBelief",
    "BoundedDP",
    "ConcentratedDP",
    "CrowdBlending",
    "LocalDP",
    "MInvariance",
    "NegatedKnowledge",
    "NoisyCounts",
    "ProbabilisticDP",
    "TauSafety",
    "UnboundedDP",
    "WorstCaseKnowledge",
}


def test_every_definition_of_the_catalogue_has_a_section() -> None:
    sections = set(re.findall(r"^## (\w+)$", PAGE, flags=re.MULTILINE))
    assert {entry.name for entry in entries()} - OF_OTHER_PAGES <= sections
