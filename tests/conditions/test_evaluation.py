"""A mask chooses the rows that a database's WHERE chooses."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from reticent.conditions import Condition
from reticent.errors import DataError
from tests.sampling import examples

DAY = datetime.date(2024, 1, 1)
TYPES: dict[str, Any] = {
    "small": pl.Int8,
    "age": pl.Int64,
    "code": pl.UInt16,
    "income": pl.Float64,
    "ratio": pl.Float32,
    "disease": pl.String,
    "odd name": pl.String,
    "admitted": pl.Date,
    "left": pl.Date,
    "seen": pl.Datetime("us"),
    "smoker": pl.Boolean,
}
SAMPLES: dict[str, list[Any]] = {
    "small": [-128, -3, 0, 1, 2, 127],
    "age": [-(2**40), -1, 0, 1, 2, 3, 30, 2**40],
    "code": [0, 1, 3, 65535],
    "income": [-1.5, 0.0, 0.1, 0.2, 0.30000000000000004, 0.3, 2.5, 1e12],
    "ratio": [0.0, 0.1, 0.25, 3.0],
    "disease": ["", "flu", "flux", "FLU", "ä", "z%", "it's"],
    "odd name": ["a", "flu", "b_c"],
    "admitted": [DAY, DAY + datetime.timedelta(days=30), DAY - datetime.timedelta(days=400)],
    "left": [DAY, DAY + datetime.timedelta(days=1)],
    "seen": [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 12, 30, 0, 5)],
    "smoker": [True, False],
}
EXACT, FLOATS = ("small", "age", "code"), ("income", "ratio")


def quoted(name: str) -> str:
    return f'"{name}"' if " " in name or name == "left" else name


operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
numbers = st.sampled_from(["0", "1", "2", "-3", "0.1", "0.3", "2.5", "-128", "127", "300", "-0.05", "65535", "0.25"])
texts = st.sampled_from([*SAMPLES["disease"], "a", "b", "zz"]).map(lambda value: "'" + value.replace("'", "''") + "'")
days = st.sampled_from(["'2024-01-01'", "'2024-01-31'", "'2022-11-27'", "'2030-05-05'"])
moments = st.sampled_from(["'2024-01-01'", "'2024-01-01 12:30:00'", "'2024-01-01 12:30:00.000005'"])


@st.composite
def linear(draw: st.DrawFn, columns: tuple[str, ...], depth: int = 2) -> str:
    kind = draw(st.integers(0, 5)) if depth else draw(st.integers(0, 1))
    if kind <= 1:
        return draw(numbers) if kind == 0 else draw(st.sampled_from(columns))
    if kind == 2:
        return f"{draw(numbers)} * ({draw(linear(columns, depth - 1))})"
    sign = draw(st.sampled_from(["+", "-"]))
    return f"({draw(linear(columns, depth - 1))} {sign} {draw(linear(columns, depth - 1))})"


@st.composite
def atoms(draw: st.DrawFn) -> str:
    match draw(st.integers(0, 11)):
        case 0 | 1:
            return f"{draw(linear(EXACT))} {draw(operators)} {draw(linear(EXACT))}"
        case 2:
            name = draw(st.sampled_from(FLOATS))
            return f"{draw(linear(('age', name)))} {draw(operators)} {draw(linear((name,), 1))}"
        case 3:
            name = draw(st.sampled_from([*EXACT, *FLOATS]))
            return f"{name} {draw(st.sampled_from(['', 'not ']))}between {draw(numbers)} and {draw(numbers)}"
        case 4:
            name = draw(st.sampled_from([*EXACT, *FLOATS]))
            listed = draw(st.lists(numbers, min_size=1, max_size=3))
            return f"{name} {draw(st.sampled_from(['', 'not ']))}in ({', '.join(listed)})"
        case 5:
            return f"disease {draw(operators)} {draw(texts)}"
        case 6:
            return f'"odd name" {draw(operators)} disease'
        case 7:
            listed = draw(st.lists(texts, min_size=1, max_size=3))
            return f"disease {draw(st.sampled_from(['', 'not ']))}in ({', '.join(listed)})"
        case 8:
            pattern = draw(st.sampled_from(["flu%", "%", "f%", "flu", "ä%"]))
            return f"disease {draw(st.sampled_from(['', 'not ']))}like '{pattern}'"
        case 9:
            name = quoted(draw(st.sampled_from(list(TYPES))))
            return f"{name} is {draw(st.sampled_from(['', 'not ']))}null"
        case 10:
            return draw(
                st.one_of(
                    st.builds(lambda op, day: f"admitted {op} {day}", operators, days),
                    st.builds(lambda op: f'admitted {op} "left"', operators),
                    st.builds(lambda op, moment: f"{moment} {op} seen", operators, moments),
                )
            )
        case _:
            return draw(st.sampled_from(["smoker", "smoker = false", "smoker <> true", "true", "false", "1 < 2"]))


conditions = st.recursive(
    atoms(),
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"({a}) and ({b})", inner, inner),
        st.builds(lambda a, b: f"({a}) or ({b})", inner, inner),
        inner.map(lambda part: f"not ({part})"),
    ),
    max_leaves=5,
)


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(0, 12))
    return pl.DataFrame(
        {
            name: pl.Series(
                draw(st.lists(st.one_of(st.none(), st.sampled_from(SAMPLES[name])), min_size=rows, max_size=rows)),
                dtype=dtype,
            )
            for name, dtype in TYPES.items()
        }
    )


def chosen_by_duckdb(frame: pl.DataFrame, condition: str) -> list[int]:
    numbered = frame.with_row_index("row")  # noqa: F841  DuckDB finds the frame by its name
    return [row for (row,) in duckdb.sql(f"SELECT row FROM numbered WHERE {condition} ORDER BY row").fetchall()]


@examples(200, suppress_health_check=[HealthCheck.too_slow])
@given(frames(), conditions)
def test_a_mask_is_what_duckdb_selects(frame: pl.DataFrame, condition: str) -> None:
    try:
        expected = chosen_by_duckdb(frame, condition)
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.BinderException):
        # Small integer types overflow there; here they do not.
        Condition.parse(condition).mask(frame)
        return
    mask = Condition.parse(condition).mask(frame)
    assert mask.null_count() == 0
    assert mask.arg_true().to_list() == expected


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("a + b = 18446744073709551614", {"a": [2**63 - 1], "b": [2**63 - 1]}, [True]),
        ("3*a > b", {"a": [2**62], "b": [2**63 - 1]}, [True]),
        ("a < 9223372036854775807.5", {"a": [2**63 - 1, None]}, [True, False]),
        ("a >= 1e30", {"a": [2**63 - 1]}, [False]),
        ("a <> 1e30", {"a": [0, None]}, [True, False]),
        ("a - a = 0", {"a": [1, None]}, [True, False]),
        ("0 * a < 1", {"a": [1, None]}, [True, False]),
        ("a = 0.1", {"a": [0.1, 0.2]}, [True, False]),
        ("a is null", {"a": [float("nan"), 1.0]}, [True, False]),
        ("a > 1 or a <= 1", {"a": [float("nan"), 1.0]}, [False, True]),
    ],
)
def test_edges_of_numbers_are_exact(condition: str, values: dict[str, list[Any]], expected: list[bool]) -> None:
    assert Condition.parse(condition).mask(pl.DataFrame(values)).to_list() == expected


def test_decimal_columns_are_compared_exactly() -> None:
    frame = pl.DataFrame({"cost": pl.Series(["1.10", "2.25", None]).cast(pl.Decimal(10, 2))})
    assert Condition.parse("cost = 1.1").mask(frame).to_list() == [True, False, False]
    assert Condition.parse("2 * cost > 4.49").mask(frame).to_list() == [False, True, False]
    assert Condition.parse("cost < 2.254").mask(frame).to_list() == [True, True, False]


def test_categories_and_zoned_moments_are_compared_by_what_they_show() -> None:
    frame = pl.DataFrame(
        {
            "sex": pl.Series(["F", "M", None]).cast(pl.Categorical),
            "grade": pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])),
            "seen": pl.Series([datetime.datetime(2024, 1, 1, 23, 30)] * 3).dt.replace_time_zone("Europe/Paris"),
        }
    )
    assert Condition.parse("sex <> 'M'").mask(frame).to_list() == [True, False, False]
    assert Condition.parse("grade < 'b'").mask(frame).to_list() == [False, True, False]
    assert Condition.parse("seen >= '2024-01-01 23:00:00'").mask(frame).to_list() == [True, True, True]


def test_a_column_of_lists_cannot_be_spoken_about() -> None:
    with pytest.raises(DataError, match="'tags' has type List"):
        Condition.parse("tags = 'a'").mask(pl.DataFrame({"tags": [["a"]]}))


def test_an_empty_frame_has_an_empty_mask() -> None:
    assert Condition.parse("true").mask(pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)})).to_list() == []


def test_nothing_times_a_missing_value_is_unknown_beside_floats_too() -> None:
    frame = pl.DataFrame({"age": pl.Series([3, None], dtype=pl.Int64), "ratio": [0.0, 0.0]})
    assert Condition.parse("0 * age = ratio").mask(frame).to_list() == [True, False]
    assert Condition.parse("age - age = ratio").mask(frame).to_list() == [True, False]
    assert Condition.parse("0 * age = 0").mask(frame).to_list() == [True, False]


def test_whole_numbers_beyond_64_bits_keep_their_size_beside_floats() -> None:
    frame = pl.DataFrame({"age": [2**62, -(2**62), 1], "income": [1e19, 1e19, 1e19]})
    assert Condition.parse("4 * age + 1 > income").mask(frame).to_list() == [True, False, False]
    assert Condition.parse("4 * age + 1 < 0 - income").mask(frame).to_list() == [False, True, False]
