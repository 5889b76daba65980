"""Parsing, locating, constant folding, and conversion of SQL text for SQLite or DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from reticent.errors import PolicyError, first_line
from reticent.views.constants import Constant, constant, has_offset, moment_of, number
from reticent.views.schema import Schema
from reticent.views.sql_text import table_name

if TYPE_CHECKING:
    import duckdb

_FOLDABLE = (
    exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren, exp.Literal, exp.Cast, exp.Interval, exp.Var, exp.DataType,
    exp.Date, exp.DateAdd, exp.DateSub, exp.DPipe, exp.Boolean, exp.Null, exp.TsOrDsToDate, exp.StrToDate,
    exp.DateStrToDate, exp.TryCast, exp.Mod, exp.DataTypeParam, exp.IntervalSpan,
)  # fmt: skip

ZONED = {exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ}
_TYPED_TEXT = {
    exp.DataType.Type.TEXT: "string",
    exp.DataType.Type.VARCHAR: "string",
    exp.DataType.Type.USERDEFINED: "label",
}


class Unsupported(Exception):
    """A construct outside the exact fragment; the message names it and its position."""

    def __init__(self, construct: str, node: exp.Expr, text: str) -> None:
        super().__init__(f"{construct}{where(node, text)}")


def parse_statements(text: str, dialect: str, what: str) -> list[exp.Expr]:
    """Return all statements of an SQL text, or raise an error with the position that cannot be parsed."""
    try:
        statements = sqlglot.parse(text, read=dialect or None)
    except SqlglotError as error:
        raise PolicyError(
            f"{what} cannot be read as SQL{_error_place(error)}. Check the text, or set the dialect (--dialect)."
        ) from None
    except RecursionError:
        raise PolicyError(f"{what} is nested too deeply to be read as SQL; split it into views.") from None
    except ValueError as error:
        raise PolicyError(f"{what} cannot be read as SQL ({error}).") from None
    return [statement for statement in statements if isinstance(statement, exp.Expression)]


def _error_place(error: SqlglotError) -> str:
    """Return where and why a statement cannot be parsed, as the end of a sentence."""
    details: Sequence[dict[str, Any]] = getattr(error, "errors", None) or [{}]
    first = details[0]
    if not first.get("line"):
        return f" ({first_line(error)})"
    near = f", near {first.get('highlight')!r}" if first.get("highlight") else ""
    return f": {first.get('description', 'syntax error').rstrip('.')}, at line {first['line']}, column {first['col']}{near}"


def place(node: exp.Expr, text: str) -> tuple[int, int] | None:
    """Return line and column where a node begins, both from 1."""
    starts = [child.meta["start"] for child in node.walk() if "start" in child.meta]
    if not starts:
        return None
    before = text[: min(starts)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def where(node: exp.Expr, text: str) -> str:
    """Return `` at line 2, column 7``, or nothing if the parser kept no position."""
    probe: exp.Expr | None = node
    while probe is not None:
        location = place(probe, text)
        if location is not None:
            return f" at line {location[0]}, column {location[1]}"
        probe = probe.parent
    return ""


def literal(node: exp.Expr) -> Constant | None:
    """Return the constant of an expression without evaluating anything; None if it is not one."""
    if isinstance(node, exp.Paren):
        return literal(node.this)
    if isinstance(node, exp.Literal):
        return Constant("text", node.this) if node.is_string else _spelled(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return _spelled("-" + node.this.this)
    if isinstance(node, exp.Cast) and node.to.this in _TYPED_TEXT and not node.to.expressions:
        inside = literal(node.this)
        return (
            Constant(_TYPED_TEXT[node.to.this], inside.value) if inside is not None and inside.kind == "text" else None
        )
    if isinstance(node, exp.Cast) and node.to.this in ZONED:
        inside = literal(node.this)
        return moment_of(inside) if inside is not None else None
    if isinstance(node, exp.Boolean):
        return constant(bool(node.this))
    if isinstance(node, exp.Null):
        return constant(None)
    return None


def _spelled(text: str) -> Constant:
    """Return a number as SQL spells it; with an exponent most databases read it as a double."""
    value = number(text)
    return Constant("double", value.value) if "e" in text.lower() else value


def fold(node: exp.Expr) -> Constant | None:
    """Return the result of arithmetic on constants (``date '1998-12-01' - interval '90' day``), by DuckDB.

    None for what databases compute differently: quotients of integers, arithmetic on fractions, casts that truncate or
    round, timestamps with an offset.
    """
    plain = literal(node)
    if plain is not None or not all(isinstance(child, _FOLDABLE) for child in node.walk()):
        return plain
    if any(_cuts(cast) for cast in node.find_all(exp.Cast)) or _computes_with_fractions(node):
        return None
    import duckdb

    try:
        row = _calculator().execute(f"SELECT {node.sql('duckdb')}").fetchone()
    except duckdb.Error:
        return None
    value = row[0] if row else None
    if isinstance(value, float):
        return Constant("double", Fraction(repr(value))) if value == value and abs(value) != float("inf") else None
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        value = value.date()
    if isinstance(value, str):
        return Constant("string", value)
    return constant(value) if value is None or isinstance(value, bool | int | Decimal | date | datetime) else None


def _computes_with_fractions(node: exp.Expr) -> bool:
    """True if non-integers are added or multiplied: some databases do that exactly, others in binary."""
    if not node.find(exp.Add, exp.Sub, exp.Mul, exp.Mod):
        return False
    spelled = [item.this for item in node.find_all(exp.Literal) if not item.is_string]
    return any(not text.isdigit() for text in spelled) or any(
        cast.to.this in exp.DataType.REAL_TYPES for cast in node.find_all(exp.Cast)
    )


def _cuts(cast: exp.Cast) -> bool:
    """True if a cast may change a value: to a length, to padded text, to integers, to fewer binary digits, to another time zone."""
    kind = cast.to.this
    if kind in exp.DataType.TEMPORAL_TYPES:
        inside = literal(cast.this)
        return kind in ZONED or (inside is not None and has_offset(inside))
    if kind in exp.DataType.INTEGER_TYPES:
        inside = literal(cast.this)
        return inside is None or inside.kind != "number" or not isinstance(inside.value, int)
    if kind in exp.DataType.TEXT_TYPES:
        return bool(cast.to.expressions) or kind in (exp.DataType.Type.CHAR, exp.DataType.Type.NCHAR)
    return kind == exp.DataType.Type.FLOAT or bool(cast.to.expressions)


@cache
def _calculator() -> duckdb.DuckDBPyConnection:
    """Return an empty database used only to compute with constants."""
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})


def split_statements(text: str, dialect: str, what: str) -> list[str]:
    """Return the statements of a text one by one, each padded so that its line numbers stay those of the text."""
    try:
        tokens = sqlglot.tokenize(text, read=dialect or None)
    except SqlglotError as error:
        raise PolicyError(f"{what} cannot be read as SQL{_error_place(error)}.") from None
    ends = [token.start for token in tokens if token.token_type == TokenType.SEMICOLON]
    statements = []
    for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(text)], strict=True):
        if any(start <= token.start < end for token in tokens):
            statements.append("\n" * text[:start].count("\n") + text[start:end])
    return statements


def relation_name(table: exp.Table) -> str:
    """Return the dotted name of a table reference."""
    return ".".join(part.name for part in table.parts if isinstance(part, exp.Identifier))


def runnable(text: str, schema: Schema, dialect: str, engine: str) -> str:
    """Return the user's query for SQLite or DuckDB, with stored views prepended as common table expressions."""
    (statement,) = parse_statements(text, dialect, "The query")
    query = body_of(statement)
    defined: dict[str, exp.Expr] = {}
    _rewrite(query, schema, dialect, defined)
    if engine == "sqlite":
        query = _dates_as_texts(query)
        defined = {name: _dates_as_texts(view) for name, view in defined.items()}
    sql = query.sql(engine)
    if defined:
        views = ", ".join(f"{table_name(name)} AS ({view.sql(engine)})" for name, view in defined.items())
        sql = f"WITH {views} SELECT * FROM ({sql}) AS reticent_answer"
    return sql


