"""Columns whose values everybody knows beforehand: states, countries, diseases, branches of industry."""

from __future__ import annotations

from reticent.data import PUBLIC_DOMAINS, Hierarchy
from reticent.errors import ReticentError
from reticent.propose.names import words_of
from reticent.propose.profile import ColumnProfile

_FEWEST = 3
_ICD = r"^[A-Z]\d\d(?:\.?\w{1,4})?$"
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


def public_domain(column: ColumnProfile) -> str | None:
    """The public domain that has all values of the column, if its name does not say something else."""
    if column.distinct < _FEWEST or column.distinct > len(column.sample):
        return None
    words = {word.rstrip("0123456789") for word in words_of(column.name)}
    return next((name for name in _candidates(column, words) if _has(name, column)), None)


def _candidates(column: ColumnProfile, words: set[str]) -> list[str]:
    if column.type == "integer":
        return ["us-states-fips"] if words & _STATE else ["nace"] if "nace" in words else []
    if column.type != "text":
        return []
    if bool(column.sample.str.contains(_ICD).all()):
        return ["icd-10"]
    names = [name for name in PUBLIC_DOMAINS if name not in ("icd-10", "us-states-fips", "nace")]
    named = [
        name for name in names if name.startswith("us" if words & _STATE else "iso") and words & (_STATE | _COUNTRY)
    ]
    digits = ["us-states-fips"] if words & _STATE else ["nace"] if "nace" in words else []
    # Codes of two letters may be anything unless there are many of them, or the name says so.
    return [*named, *digits, *(names if column.distinct >= 10 else ["us-states-names"])]


def _has(name: str, column: ColumnProfile) -> bool:
    try:
        bound = Hierarchy.public(name).bind(column.sample.alias(column.name), column.name)
        bound.codes(column.sample)
    except ReticentError:
        return False
    return True
