"""Patterns of values that identify people regardless of the column name: addresses, numbers and codes that belong to one person."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import polars as pl

from reticent.propose.detectors import given_name, national_numbers, person_in_text, telephone_numbers

_PATTERNS: Mapping[str, str] = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$",
    "web addresses": r"^(?:(?:https?|ftp)://|www\.)\S+$|^(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|eu|de|fr|es|it|uk|nl|pl|br|jp)/\S+$",
    "hardware addresses": r"^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$",
    "IP addresses": r"^(?:\d{1,3}\.){3}\d{1,3}$|^(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}$",
    "social security numbers": r"^\d{3}-\d{2}-\d{4}$",
    "universal identifiers": r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    "bank accounts": r"^[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?$",
    "card numbers": r"^(?:\d{4}[ -]){3}\d{4}$",
    "phone numbers": r"^\+\d[\d ()./-]{6,}$|^\(?0\d{1,4}\)?[ /-]\d[\d -]{4,}$|^\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}$",
    "coordinates": r"^\(?[-+]?\d{1,2}\.\d{3,}[,; ]\s*[-+]?\d{1,3}\.\d{3,}\)?$|^POINT ?\(-?\d{1,3}\.\d+ -?\d{1,3}\.\d+\)$"
    r"|^\d{1,3}°\s?\d{1,2}['′].*[NSEWO]$",
    "image files": r"(?i)^\S+\.(?:jpe?g|png|gif|bmp|tiff?|heic|webp)$|^data:image/",
    "vehicle numbers": r"^[A-HJ-NPR-Z0-9]{3}[A-HJ-NPR-Z0-9]{5}[0-9X][A-HJ-NPR-Z0-9]{2}\d{6}$",
    "national identity numbers": r"^[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]$|^[XYZ]?\d{7,8}-?[A-Z]$|^[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]$"
    r"|^\d{6}[-+A]\d{3}[0-9A-Z]$|^\d{3}\.\d{3}\.\d{3}-\d{2}$",
}
_STREET = (
    r"\b\d{1,5}[A-Za-z]?,? (?:[NSEW]\.? )?(?:[A-Z][\w.'-]* ){1,3}(?:Street|STREET|St|ST|Avenue|AVENUE|Ave|AVE|Road|ROAD|Rd|RD|Boulevard|Blvd|BLVD|Lane|LANE|Ln|Drive|Dr|DR)\b"
    r"|\b\p{Lu}[\p{L}-]+(?:stra(?:ss|ß)e|str\.|gasse|platz|allee|straat|laan|plein|gatan|vägen|weg) \d{1,4}\b"
    r"|\b\d{1,4},? (?:bis )?(?:rue|avenue|boulevard|chemin|impasse) (?:d|l|\p{Lu})"
    r"|\b(?:[Cc]alle|[Aa]venida|[Pp]laza|[Vv]ia|[Vv]iale|[Pp]iazza|[Rr]ua|[Uu]l\.) \p{Lu}[\p{L}' .-]{2,40},? \d{1,4}\b"
)
_INSIDE: Mapping[str, str] = {
    "e-mail addresses": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}",
    "web addresses": r"(?:https?|ftp)://\S+|\bwww\.\w+\.\w+",
    "social security numbers": r"(?:^|[^\w-])\d{3}-\d{2}-\d{4}(?:$|[^\w-])",
    "phone numbers": r"(?:^|[\s:(])\+\d{1,3}[ (./-]?\d[\d ()./-]{6,}|(?:^|[^\w.-])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?:$|[^\w-])",
    "bank accounts": r"\b[A-Z]{2}\d{2}(?: [A-Z0-9]{4}){3,7}\b|\b[A-Z]{2}\d{2}[A-Z]{0,4}\d{7,26}[A-Z0-9]{0,16}\b",
    "card numbers": r"\b(?:\d{4}[ -]){3}\d{4}\b",
    "coordinates": r"[-+]?\d{1,2}\.\d{4,}[,;] ?[-+]?\d{1,3}\.\d{4,}",
    "street addresses": _STREET,
}
_TITLE = r"(?:Mr|Mrs|Ms|Dr|Prof|Herr|Frau|Sr|Sra|Dott|Sig|Ing|Mgr|Bc|Mme)\.?"
_FULL_NAME = (
    r"^(?:(?:Mr|Mrs|Ms|Dr|Prof|Herr|Frau)\.? )?\p{Lu}[\p{Ll}'’-]+(?:-\p{Lu}\p{Ll}+)?(?: \p{Lu}\.?)?(?: (?:van|von|de|der|la|di|da|bin|al|O'))*(?: \p{Lu}[\p{L}'’-]+){1,2}$"
    r"|^\p{Lu}[\p{L}'’-]+, \p{Lu}\p{Ll}+(?: \p{Lu}\.?)?$"
)
# Drug package codes (4-4-2, 5-3-2, 5-4-1 or 5-4-2 digits) look like telephone numbers but identify no person.
_DRUG_CODES = r"^(?:\d{4}-\d{4}-\d{2}|\d{5}-\d{3}-\d{2}|\d{5}-\d{4}-\d{1,2})$"
_SHARE = 0.8
_ENOUGH, _TRIED, _MOST_READ = 10, 200, 2000
_LONG_NUMBER, _FEW_ROWS, _LONGER_TEXT = 9, 5, 3


def identifying_pattern(sample: pl.Series) -> str | None:
    """Return the kind of identifier that most values look like, if any; long numbers are recognised by their check digits."""
    if len(sample) == 0:
        return None
    if sample.dtype.is_integer():
        digits = sample.cast(pl.String)
        is_long = bool((digits.str.len_chars() >= _LONG_NUMBER).all())
        is_national = is_long and national_numbers(digits.head(_TRIED).to_list())
        return "national identity numbers" if is_national else _by_check_digits(digits)
    if sample.dtype != pl.String:
        return None
    text = sample.str.strip_chars()
    if _mostly(text, _DRUG_CODES):
        return None
    for name, pattern in _PATTERNS.items():
        if _mostly(text, pattern):
            return name
    if _mostly(text, _STREET):
        return "street addresses"
    tested = text.head(_TRIED).to_list()
    if telephone_numbers(tested):
        return "phone numbers"
    if national_numbers(tested):
        return "national identity numbers"
    return _by_check_digits(text.str.replace_all(r"[ .-]", ""))


def full_names(sample: pl.Series, filled: int) -> bool:
    """True if texts are personal names: they have the form of names, and contain common given names or hardly ever
    repeat (place names such as New York have the same form).
    """
    if sample.dtype != pl.String or len(sample) < 5:
        return False
    text = sample.str.strip_chars()
    words = [_called(value) for value in text.head(_TRIED).to_list()]
    share_of_given_names = sum(given_name(name_words[0]) for name_words in words) / len(words)
    if _mostly(text, _FULL_NAME):
        return share_of_given_names >= 0.25 or 2 * len(sample) >= filled
    names_only = _mostly(text, r"^\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}.'’-]*)*$")
    return share_of_given_names >= _SHARE / 2 and (
        names_only or (share_of_given_names >= _SHARE and all(len(name_words) <= _LONGER_TEXT for name_words in words))
    )


def _called(name: str) -> list[str]:
    """Return the words of a name, given name first: ``Dr. Ann Lee`` and ``Lee, Ann`` both give Ann Lee."""
    family, comma, given_names = name.partition(",")
    words = f"{given_names} {family}".split() if comma else name.split()
    return [word for word in words if not re.fullmatch(_TITLE, word)] or [name]


def hidden_identifier(values: pl.Series, times: pl.Series) -> str | None:
    """Return the kind of identifier that any value contains, also within a longer text. ``times`` counts the
    occurrences of each value.

    A name within a text that many people share does not identify any of them.
    """
    if values.dtype != pl.String or len(values) == 0:
        return None
    pattern_name = next((name for name, pattern in _INSIDE.items() if values.str.contains(pattern).any()), None)
    if pattern_name is not None:
        return pattern_name
    long_texts = values.filter((times < _FEW_ROWS) & (values.str.count_matches(r"\S+") > _LONGER_TEXT))
    if any(map(person_in_text, long_texts.head(_MOST_READ).to_list())):
        return "names of people"
    return None


def _mostly(text: pl.Series, pattern: str) -> bool:
    return bool(text.str.contains(pattern).mean() >= _SHARE)  # type: ignore[operator]  # the mean of truth values is a float


def _by_check_digits(text: pl.Series) -> str | None:
    """Return the kind of identifier if numbers of equal length have valid check digits; by chance one in ten does."""
    tested = text.head(_TRIED).to_list()
    if len(tested) < _ENOUGH or not all(number.isascii() and number.isdigit() for number in tested):
        return None
    for name, lengths, is_valid in _CHECKED:
        of_length = [number for number in tested if len(number) in lengths]
        if len(of_length) >= _SHARE * len(tested) and sum(map(is_valid, of_length)) >= _SHARE * len(tested):
            return name
    return None


def _luhn(number: str) -> bool:
    digits = [int(digit) for digit in reversed(number)]
    return (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 == 0


def _weighted(weights: tuple[int, ...], modulus: int, check_digit: Callable[[int], int]) -> Callable[[str], bool]:
    """Return a check that the last digit follows from the weighted sum of the others."""

    def is_valid(number: str) -> bool:
        total = sum(weight * int(digit) for weight, digit in zip(weights, number, strict=False))
        return check_digit(total % modulus) == int(number[-1])

    return is_valid


def _cpf(number: str) -> bool:
    """True if both check digits of a Brazilian CPF number follow from the digits before them (modulo 11)."""
    for length in (9, 10):
        total = sum((length + 1 - position) * int(number[position]) for position in range(length))
        if total * 10 % 11 % 10 != int(number[length]):
            return False
    return True


_CHECKED: tuple[tuple[str, range, Callable[[str], bool]], ...] = (
    ("card numbers", range(13, 20), _luhn),
    ("national identity numbers", range(10, 11), _weighted(tuple(range(10, 1, -1)), 11, lambda rest: (11 - rest) % 11)),
    ("national identity numbers", range(11, 12), _weighted((1, 3, 7, 9) * 2 + (1, 3), 10, lambda rest: -rest % 10)),
    ("national identity numbers", range(11, 12), _cpf),
    ("national identity numbers", range(9, 10), _weighted(tuple(range(9, 1, -1)), 11, lambda rest: rest)),
    ("national identity numbers", range(9, 13), _luhn),
    ("national identity numbers", range(15, 16), lambda number: 97 - int(number[:13]) % 97 == int(number[13:])),
)
"""Cards; then the numbers of the NHS, PESEL, CPF, BSN; SIN and personnummer (Luhn), NIR."""
