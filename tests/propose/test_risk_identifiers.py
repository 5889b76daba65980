"""The eighteen kinds of the HIPAA safe harbor are found by names and by values."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

from reticent.propose import HIPAA, propose, safe_harbor
from reticent.propose.profile import profile_column

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


# Columns as registers, claims files and synthetic patients have them, twenty-four rows each.
ROWS = 24
REALISTIC: list[tuple[str, str, list[object]]] = [
    ("names", "FIRST", [f"Ann{n}" for n in range(ROWS)]),
    ("names", "LAST", [f"Miller{n}" for n in range(ROWS)]),
    ("names", "MAIDEN", [None, *(f"Smith{n}" for n in range(ROWS - 1))]),
    ("names", "patient_name", [f"Miller, Ann {n}" for n in range(ROWS)]),
    ("names", "Emergency Contact Name", [f"Bob {n}" for n in range(ROWS)]),
    ("places smaller than a state", "ADDRESS", [f"{n} Main Street" for n in range(ROWS)]),
    ("places smaller than a state", "COUNTY", ["Tompkins", "Ulster"] * 12),
    ("places smaller than a state", "zip_code", [14850 + n for n in range(ROWS)]),
    ("places smaller than a state", "LAT", [42.44 + n / 1000 for n in range(ROWS)]),
    ("places smaller than a state", "census_tract", [f"36109000{n}" for n in range(ROWS)]),
    ("places smaller than a state", "BIRTHPLACE", ["Ithaca", "Utica", "Rome"] * 8),
    ("dates finer than a year, or ages over 89", "BIRTHDATE", [f"1989-05-{n + 1:02}" for n in range(ROWS)]),
    ("dates finer than a year, or ages over 89", "admit_dt", [f"{n % 12 + 1:02}/14/2021" for n in range(ROWS)]),
    ("dates finer than a year, or ages over 89", "seen", [f"0{n % 9 + 1}-02-2024" for n in range(ROWS)]),
    ("dates finer than a year, or ages over 89", "visit", [f"{n + 1} March 2024" for n in range(ROWS)]),
    ("dates finer than a year, or ages over 89", "START", [f"2010-02-{n + 1:02}T08:15:00Z" for n in range(ROWS)]),
    ("dates finer than a year, or ages over 89", "dob", [19890501 + n for n in range(ROWS)]),
    ("telephone numbers", "cell_no", [str(6075550100 + n) for n in range(ROWS)]),
    ("telephone numbers", "home_tel", [6075550100 + n for n in range(ROWS)]),
    ("telephone numbers", "emergency_contact_phone", [f"555-01{n:02}" for n in range(ROWS)]),
    ("social security numbers", "SSN", [str(999000000 + n) for n in range(ROWS)]),
    ("medical record numbers", "MedicalRecordNumber", [f"M{n}" for n in range(ROWS)]),
    ("health plan numbers", "member_id", [f"W{n}" for n in range(ROWS)]),
    ("health plan numbers", "policy_number", [f"P{n}" for n in range(ROWS)]),
    ("certificate and license numbers", "DRIVERS", [f"S999{n:05}" for n in range(ROWS)]),
    ("certificate and license numbers", "NPI", [1003000126 + n for n in range(ROWS)]),
    ("vehicle identifiers", "license_plate", [f"ABC{n:04}" for n in range(ROWS)]),
    ("device identifiers", "pacemaker_serial", [f"SN{n}" for n in range(ROWS)]),
    ("device identifiers", "adapter", [f"00:1B:44:11:3A:{n:02X}" for n in range(ROWS)]),
    ("IP addresses", "source", [f"2001:db8:0:0:0:0:0:{n}" for n in range(ROWS)]),
    ("photographs", "scan", [f"img_{n}.jpeg" for n in range(ROWS)]),
    ("other unique numbers or codes", "claim_id", [f"C{n}" for n in range(ROWS)]),
    ("other unique numbers or codes", "Id", [f"{n:08x}-8eb9-41b5-a3d2-000000000000" for n in range(ROWS)]),
]
HARMLESS: list[tuple[str, list[object]]] = [
    ("phone_type", ["home", "work"] * 12),
    ("device", ["pump", "monitor", "pump"] * 8),
    ("card", ["visa", "amex"] * 12),
    ("vehicle_year", [2000 + n for n in range(ROWS)]),
    ("account_status", ["open", "closed"] * 12),
    ("red_blood_cell", [400 + n for n in range(ROWS)]),
    ("cell_count", [30 + n for n in range(ROWS)]),
    ("ip_visits", [n % 3 for n in range(ROWS)]),
    ("heart_block", ["none", "first", "third"] * 8),
    ("urinary_tract_infection", ["yes", "no"] * 12),
    ("admission", ["emergency", "elective"] * 12),
    ("discharge", ["home", "care", "transfer"] * 8),
    ("death", [0, 1] * 12),
    ("birth_year", [1950 + n for n in range(ROWS)]),
    ("dose", ["5-10 mg", "10-20 mg"] * 12),
    ("procedure_name", [f"biopsy {n}" for n in range(ROWS)]),
    ("ndc", [f"0002-14{n:02}-80" for n in range(ROWS)]),
    ("icd10", [f"J{n:02}.1" for n in range(ROWS)]),
    ("blood_pressure", [f"1{n:02}/80" for n in range(ROWS)]),
    ("iris_color", ["brown", "blue"] * 12),
    ("image_quality", ["good", "poor"] * 12),
    ("county_population", [1000 + n for n in range(ROWS)]),
    ("sin_seguro", [f"a{n}" for n in range(ROWS)]),
    ("zip3", ["148", "130"] * 12),
    ("first_visit_score", list(range(ROWS))),
    ("hours", list(range(ROWS))),
]


@pytest.mark.parametrize(("kind", "name", "values"), REALISTIC, ids=[name for _, name, _ in REALISTIC])
def test_columns_of_real_files_are_recognised(kind: str, name: str, values: list[object]) -> None:
    assert safe_harbor(profile_column(pl.Series(name, values))) == kind


@pytest.mark.parametrize(("name", "values"), HARMLESS, ids=[name for name, _ in HARMLESS])
def test_columns_that_only_sound_alike_are_left_alone(name: str, values: list[object]) -> None:
    assert safe_harbor(profile_column(pl.Series(name, values))) is None


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
    found = propose(pl.DataFrame({"city": ["a", "b", "a"] * 5, "sex": ["f", "m", "f", "m", "f"] * 3}))
    assert "Identifiers by the HIPAA safe harbor: city (places smaller than a state)." in found.notes
    assert found.columns[0].as_dict()["safe_harbor"] == "places smaller than a state"
