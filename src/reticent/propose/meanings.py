"""The meaning of a single column, from its name, its title in a codebook, and the plausibility of its values."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from reticent.propose.names import BODY_WEIGHT, ranked_kinds, says_survey, words_of
from reticent.propose.profile import ColumnProfile
from reticent.propose.vocabulary import Kind

_BODIES, _NEWBORN = (30, 700), (2000, 5000)
_SMALLEST_BODY, _BODY_SPREAD = 1.5, 0.35
_AGES_REACH = (13, 125)
_MARKS, _FEW = 5, 10
_LEAST_POSTCODE = 100
_LARGEST_PARTY = 40
_FEW_STATES = 6
_FEW_VALUES, _SHARED_BY = 8, 10

_PAY = Kind("money", "income")
_DEMOGRAPHIC = Kind("demographic", "a demographic value")
_AGE, _AGED = Kind("age", "age"), re.compile(r"age[_.]?[a-z0-9]{1,8}")
"""Names of ages at an event: ``agein``, ``age1st``."""
_HOSPITAL_STAY = Kind("health", "a stay in hospital", topic=True)
_HOSPITAL = Kind("demographic", "place of treatment")


def meaning_in(column: ColumnProfile) -> str | None:
    """Return the meaning of the column in one word (:data:`reticent.propose.names.Meaning`)."""
    kind = column.kind or kind_in(column)
    return kind.meaning if kind is not None else None


def is_by_context(column: ColumnProfile) -> bool:
    """True if only the neighbouring columns indicate the meaning of the column."""
    return column.kind is not None and column.kind.inferred


def kind_in(column: ColumnProfile) -> Kind | None:
    """Return the first kind suggested by the name, else by the title, that the values can have: a longitude is not a
    salary, a body weight is not a survey weight.
    """
    for text in (column.name, column.title):
        fitting_kinds = (_fitting(kind, column) for kind in _likelier_first(text, column))
        first_kind = next((kind for kind in fitting_kinds if kind is not None), None)
        if first_kind is not None:
            return first_kind
    if "hospital" in words_of(column.name):
        return _HOSPITAL_STAY if _is_counted(column) else _HOSPITAL
    numeric = column.type in ("integer", "number") and column.distinct > _FEW_VALUES
    return _AGE if numeric and _AGED.fullmatch(column.name.lower()) and _like_ages(column) else None


def _likelier_first(name: str, column: ColumnProfile) -> list[Kind]:
    """Return the kinds that a name may indicate. A few integers under an abbreviation that stands for a measurement and
    for something else are codes of the latter: ``esr`` is a sedimentation rate or an employment status.
    """
    kinds = ranked_kinds(name)
    codes = column.distinct <= _FEW and all(_CODE.fullmatch(str(value)) for value in column.sample)
    if len(name) > _ABBREVIATED or not codes:
        return kinds
    return sorted(kinds, key=lambda kind: kind.says == _MEASURED)


def _fitting(kind: Kind, column: ColumnProfile) -> Kind | None:
    """Return the kind, possibly refined by the values; None if the values contradict it."""
    numeric = column.type in ("integer", "number")
    dated = column.type in ("date", "timestamp")
    # Coordinates are between -180 and 180; "lon" with larger numbers is pay (Swedish lön), not a longitude.
    if kind.meaning == "place":
        if numeric and column.lowest is not None and column.lowest >= -180 and column.highest <= 180:
            return kind
        return _PAY if numeric and "lon" in words_of(column.name) else None
    if kind.meaning == "weight" and numeric and not says_survey(column.name) and _like_bodies(column):
        return BODY_WEIGHT
    if kind.meaning == "identifier" and is_category(column):
        return None
    if kind.meaning == "key" and (column.type == "number" or is_category(column)):
        # Measurements and small sets of codes do not identify people.
        return None
    if kind.meaning == "age" and numeric and not _like_ages(column):
        return _DEMOGRAPHIC
    if kind.meaning == "postcode" and numeric and column.highest is not None and column.highest < _LEAST_POSTCODE:
        return None
    if kind.meaning == "time" and not dated and column.distinct == 2:
        return None
    if kind.says == _LIVES and words_of(column.name)[:1] == ["state"] and _are_steps(column):
        return None
    if kind.sensitive and words_of(column.name)[-1:] == ["id"] and column.distinct > column.rows // 10:
        return None
    if kind.says == _TOGETHER and not (numeric and column.lowest >= 0 and column.highest <= _LARGEST_PARTY):
        return None
    if kind.says == _LOOKS and numeric and column.distinct <= 2:
        return None
    if words_of(column.name) == ["gen"] and column.distinct > _MOST_SEXES:
        return None
    if kind.says in _CATEGORIES and numeric and column.distinct > _MOST_CODES:
        # Non-integers, and numbers larger than any code, are measurements.
        return None if column.type == "number" or column.highest > _LARGEST_CODE else kind
    if kind.says == _WORK and words_of(column.name)[1:][-1:] == ["ind"] and column.distinct <= 2:
        # An indicator is not an industry code.
        return None
    if (kind.numbers and (not numeric or column.distinct <= _MARKS)) or (kind.few and column.distinct > _FEW):
        return None
    return kind


_LOOKS = "physical appearance"
_MEASURED, _ABBREVIATED = "a measurement of the body", 4
_CODE = re.compile(r"-?\d{1,2}")
_WORK = "work"
_CATEGORIES = ("race and origin", "sex", "schooling", "family")
_MOST_CODES, _LARGEST_CODE, _MOST_SEXES = 50, 99_999, 3
_LIVES = "place of residence"
_TOGETHER = "size of the household or family"


def _are_steps(column: ColumnProfile) -> bool:
    """True if the values are the first few integers, typical of disease stages and not of country codes."""
    return column.distinct <= _FEW_STATES and set(map(str, column.sample)) <= set(map(str, range(_FEW_STATES + 1)))


def is_category(column: ColumnProfile) -> bool:
    """True if the column has few values, each shared by many rows, so that it cannot be an identifier whatever its name."""
    return column.distinct <= 2 or (column.distinct <= _FEW_VALUES and column.filled >= _SHARED_BY * column.distinct)


def may_hold_names(column: ColumnProfile) -> bool:
    """True if nothing indicates what the texts are, so that they may be personal names."""
    kind = column.kind or kind_in(column)
    return kind is None or kind.inferred or kind.says == _LOOKS


def _is_counted(column: ColumnProfile) -> bool:
    """True if the column is a flag or a count rather than an identifier of a category. Hospital numbers, which are read
    as text, have gaps or start with 1.
    """
    if column.type == "text":
        return {str(number) for number in range(column.distinct - 1)} <= set(column.sample)
    return column.distinct == 2 or (column.type in ("integer", "number") and column.lowest == 0)


def _like_ages(column: ColumnProfile) -> bool:
    """True if the numbers are plausible ages in years: non-negative, beyond those of children, and below those of
    trees; not age classes, not fractions of a century.
    """
    return column.lowest is not None and column.lowest >= 0 and _AGES_REACH[0] <= column.highest <= _AGES_REACH[1]


def _like_bodies(column: ColumnProfile) -> bool:
    """True if the numbers are plausible body weights in kilograms, pounds or (newborns) grams: bounded on both sides
    and close to their mean, which survey weights seldom are.
    """
    if column.lowest is None or not column.lowest > 0 or column.distinct < 2 or column.highest > 12 * column.lowest:
        return False
    values = np.repeat(column.sample.cast(pl.Float64).to_numpy(), column.times)
    mean, spread = float(values.mean()), float(values.std() / values.mean())
    if mean > _BODIES[1]:
        return _NEWBORN[0] <= mean <= _NEWBORN[1] and spread <= _BODY_SPREAD
    return mean >= _BODIES[0] or (mean >= _SMALLEST_BODY and spread <= _BODY_SPREAD)
