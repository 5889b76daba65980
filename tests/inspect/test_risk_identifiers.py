"""The eighteen kinds of the HIPAA safe harbor are found by names and by values."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

from reticent.inspect import HIPAA, propose, safe_harbor
from reticent.inspect.profile import profile_column

FOUND = [
    ("names", "last_name", ["Miller", "Smith"]),
    ("places smaller than a state", "City", ["Ithaca", "Utica"]),
    ("places smaller than a state", "zip", ["14850", "14853"]),
    ("places smaller than a state", "spot", ["42.4440, -76.5019", "42.4534, -76.4735"]),
    ("dates finer than a year, or ages over 89", "admitted", [datetime.date(2024, 3, 1), datetime.date(2024, 5, 7)]),
    ("dates finer than a year, or ages over 89", "age", [20, 93]),
    ("telephone numbers", "contact", ["(607) 555-0123", "(607) 555-0199"]),
    ("fax numbers", "Fax No", ["1", "2"]),
    ("e-mail addresses", "reach", ["a@example.org", "b@example.org"]),
    ("social security numbers", "number", ["078-05-1120", "219-09-9999"]),
    ("medical record numbers", "MRN", ["1", "2"]),
    ("health plan numbers", "beneficiary", ["A1", "A2"]),
    ("account numbers", "account_no", ["1", "2"]),
    ("certificate and license numbers", "License", ["X1", "X2"]),
    ("vehicle identifiers", "VIN", ["a", "b"]),
    ("device identifiers", "serialNumber", ["a", "b"]),
    ("web addresses", "see", ["https://example.org/a", "https://example.org/b"]),
    ("IP addresses", "host", ["192.0.2.1", "192.0.2.7"]),
    ("biometric identifiers", "fingerprint", ["ab", "cd"]),
    ("photographs", "file", ["a.jpg", "b.png"]),
    ("other unique numbers or codes", "id", [1, 2]),
]


@pytest.mark.parametrize(("kind", "name", "values"), FOUND, ids=[f"{kind}: {name}" for kind, name, _ in FOUND])
def test_each_kind_is_found(kind: str, name: str, values: list[object]) -> None:
    assert safe_harbor(profile_column(pl.Series(name, values))) == kind


def test_all_eighteen_kinds_are_covered() -> None:
    assert len(HIPAA) == 18
    assert sorted(HIPAA.values()) == list("ABCDEFGHIJKLMNOPQR")
    assert {kind for kind, _, _ in FOUND} == set(HIPAA)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", [20, 89]),
        ("year", [datetime.date(2024, 1, 1), datetime.date(2023, 1, 1)]),
        ("state", ["NY", "VT"]),
        ("sex", ["f", "m"]),
        ("diagnosis", ["flu", "gout"]),
        ("drug name", ["aspirin", "ibuprofen"]),
        ("cell_count", [3.5, 4.5]),
        ("salary", [1, 2]),
    ],
)
def test_what_the_rule_allows_is_left_alone(name: str, values: list[object]) -> None:
    assert safe_harbor(profile_column(pl.Series(name, values))) is None


def test_the_proposal_names_them() -> None:
    found = propose(pl.DataFrame({"city": ["a", "b", "a"], "sex": ["f", "m", "f"]}))
    assert "Identifiers by the HIPAA safe harbor: city (places smaller than a state)." in found.notes
    assert found.columns[0].as_dict()["safe_harbor"] == "places smaller than a state"
