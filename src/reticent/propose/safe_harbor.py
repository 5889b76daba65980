"""The eighteen kinds of identifiers of the HIPAA safe harbor (45 CFR 164.514(b)(2)), detected in names and values of
columns. Source: [HIPAA], paragraph (b)(2).

A hint for the steward, not a legal finding: a column that is not named here may still identify people.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import polars as pl

from reticent.propose.identifier_patterns import identifying_pattern
from reticent.propose.names import meaning_of, words_of
from reticent.propose.profile import ColumnProfile

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

# Whole words of a column's name, or two consecutive ones; the first kind that matches wins.
_WORDS: Mapping[str, str] = {
    "fax numbers": "fax telefax faxnumber",
    "e-mail addresses": "email mail emailaddress courriel correo",
    "social security numbers": "ssn socialsecurity nationalid nhsnumber bsn pesel personnummer dni cpf codicefiscale taxid",
    "medical record numbers": "mrn medicalrecord recordnumber chartnumber chartno patientid patientnumber patientennummer encounterid",
    "health plan numbers": "healthplan beneficiary memberid membernumber subscriberid policyholder policynumber insuranceid insurancenumber medicaid medicare mbi hicn",
    "account numbers": "account accountnumber accountno iban card cardnumber creditcard kontonummer invoicenumber",
    "certificate and license numbers": "licence license licensenumber drivers driverslicense certificate certificatenumber passport npi dea ausweis pasaporte",
    "vehicle identifiers": "vin vehicleid plate licenseplate numberplate kennzeichen vehicle",
    "device identifiers": "device deviceid imei imsi serial serialnumber udi macaddress implant implantid",
    "web addresses": "url uri website homepage",
    "IP addresses": "ipaddress ipv4 ipv6 clientip sourceip",
    "biometric identifiers": "fingerprint voiceprint retina iris biometric faceprint genome dna",
    "photographs": "photo photograph portrait selfie picture image headshot",
    "telephone numbers": "phone telephone mobile cellphone tel phonenumber telefon handy telefono telefoonnummer",
    "places smaller than a state": """
        street address city town county zip zip5 zip9 zipcode postcode postal plz municipality district precinct parish latitude longitude lat lon lng
        geocode fips censustract censusblock blockgroup village neighborhood neighbourhood housenumber strasse hausnummer ort stadt gemeinde ville
        commune birthplace
    """,
    "dates finer than a year, or ages over 89": """
        birthdate dateofbirth dob birthday born admission admit admitted discharge discharged death deathdate servicedate visitdate
    """,
    "names": "surname forename firstname lastname fullname maidenname maiden middlename username nickname nachname vorname prenom apellido cognome",
}
# Words with another meaning inside a longer name: a red blood cell, an inpatient (ip) visit, a heart block, the urinary
# tract.
_ALONE: Mapping[str, str] = {
    "telephone numbers": "cell cellno cellnumber",
    "social security numbers": "sin nino nhs",
    "IP addresses": "ip",
    "device identifiers": "mac",
    "web addresses": "link web",
    "places smaller than a state": "tract block ward long",
    "names": "first last",
}
_KNOWN = {word: kind for kind, words in reversed(list(_WORDS.items())) for word in words.split()}
_WHOLE_NAMES = {word: kind for kind, words in _ALONE.items() for word in words.split()}
_NATIONAL = "national identity numbers"
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
    "street addresses": "places smaller than a state",
    _NATIONAL: "social security numbers",
}
_DATES, _PLACES = "dates finer than a year, or ages over 89", "places smaller than a state"
_OLDEST = 89
_PERSONAL_NAMES = ("name", "names", "naam", "nome", "nom", "nombre", "namn", "imie", "nazwisko")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOT_PEOPLE = _words(
    """
    drug product company hospital school country state file column variable brand trade generic test procedure event department
    insurance plan species unit site course gene study clinic
    """
)
# A column with such an ending describes an attribute of what the other words name, not the thing itself: phone_type,
# vehicle_year.
_ABOUT = _words(
    """
    type kind status class category count counts total flag model make brand color colour group level year age risk score rate
    population density size distance income visits days hours quality result results used change changes required verified present
    """
)
_TELLS_PEOPLE_APART = frozenset(HIPAA) - {_DATES, _PLACES, "names"}
_FEW_ROWS, _SHARED_BY = 20, 5
_WRITTEN_DATE = (
    r"^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ]\d{1,2}:\d{2}.*)?$|^\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?: \d{1,2}:\d{2}.*)?$"
    r"|^\d{1,2}[- ](?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[- ,]+\d{2,4}$"
)
_MOST = 0.8


def safe_harbor(column: ColumnProfile) -> str | None:
    """Return the kind of identifier (a key of :data:`HIPAA`) that a column seems to hold, by its values first, then by its name; None if none."""
    if column.distinct == 0 or column.type == "boolean":
        return None
    if _is_date(column):
        return _DATES if _has_days(column) else None
    pattern = identifying_pattern(column.sample)
    meaning = meaning_of(column.name)
    if pattern == _NATIONAL:
        # Many countries' numbers have weak check digits, so a name with another meaning takes precedence.
        return _by_name(column, meaning) or _PATTERNS[pattern]
    if pattern is not None:
        return _PATTERNS[pattern]
    if meaning == "age":
        return _DATES if _is_over(column, _OLDEST) else None
    return _by_name(column, meaning)


def _by_name(column: ColumnProfile, meaning: str | None) -> str | None:
    """Return the kind of identifier that the words of a column's name indicate, if its values are plausible for it."""
    words = words_of(column.name)
    if len(words) > 1 and words[-1] in _ABOUT:
        return None
    whole_name = "".join(words)
    candidates = [whole_name, *("".join(pair) for pair in itertools.pairwise(words)), *words]
    kind = _WHOLE_NAMES.get(whole_name) or next((_KNOWN[word] for word in candidates if word in _KNOWN), None)
    if kind is not None:
        return kind if _fits(column, kind) else None
    if any(word in _PERSONAL_NAMES for word in words) and not any(word in _NOT_PEOPLE for word in words):
        return "names" if column.type == "text" else None
    if meaning == "postcode":
        return _PLACES
    is_unique = column.type in ("integer", "text") and column.distinct == column.filled > 1
    sounds_alike = any(word in _WHOLE_NAMES or word in _PERSONAL_NAMES for word in words)
    means_number = meaning == "key" or (meaning == "identifier" and not sounds_alike)
    return "other unique numbers or codes" if means_number and is_unique else None


