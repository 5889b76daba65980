"""Functions of whole numbers in conditions: rows, labels and domains against plain loops over values."""

from __future__ import annotations

import math
import re
from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.conditions import Condition, ConditionError, Domain, RegionMatch
from reticent.methods.randomize import count_domain
from reticent.table import ValueType
from reticent.table.meaning import Anything, Interval, Value, Values
from tests.sampling import examples


def remainder(value: int, by: int) -> int:
    """As PostgreSQL, SQLite and DuckDB have it: with the sign of the value."""
    return int(math.copysign(abs(value) % abs(by), value))


FUNCTIONS = {
    "{0} % {1}": remainder,
    "mod({0}, {1})": remainder,
    "{0} div {1}": lambda value, by: (value - remainder(value, by)) // by,
    "abs({0} - {1})": lambda value, by: abs(value - by),
    "sign({0} - {1})": lambda value, by: (value > by) - (value < by),
    "floor({0} * 0.3) + {1}": lambda value, by: math.floor(value * 3 / 10) + by,
    "ceil({0} * 0.3) - {1}": lambda value, by: -((-value * 3) // 10) - by,
    "2 * abs({0} % {1}) - 1": lambda value, by: 2 * abs(remainder(value, by)) - 1,
}
COMPARE = {"=": "__eq__", "<": "__lt__", ">=": "__ge__", "<>": "__ne__"}
asked = st.tuples(
    st.sampled_from(sorted(FUNCTIONS)),
    st.integers(-7, 7).filter(bool),
    st.sampled_from(sorted(COMPARE)),
    st.integers(-6, 6),
)


def text_of(question: tuple, column: str = "a") -> str:
    function, by, sign, limit = question
    return f"{function.format(column, by)} {sign} {limit}"


def holds(question: tuple, value: int) -> bool:
    function, by, sign, limit = question
    return getattr(FUNCTIONS[function](value, by), COMPARE[sign])(limit)


@settings(deadline=None)
@given(asked, st.lists(st.none() | st.integers(-40, 40), min_size=1, max_size=12))
def test_rows_meet_a_condition_as_a_loop_says(question: tuple, values: list) -> None:
    frame = pl.DataFrame({"a": pl.Series(values, dtype=pl.Int64)})
    condition = Condition.parse(text_of(question))
    expected = [None if value is None else holds(question, value) for value in values]
    assert condition.truth(frame).to_list() == expected
    # It is written so that it reads back.
    assert Condition.parse(str(condition.node)).node == condition.node


@given(asked, st.integers(-30, 30), st.integers(0, 25), st.booleans())
@settings(deadline=None)
def test_labels_are_covered_as_their_values_say(question: tuple, low: int, width: int, known: bool) -> None:
    domain = Domain(ValueType.INTEGER, pl.Series(range(-30, 60)) if known else None)
    meanings = [Interval(low, low + width, "both"), Value(low), Values((low, low + 3)), Anything()]
    values = [range(low, low + width + 1), [low], [low, low + 3], range(-30, 60)]
    condition = Condition.parse(text_of(question))
    for meaning, held in zip(meanings, values, strict=True):
        found = condition.cover({"a": meaning}, {"a": domain})
        met = [holds(question, value) for value in held]
        if known or not isinstance(meaning, Anything):
            exact = RegionMatch.ALL if all(met) else RegionMatch.SOME if any(met) else RegionMatch.NONE
            assert found.verdict is exact
            assert found.share == pytest.approx(sum(met) / len(met))
        else:
            # Nobody told which values there are: nothing is certain unless it holds for every number.
            assert found.verdict is not RegionMatch.NONE or not any(met)
            assert found.verdict is not RegionMatch.ALL or all(met)


@given(asked, asked)
@examples(40)
def test_domains_are_counted_exactly(first: tuple, second: tuple) -> None:
    domain = {"a": range(-9, 12), "b": range(0, 15)}
    expected = sum(holds(first, a) or holds(second, a + b) for a, b in product(*domain.values()))
    text = f"{text_of(first)} or {text_of(second, '(a + b)')}"
    assert count_domain(text, domain) == expected


def test_functions_of_two_columns_are_decided_over_both() -> None:
    condition = Condition.parse("(a + b) % 2 = 0 and a < 3")
    whole = {"a": Domain(ValueType.INTEGER), "b": Domain(ValueType.INTEGER)}
    found = condition.cover({"a": Interval(0, 3), "b": Interval(0, 2)}, whole)
    assert (found.verdict, found.share) == (RegionMatch.SOME, pytest.approx(1 / 2))
    assert condition.cover({"a": Value(1), "b": Value(3)}, whole).verdict is RegionMatch.ALL
    assert condition.cover({"a": Value(1), "b": Value(2)}, whole).verdict is RegionMatch.NONE


def test_numbers_with_a_fraction_have_floor_but_no_remainder() -> None:
    frame = pl.DataFrame({"x": [1.5, -1.5, None], "d": pl.Series(["1.5", "-0.25", None]).cast(pl.Decimal(10, 2))})
    assert Condition.parse("floor(x) = -2").truth(frame).to_list() == [False, True, None]
    assert Condition.parse("ceil(d) = 2").truth(frame).to_list() == [True, False, None]
    assert Condition.parse("abs(d) = 0.25").truth(frame).to_list() == [False, True, None]
    assert Condition.parse("sign(x) in (1, 5)").truth(frame).to_list() == [True, False, None]
    real = {"x": Domain(ValueType.REAL)}
    found = Condition.parse("floor(x) = 1").cover({"x": Interval(0.0, 4.0)}, real)
    assert (found.verdict, found.share) == (RegionMatch.SOME, pytest.approx(0.25, abs=0.01))
    with pytest.raises(ConditionError, match="% is for whole numbers"):
        Condition.parse("x % 2 = 1").truth(frame)


def test_sums_beyond_64_bits_are_worked_out_exactly() -> None:
    frame = pl.DataFrame({"a": [2**62, -(2**62)], "b": [2**62 + 1, -(2**62)]})
    assert Condition.parse("(a + 3*b) % 10 = 9").truth(frame).to_list() == [(2**62 + 3 * (2**62 + 1)) % 10 == 9, False]
    assert Condition.parse(f"abs(a + 3*b) = {2**64}").truth(frame).to_list() == [False, True]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a % 0 = 1", "% needs a whole number other than 0 on its right"),
        ("a % b = 1", "% needs a whole number other than 0 on its right"),
        ("a % 1.5 = 1", "% needs a whole number"),
        ("floor(a, 2) = 1", "'decimals' is not supported here"),
        ("abs(t) = 1", "abs is for numbers, but column 't' holds text"),
        ("abs(0.5 * a) = 1", "abs is for whole numbers"),
        ("sqrt(a) = 1", "this is not a column, a number or a text"),
        ("a in (b % 2)", "a list holds constants"),
        ("a % 2 * b = 1", "columns may be multiplied by numbers only"),
    ],
)
def test_what_is_no_function_of_whole_numbers_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConditionError, match=re.escape(reason)):
        Condition.parse(text).truth(pl.DataFrame({"a": [1], "b": [2], "t": ["x"]}))


def test_functions_of_constants_are_constants() -> None:
    assert str(Condition.parse("a = -7 % 3").node) == "a = -1"
    assert str(Condition.parse("a in (abs(-2), 7 div 2)").node) == "a in (2, 3)"
