"""The sentences of every definition about no particular release, as catalogues, advice and the workbench show them."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

from reticent.definitions import GENERAL, definition_from, names
from tests.cli.test_catalogue import EXAMPLES

NOT_OF_GROUPS: dict[str, dict[str, Any]] = {
    "BoundedBelief": {"d": "1/10", "gamma": "1/2"},
    "ConcentratedDP": {"rho": 1},
    "CrowdBlending": {"k": 5, "epsilon": 1},
    "MInvariance": {"m": 2},
    "TauSafety": {"m": 2},
}
MALFORMED = re.compile(
    r"'s (?:an?|the|every|any)\b|\b(?:an?|the|any|every|no) (?:an?|the|any|every|no)\b|\ba [aeio]|\ban [^aeiou8]|\b(\w+) \1\b"
    r"|\b1 (?:facts|values|columns|records|people)\b|\b1 column [^,]*\bare\b|  |\.\.|,,|\bNone\b|[{}]",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", names())
def test_sentences_without_names_of_columns_are_well_formed(name: str) -> None:
    parameters = EXAMPLES.get(name, NOT_OF_GROUPS.get(name, {"epsilon": 1}))
    if name in ("KMap", "DeltaPresence"):
        parameters = {**parameters, "population": pl.DataFrame({"zip": ["1"]})}
    definition = definition_from(name, parameters)
    for sentence in (definition.meaning(GENERAL), definition.not_covered(GENERAL)):
        assert (told := MALFORMED.search(sentence)) is None, (told, sentence)
        assert re.fullmatch(r"[A-Z].*\.", sentence), sentence
