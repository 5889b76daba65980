"""Evaluate a tree on a frame: true, false, or null for unknown, as in SQL, for every row.

Comparisons of integers are exact at any size. If a floating-point column takes part, arithmetic uses its precision in
the order written, as in a database. NaN is null.
"""

from __future__ import annotations

import math
import operator as operators
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions.linear import LinearForm, difference, threshold
from reticent.conditions.nodes import (
    MIRRORED,
    Always,
    And,
    Arithmetic,
    Column,
    Comparison,
    Constant,
    Function,
    IsNull,
    Member,
    Node,
    Not,
    Number,
    Operand,
    Operator,
    Or,
    StartsWith,
    Text,
    Truth,
    columns_in,
)
from reticent.table import ValueType, unused

_COMPARE: dict[Operator, Callable[[Any, Any], Any]] = {
    "=": operators.eq,
    "<>": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
_LARGEST = 2**63 - 1


def truth(node: Node, frame: pl.DataFrame) -> pl.Series:
    """Return true, false or null for each row. The condition must have been checked against the frame's columns."""
    match node:
        case And(parts=parts):
            return reduce(operators.and_, (truth(part, frame) for part in parts))
        case Or(parts=parts):
            return reduce(operators.or_, (truth(part, frame) for part in parts))
        case Not(part=part):
            return ~truth(part, frame)
        case Always(value=value):
            return _constant(value, frame)
        case IsNull(operand=operand):
            return _missing(operand, frame)
        case StartsWith(operand=operand, prefix=prefix):
            return _prefix(operand, prefix, frame)
        case Member(operand=operand):
            frame, (operand,) = _worked_out(frame, operand)
            return _member(Member(operand, node.values), frame)
        case Comparison():
            frame, (left, right) = _worked_out(frame, node.left, node.right)
            return _comparison(Comparison(node.operator, left, right), frame)


def _worked_out(frame: pl.DataFrame, *operands_given: Operand) -> tuple[pl.DataFrame, tuple[Operand, ...]]:
    """Return the frame with a column for the result of each function, and the operands with those columns in place of
    the functions.
    """
    columns: dict[str, pl.Series] = {}

    def linear(operand: Operand) -> Operand:
        """Return the operand without functions; their results are added to ``columns``."""
        if isinstance(operand, Arithmetic):
            return Arithmetic(operand.operator, linear(operand.left), linear(operand.right))
        if not isinstance(operand, Function):
            return operand
        inner = linear(operand.operand)
        name = unused("function", {*frame.columns, *columns})
        columns[name] = _function(operand, inner, frame.with_columns(**columns)).alias(name)
        return Column(name)

    operands = tuple(map(linear, operands_given))
    return (frame.with_columns(**columns) if columns else frame), operands


def _function(function: Function, operand: Operand, frame: pl.DataFrame) -> pl.Series:
    """Return the results of a function of a linear operand: in integers if no floating-point column takes part."""
    names = list(dict.fromkeys(column.name for column in columns_in(operand)))
    if not all(_is_exact(frame.schema[name]) for name in names):
        value = _rounded(operand, frame, pl.Float64())
        steps = {"abs": value.abs, "sign": value.sign, "floor": value.floor, "ceil": value.ceil}
        return steps[function.name]()
    form = _on_whole_columns(LinearForm.of(operand), frame)
    terms, constant, denominator = form.integers()
    if function.name == "abs" and denominator != 1:
        # The absolute value of a decimal is exact; that of a sum of them is rounded.
        return (
            frame[operand.name].abs() if isinstance(operand, Column) else _rounded(operand, frame, pl.Float64()).abs()
        )
    if not terms:
        result = pl.repeat(int(function.of(form.constant)), frame.height, dtype=pl.Int64, eager=True)
    elif _fits(terms, constant, frame):
        totals = _whole_sum(terms, constant, frame, int).fill_null(0).to_numpy()
        result = _whole_function(function, totals, denominator)
    else:
        result = _whole_sum(terms, constant, frame, lambda total: int(function.of(Fraction(total, denominator))))
    return pl.select(pl.when(~_missing(operand, frame)).then(result)).to_series()


def _whole_function(function: Function, totals: NDArray[np.int64], denominator: int) -> pl.Series:
    """Return a function of ``totals / denominator`` in 64 bits; only floor, ceil and sign are used on fractions."""
    match function.name:
        case "%":
            return pl.Series(np.fmod(totals, function.by))
        case "div":
            return pl.Series((totals - np.fmod(totals, function.by)) // function.by)
        case "abs":
            return pl.Series(np.abs(totals))
        case "sign":
            return pl.Series(np.sign(totals))
        case "floor":
            return pl.Series(np.floor_divide(totals, denominator))
        case "ceil":
            return pl.Series(-np.floor_divide(-totals, denominator))


def _constant(value: bool | None, frame: pl.DataFrame) -> pl.Series:
    return pl.repeat(value, frame.height, dtype=pl.Boolean, eager=True)


def _compare(symbol: Operator, left: pl.Series, right: Any) -> pl.Series:
    result: pl.Series = _COMPARE[symbol](left, right)
    return result


def _series(column: Column, frame: pl.DataFrame) -> pl.Series:
    """A column in its comparable form."""
    series = frame[column.name]
    if series.dtype.is_float():
        return series.fill_nan(None)
    if series.dtype in (pl.Categorical, pl.Null) or series.dtype == pl.Enum:
        return series.cast(pl.String)
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        return series.dt.replace_time_zone(None)
    return series


def _missing(operand: Operand, frame: pl.DataFrame) -> pl.Series:
    nulls = [_series(column, frame).is_null() for column in columns_in(operand)]
    return reduce(operators.or_, nulls, _constant(False, frame))


def _prefix(operand: Operand, prefix: str, frame: pl.DataFrame) -> pl.Series:
    """Return in which rows a text starts with a prefix."""
    if isinstance(operand, Column):
        return _series(operand, frame).str.starts_with(prefix)
    assert isinstance(operand, Text)
    return _constant(operand.value.startswith(prefix), frame)


def _member(node: Member, frame: pl.DataFrame) -> pl.Series:
    """Return in which rows an operand equals one of the listed constants."""
    if isinstance(node.operand, Column):
        series = _series(node.operand, frame)
        if series.dtype == pl.String or series.dtype.is_integer():
            return series.is_in(_listed(node.values, series.dtype).implode())
    equals = [_comparison(Comparison("=", node.operand, value), frame) for value in node.values]
    return reduce(operators.or_, equals)


def _listed(values: tuple[Constant, ...], dtype: pl.DataType) -> pl.Series:
    """The constants that a column of this type can equal."""
    if dtype == pl.String:
        return pl.Series([value.value for value in values], dtype=pl.String)
    integers = [value.value.numerator for value in values if isinstance(value, Number) and value.value.denominator == 1]
    low, high = _range(dtype)
    return pl.Series([integer for integer in integers if low <= integer <= high], dtype=dtype)


def _comparison(node: Comparison, frame: pl.DataFrame) -> pl.Series:
    """Compare two operands row by row; text and truth values only with their own kind."""
    left, right = node.left, node.right
    if isinstance(left, Text | Truth) and isinstance(right, Column):
        left, right, symbol = right, left, MIRRORED[node.operator]
    else:
        symbol = node.operator
    if isinstance(left, Column) and isinstance(right, Text | Truth):
        series = _series(left, frame)
        return _compare(symbol, series, _beside(right, series.dtype))
    if isinstance(left, Text | Truth) and isinstance(right, Text | Truth):
        return _constant(_COMPARE[symbol](left.value, right.value), frame)
    if isinstance(left, Column) and isinstance(right, Column) and not frame[left.name].dtype.is_numeric():
        return _compare(symbol, _series(left, frame), _series(right, frame))
    return _numeric(symbol, left, right, frame)


def _beside(value: Text | Truth, dtype: pl.DataType) -> Any:
    """A constant in the form compared with a column of this type."""
    if isinstance(value, Truth) or dtype == pl.String:
        return value.value
    return ValueType.of(dtype).moment(value.value)


def _numeric(symbol: Operator, left: Operand, right: Operand, frame: pl.DataFrame) -> pl.Series:
    """Return the truth of a comparison of numbers in every row: in floats if a column has floats, else exactly."""
    columns = {column.name: column for operand in (left, right) for column in columns_in(operand)}
    floats = [frame.schema[name] for name in columns if not _is_exact(frame.schema[name])]
    if floats:
        single = all(dtype == pl.Float32 for dtype in floats)
        dtype = pl.Float32() if single else pl.Float64()
        return _compare(symbol, _rounded(left, frame, dtype), _rounded(right, frame, dtype))
    form = difference(left, right)
    return _unknown_where_cancelled(_exact(form, symbol, frame), columns.values(), form, frame)


def _unknown_where_cancelled(
    result: pl.Series, columns: Iterable[Column], form: LinearForm, frame: pl.DataFrame
) -> pl.Series:
    """Return ``result``, with null where a column that the linear form cancelled is null."""
    cancelled = [column for column in columns if column.name not in form.coefficients]
    if not cancelled:
        return result
    unknown = reduce(operators.or_, (_missing(column, frame) for column in cancelled))
    return pl.select(pl.when(~unknown).then(result)).to_series()


def _is_exact(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or isinstance(dtype, pl.Decimal)


def _exact(form: LinearForm, symbol: Operator, frame: pl.DataFrame) -> pl.Series:
    """Return the truth of ``form symbol 0`` in every row, computed in integers."""
    if not form.coefficients:
        return _constant(_COMPARE[symbol](form.constant, 0), frame)
    form = _on_whole_columns(form, frame)
    if len(form.coefficients) == 1:
        return _beside_threshold(form, symbol, frame)
    terms, constant, _ = form.integers()
    return _compare(symbol, _whole_sum(terms, constant, frame, lambda total: (total > 0) - (total < 0)), 0)


def _on_whole_columns(form: LinearForm, frame: pl.DataFrame) -> LinearForm:
    """Return a linear form of columns as a form of their physical integers (a decimal column is an integer over a power of ten)."""
    terms = dict(form.coefficients)
    for name in terms:
        dtype = frame.schema[name]
        if isinstance(dtype, pl.Decimal):
            terms[name] /= 10**dtype.scale
    return LinearForm(terms, form.constant)


def _whole(name: str, frame: pl.DataFrame) -> pl.Series:
    series = frame[name]
    return series.to_physical() if isinstance(series.dtype, pl.Decimal) else series


def _beside_threshold(form: LinearForm, symbol: Operator, frame: pl.DataFrame) -> pl.Series:
    """Return the truth of a comparison of one integer column with a fraction: with the integer threshold that gives the
    same result, never out of range.
    """
    name, symbol, limit = threshold(form, symbol)
    series = _whole(name, frame)
    low, high = _range(series.dtype)
    floor = limit.numerator // limit.denominator
    if symbol in ("=", "<>"):
        if limit.denominator != 1 or not low <= floor <= high:
            return _keep_nulls(symbol == "<>", series)
        return _compare(symbol, series, floor)
    if limit.denominator != 1:
        symbol = "<=" if symbol in ("<", "<=") else ">"
    if not low <= floor <= high:
        return _keep_nulls((floor > high) == (symbol in ("<", "<=")), series)
    return _compare(symbol, series, floor)


def _keep_nulls(value: bool, series: pl.Series) -> pl.Series:
    return pl.select(pl.when(series.is_not_null()).then(pl.lit(value))).to_series()


def _range(dtype: pl.DataType) -> tuple[int, int]:
    bits = int(re.sub(r"\D", "", str(dtype)))
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.is_signed_integer() else (0, 2**bits - 1)


def _whole_sum(
    terms: dict[str, int], constant: int, frame: pl.DataFrame, shortened: Callable[[int], int | float]
) -> pl.Series:
    """Return ``sum of terms[c] * c + constant`` for every row: in 64 bits if it fits, else the result of ``shortened``
    on its Python integers.
    """
    columns = {name: _whole(name, frame) for name in terms}
    if _fits(terms, constant, frame):
        total = reduce(operators.add, (series.cast(pl.Int64) * terms[name] for name, series in columns.items()))
        return total + constant
    unknown = reduce(operators.or_, (series.is_null() for series in columns.values()))
    lists = [np.array(series.fill_null(0).to_list(), dtype=object) * terms[name] for name, series in columns.items()]
    shortened_totals = [shortened(total) for total in reduce(operators.add, lists) + constant]
    needs_128_bits = any(isinstance(value, int) and abs(value) > _LARGEST for value in shortened_totals)
    totals = pl.Series(shortened_totals, dtype=pl.Int128() if needs_128_bits else None)
    return pl.select(pl.when(~unknown).then(totals)).to_series()


def _fits(terms: dict[str, int], constant: int, frame: pl.DataFrame) -> bool:
    """True if a sum of integers stays within 64 bits for any order of its terms."""
    bound = abs(constant)
    for name, factor in terms.items():
        series = _whole(name, frame)
        extremes = [abs(int(value)) for value in (series.min(), series.max()) if value is not None]  # type: ignore[arg-type]  # whole numbers
        bound += abs(factor) * max(extremes, default=0)
    return bound <= _LARGEST and all(abs(factor) <= _LARGEST for factor in terms.values())


def _rounded(operand: Operand, frame: pl.DataFrame, dtype: pl.DataType) -> pl.Series:
    """Return a numeric operand in floating point: exact until a floating-point column takes part, then rounded step by
    step.
    """
    names = [column.name for column in columns_in(operand)]
    if all(_is_exact(frame.schema[name]) for name in names):
        return _rounded_once(operand, frame, dtype)
    if isinstance(operand, Column):
        return _series(operand, frame).cast(dtype)
    assert isinstance(operand, Arithmetic)
    left, right = _rounded(operand.left, frame, dtype), _rounded(operand.right, frame, dtype)
    steps: dict[str, Callable[[Any, Any], Any]] = {"+": operators.add, "-": operators.sub, "*": operators.mul}
    result: pl.Series = steps[operand.operator](left, right)
    return result


def _rounded_once(operand: Operand, frame: pl.DataFrame, dtype: pl.DataType) -> pl.Series:
    """Return a numeric operand without floating-point columns, computed exactly and rounded at the end."""
    form = LinearForm.of(operand)
    if form.coefficients:
        result = _rounded_sum(_on_whole_columns(form, frame), frame, dtype)
    else:
        result = pl.repeat(_nearest(form.constant), frame.height, dtype=pl.Float64, eager=True).cast(dtype)
    return _unknown_where_cancelled(result, columns_in(operand), form, frame)


def _rounded_sum(form: LinearForm, frame: pl.DataFrame, dtype: pl.DataType) -> pl.Series:
    """Return a linear form in floats, rounded once at the end where possible."""
    terms, constant, denominator = form.integers()
    columns = list(terms)
    if terms[columns[0]] == 1 and len(columns) == 1 and constant == 0:
        return _whole(columns[0], frame).cast(dtype) / _nearest(denominator)
    total = _whole_sum(terms, constant, frame, _nearest)
    return (total.cast(pl.Float64) / _nearest(denominator)).cast(dtype)


def _nearest(number: Fraction | int) -> float:
    """The nearest float; infinity beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