def _dates_as_texts(query: exp.Expr) -> exp.Expr:
    """Convert constant dates and computations on them to ISO text, as SQLite stores dates."""

    def convert(node: exp.Expr) -> exp.Expr:
        """Return a constant date or timestamp as a text literal, and any other node unchanged."""
        if isinstance(node, exp.Cast | exp.Add | exp.Sub | exp.Date | exp.DateAdd | exp.DateSub):
            value = fold(node)
            if value is not None and value.kind in ("date", "timestamp"):
                return exp.Literal.string(value.value.isoformat(*([" "] if value.kind == "timestamp" else [])))
        return node

    return query.transform(convert)


def body_of(statement: exp.Expr) -> exp.Expr:
    """Return the query inside a CREATE VIEW, or the query itself."""
    return statement.expression if isinstance(statement, exp.Create) else statement


def _rewrite(query: exp.Expr, schema: Schema, dialect: str, defined: dict[str, exp.Expr]) -> None:
    """Replace the tables of a query by those of the test database, and stored views by their definitions, in place."""
    local = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    for table in list(query.find_all(exp.Table)):
        name = relation_name(table)
        if not name or name.lower() in local:
            continue
        relation = schema.find(name)
        stored = None if relation is not None else schema.find_view(name)
        key = relation.name if relation is not None else name.rsplit(".", 1)[-1].lower()
        if stored is not None and key not in defined:
            (view,) = parse_statements(stored, dialect, f"The view {name}")
            inner = body_of(view)
            _rewrite(inner, schema, dialect, defined)
            defined[key] = inner
        alias = table.alias or name.rsplit(".", 1)[-1]
        renamed = sqlglot.to_table(table_name(key), dialect="duckdb").as_(
            exp.to_identifier(alias, quoted=True), table=True
        )
        for join in table.args.get("joins") or []:
            renamed.append("joins", join)
        table.replace(renamed)
