"""Numbers as people write them: read by a rule that the policy names, proposed where there is one reading only, and left alone where there are two."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.io import Source, WrittenNumbers, read_frame
from reticent.io.number_formats import INTEGERS, NUMBERS


def read(form: str, text: str) -> float | None:
    found = {**NUMBERS, **INTEGERS}[form]
    return pl.DataFrame({"text": [text]}).select(found.read(pl.col("text"))).item()


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("1,234.5", "1,234.50", 1234.5),
        ("1,234.5", "$1,234,567.89", 1234567.89),
        ("1,234.5", "-$.99", -0.99),
        ("1,234.5", "1,23,456.5", 123456.5),
        ("1.234,5", "1.234,50 €", 1234.5),
        ("1.234,5", "(12,5)", -12.5),
        ("1 234,5", "1\u00a0234,5 kr", 1234.5),
        ("1'234.5", "CHF 1’234.50", 1234.5),
        ("1,234", "USD 1,200", 1200),
        ("1,234", "£12", 12),
        ("1,234", "12 %", 12),
        ("1,234", "\u2212300", -300),
        ("1,234", "300-", -300),
        ("1.234", "1.234", 1234),
        ("1,234.5", "1,2345", None),
        ("1,234.5", "1.234,5", None),
        ("1,234.5", "007", None),
        ("1,234.5", "--5", None),
        ("1,234.5", "(-5)", None),
        ("1,234.5", "(5", None),
        ("1,234.5", "5 % %", None),
        ("1,234.5", "1234567890123456", None),
        ("1,234", "1,234.5", None),
        ("1,234", "", None),
    ],
)
def test_a_number_is_read_by_its_format(form: str, text: str, value: float | None) -> None:
    assert read(form, text) == value


@given(
    st.integers(-(10**14), 10**14),
    st.sampled_from(sorted(INTEGERS)),
    st.sampled_from(["", "$", "€", "%"]),
    st.booleans(),
)
def test_whole_numbers_come_back_from_every_format(number: int, form: str, sign: str, accounting: bool) -> None:
    grouped = f"{abs(number):,}".replace(",", INTEGERS[form].thousands)
    signed = (
        f"({sign}{grouped})"
        if accounting and number < 0 and sign != "%"
        else f"{'-' if number < 0 else ''}{grouped}{sign}"
    )
    assert read(form, signed) == number


@given(st.integers(-(10**12), 10**12), st.sampled_from(sorted(NUMBERS)))
def test_cents_come_back_from_every_format(cents: int, form: str) -> None:
    whole = f"{abs(cents) // 100:,}".replace(",", NUMBERS[form].thousands)
    text = f"{'-' if cents < 0 else ''}{whole}{NUMBERS[form].decimal}{abs(cents) % 100:02}"
    assert read(form, text) == cents / 100


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1,234.50", "12.00"], "number:1,234.5"),
        (["1.234,50 €", "12,00 €"], "number:1.234,5"),
        (["$1,200", "$950"], "integer:1,234"),
        (["1.200 €", "950 €"], "integer:1.234"),
        (["1,234,567", "1,000"], "integer:1,234"),
        (["950", "1,234", "2,500", "12,750"], "integer:1,234"),
        (["12 %", "7 %"], "integer:1,234"),
        (["12,5 %", "7 %"], "number:1.234,5"),
        (["(300)", "250"], "integer:1,234"),
        (["£5", "£7.50"], "number:1,234.5"),
        (["1 234,50", "12,00"], "number:1 234,5"),
        (["12,34", "5,1"], "number:1.234,5"),
    ],
)
def test_what_has_one_reading_is_proposed(texts: list[str], kind: str) -> None:
    found = WrittenNumbers.of(pl.Series(texts))
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    ("texts", "doubt"),
    [
        (["1,234", "2,500", "1,001"], "'1,234' may be read as 1.234 or 1234"),
        (["1.234 %", "2.500 %"], "may be read as 1.234 or 1234"),
        (["$5", "5 €"], "it mixes $ and €"),
        (["5 %", "0.05"], "some of its numbers have a percent sign and others have none"),
    ],
)
def test_what_has_two_readings_is_left_as_text_and_told(texts: list[str], doubt: str) -> None:
    found = WrittenNumbers.of(pl.Series(texts))
    assert found is not None
    assert found.kind is None
    assert doubt in found.doubt


@pytest.mark.parametrize(
    "texts",
    [["12", "13"], ["02138", "10115"], ["a", "1,234"], ["(212)", "(646)"], ["555 123 456", "555 987 654"], ["560 001", "110 001"], ["1-2", "3-4"], ["-"]],
)  # fmt: skip
def test_codes_and_plain_numbers_are_not_touched(texts: list[str]) -> None:
    assert WrittenNumbers.of(pl.Series(texts)) is None


def people(pay: list[str], delimiter: str = ";") -> str:
    rows = [delimiter.join((str(20 + n % 40), "fm"[n % 2], text)) for n, text in enumerate(pay)]
    return "\n".join([delimiter.join(("age", "sex", "pay")), *rows]) + "\n"


def test_inspect_proposes_the_rule_and_the_policy_reads_by_it(tmp_path: Path) -> None:
    path = tmp_path / "pay.csv"
    path.write_text(people([f"${n:,}" for n in range(800, 2000, 10)]))
    inspected = rt.inspect(path, output=tmp_path / "policy.toml")
    assert 'pay = "integer:1,234"' in inspected.policy
    assert any("Column 'pay' is read as numbers (integer:1,234): '$1,990' is 1990." in note for note in inspected.notes)
    assert {"pay": "integer"}.items() <= {c.name: c.profile.type for c in inspected.proposal.columns}.items()
    assert inspected.parsed().source.read()["pay"].to_list() == list(range(800, 2000, 10))
    table = rt.read(path, types={"pay": "integer:1,234"}, quasi=["age"], sensitive="pay")
    assert table.frame["pay"].to_list() == list(range(800, 2000, 10))
    frame = rt.inspect(pl.read_csv(path, separator=";"))
    assert 'pay = "integer:1,234"' in frame.policy


def test_missing_values_beside_amounts_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "pay.csv"
    path.write_text(people([("NA" if n % 7 == 0 else f"{n:,}.50 €") for n in range(900, 1100)]))
    assert read_frame(path, types={"pay": "number:1,234.5"})["pay"].null_count() == 29
    assert 'pay = "number:1,234.5"' in rt.inspect(path).policy


@pytest.mark.parametrize(
    ("delimiter", "texts", "kind"),
    [(",", ["1.234", "950", "12.500"], "integer:1.234"), (";", ["1,234", "950", "12,500"], "integer:1,234")],
)
def test_numbers_that_may_have_thousands_are_read_with_decimals_and_told(
    tmp_path: Path, delimiter: str, texts: list[str], kind: str
) -> None:
    path = tmp_path / "pay.csv"
    path.write_text(people(texts * 4, delimiter))
    source = Source(path)
    assert source.read()["pay"].to_list() == [1.234, 950, 12.5] * 4
    assert kind in source.codebook().notes()[0]
    assert source.codebook(["age"]).notes() == ()
    assert Source(path, types={"pay": kind}).read()["pay"].to_list() == [1234, 950, 12500] * 4
    told = rt.read(path, quasi=["age"], sensitive="pay").codebook.notes()
    assert len(told) == 1
    assert any(kind in note for note in rt.inspect(path).notes)


@pytest.mark.parametrize("texts", [["0.567", "1.234"], ["1.234", "1.5"], ["950", "951"], ["1234.567"]])
def test_numbers_that_cannot_have_thousands_are_not_doubted(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "pay.csv"
    path.write_text(people(texts * 4, ","))
    source = Source(path)
    source.read()
    assert source.codebook().notes() == ()


def test_a_format_that_is_not_known_or_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pay.csv"
    path.write_text(people(["1,234", "x"]))
    with pytest.raises(PolicyError, match=r"so may a number: 'number:1,234\.5' or 'number:1\.234,5'"):
        read_frame(path, types={"pay": "number:1_234"})
    with pytest.raises(
        DataError, match=r"line 3: column 'pay' has the value 'x', which cannot be read as integer:1,234"
    ):
        read_frame(path, types={"pay": "integer:1,234"})
