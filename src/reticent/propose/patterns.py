"""Values that identify people whatever their column is called: addresses, numbers and codes that belong to one person."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

_PATTERNS: Mapping[str, str] = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$",
    "web addresses": r"^(?:https?|ftp)://\S+$",
    "hardware addresses": r"^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$",
    "IP addresses": r"^(?:\d{1,3}\.){3}\d{1,3}$|^(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}$",
    "social security numbers": r"^\d{3}-\d{2}-\d{4}$",
    "universal identifiers": r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    "bank accounts": r"^[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?$",
    "card numbers": r"^(?:\d{4}[ -]){3}\d{4}$",
    "phone numbers": r"^\+\d[\d ()./-]{6,}$|^\(?0\d{1,4}\)?[ /-]\d[\d -]{4,}$|^\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}$",
    "coordinates": r"^[-+]?\d{1,2}\.\d{3,}[,; ]\s*[-+]?\d{1,3}\.\d{3,}$",
    "image files": r"(?i)^\S+\.(?:jpe?g|png|gif|bmp|tiff?|heic|webp)$|^data:image/",
    "vehicle numbers": r"^[A-HJ-NPR-Z0-9]{3}[A-HJ-NPR-Z0-9]{5}[0-9X][A-HJ-NPR-Z0-9]{2}\d{6}$",
}
# Codes of drug packages (4-4-2, 5-3-2, 5-4-1 or 5-4-2 digits) look like telephone numbers and belong to nobody.
_DRUG_CODES = r"^(?:\d{4}-\d{4}-\d{2}|\d{5}-\d{3}-\d{2}|\d{5}-\d{4}-\d{1,2})$"
_SHARE = 0.8


def identifying_pattern(sample: pl.Series) -> str | None:
    """The kind of identifier that most values look like, if they do."""
    if sample.dtype != pl.String or len(sample) == 0:
        return None
    text = sample.str.strip_chars()
    if _mostly(text, _DRUG_CODES):
        return None
    for name, pattern in _PATTERNS.items():
        if _mostly(text, pattern):
            return name
    return None


def _mostly(text: pl.Series, pattern: str) -> bool:
    return bool(text.str.contains(pattern).mean() >= _SHARE)  # type: ignore[operator]  # the mean of truth values is a float
