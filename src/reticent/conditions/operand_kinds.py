"""Type checking of conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from reticent.conditions.fault import ConditionError
from reticent.conditions.nodes import (
    Arithmetic,
    Atom,
    Column,
    Comparison,
    Constant,
    Function,
    IsNull,
    Member,
    Node,
    Number,
    Operand,
    StartsWith,
    Text,
    Truth,
    atoms,
    columns_in,
    operands,
)
from reticent.errors import did_you_mean
from reticent.table import ValueType

_HOLDS = {
    ValueType.INTEGER: "numbers",
    ValueType.UNSIGNED: "numbers",
    ValueType.REAL: "numbers",
    ValueType.TEXT: "text",
    ValueType.DATE: "dates",
    ValueType.DATETIME: "timestamps",
    ValueType.BOOLEAN: "true or false",
}


def kinds_of(frame: pl.DataFrame, names: Iterable[str]) -> dict[str, ValueType]:
    """The types of those named columns that the frame has."""
    return {name: ValueType.of(frame.schema[name], name) for name in names if name in frame.schema}


def check(node: Node, kinds: Mapping[str, ValueType], names: Iterable[str], text: str) -> None:
    """Raise, pointing into ``text``, for a column that is not ``names`` or operands of incompatible types."""
    check_names(node, names, text)
    for atom in atoms(node):
        _check_atom(atom, kinds, text)


def check_names(node: Node, columns_known: Iterable[str], text: str) -> None:
    """Raise for an unknown column."""
    names = tuple(columns_known)
    for atom in atoms(node):
        for operand in operands(atom):
            for column in columns_in(operand):
                if column.name not in names:
                    raise ConditionError(_unknown(column, names, text), text, column.span)


def suggested(node: Node, name: str) -> ValueType:
    """The type that a condition implies for a column of unknown type."""
    for atom in atoms(node):
        sides = operands(atom)
        if any(column.name == name for side in sides for column in columns_in(side)):
            if any(isinstance(side, Number | Arithmetic | Function) for side in sides):
                return ValueType.REAL
            if any(isinstance(side, Truth) for side in sides):
                return ValueType.BOOLEAN
    return ValueType.TEXT


def _unknown(column: Column, names: tuple[str, ...], text: str) -> str:
    """Return the message for an unknown column, with a hint on quoting if the text suggests one."""
    reason = f"there is no column {column.name!r}."
    dashed = [name for name in names if name.startswith(f"{column.name}-") or name.endswith(f"-{column.name}")]
    if dashed:
        return f'{reason} A name like {dashed[0]!r} goes into double quotes: "{dashed[0]}".'
    hint = did_you_mean(column.name, names)
    quoted = text[column.span[0] : column.span[0] + 1] == '"'
    if quoted and not hint:
        return f"{reason} If it is a text and not a column, put it in single quotes: '{column.name}'."
    return f"{reason}{hint}" if hint else f"{reason} The columns are: {', '.join(names)}."


def _check_atom(atom: Atom, kinds: Mapping[str, ValueType], text: str) -> None:
    """Raise if the operands of a comparison, a list, a pattern or a null test have incompatible types."""
    match atom:
        case Comparison(left=left, right=right):
            _check_pair(left, right, kinds, text)
            if _kind(left, kinds, text) is ValueType.BOOLEAN and atom.operator not in ("=", "<>"):
                raise ConditionError("true and false have no order; write = or <>.", text, atom.span)
        case Member(operand=operand, values=values):
            for value in values:
                _check_pair(operand, value, kinds, text)
        case StartsWith(operand=operand):
            if (kind := _kind(operand, kinds, text)) is not ValueType.TEXT:
                raise ConditionError(f"'like' is for text, but {_describe(operand, kind)}.", text, atom.span)
        case IsNull(operand=operand):
            _kind(operand, kinds, text)


def _kind(operand: Operand, kinds: Mapping[str, ValueType], text: str) -> ValueType:
    """Return the type of an operand; raises for arithmetic on other types than numbers."""
    match operand:
        case Column(name=name):
            return kinds[name]
        case Number(value=value):
            return ValueType.INTEGER if value.denominator == 1 else ValueType.REAL
        case Text():
            return ValueType.TEXT
        case Truth():
            return ValueType.BOOLEAN
        case Arithmetic(left=left, right=right):
            for side in (left, right):
                if not (kind := _kind(side, kinds, text)).is_numeric:
                    raise ConditionError(f"+ - * are for numbers, but {_describe(side, kind)}.", text, side.span)
            return ValueType.REAL
        case Function(operand=inner):
            if not (kind := _kind(inner, kinds, text)).is_numeric:
                raise ConditionError(f"{operand.name} is for numbers, but {_describe(inner, kind)}.", text, inner.span)
            is_whole = _is_whole(inner, kinds)
            if not is_whole and (operand.is_division or (operand.name == "abs" and _is_exact(inner, kinds))):
                raise ConditionError(f"{operand.name} is for whole numbers.", text, operand.span)
            return ValueType.REAL if operand.name == "abs" and not is_whole else ValueType.INTEGER


def _is_whole(operand: Operand, kinds: Mapping[str, ValueType]) -> bool:
    """True if a numeric operand takes integer values only."""
    match operand:
        case Column(name=name):
            return kinds[name].is_whole
        case Number(value=value):
            return value.denominator == 1
        case Arithmetic(left=left, right=right):
            return _is_whole(left, kinds) and _is_whole(right, kinds)
        case Function(name=name, operand=inner):
            return name != "abs" or _is_whole(inner, kinds)
        case _:
            return False


def _is_exact(operand: Operand, kinds: Mapping[str, ValueType]) -> bool:
    """True if all columns of an operand are integers."""
    return all(kinds[column.name].is_whole for column in columns_in(operand))


def _check_pair(left: Operand, right: Operand, kinds: Mapping[str, ValueType], text: str) -> None:
    """Raise unless the two operands of a comparison have comparable types."""
    first, second = _kind(left, kinds, text), _kind(right, kinds, text)
    for operand, other in ((left, second), (right, first)):
        if isinstance(operand, Text) and other.is_temporal:
            _check_moment(operand, other, text)
            return
    if first is second or (first.is_numeric and second.is_numeric):
        return
    reason = f"{_describe(left, first)}, but {_describe(right, second)}."
    raise ConditionError(reason + _remedy(left, first, right, second), text, (left.span[0], right.span[1]))


def _check_moment(value: Text, kind: ValueType, text: str) -> None:
    """Raise unless a text is a day, or a timestamp, as the type of the other operand needs."""
    try:
        kind.moment(value.value)
    except ValueError:
        expected = "a day such as '2024-01-31'"
        if kind is ValueType.DATETIME:
            expected += " or a timestamp such as '2024-01-31 12:30:00'"
        raise ConditionError(f"{value.value!r} is not {expected}.", text, value.span) from None


def _describe(operand: Operand, kind: ValueType) -> str:
    """Return what an operand is, in words."""
    match operand:
        case Column(name=name):
            return f"column {name!r} holds {_HOLDS[kind]}"
        case Text() | Number() | Truth():
            return f"{operand} is {'a text' if kind is ValueType.TEXT else 'a number' if kind.is_numeric else 'a truth value'}"
        case Arithmetic() | Function():
            return f"{operand} is a number"


def _remedy(left: Operand, first: ValueType, right: Operand, second: ValueType) -> str:
    """Return a sentence on how to write a constant so that it fits the other operand; empty if there is none."""
    for constant, kind, other in ((left, first, second), (right, second, first)):
        if isinstance(constant, Number) and other is ValueType.TEXT:
            return f" Put it in single quotes: '{constant}'."
        if isinstance(constant, Text) and other.is_numeric and _is_number(constant.value):
            return f" Write it without quotes: {constant.value}."
        if isinstance(constant, Constant) and kind.is_numeric and other.is_temporal:
            return " Write a day as text, such as '2024-01-31'."
    return ""


def _is_number(value: str) -> bool:
    """True if Python reads the text as a number."""
    try:
        float(value)
    except ValueError:
        return False
    return True
