"""Profiles say what is in a column; names and patterns say what it is about."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.policy import Policy
from reticent.propose.identifier_patterns import identifying_pattern
from reticent.propose.meanings import kind_in
from reticent.propose.names import meaning_of, words_of
from reticent.propose.profile import profile, profile_column


def test_a_profile_counts_values_missing_ones_and_people_who_stand_alone() -> None:
    found = profile_column(pl.Series("age", [30, 30, 41, None, 52]))
    assert (found.type, found.rows, found.distinct, found.nulls, found.single) == ("integer", 5, 3, 1, 2)
    assert found.uniqueness == Fraction(1, 2)
    assert (found.lowest, found.highest) == (30, 52)
    assert found.examples[0] == 30


def test_every_type_has_a_profile() -> None:
    frame = pl.DataFrame(
        {
            "text": ["a", "b"],
            "number": [1.5, float("nan")],
            "truth": [True, False],
            "nothing": [None, None],
            "kind": pl.Series(["x", "x"], dtype=pl.Categorical),
            "huge": [2**63 - 1, -(2**63)],
        }
    )
    found = {column.name: column for column in profile(frame)}
    assert {name: column.type for name, column in found.items()} == {
        "text": "text",
        "number": "number",
        "truth": "boolean",
        "nothing": "null",
        "kind": "text",
        "huge": "integer",
    }
    assert found["number"].nulls == 1
    assert found["nothing"].uniqueness == 0
    assert found["huge"].highest == 2**63 - 1


def test_spellings_of_nothing_are_noticed_but_namibia_is_not_one() -> None:
    assert profile_column(pl.Series("job", ["clerk", "?", "N/A"])).missing_words == ("?", "N/A")
    assert profile_column(pl.Series("country", ["NA", "DE", "FR"])).missing_words == ()
    assert profile_column(pl.Series("answer", ["NA", "yes", "no"])).missing_words == ("NA",)


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (["12", "k.A.", "34", "k. A."], ("k. A.", "k.A.")),
        (["yes", "n.a.", "no", "N/A", "n/a"], ("N/A", "n.a.", "n/a")),
        (["ja", "nein", "Keine Angabe", " unbekannt "], (" unbekannt ", "Keine Angabe")),
        (["oui", "non", "Non renseigné"], ("Non renseigné",)),
        (["male", "female", "Unknown", "UNKNOWN", "no answer"], ("UNKNOWN", "Unknown", "no answer")),
        # Initials and codes of states.
        (["N.D.", "N.Y.", "S.C."], ()),
        (["K.A.", "B.M."], ()),
        (["KA", "MH", "ND", "SD"], ()),
        # Answers and states.
        (["none", "None of these", "no", "nothing", "keine", "aucun", "other", "refused", "don't know", "missing", "not applicable"], ()),
        (["Unknown Pleasures", "unknown person", "not given to anybody"], ()),
        (["unknown", "Unknown"], ()),
    ],
)  # fmt: skip
def test_wordings_of_people_for_missing_values(values: list[str], missing: tuple[str, ...]) -> None:
    assert profile_column(pl.Series("answer", values)).missing_words == missing


def test_a_number_among_wordings_for_missing_values_is_a_number_and_the_proposal_says_so(tmp_path: Path) -> None:
    rows = "".join(f"{20 + n % 40},{'k.A.' if n % 9 == 0 else 100 * (n % 30)}\n" for n in range(200))
    (tmp_path / "pay.csv").write_text("age,pay\n" + rows)
    inspected = rt.inspect(tmp_path / "pay.csv", output=tmp_path / "policy.toml", prices=False)
    assert 'null_values = ["k.A."]' in inspected.policy
    assert "'k.A.' is read as missing (null_values). Take out there what is a value of its own." in inspected.notes
    (tmp_path / "policy.toml").write_text(inspected.policy)
    assert Policy.read(tmp_path / "policy.toml").table().frame["pay"].null_count() == 23


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("Surname", "identifier"),
        ("first_name", "identifier"),
        ("Vorname", "identifier"),
        ("apellidos", "identifier"),
        ("e-mail", "identifier"),
        ("phoneNumber", "identifier"),
        ("SSN", "identifier"),
        ("姓名", "identifier"),
        ("PatientID", "key"),
        ("age_head", "age"),
        ("Alter", "age"),
        ("Возраст", "age"),
        ("ZIPCode", "postcode"),
        ("code postal", "postcode"),
        ("PLZ", "postcode"),
        ("date_of_birth", "birth"),
        ("Geburtsdatum", "birth"),
        ("sex", "demographic"),
        ("Geschlecht", "demographic"),
        ("marital-status", "demographic"),
        ("native-country", "demographic"),
        ("country_name", "demographic"),
        ("Nationalität", "demographic"),
        ("diagnosis", "health"),
        ("Krankheiten", "health"),
        ("primary_diagnoses", "health"),
        ("religion", "religion"),
        ("monthly_income", "money"),
        ("sampling_weight", "weight"),
        ("body_weight_kg", "health"),
        ("dx", "health"),
        ("diag", "health"),
        ("iinjury", "health"),
        ("realrinc", "money"),
        ("agep", "age"),
        ("iage", "age"),
        ("racef", "demographic"),
        ("WGTP", "weight"),
        ("finalweight", "weight"),
        ("MARSTAT", "demographic"),
        ("lon", "place"),
        ("long", "place"),
        ("childid", "key"),
        ("idno", "key"),
        ("covid", "health"),
        ("kid", "demographic"),
        ("page", None),
        ("trace", None),
        ("roof", None),
        ("passage", None),
        ("", None),
    ],
)
def test_a_name_says_what_a_column_is_in_several_languages(name: str, meaning: str | None) -> None:
    assert meaning_of(name) == meaning


def test_words_are_found_whatever_separates_them() -> None:
    assert words_of("PatientID_2 été-XMLFile") == ["patient", "id", "2", "ete", "xml", "file"]


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        (["ann@example.org", "b.c@x.co"], "e-mail addresses"),
        (["https://example.org/a", "http://b.c"], "web addresses"),
        (["10.0.0.1", "192.168.1.20"], "IP addresses"),
        (["00:1B:44:11:3A:B7", "AA:BB:CC:DD:EE:FF"], "hardware addresses"),
        (["123-45-6789", "987-65-4321"], "social security numbers"),
        (["123e4567-e89b-12d3-a456-426614174000"], "universal identifiers"),
        (["DE44 5001 0517 5407 3249 31", "GB82WEST12345698765432"], "bank accounts"),
        (["4111 1111 1111 1111"], "card numbers"),
        (["+49 30 123456", "+1 (555) 123-4567", "030/1234567"], "phone numbers"),
        (["1HGCM82633A004352"], "vehicle numbers"),
        (["2024-01-31", "1999-12-01"], None),
        (["14853", "02138"], None),
        (["flu", "cold"], None),
        (["30-34", "35-39"], None),
        ([], None),
    ],
)
def test_values_that_identify_are_recognised(values: list[str], pattern: str | None) -> None:
    assert identifying_pattern(pl.Series(values, dtype=pl.String)) == pattern


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("esr", [1, 2, 3, 6, -9] * 40, "work"),
        ("esr", ["1", "2", "3", "6", "-9"] * 40, "work"),
        ("ESR", list(range(2, 90)) * 2, "a measurement of the body"),
        ("esr", [2.5, 11.0, 30.5] * 40, "a measurement of the body"),
        ("baseline_esr", ["2_11-20", "3_21-50"] * 40, "a measurement of the body"),
        # These letters mean nothing else.
        ("fbs", [0, 1] * 40, "a measurement of the body"),
        ("sbp", [1, 2, 3] * 40, "a measurement of the body"),
    ],
)
def test_an_abbreviation_of_two_meanings_is_read_by_its_values(name: str, values: list[object], says: str) -> None:
    kind = kind_in(profile_column(pl.Series(name, values)))
    assert kind is not None
    assert kind.says == says
