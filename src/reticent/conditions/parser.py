"""Parse text to a tree. sqlglot reads the text; only supported expressions become nodes, everything else is rejected."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from reticent.conditions.fault import ConditionError, Span
from reticent.conditions.nodes import (
    Always,
    And,
    Arithmetic,
    Column,
    Comparison,
    Constant,
    Function,
    FunctionName,
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
from reticent.conditions.words import parse_statements

_LONGEST = 100_000
_LARGEST_EXPONENT = 10_000

_COMPARISONS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_FUNCTIONS: dict[type[exp.Expr], FunctionName] = {
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.Abs: "abs",
    exp.Sign: "sign",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
}
_READ: tuple[type[exp.Expr], ...] = (
    exp.Paren,
    exp.And,
    exp.Or,
    exp.Not,
    exp.Between,
    exp.In,
    exp.Like,
    exp.Is,
    exp.Boolean,
    exp.Column,
    exp.Literal,
    exp.Neg,
    exp.Add,
    exp.Sub,
    exp.Mul,
    *_COMPARISONS,
    *_FUNCTIONS,
)
# Arguments of the supported expressions; each is checked where it matters.
_ARGUMENTS = frozenset(
    {
        "this",
        "expression",
        "expressions",
        "low",
        "high",
        "symmetric",
        "negate",
        "is_string",
        "table",
        "alias",
        "query",
        "to",
    }
)
_KNOWN = "=, <>, <, <=, >, >=, between, in, is null, like 'abc%', and, or, not, + - * %, div, abs, sign, floor, ceil"


def read(text: str) -> Node:
    """Return the condition that a text states. Raises :class:`ConditionError`, pointing at the error."""
    if not text.strip():
        raise ConditionError("it is empty. Write something like: age between 30 and 40", text, (0, len(text)))
    if len(text) > _LONGEST:
        raise ConditionError(f"it has {len(text)} characters, more than {_LONGEST}. Split it.", text[:80], (0, 80))
    try:
        statements = parse_statements(text)
        if len(statements) != 1:
            end = text.find(";")
            raise ConditionError("one condition is expected, without semicolon.", text, (max(end, 0), len(text)))
        return _ConditionReader(text).condition(statements[0])
    except ParseError as error:
        raise _from_parser(error, text) from None
    except TokenError:
        raise ConditionError("a quote is opened here and never closed.", text, _open_quote(text)) from None
    except RecursionError:
        raise ConditionError("it is nested too deeply. Use fewer nested parts.", text[:80], (0, 80)) from None


def read_expression(expression: exp.Expr, text: str) -> Node:
    """The tree of a condition inside a statement that sqlglot has parsed; ``text`` is the whole statement."""
    return _ConditionReader(text).condition(expression)


class _ConditionReader:
    """Converts sqlglot's expressions to nodes, with the text for messages."""

    def __init__(self, text: str) -> None:
        self.text = text

    def condition(self, node: exp.Expr) -> Node:
        """Return the condition of an SQL expression that is true, false or unknown for a row. Raises for any other."""
        self.check_arguments(node)
        span = self.span(node)
        if node.args.get("negate"):
            # Versions of sqlglot differ in whether 'not like' is one expression or two.
            plain = node.copy()
            plain.set("negate", None)
            return Not(self.condition(plain), span)
        match node:
            case exp.Paren():
                return self.condition(node.this)
            case exp.And():
                return And(tuple(self.condition(part) for part in node.flatten()), span)
            case exp.Or():
                return Or(tuple(self.condition(part) for part in node.flatten()), span)
            case exp.Not():
                return Not(self.condition(node.this), span)
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._member(node)
            case exp.Like():
                return self._like(node)
            case exp.Is() if isinstance(node.expression, exp.Null):
                return IsNull(self.operand(node.this), span)
            case exp.Is() | exp.NullSafeEQ() | exp.NullSafeNEQ():
                raise self.fault("'is' goes with null only. Write = to compare.", node)
            case exp.Boolean():
                return Always(bool(node.this), span)
            case exp.Column():
                return Comparison("=", self.operand(node), Truth(True, span), span)
            case exp.Alias():
                raise self.fault(
                    f"{node.alias!r} is not expected here. Is 'and', 'or' or a quote missing?", node.args["alias"]
                )
            case exp.ILike() | exp.Escape():
                raise self.fault("only like 'abc%' is supported, without ilike or escape.", node)
        if type(node) in _COMPARISONS:
            return Comparison(_COMPARISONS[type(node)], self.operand(node.this), self.operand(node.expression), span)
        raise self.fault(f"this kind of condition is not supported. Supported are {_KNOWN}.", node)

    def operand(self, node: exp.Expr) -> Operand:
        """Return the operand of an SQL expression that has a value for a row: a column, a constant, or arithmetic on
        them. Raises for any other.
        """
        self.check_arguments(node)
        span = self.span(node)
        match node:
            case exp.Paren():
                return self.operand(node.this)
            case exp.Column():
                if node.table:
                    raise self.fault(
                        f"write the column alone, without {node.table!r} before it; a name with a dot in it goes into double quotes.",
                        node,
                    )
                return Column(node.name, span)
            case exp.Literal():
                return Text(node.this, span) if node.is_string else Number(self._number(node), span)
            case exp.Boolean():
                return Truth(bool(node.this), span)
            case exp.Neg():
                inner = self.operand(node.this)
                minus = Number(Fraction(-1), span)
                return Number(-inner.value, span) if isinstance(inner, Number) else Arithmetic("*", minus, inner, span)
            case exp.Add():
                return Arithmetic("+", self.operand(node.this), self.operand(node.expression), span)
            case exp.Sub():
                return Arithmetic("-", self.operand(node.this), self.operand(node.expression), span)
            case exp.Mul():
                return self._product(node)
            case exp.Cast() if isinstance(node.this, exp.Literal) and node.this.is_string:
                raise self.fault("write a day as plain text, such as '2024-01-31'.", node)
            case exp.Null():
                raise self.fault(
                    "a comparison with null is never true. Write 'is null' or 'is not null'.", node.parent or node
                )
        if type(node) in _FUNCTIONS:
            return self._function(node, _FUNCTIONS[type(node)])
        raise self.fault(
            "this is not a column, a number or a text in single quotes (with + - * % div, abs, sign, floor, ceil).",
            node,
        )

    def check_arguments(self, node: exp.Expr) -> None:
        """Raise for an expression with arguments that are not supported: nothing may be ignored silently."""
        more = [name for name, value in node.args.items() if value and name not in _ARGUMENTS]
        if more and isinstance(node, _READ):
            raise self.fault(f"{more[0].replace('_', ' ')!r} is not supported here.", node)

    def span(self, node: exp.Expr) -> Span:
        """The position of an expression in the text, as far as its parts have one."""
        marks = [part.meta for part in node.walk() if "start" in part.meta]
        if not marks:
            return (0, len(self.text)) if node.parent is None else self.span(node.parent)
        return min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1

    def fault(self, reason: str, node: exp.Expr) -> ConditionError:
        """The error that points at an expression."""
        return ConditionError(reason, self.text, self.span(node))

    def _number(self, node: exp.Literal) -> Fraction:
        """Return a number exactly. Raises for one too large or too small to be written out."""
        try:
            number = Decimal(node.this)
            # Written out, 1e999999999 has a billion digits.
            if number and abs(number.adjusted()) > _LARGEST_EXPONENT:
                raise self.fault(f"numbers must be between 1e-{_LARGEST_EXPONENT} and 1e{_LARGEST_EXPONENT}.", node)
            return Fraction(number)
        except (InvalidOperation, OverflowError, ValueError):
            raise self.fault(f"{node.this!r} is not a number.", node) from None

    def _between(self, node: exp.Between) -> Node:
        """Return BETWEEN as two comparisons."""
        if node.args.get("symmetric"):
            raise self.fault("write the smaller bound first; 'symmetric' is not supported.", node)
        span, operand = self.span(node), self.operand(node.this)
        low, high = self.operand(node.args["low"]), self.operand(node.args["high"])
        return And((Comparison(">=", operand, low, span), Comparison("<=", operand, high, span)), span)

    def _member(self, node: exp.In) -> Node:
        """Return IN as the membership in a list of constants."""
        listed = node.args.get("expressions")
        if not listed:
            raise self.fault("'in' needs a list of constants in parentheses, such as in ('flu', 'asthma').", node)
        if isinstance(node.this, exp.Tuple):
            return Or(tuple(self._equal(node.this, row) for row in listed), self.span(node))
        return Member(self.operand(node.this), tuple(self._constant(value) for value in listed), self.span(node))

    def _equal(self, columns: exp.Tuple, row: exp.Expr) -> Node:
        """Return the condition that a tuple of operands equals a tuple of constants, elementwise: one row of ``(a, b)
        in ((1, 2), ...)``.
        """
        left, right = columns.expressions, row.expressions if isinstance(row, exp.Tuple) else [row]
        if len(left) != len(right):
            raise self.fault(f"a row of {len(left)} values is needed here, such as (30, 'flu').", row)
        span = self.span(row)
        pairs = zip(left, right, strict=True)
        return And(tuple(Comparison("=", self.operand(a), self._constant(b), span) for a, b in pairs), span)

    def _constant(self, node: exp.Expr) -> Constant:
        """Return a constant of a list. Raises for null, columns and formulas."""
        if isinstance(node, exp.Null):
            raise self.fault("null in a list is never equal to anything. Write 'or ... is null'.", node)
        value = self.operand(node)
        if isinstance(value, Column) and any(name.quoted for name in node.find_all(exp.Identifier)):
            raise self.fault(f"a list holds constants. If {value.name!r} is a text, put it in single quotes.", node)
        if isinstance(value, Column | Arithmetic | Function):
            raise self.fault("a list holds constants: numbers, or texts in single quotes.", node)
        return value

    def _like(self, node: exp.Like) -> Node:
        """Return ``like 'abc%'`` as a test for a prefix, or as an equality without ``%``. Raises for other patterns."""
        pattern = self.operand(node.expression)
        if not isinstance(pattern, Text):
            raise self.fault("'like' needs a text in single quotes, such as 'abc%'.", node.expression)
        span, operand, body = self.span(node), self.operand(node.this), pattern.value.removesuffix("%")
        if "%" in body or "_" in body:
            raise self.fault(
                "only a prefix is supported, such as like 'abc%': no '_' and no other '%'.", node.expression
            )
        return (
            StartsWith(operand, body, span) if pattern.value.endswith("%") else Comparison("=", operand, pattern, span)
        )

    def _function(self, node: exp.Expr, name: FunctionName) -> Operand:
        """Convert a function of one operand, computed at once if the operand is a number."""
        inner, span, divisor_value = self.operand(node.this), self.span(node), 1
        if name in ("%", "div"):
            divisor = self.operand(node.expression)
            is_valid = isinstance(divisor, Number) and divisor.value.denominator == 1 and 0 < abs(divisor.value) < 2**63
            if not isinstance(divisor, Number) or not is_valid:
                raise self.fault(f"{name} needs a whole number other than 0 on its right.", node.expression)
            divisor_value = int(divisor.value)
        function = Function(name, inner, divisor_value, span)
        if not isinstance(inner, Number):
            return function
        if function.is_division and inner.value.denominator != 1:
            raise self.fault(f"{name} is for whole numbers.", node.this)
        return Number(function.of(inner.value), span)

    def _product(self, node: exp.Mul) -> Operand:
        """Return a product. Raises if both sides have columns."""
        left, right = self.operand(node.this), self.operand(node.expression)
        if any(columns_in(left)) and any(columns_in(right)):
            raise self.fault("columns may be multiplied by numbers only, not by each other.", node)
        return Arithmetic("*", left, right, self.span(node))


def _from_parser(error: ParseError, text: str) -> ConditionError:
    """Return a parser error as a condition error that points into the text."""
    first = error.errors[0] if error.errors else {}
    highlight = first.get("highlight") or ""
    line, column = first.get("line") or 1, first.get("col") or 1
    lines = text.split("\n")
    end = sum(len(line_before) + 1 for line_before in lines[: line - 1]) + column
    start = max(0, end - max(len(highlight), 1))
    if (first.get("description") or "").startswith("Expecting )"):
        return ConditionError("a parenthesis is not closed after this.", text, (start, end))
    if (first.get("description") or "").startswith("Required keyword"):
        return ConditionError(f"something is missing next to {highlight!r}.", text, (start, end))
    return ConditionError(
        f"{highlight!r} is not expected here. Put a name that is an SQL keyword, or has characters other than letters, digits and _, in double quotes.",
        text,
        (start, end),
    )


def _open_quote(text: str) -> Span:
    """The position of the quote that is not closed."""
    opened: int | None = None
    for position, character in enumerate(text):
        if opened is None and character in "'\"`[":
            opened = position
        elif opened is not None and character == {"[": "]"}.get(text[opened], text[opened]):
            opened = None
    return (opened if opened is not None else 0, len(text))
