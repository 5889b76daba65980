"""The eighteen kinds of identifiers of the HIPAA safe harbor (45 CFR 164.514(b)(2)), looked for in names and values of columns.

A hint for the steward, not a legal finding: a column that is not named here may still identify people.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import polars as pl

from reticent.inspect.names import meaning_of, words_of
from reticent.inspect.patterns import identifying_pattern
from reticent.inspect.profile import ColumnProfile

HIPAA: Mapping[str, str] = {
    "names": "A",
    "places smaller than a state": "B",
    "dates finer than a year, or ages over 89": "C",
    "telephone numbers": "D",
    "fax numbers": "E",
    "e-mail addresses": "F",
    "social security numbers": "G",
    "medical record numbers": "H",
    "health plan numbers": "I",
    "account numbers": "J",
    "certificate and license numbers": "K",
    "vehicle identifiers": "L",
    "device identifiers": "M",
    "web addresses": "N",
    "IP addresses": "O",
    "biometric identifiers": "P",
    "photographs": "Q",
    "other unique numbers or codes": "R",
}
"""The kinds, and the letter of the paragraph that names each."""

# Whole words of a column's name, or two of them in a row; the first kind that fits is meant.
_WORDS: Mapping[str, str] = {
    "fax numbers": "fax telefax faxnumber",
    "e-mail addresses": "email mail emailaddress courriel correo",
    "social security numbers": "ssn socialsecurity nationalid sin nino nhs nhsnumber bsn pesel personnummer dni cpf codicefiscale",
    "medical record numbers": "mrn medicalrecord recordnumber chartnumber chartno patientid patientnumber patientennummer encounterid",
    "health plan numbers": "healthplan beneficiary memberid subscriberid policyholder insuranceid insurancenumber medicaid medicare",
    "account numbers": "account accountnumber accountno iban card cardnumber creditcard kontonummer",
    "certificate and license numbers": "licence license licensenumber certificate certificatenumber passport npi dea ausweis pasaporte",
    "vehicle identifiers": "vin vehicleid plate licenseplate numberplate kennzeichen vehicle",
    "device identifiers": "device deviceid imei imsi serial serialnumber udi mac macaddress implant",
    "web addresses": "url website homepage web link",
    "IP addresses": "ip ipaddress ipv4 ipv6",
    "biometric identifiers": "fingerprint voiceprint retina iris biometric faceprint genome dna",
    "photographs": "photo photograph portrait selfie picture image headshot",
    "telephone numbers": "phone telephone mobile cell phonenumber telefon handy telefono telefoonnummer",
    "places smaller than a state": """
        street address city town county zip zipcode postcode postal plz municipality district precinct parish latitude longitude lat lon lng
        geocode fips tract block ward village neighborhood neighbourhood housenumber strasse hausnummer ort stadt gemeinde ville commune
    """,
    "dates finer than a year, or ages over 89": "birthdate dateofbirth dob birthday admission admitted discharge death deathdate",
    "names": "surname forename firstname lastname fullname maidenname middlename username nickname nachname vorname prenom apellido cognome",
}
_KNOWN = {word: kind for kind, words in reversed(list(_WORDS.items())) for word in words.split()}
_PATTERNS: Mapping[str, str] = {
    "e-mail addresses": "e-mail addresses",
    "web addresses": "web addresses",
    "hardware addresses": "device identifiers",
    "IP addresses": "IP addresses",
    "social security numbers": "social security numbers",
    "universal identifiers": "other unique numbers or codes",
    "bank accounts": "account numbers",
    "card numbers": "account numbers",
    "phone numbers": "telephone numbers",
    "vehicle numbers": "vehicle identifiers",
    "coordinates": "places smaller than a state",
    "image files": "photographs",
}
_DATES, _PLACES = "dates finer than a year, or ages over 89", "places smaller than a state"
_OLDEST = 89
_PERSONAL_NAMES = ("name", "names", "naam", "nome", "nom", "nombre", "namn", "imie", "nazwisko")
_NOT_PEOPLE = ("drug", "product", "company", "hospital", "school", "country", "state", "file", "column", "variable")


def safe_harbor(column: ColumnProfile) -> str | None:
    """The kind of identifier (a key of :data:`HIPAA`) that a column seems to hold, by its values first, then by its name."""
    if column.distinct == 0 or column.type == "boolean":
        return None
    pattern = identifying_pattern(column.sample)
    if pattern is not None:
        return _PATTERNS[pattern]
    if column.type in ("date", "timestamp"):
        return _DATES if _has_days(column) else None
    meaning = meaning_of(column.name)
    if meaning == "age":
        return _DATES if _is_over(column, _OLDEST) else None
    return _by_name(column, meaning)


def _by_name(column: ColumnProfile, meaning: str | None) -> str | None:
    words = words_of(column.name)
    candidates = ["".join(words), *("".join(pair) for pair in itertools.pairwise(words)), *words]
    kind = next((_KNOWN[word] for word in candidates if word in _KNOWN), None)
    if kind is not None:
        # Numbers with fractions number nobody, but they may be coordinates; a whole number is no date.
        measured = column.type == "number" and kind != _PLACES
        return None if measured or (kind == _DATES and column.type == "integer") else kind
    if any(word in _PERSONAL_NAMES for word in words) and not any(word in _NOT_PEOPLE for word in words):
        return "names"
    if meaning == "postcode":
        return _PLACES
    unique = column.type in ("integer", "text") and column.distinct == column.filled > 1
    return "other unique numbers or codes" if meaning in ("key", "identifier") and unique else None


def _has_days(column: ColumnProfile) -> bool:
    """Whether dates say more than a year: first days of January only are years written as dates."""
    days = column.sample.drop_nulls().cast(pl.Date)
    return bool(((days.dt.month() > 1) | (days.dt.day() > 1)).any())


def _is_over(column: ColumnProfile, oldest: int) -> bool:
    return isinstance(column.highest, int | float) and column.highest > oldest
