"""Detectors of personal identifiers based on packages with the rules of many countries: telephone numbers and national
identity numbers.

Both are optional (``pip install 'reticent[detect]'``) and add to the built-in checks of
:mod:`reticent.propose.identifier_patterns`. Personal names are detected with a list of common given names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module, resources

_REGIONS = (
    "US",
    "GB",
    "DE",
    "FR",
    "ES",
    "IT",
    "NL",
    "PL",
    "SE",
    "BR",
    "IN",
    "JP",
    "AU",
    "CH",
    "AT",
    "BE",
    "DK",
    "NO",
    "FI",
    "PT",
    "CZ",
    "TR",
    "MX",
)
# Only numbers with a check digit or an embedded date; others would match everywhere.
_NATIONAL = [
    "at.vnr",
    "be.nn",
    "bg.egn",
    "br.cpf",
    "ca.sin",
    "ch.ssn",
    "cl.rut",
    "cn.ric",
    "cz.rc",
    "de.idnr",
    "dk.cpr",
    "ee.ik",
    "es.dni",
    "es.nie",
    "fi.hetu",
    "fr.nir",
    "gb.nhs",
    "gr.amka",
    "hr.oib",
    "il.idnr",
    "in_.aadhaar",
    "it.codicefiscale",
    "kr.rrn",
    "lt.asmens",
    "mx.curp",
    "nl.bsn",
    "no.fodselsnummer",
    "pl.pesel",
    "pt.cc",
    "ro.cnp",
    "se.personnummer",
    "tr.tckimlik",
    "za.idnr",
]
_SHARE, _ENOUGH = 0.8, 10
_SEPARATED = re.compile(r"^(?:\(?(?:\+|0)[\d (]|\(?\d{2,4}\)?[ ./-]\d{2,4}[ ./-]\d)[\d ()./x-]{4,20}$")
_A_DATE = re.compile(r"^\d{1,4}([-/.])\d{1,2}\1\d{1,4}$")
_BARE = re.compile(r"^0\d{8,11}$")
_FEWEST_DIGITS = 7
_TITLED = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof|Herrn?|Frau|Mme|Mlle|Monsieur|Madame|Señor|Señora|Sra|Sr|Dott|Sig|Signora|Pan|Pani|Mevrouw|Meneer)\b\.? (?=[^\W\d_a-z])\w[\w'’-]+"
)
_UNACCENTED = str.maketrans("łŁøØıđ", "lloOid".lower()) | {ord("ß"): "ss"}
_CAPITALISED = re.compile(r"(?=[^\W\d_a-z])[^\W\d_][^\W\d_]{2,}(?:-(?=[^\W\d_a-z])[^\W\d_]+)?")


def telephone_numbers(values: Sequence[str]) -> bool:
    """True if most texts are telephone numbers of some country. Digits alone count only if other texts are formatted as telephone numbers."""
    formatted = [value for value in values if _is_written_so(value)]
    if not formatted or 2 * len(formatted) < len(values):
        return False
    # Digits alone are accepted beside texts that are formatted as telephone numbers.
    formatted += [value for value in values if _BARE.match(value)]
    is_valid = _valid_telephone()
    return (
        is_valid is not None
        and len(formatted) >= _SHARE * len(values)
        and sum(map(is_valid, formatted)) >= _SHARE**2 * len(values)
    )


def _is_written_so(text: str) -> bool:
    """True if a text is formatted like a telephone number, and not like a date, a range or a plain number."""
    digits = sum(map(str.isdigit, text))
    return digits >= _FEWEST_DIGITS and digits < len(text) and bool(_SEPARATED.match(text)) and not _A_DATE.match(text)


def national_numbers(values: Sequence[str]) -> bool:
    """True if most texts are identity numbers of one country."""
    if len(values) < _ENOUGH or len(set(values)) < _ENOUGH:
        return False
    return _mostly(_has_digits, values) and any(_mostly(valid, values) for valid in _national())


def _has_digits(text: str) -> bool:
    """True if a text has at least as many digits as the shortest identity numbers (those of Italy, in which letters may
    replace digits to avoid collisions).
    """
    return sum(map(str.isdigit, text)) >= _FEWEST_DIGITS - 1


def _mostly(is_match: Callable[[str], bool], values: Sequence[str]) -> bool:
    """True if most values satisfy ``is_match``; stops early once too many do not."""
    allowed_misses = len(values) - _SHARE * len(values)
    missed = 0
    for value in values:
        missed += not is_match(value)
        if missed > allowed_misses:
            return False
    return True


def given_name(word: str) -> bool:
    """True if a word is a common given name."""
    return _folded(word) in _given_names()


def person_in_text(text: str) -> bool:
    """True if a longer text names a person: by a title, or by a given name followed by another capitalised word."""
    if _TITLED.search(text):
        return True
    words = _CAPITALISED.findall(text)
    if len(words) < 2 or len(text.split()) <= len(words) + 1:
        return False
    for word_match in _CAPITALISED.finditer(text):
        next_word = (
            _CAPITALISED.match(text, word_match.end() + 1)
            if text[word_match.end() : word_match.end() + 1] == " "
            else None
        )
        if next_word is not None and given_name(word_match.group()):
            return True
    return False


@cache
def _given_names() -> frozenset[str]:
    return frozenset(resources.files("reticent.propose").joinpath("given_names.txt").read_text("ascii").split())


def _folded(word: str) -> str:
    """Return a word without accents, in lower case."""
    unaccented = word.translate(_UNACCENTED)
    return "".join(c for c in unicodedata.normalize("NFKD", unaccented) if not unicodedata.combining(c)).lower()


@cache
def _valid_telephone() -> Callable[[str], bool] | None:
    """Return a check whether a text is a valid telephone number of some region; None without the package phonenumbers."""
    try:
        numbers = import_module("phonenumbers")
    except ModuleNotFoundError:
        return None

    def valid(text: str) -> bool:
        """True if the text is a valid telephone number of some region."""
        for region in _REGIONS:
            try:
                if numbers.is_valid_number(numbers.parse(text, region)):
                    return True
            except numbers.NumberParseException:
                continue
        return False

    return valid


@cache
def _national() -> tuple[Callable[[str], bool], ...]:
    """Return the validators of national identification numbers; empty without the package stdnum."""
    try:
        return tuple(import_module(f"stdnum.{name}").is_valid for name in _NATIONAL)
    except ModuleNotFoundError:
        return ()
