"""Tables as they come: columns with any names, keys of any type, files that are exchanged and put back."""

from __future__ import annotations

import os

import polars as pl
import pytest

from reticent.errors import DataError

from .conftest import PEOPLE, POLICY

AWKWARD = [
    "place",
    "Row",
    "key",
    "chosen",
    "people",
    "value of salary",
    "value_0",
    "public_1",
    "rows",
    "group 0",
    "sum",
]


def asked(service, text: str):
    """The one answer of a statement, None where it was denied."""
    return service.ask(text).rows[0].answers[0].value


def test_a_public_column_may_have_any_name(place):
    place.fill(PEOPLE.with_columns(pl.col("department").alias(name) for name in AWKWARD))
    names = ", ".join(f'"{name}"' for name in AWKWARD)
    service = place.service(POLICY.replace('"department"', names))
    for name in AWKWARD:
        assert asked(service, f"SELECT SUM(salary) FROM staff WHERE \"{name}\" = 'it'") == 13700
    rows = service.ask(f"SELECT SUM(salary) FROM staff GROUP BY {names}").rows
    assert [list(row.group.values()) for row in rows] == [[name] * len(AWKWARD) for name in ("hr", "it", "sales")]
    assert rows[1].answers[0].value == 13700


@pytest.mark.parametrize("name", ["place", "Row", "value of bonus", "Bonus", "value_1"])
def test_a_sensitive_column_may_have_any_name(make_place, name):
    place = make_place("parquet").fill(PEOPLE.rename({"salary": name}))
    service = place.service(POLICY.replace("sensitive.salary", f'sensitive."{name}"'))
    assert asked(service, f"SELECT SUM(\"{name}\") FROM staff WHERE department = 'it'") == 13700
    assert asked(service, "SELECT SUM(\"bonus\") FROM staff WHERE department = 'it'") == 180


def test_the_key_may_be_public_and_called_key(make_place):
    place = make_place("parquet").fill(PEOPLE.rename({"id": "key"}))
    service = place.service(POLICY.replace('key = "id"', 'key = "key"').replace('"department"', '"department", "key"'))
    assert asked(service, "SELECT SUM(salary) FROM staff WHERE key < 4") == 9900


def test_columns_that_differ_in_case_only_are_two_columns(make_place):
    place = make_place("parquet").fill(PEOPLE.with_columns(pl.col("age").reverse().alias("Age")))
    service = place.service(POLICY.replace('"age"', '"age", "Age"'))
    assert asked(service, 'SELECT SUM(salary) FROM staff WHERE "age" > 40') == 4100 + 5200 + 5100 + 3600
    assert asked(service, 'SELECT SUM(bonus) FROM staff WHERE "Age" > 40') == 10 + 30 + 50 + 70


def test_a_file_that_is_put_back_is_not_taken_for_the_one_that_was_refused(make_place):
    place = make_place("parquet").fill()
    service = place.service()
    file, aside = place.folder / "staff.parquet", place.folder / "aside"
    os.rename(file, aside)
    # Other people under the same row numbers, refused because a key is there twice.
    PEOPLE.with_columns(id=pl.Series([1, 2, 3, 4, 5, 6, 7, 7]), salary=pl.col("salary") + 100_000).write_parquet(file)
    with pytest.raises(DataError, match="is not unique"):
        asked(service, "SELECT SUM(salary) FROM staff WHERE department = 'it'")
    os.rename(aside, file)
    assert asked(service, "SELECT SUM(salary) FROM staff WHERE department = 'it'") == 13700


@pytest.mark.parametrize("later", [pl.Float64, pl.Float32, pl.Int16, pl.String, pl.Decimal(10, 2)])
def test_a_key_of_another_type_is_the_same_person(make_place, later):
    place = make_place("parquet").fill()
    service = place.service()
    asked(service, "SELECT SUM(salary) FROM staff")
    place.fill(PEOPLE.with_columns(pl.col("id").cast(later)))
    assert service.sync() == {"salary": 0, "bonus": 0}
    assert asked(service, "SELECT SUM(salary) FROM staff WHERE department <> 'hr'") is None


def test_a_new_key_that_is_no_whole_number_makes_nobody_else_a_new_person(simple):
    service = simple.service()
    asked(service, "SELECT SUM(salary) FROM staff")
    lines = (simple.folder / "staff.csv").read_text()
    (simple.folder / "staff.csv").write_text(lines + "8.5,hr,Bonn,33,4000,90\n")
    assert service.sync() == {"salary": 1, "bonus": 1}
    assert asked(service, "SELECT SUM(salary) FROM staff WHERE department <> 'hr'") is None


def test_a_fixed_point_key_with_more_zeros_is_the_same_person(place):
    decimal = PEOPLE.with_columns(pl.col("id").cast(pl.Decimal(10, 1)))
    service = place.fill(decimal).service()
    asked(service, "SELECT SUM(salary) FROM staff")
    place.fill(decimal.with_columns(pl.col("id").cast(pl.Decimal(12, 3))))
    assert service.sync() == {"salary": 0, "bonus": 0}
    assert asked(service, "SELECT SUM(bonus) FROM staff WHERE department = 'it'") == 180


def test_more_declared_decimals_make_no_value_a_new_one(place):
    values = [123.45, 7.1, 1.1, 2.3, 1e-5, 4503599627370.1, 0.3, 98765432.17]
    place.fill(PEOPLE.with_columns(salary=pl.Series(values)))
    declared = POLICY.replace(
        '[sensitive.salary]\nbounds = "ignored"', '[sensitive.salary]\nbounds = "ignored"\ndecimals = {}'
    )
    with place.service(declared.replace("{}", "5")) as service:
        asked(service, "SELECT SUM(salary) FROM staff")
    assert place.service(declared.replace("{}", "12")).new_values == {"salary": 0, "bonus": 0}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 2.0**60], "1 values of the person key 'id' are floating-point numbers that are not"),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, float("nan")], "are floating-point numbers that are not exact"),
        ([True] * 8, "The person key 'id' has type BOOLEAN. Convert it to a whole number or text."),
    ],
)  # fmt: skip
def test_keys_that_cannot_tell_people_apart_are_refused(make_place, keys, message):
    place = make_place("parquet").fill(PEOPLE.with_columns(id=pl.Series(keys)))
    with pytest.raises(DataError, match=message):
        place.service()