def _fits(column: ColumnProfile, kind: str) -> bool:
    """True if the values are plausible for the kind that the name indicates."""
    if kind == _DATES:
        # Dates are recognised by value; by name alone only a number such as 20240531 is one.
        return column.type == "integer" and _is_over(column, 19_000_000) and not _is_over(column, 99_991_231)
    if column.type == "number":
        return kind == _PLACES  # coordinates; other fractional numbers identify nobody
    if kind == "names" and column.type != "text":
        return False
    # A value that many people share is not a personal number: a kind of device, a type of card.
    is_shared = column.filled >= _FEW_ROWS and column.distinct * _SHARED_BY < column.filled
    return not (kind in _TELLS_PEOPLE_APART and is_shared)


def _is_date(column: ColumnProfile) -> bool:
    """True if the column holds dates: by its type, or because most texts are written as dates."""
    if column.type in ("date", "timestamp"):
        return True
    if column.type != "text" or not len(column.sample):
        return False
    return float(column.sample.str.strip_chars().str.contains(_WRITTEN_DATE).mean() or 0.0) >= _MOST  # type: ignore[arg-type]  # the mean of truth values is a float


def _has_days(column: ColumnProfile) -> bool:
    """True if dates are more precise than a year: only first days of January are years written as dates."""
    if column.type == "text":
        return True
    days = column.sample.drop_nulls().cast(pl.Date)
    return bool(((days.dt.month() > 1) | (days.dt.day() > 1)).any())


def _is_over(column: ColumnProfile, oldest: int) -> bool:
    return isinstance(column.highest, int | float) and column.highest > oldest
