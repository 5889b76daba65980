"""The risk view agrees with counting row by row, and finds what sets people apart."""

from __future__ import annotations

import time
from collections import Counter
from fractions import Fraction
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.demo import hospital, hospital_table
from reticent.propose import Risk, risk_views
from reticent.table import Table
from tests.sampling import examples


def risk_view(table: Table, shown: int = 10) -> Risk:
    """The largest of the risks: that of the set of quasi columns by which most people stand alone."""
    return max(risk_views(table, shown), key=lambda risk: (risk.together.alone, risk.success))


rows_of_three = st.lists(st.tuples(*(st.integers(0, size) for size in (1, 3, 5))), min_size=1, max_size=12)


@examples(60)
@given(rows=rows_of_three)
def test_sets_and_columns_agree_with_counting_row_by_row(rows: list[tuple[int, ...]]) -> None:
    names = ["a", "b", "c"]
    found = risk_view(Table(pl.DataFrame(rows, schema=names, orient="row"), quasi=names), shown=100)

    def alone(places: tuple[int, ...]) -> set[int]:
        keys = [tuple(row[place] for place in places) for row in rows]
        return {number for number, key in enumerate(keys) if Counter(keys)[key] == 1}

    for size in (1, 2, 3):
        for places in combinations(range(3), size):
            keys = [tuple(row[place] for place in places) for row in rows]
            mine = next(each for each in found.sets if each.columns == tuple(names[place] for place in places))
            pairs = list(combinations(keys, 2))
            apart = Fraction(sum(x != y for x, y in pairs), len(pairs)) if pairs else 1
            assert (mine.combinations, mine.alone) == (len(set(keys)), len(alone(places)))
            assert (mine.distinction, mine.separation) == (Fraction(len(set(keys)), len(rows)), apart)
    everybody = alone((0, 1, 2))
    for each in found.columns:
        place = names.index(each.column)
        others = alone(tuple(other for other in range(3) if other != place))
        assert each.drives == len(everybody - others)
        driven = Counter(rows[number][place] for number in everybody - others)
        assert driven == {int(v.value): v.drives for v in found.values if v.column == each.column}


def test_a_rare_value_is_what_sets_its_people_apart() -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * 10, "country": ["here"] * 18 + ["Andorra", "Andorra"]})
    found = risk_view(Table(frame, quasi=["sex", "country"]))
    assert [each.column for each in found.columns] == ["country", "sex"]
    assert [(each.column, each.drives) for each in found.columns] == [("country", 2), ("sex", 2)]
    worst = found.values[0]
    assert (worst.column, worst.value, worst.rows, worst.alone, worst.share) == ("country", "Andorra", 2, 2, 1)


def test_values_that_one_person_alone_has_are_told_although_none_of_several_drives_the_risk() -> None:
    """Whoever has a job and a country of their own would stand alone without either of them."""
    frame = pl.DataFrame({"job": ["clerk"] * 5 + ["keeper"], "country": ["here"] * 5 + ["Andorra"]})
    found = risk_view(Table(frame, quasi=["job", "country"]))
    assert found.values == ()
    assert [(each.column, each.value, each.rows, each.drives) for each in found.lone] == [
        ("job", "keeper", 1, 0),
        ("country", "Andorra", 1, 0),
    ]
    assert found.as_dict()["lone"][0]["value"] == "keeper"


def test_one_column_alone_is_looked_at_too() -> None:
    found = risk_view(Table({"zip": ["1", "1", "2"]}, quasi=["zip"]))
    assert found.columns[0].drives == 1
    assert found.columns[0].success_without == Fraction(1, 3)


def test_many_columns_are_looked_at_in_small_sets() -> None:
    frame = pl.DataFrame({f"c{number}": [number % 2, 1, 0] for number in range(12)})
    found = risk_view(Table(frame, quasi=list(frame.columns)))
    assert found.largest_set == 2


@pytest.mark.slow
def test_thirty_thousand_people_are_looked_at_within_seconds() -> None:
    table = hospital_table(hospital(30_000, seed=1))
    started = time.perf_counter()
    assert risk_view(table).rows == 30_000
    assert time.perf_counter() - started < 5


def test_each_set_of_columns_that_somebody_may_know_has_its_own_risk() -> None:
    """By age and sex nobody stands alone, by zip and sex two people do; all three together are nobody's knowledge."""
    frame = pl.DataFrame(
        {"age": [20, 20, 30, 30, 30, 30], "sex": ["f", "f", "m", "m", "m", "m"], "zip": ["1", "2", "3", "3", "3", "3"]}
    )
    table = Table(frame, quasi=["age", "sex", "zip"], quasi_sets=[["age", "sex"], ["sex", "zip"]])
    by_age, by_zip = risk_views(table)
    assert (by_age.together.columns, by_age.together.alone) == (("age", "sex"), 0)
    assert (by_zip.together.columns, by_zip.together.alone) == (("sex", "zip"), 2)
    assert (by_age.success, by_zip.success) == (Fraction(2, 6), Fraction(3, 6))
    assert {each.column: each.drives for each in by_zip.columns} == {"sex": 0, "zip": 2}
    assert [(each.column, each.value) for each in by_zip.values] == [("zip", "1"), ("zip", "2")]
    assert by_age.values == ()
    assert {each.columns for each in by_zip.sets} == {("sex",), ("zip",), ("sex", "zip")}
    assert risk_view(table) == by_zip


@examples(30)
@given(rows=rows_of_three)
def test_the_risk_of_a_set_is_that_of_a_table_with_these_columns_only(rows: list[tuple[int, ...]]) -> None:
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    sets = [["a", "b"], ["c", "a"], ["b", "c"]]
    table = Table(frame, quasi=["a", "b", "c"], quasi_sets=sets)
    assert list(risk_views(table, 50)) == [risk_view(Table(frame, quasi=columns), 50) for columns in sets]


def test_somebody_with_several_rows_stands_alone_all_the_same() -> None:
    frame = pl.DataFrame({"who": [1, 1, 1, 2, 3], "zip": ["1", "1", "1", "2", "2"]})
    found = risk_view(Table(frame, quasi=["zip"], key="who", unit="person"))
    assert (found.rows, found.together.alone, found.success) == (3, 1, Fraction(2, 3))


def test_where_everybody_is_unique_columns_still_have_their_part_of_it() -> None:
    """Any two of three columns tell everybody apart, so that none of them drives the risk by itself."""
    rows = [(i, j, (i + j) % 7) for i in range(7) for j in range(7)]
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row").with_columns(same=pl.lit("x"))
    found = risk_view(Table(frame, quasi=["a", "b", "c", "same"]))
    assert found.together.alone == 49
    assert {each.drives for each in found.columns} == {0}
    parts = {each.column: each.adds for each in found.columns}
    assert sum(parts.values()) == 49
    assert parts["same"] == 0
    assert min(parts[name] for name in "abc") > 5


def test_what_columns_add_is_the_mean_over_all_orders() -> None:
    """By hand for two columns: half of what each adds first, half of what it adds to the other."""
    frame = pl.DataFrame({"a": [1, 2, 3, 3], "b": [1, 1, 1, 2]})
    found = risk_view(Table(frame, quasi=["a", "b"]))
    assert {each.column: each.adds for each in found.columns} == {"a": Fraction(2 + 3, 2), "b": Fraction(1 + 2, 2)}
