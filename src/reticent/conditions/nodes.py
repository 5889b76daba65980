"""The syntax tree of conditions: one small frozen class per node, each printing itself as parseable text.

Nodes are compared by content; ``span``, their position in the text, is for messages only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from reticent.base.exact import exact
from reticent.conditions.fault import Span
from reticent.errors import DataError

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
OPPOSITE: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

_NOWHERE: Span = (0, 0)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_RESERVED = frozenset(
    {
        "all",
        "and",
        "as",
        "asc",
        "between",
        "by",
        "case",
        "cast",
        "collate",
        "create",
        "current_date",
        "current_time",
        "current_timestamp",
        "desc",
        "distinct",
        "else",
        "end",
        "escape",
        "except",
        "exists",
        "false",
        "from",
        "glob",
        "group",
        "having",
        "if",
        "ilike",
        "in",
        "intersect",
        "interval",
        "is",
        "isnull",
        "join",
        "like",
        "limit",
        "match",
        "not",
        "notnull",
        "null",
        "on",
        "or",
        "order",
        "over",
        "regexp",
        "rlike",
        "select",
        "similar",
        "then",
        "true",
        "union",
        "using",
        "values",
        "when",
        "where",
        "with",
        "xor",
    }
)


@dataclass(frozen=True)
class Column:
    """The value of a row in a column."""

    name: str
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        if _PLAIN_NAME.match(self.name) and self.name.lower() not in _RESERVED:
            return self.name
        return '"' + self.name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Number:
    """A number, exactly as written."""

    value: Fraction
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return _decimal(self.value)


@dataclass(frozen=True)
class Text:
    """A text in single quotes; next to a date column, a day or a timestamp."""

    value: str
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return "'" + self.value.replace("'", "''") + "'"


@dataclass(frozen=True)
class Truth:
    """``true`` or ``false`` as a value."""

    value: bool
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True)
class Arithmetic:
    """A sum, a difference, or a product with a constant: linear in the columns."""

    operator: Literal["+", "-", "*"]
    left: Operand
    right: Operand
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


FunctionName = Literal["%", "div", "abs", "sign", "floor", "ceil"]


@dataclass(frozen=True)
class Function:
    """A function of a number: the remainder (``%``) and the integer quotient (``div``) by a constant, truncated toward
    zero as in databases, the absolute value, the sign, floor and ceiling.
    """

    name: FunctionName
    operand: Operand
    by: int = 1
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"({self.operand} {self.name} {self.by})" if self.is_division else f"{self.name}({self.operand})"

    @property
    def is_division(self) -> bool:
        """True if it divides, which requires integers."""
        return self.name in ("%", "div")

    def of(self, value: Fraction) -> Fraction:
        """The function applied to a number."""
        match self.name:
            case "abs":
                return abs(value)
            case "sign":
                return Fraction((value > 0) - (value < 0))
            case "floor":
                return Fraction(math.floor(value))
            case "ceil":
                return Fraction(math.ceil(value))
        quotient = abs(value) // abs(self.by) * (1 if (value > 0) == (self.by > 0) else -1)
        return Fraction(quotient) if self.name == "div" else value - self.by * quotient


Constant = Number | Text | Truth
Operand = Column | Number | Text | Truth | Arithmetic | Function


@dataclass(frozen=True)
class Comparison:
    """A comparison of two operands; unknown if either is null."""

    operator: Operator
    left: Operand
    right: Operand
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class Member:
    """Membership of an operand in a list of constants; unknown for null."""

    operand: Operand
    values: tuple[Constant, ...]
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.operand} in ({', '.join(map(str, self.values))})"


@dataclass(frozen=True)
class StartsWith:
    """A prefix test on text, ``like 'abc%'``; unknown for null."""

    operand: Operand
    prefix: str
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.operand} like {Text(self.prefix + '%')}"


@dataclass(frozen=True)
class IsNull:
    """A null test; never unknown."""

    operand: Operand
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.operand} is null"


@dataclass(frozen=True)
class Always:
    """A condition with the same value for every row."""

    value: bool
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True)
class Not:
    """Negation; unknown stays unknown."""

    part: Node
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"not ({self.part})"


@dataclass(frozen=True)
class And:
    """Conjunction: false if a part is, unknown if one is and none is false."""

    parts: tuple[Node, ...]
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return " and ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True)
class Or:
    """Disjunction: true if a part is, unknown if one is and none is true."""

    parts: tuple[Node, ...]
    span: Span = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return " or ".join(f"({part})" for part in self.parts)


Atom = Comparison | Member | StartsWith | IsNull | Always
Node = Comparison | Member | StartsWith | IsNull | Always | Not | And | Or


def constant(value: object, column: str) -> Constant:
    """A value of a table as a constant; days and timestamps are written as text."""
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, int | float | Decimal | Fraction):
        return Number(exact(value, column))
    if isinstance(value, str | date):
        return Text(str(value))
    raise DataError(f"Column {column!r} holds {value!r}, which a condition cannot compare with.")


def operands(atom: Atom) -> tuple[Operand, ...]:
    """The operands of an atom."""
    match atom:
        case Comparison(left=left, right=right):
            return (left, right)
        case Member(operand=operand, values=values):
            return (operand, *values)
        case StartsWith(operand=operand) | IsNull(operand=operand):
            return (operand,)
        case Always():
            return ()


def atoms(node: Node) -> Iterator[Atom]:
    """Every atom under a node, from left to right."""
    match node:
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from atoms(part)
        case Not(part=part):
            yield from atoms(part)
        case _:
            yield node


def columns_in(operand: Operand) -> Iterator[Column]:
    """Every column of an operand, from left to right."""
    match operand:
        case Column():
            yield operand
        case Arithmetic(left=left, right=right):
            yield from columns_in(left)
            yield from columns_in(right)
        case Function(operand=inner):
            yield from columns_in(inner)


def has_function(operand: Operand) -> bool:
    """True if an operand is not linear in its columns."""
    if isinstance(operand, Arithmetic):
        return has_function(operand.left) or has_function(operand.right)
    return isinstance(operand, Function)


def is_linear(node: Node) -> bool:
    """True if there is no function under a node."""
    return not any(has_function(operand) for atom in atoms(node) for operand in operands(atom))


def scope(node: Node) -> tuple[str, ...]:
    """The names of the columns under a node, in order of first appearance."""
    names = (column.name for atom in atoms(node) for operand in operands(atom) for column in columns_in(operand))
    return tuple(dict.fromkeys(names))


def positive(node: Node, negated: bool = False) -> Node:
    """Return an equivalent condition in negation normal form (De Morgan holds for unknown as well)."""
    match node:
        case Not(part=part):
            return positive(part, not negated)
        case And(parts=parts):
            pushed = tuple(positive(part, negated) for part in parts)
            return Or(pushed, node.span) if negated else And(pushed, node.span)
        case Or(parts=parts):
            pushed = tuple(positive(part, negated) for part in parts)
            return And(pushed, node.span) if negated else Or(pushed, node.span)
        case Comparison(operator=operator, left=left, right=right) if negated:
            return Comparison(OPPOSITE[operator], left, right, node.span)
        case Always(value=value) if negated:
            return Always(not value, node.span)
        case _:
            return Not(node, node.span) if negated else node


def _decimal(value: Fraction) -> str:
    """A finite decimal if the number is one, as are all that are parsed from text."""
    if value.denominator == 1:
        return str(value.numerator)
    digits, remaining = 0, value.denominator
    for prime in (2, 5):
        count = 0
        while remaining % prime == 0:
            remaining //= prime
            count += 1
        digits = max(digits, count)
    scaled = abs(value.numerator) * 10**digits // value.denominator
    text = f"{scaled:0{digits + 1}d}"
    return ("-" if value < 0 else "") + text[:-digits] + "." + text[-digits:]
