"""What identifies people is found under any name, in several languages, with and without the optional packages; what does not is left alone."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.propose import detectors, propose
from reticent.propose.identifier_patterns import full_names, hidden_identifier, identifying_pattern

LANGUAGES = ["en_US", "de_DE", "fr_FR", "it_IT", "pl_PL", "es_MX"]
KINDS = ["email", "phone_number", "name", "street_address", "ssn", "url", "iban"]


MADE: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "identifiers.json").read_text("utf-8")
)
"""Values that belong to nobody, made by the package faker (seed 5)."""


def made(language: str, kind: str) -> list[str]:
    return MADE[language][kind]


def role_of(values: list[Any], name: str = "c") -> tuple[str | None, str]:
    frame = pl.DataFrame({name: values, "age": [20 + i % 40 for i in range(len(values))]})
    found = propose(frame).columns[0]
    return found.role, found.reason


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_identifiers_are_not_published_under_a_name_that_says_nothing(language: str, kind: str) -> None:
    assert role_of(made(language, kind))[0] in (None, "identifier")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", ["email", "phone_number", "name", "iban", "url"])
def test_identifiers_inside_longer_texts_are_seen(language: str, kind: str) -> None:
    texts = pl.Series([f"was seen again, please ask {value} about the results" for value in made(language, kind)])
    assert hidden_identifier(texts, pl.Series([1] * len(texts))) is not None


def test_repeated_given_names_are_names_although_hardly_any_is_alone() -> None:
    values = (sorted(set(made("en_US", "first_name")))[:15] * 20)[:300]
    assert role_of(values, "label") == ("identifier", "values look like names of people")


@pytest.mark.parametrize(
    "values",
    [
        ["Strongly agree", "Agree", "Neutral", "Disagree", "Never married"],
        ["New York", "Los Angeles", "San Jose", "Saint Paul", "Fort Worth", "Salt Lake City"],
        ["Grant-White", "Pasteur", "Lincoln High", "Central", "North Side"],
        ["Sales Manager", "Civil Engineer", "Nurse", "Grant Writer", "Bill Collector", "Teacher"],
        ["US:other", "US:NIH", "Europe:Amsterdam", "Europe:other"],
        ["1-2 years", "3-5 years", "6-10 years", "more than 10 years"],
        ["Private corporation", "Public corporation", "Self-employed", "Government", "Non-profit"],
    ],
    ids=lambda values: values[0],
)
def test_categories_are_no_identifiers(values: list[str]) -> None:
    sample = pl.Series(values)
    assert identifying_pattern(sample) is None
    assert hidden_identifier(sample, pl.Series([40] * len(values))) is None
    assert not full_names(sample, 40 * len(values))


def test_a_name_in_a_text_that_many_share_is_nobodys() -> None:
    texts = pl.Series(["asked by Dr. Miller about the trial", "asked by nobody about the trial"])
    assert hidden_identifier(texts, pl.Series([100, 100])) is None
    assert hidden_identifier(texts, pl.Series([1, 100])) == "names of people"


@pytest.mark.parametrize(
    "text",
    [
        "asked Frau Schneider to come back",
        "la paciente Sra. López volvió el lunes",
        "then Katharina Weber called the ward again",
        "vu par Mme Dupont hier soir encore",
    ],
)
def test_people_are_seen_in_sentences(text: str) -> None:
    assert detectors.person_in_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "Month 6 Visit is not done in time",
        "For an Organization (Employee or Contractor)",
        "Do not have children, but plan to in the future",
        "Lab values were out of range on Monday",
        "Bachelor of Science or higher degree",
    ],
)
def test_sentences_without_people_are_left_alone(text: str) -> None:
    assert not detectors.person_in_text(text)


def test_whole_numbers_with_the_check_digits_of_a_country_are_identity_numbers() -> None:
    numbers = [int(value) for value in made("nl_NL", "ssn")]
    assert role_of(numbers, "v")[0] == "identifier"


def test_the_optional_packages_know_more_countries() -> None:
    pytest.importorskip("stdnum", reason="the extra detect is not installed")
    pytest.importorskip("phonenumbers", reason="the extra detect is not installed")
    assert detectors.national_numbers(made("pl_PL", "ssn"))
    assert detectors.telephone_numbers(made("fr_FR", "phone_number"))
    assert not detectors.national_numbers([str(10**10 + 7919 * i) for i in range(50)])


def test_measurements_are_no_identity_numbers() -> None:
    assert identifying_pattern(pl.Series([10**9 + 7919 * i for i in range(300)])) is None
    assert identifying_pattern(pl.Series([f"{i * 37 % 1000:03d}-{i * 91 % 100:02d}" for i in range(300)])) is None


def test_without_the_optional_packages_the_own_checks_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def missing(name: str, *more: Any) -> Any:
        if name.startswith(("phonenumbers", "stdnum")):
            raise ModuleNotFoundError(name=name)
        return real(name, *more)

    monkeypatch.setattr(detectors, "import_module", missing)
    detectors._valid_telephone.cache_clear()
    detectors._national.cache_clear()
    try:
        assert not detectors.telephone_numbers(["030 1234567"] * 20)
        for kind in ("email", "phone_number", "name", "url"):
            assert role_of(made("en_US", kind))[0] in (None, "identifier")
        assert identifying_pattern(pl.Series([f"+49 30 {1000000 + i}" for i in range(50)])) == "phone numbers"
    finally:
        detectors._valid_telephone.cache_clear()
        detectors._national.cache_clear()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["48.8566, 2.3522", "52.5200, 13.4050"], "coordinates"),
        (["POINT(2.3522 48.8566)", "POINT(13.405 52.52)"], "coordinates"),
        (["48°51'24\" N", "52°31'12\" N"], "coordinates"),
        (["linkedin.com/in/somebody", "github.com/other"], "web addresses"),
    ],
)
def test_places_and_pages_of_people_are_seen(values: list[str], kind: str) -> None:
    assert identifying_pattern(pl.Series(values)) == kind


def test_no_column_of_the_shared_files_is_taken_for_an_identifier(shared_data: Any) -> None:
    for name in (
        "adult_full/adult_48842.csv.gz",
        "sdcmicro/testdata.csv.gz",
        "creditcard_int/creditcard_int.csv.gz",
        "gss/gss_wages.parquet",
    ):
        path = shared_data / name
        frame = pl.read_parquet(path) if name.endswith("parquet") else pl.read_csv(path, infer_schema_length=None)
        for column in frame.columns:
            counts = frame[column].drop_nulls().alias("value").value_counts(sort=True, name="times")
            assert identifying_pattern(counts["value"].head(2000)) is None, (name, column)
            assert hidden_identifier(counts["value"], counts["times"]) is None, (name, column)
