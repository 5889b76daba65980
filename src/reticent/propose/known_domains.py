"""Columns with a publicly known domain: states, countries, diseases, branches of industry."""

from __future__ import annotations

from reticent.errors import ReticentError
from reticent.propose.names import words_of
from reticent.propose.profile import ColumnProfile
from reticent.table import NAMES as PUBLIC_DOMAINS
from reticent.table import Hierarchy

_FEWEST = 3
_ICD = r"^[A-Z]\d\d(?:\.?\w{1,4})?$"
_NUTS = r"^[A-Z]{2}[0-9A-Z]{1,3}$"
_REGION = frozenset(["region", "regions", "nuts", "geo", "province", "district"])
_STATE = frozenset(["state", "states", "fips", "statefip", "stfips", "statecode"])
_COUNTRY = frozenset(
    [
        "country",
        "countries",
        "nation",
        "nationality",
        "citizenship",
        "birthplace",
        "iso",
        "origin",
        "cntry",
        "land",
        "pays",
        "pais",
    ]
)


_CODED = {"isco": "isco-08", "nace": "nace", "nuts": "nuts", "zip": "us-zip", "zipcode": "us-zip", "icd": "icd-10"}
"""Words in a column name that identify its code system."""


def public_domain(column: ColumnProfile) -> str | None:
    """Return the public domain that contains all values of the column, unless the column name contradicts it."""
    if column.distinct < _FEWEST or column.distinct > len(column.sample):
        return None
    words = {word.rstrip("0123456789") for word in words_of(column.name)}
    return next((name for name in _candidates(column, words) if _has(name, column)), None)


def _candidates(column: ColumnProfile, words: set[str]) -> list[str]:
    """Return the names of public domains that a column may have, by its type, the words of its name, and the form of its codes."""
    by_name = [_CODED[word] for word in sorted(words & set(_CODED))]
    if column.type == "integer":
        return ["us-states-fips"] if words & _STATE else by_name
    if column.type != "text":
        return []
    if bool(column.sample.str.contains(_ICD).all()):
        return ["icd-10"]
    if bool(column.sample.str.contains(_NUTS).all()) and words & _REGION:
        by_name.append("nuts")
    of_places = [
        name
        for name in PUBLIC_DOMAINS
        if name.startswith("us-states" if words & _STATE else "iso") and words & (_STATE | _COUNTRY)
    ]
    # Two-letter codes are ambiguous unless there are many of them or the name identifies them.
    two_letter = [name for name in PUBLIC_DOMAINS if name.startswith(("us-states", "iso")) and name != "us-states-fips"]
    return [*by_name, *of_places, *(two_letter if column.distinct >= 10 else ["us-states-names"])]


def _has(name: str, column: ColumnProfile) -> bool:
    """True if the public domain contains all sampled values of the column."""
    try:
        bound = Hierarchy.public(name).bind(column.sample.alias(column.name), column.name)
        bound.codes(column.sample)
    except ReticentError:
        return False
    return True
