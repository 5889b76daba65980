"""The supported SQL: aggregates of sensitive columns over rows selected by public ones.

sqlglot parses the text. The supported form becomes a :class:`Statement`; everything else is refused with a position in
the text. No part of the text is ever sent to a database, not even its constants: rows are selected in memory from the
public columns.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp
from sqlglot.errors import SqlglotError

from reticent.audit.service.settings import Settings
from reticent.audit.service.value_cells import ValueCells
from reticent.base.exact import exact
from reticent.conditions import Condition, ConditionError, Span, parse_statements, read_expression
from reticent.errors import did_you_mean

Function = Literal["sum", "avg", "count", "max", "min", "var_pop", "quantile"]

LONGEST_STATEMENT = 10_000
DEEPEST = 40
_LONGEST_NUMBER = 40
# sqlglot would write the user's query to the server log; what it cannot parse is refused here anyway.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
_FUNCTIONS: Mapping[type[exp.Expr], Function] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Count: "count",
    exp.Max: "max",
    exp.Min: "min",
    exp.VariancePop: "var_pop",
    exp.Median: "quantile",
    exp.Quantile: "quantile",
}
_NOISY_ONLY = ("var_pop", "quantile")
MOST_BUCKETS = 500
_MEANT: Mapping[type[exp.Expr], str] = {
    exp.Variance: " Did you mean VAR_POP?",
    exp.Stddev: " Did you mean VAR_POP?",
    exp.WithinGroup: " Did you mean QUANTILE?",
}
_FORM = "SELECT SUM|AVG|COUNT|MAX|MIN(column) FROM table WHERE condition GROUP BY public columns"
# Names of sqlglot's statement parts for error messages.
_PARTS = {
    "joins": "a join or a second table",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "distinct": "DISTINCT",
    "with_": "WITH",
    "with": "WITH",
    "windows": "WINDOW",
    "laterals": "LATERAL",
    "sample": "a sample",
    "pivots": "PIVOT",
    "qualify": "QUALIFY",
    "into": "INTO",
    "locks": "FOR UPDATE",
    "hint": "a hint",
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping_sets": "GROUPING SETS",
    "all": "GROUP BY ALL",
}


class StatementError(ConditionError):
    """An unsupported statement; the message points into its text and follows from the text and the policy alone."""

    what = "question"


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a statement. ``column`` is None for ``COUNT(*)``; ``label`` names the answer.

    A quantile has its ``share``. A count of people whose protected value is in certain ``cells`` has the column of these.
    """

    function: Function
    column: str | None
    label: str
    share: Fraction | None = None
    cells: ValueCells | None = None

    @property
    def noisy_only(self) -> bool:
        """True if there is no exact answer, whatever was answered before."""
        return self.function in _NOISY_ONLY or self.cells is not None


@dataclass(frozen=True)
class Statement:
    """A query: aggregates in order, the condition that selects rows, and the public columns of GROUP BY."""

    text: str
    aggregates: tuple[Aggregate, ...]
    condition: Condition | None
    groups: tuple[str, ...]

    @property
    def buckets(self) -> ValueCells | None:
        """The cells of a histogram of protected values, None if the statement has none."""
        cells = self.aggregates[0].cells
        return cells if cells is not None and cells.edges else None

    @classmethod
    def parse(cls, text: str, settings: Settings) -> Statement:
        """Parse a statement; anything but the supported form is a :class:`StatementError` or :class:`ConditionError`."""
        if not text.strip():
            raise StatementError(f"it is empty. Write {_FORM}.", text, (0, len(text)))
        unreadable = next((position for position, char in enumerate(text) if not _is_text(char)), None)
        if unreadable is not None:
            readable = "".join(char if _is_text(char) else "?" for char in text)
            raise StatementError("a character here is not valid text.", readable, (unreadable, unreadable + 1))
        if len(text) > LONGEST_STATEMENT:
            raise StatementError(f"it has {len(text)} characters, more than {LONGEST_STATEMENT}.", text[:80], (0, 80))
        try:
            return _StatementReader(text, settings).statement(_parsed(text, settings))
        except RecursionError:
            raise StatementError("it is nested too deeply. Use fewer nested parts.", text[:80], (0, 80)) from None


def _is_text(char: str) -> bool:
    """True if a character is valid text: not a lone surrogate, and not a control character other than white space."""
    return char in "\n\r\t" or unicodedata.category(char) not in ("Cs", "Cc")


def _parsed(text: str, settings: Settings) -> exp.Expr:
    """Return the syntax tree of a single statement. Raises with the position for text that cannot be read as one."""
    names = {name.lower() for name in (settings.key, settings.view, *settings.public, *settings.sensitive)}
    try:
        statements = parse_statements(text, lambda word: word.lower() in names)
    except SqlglotError as error:
        first_error = (getattr(error, "errors", None) or [{}])[0]
        if not text.lstrip("( \t\r\n").lower().startswith(("select", "with")):
            raise StatementError(f"only SELECT is answered. Write {_FORM}.", text, (0, len(text))) from None
        raise StatementError(
            f"it cannot be read as SQL near {first_error.get('highlight') or text[-20:]!r}. Write {_FORM}; a name that is a word of SQL goes into double quotes.",
            text,
            _span_of(text, first_error.get("line"), first_error.get("col")),
        ) from None
    if len(statements) != 1 or isinstance(statements[0], exp.Semicolon):
        raise StatementError("one statement is expected.", text, (max(text.find(";"), 0), len(text)))
    return statements[0]


def _span_of(text: str, line: int | None, column: int | None) -> Span:
    """Return the span of a line and column of the text."""
    lines = text.split("\n")
    end = sum(len(line_text) + 1 for line_text in lines[: (line or 1) - 1]) + (column or 1)
    return max(0, end - 1), end


def _depth(node: exp.Expr) -> int:
    """Return the nesting depth of a condition, not counting chains of AND and OR. Parsing time grows with it."""
    deepest, waiting = 0, [(node, 0)]
    while waiting:
        part, depth = waiting.pop()
        deepest = max(deepest, depth)
        step = 0 if isinstance(part, exp.And | exp.Or) else 1
        waiting.extend((below, depth + step) for below in part.iter_expressions())
    return deepest


class _StatementReader:
    """Converts sqlglot's tree into a statement; keeps the text for messages."""

    def __init__(self, text: str, settings: Settings) -> None:
        self.text, self.settings = text, settings
        self.columns = dict.fromkeys((settings.key, *settings.public, *settings.sensitive))
        self.names = {settings.view}

    def statement(self, tree: exp.Expr) -> Statement:
        """Return the aggregates, the condition and the groups of a SELECT. Raises at the first part that is not supported."""
        if not isinstance(tree, exp.Select):
            raise self.fault(f"only SELECT is answered. Write {_FORM}.", tree)
        for node in tree.walk():
            if node.comments:
                raise self.fault("comments are not supported. Remove it.", node)
        self.only(tree, "expressions", "from", "from_", "where", "group")
        self.table(tree)
        for column in tree.find_all(exp.Column):
            self.resolve(column)
        groups, buckets = self.groups(tree.args.get("group"))
        aggregates = self.aggregates(tree.expressions, groups, buckets)
        where = tree.args.get("where")
        condition, cells = self.condition(where.this, aggregates, buckets) if where else (None, buckets)
        if cells is not None:
            aggregates = tuple(replace(aggregate, column=cells.column, cells=cells) for aggregate in aggregates)
        return Statement(self.text, aggregates, condition, groups)

    def table(self, tree: exp.Select) -> None:
        """Refuse anything but the one table, under its own name or an alias."""
        source = tree.args.get("from_") or tree.args.get("from")
        if source is None:
            raise self.fault(f"FROM is missing. Write FROM {self.settings.view}.", tree)
        self.only(source, "this")
        table = source.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise self.fault(
                f"only the table {self.settings.view!r} can be queried, no subquery and no function.", table
            )
        self.only(table, "this", "alias")
        if table.name.lower() != self.settings.view.lower():
            hint = did_you_mean(table.name, [self.settings.view])
            raise self.fault(f"there is no table {table.name!r}.{hint} The table is {self.settings.view!r}.", table)
        alias = table.args.get("alias")
        if alias is not None:
            self.only(alias, "this")
            self.names = {alias.name}

    def resolve(self, column: exp.Column) -> None:
        """Normalize the spelling of a column, and remove the table's name before it."""
        self.only(column, "this", "table")
        if not isinstance(column.this, exp.Identifier):
            raise self.fault("name the columns; * is allowed in COUNT(*) only.", column)
        if column.table and column.table.lower() not in {name.lower() for name in self.names}:
            raise self.fault(f"there is no table {column.table!r} here.", column)
        known = [name for name in self.columns if name == column.name]
        if not known and not column.this.quoted:
            known = [name for name in self.columns if name.lower() == column.name.lower()]
        if len(known) != 1:
            possible = [*self.settings.public, *self.settings.sensitive]
            hint = did_you_mean(column.name, possible)
            text = f" If it is a text value, put it in single quotes: '{column.name}'." if column.this.quoted else ""
            raise self.fault(
                f"there is no column {column.name!r}.{hint}{text} The columns are: {', '.join(possible)}.", column
            )
        column.this.set("this", known[0])
        column.set("table", None)

    def groups(self, group: exp.Expr | None) -> tuple[tuple[str, ...], ValueCells | None]:
        """Return the public columns of GROUP BY, and the buckets of a histogram if there are any."""
        if group is None:
            return (), None
        self.only(group, "expressions")
        names: list[str] = []
        buckets = None
        for expression in group.expressions:
            if isinstance(expression, exp.WidthBucket):
                if buckets is not None:
                    raise self.fault("one WIDTH_BUCKET is allowed in a query.", expression)
                buckets = self.buckets(expression)
                continue
            if not isinstance(expression, exp.Column):
                raise self.fault("GROUP BY takes public columns by name, nothing else.", expression)
            names.append(self.public(expression, "GROUP BY"))
        return tuple(dict.fromkeys(names)), buckets

    def buckets(self, node: exp.WidthBucket) -> ValueCells:
        """Return the buckets of ``WIDTH_BUCKET(column, low, high, number)``; of a public column, group by its values instead."""
        form = "WIDTH_BUCKET takes a protected column, a low and a higher end and a number of buckets, such as WIDTH_BUCKET(salary, 0, 10000, 5)"
        self.only(node, "this", "min_value", "max_value", "num_buckets")
        if not isinstance(node.this, exp.Column) or node.this.name not in self.settings.sensitive:
            raise self.fault(f"{form}.", node)
        low, high, number = (
            self.number(node.args.get(argument), form) for argument in ("min_value", "max_value", "num_buckets")
        )
        if low >= high or number.denominator != 1 or not 1 <= number <= MOST_BUCKETS:
            raise self.fault(f"{form}; at most {MOST_BUCKETS} buckets.", node)
        self.noisy(node.this, "GROUP BY")
        edges = tuple(low + (high - low) * step / number for step in range(int(number) + 1))
        return ValueCells(node.this.name, edges=edges, label=node.sql())

    def number(self, node: exp.Expr | None, form: str) -> Fraction:
        """Return a constant as an exact fraction."""
        negative = isinstance(node, exp.Neg)
        plain = node.this if isinstance(node, exp.Neg) else node
        if not isinstance(plain, exp.Literal) or plain.is_string or len(plain.name) > _LONGEST_NUMBER:
            raise self.fault(f"{form}.", node if node is not None else exp.null())
        return exact(plain.name, "number") * (-1 if negative else 1)

    def noisy(self, column: exp.Column, where: str) -> None:
        """Refuse a protected column in a clause, unless counts of its values have a budget of noise."""
        if self.settings.sensitive[column.name].noise is None:
            self.public(column, where)

    def aggregates(
        self, listed: Iterable[exp.Expr], groups: tuple[str, ...], buckets: ValueCells | None
    ) -> tuple[Aggregate, ...]:
        """Return the aggregates of a SELECT list; other columns must be among the ``groups``."""
        parsed = []
        for item in listed:
            expression, label = item, ""
            if isinstance(item, exp.Alias):
                expression, label = item.this, item.alias
            if isinstance(expression, exp.Column):
                if self.public(expression, "SELECT") not in groups:
                    raise self.fault(
                        f"{expression.name!r} is not aggregated, so it must be in GROUP BY too.", expression
                    )
                continue
            if buckets is not None and isinstance(expression, exp.WidthBucket) and expression.sql() == buckets.label:
                continue
            parsed.append(self.aggregate(expression, label))
            if buckets is not None and (parsed[-1].function, parsed[-1].column) != ("count", None):
                raise self.fault("a query with WIDTH_BUCKET answers COUNT(*) only.", expression)
        if not parsed:
            raise StatementError(f"the SELECT list has no aggregate. Write {_FORM}.", self.text, (0, len(self.text)))
        return tuple(parsed)

    def aggregate(self, node: exp.Expr, label: str) -> Aggregate:
        """Return one aggregate: its function and column, and the share of a quantile."""
        function = _FUNCTIONS.get(type(node))
        if function is None:
            raise self.fault(
                f"only SUM, AVG, COUNT, MAX and MIN of one column are answered, and VAR_POP, MEDIAN and QUANTILE(column, 0.9) with noise.{_MEANT.get(type(node), '')}",
                node,
            )
        self.only(node, "this", "big_int", "quantile")
        inner = node.this
        if function == "count" and isinstance(inner, exp.Star):
            self.only(inner)
            return Aggregate("count", None, label or "COUNT(*)")
        if isinstance(inner, exp.Distinct):
            raise self.fault("DISTINCT depends on the protected values. Remove it.", inner)
        if not isinstance(inner, exp.Column):
            raise self.fault(f"{function.upper()} takes the name of one column, nothing else.", node)
        name = inner.name
        if name not in self.settings.sensitive and function != "count":
            listed = ", ".join(self.settings.sensitive)
            raise self.fault(f"{function.upper()} needs a sensitive column ({listed}), but {name!r} is not one.", inner)
        if name == self.settings.key and name not in self.settings.public:
            raise self.fault(f"{name!r} identifies people and cannot be queried. Write COUNT(*).", inner)
        if function != "quantile":
            return Aggregate(function, name, label or f"{function.upper()}({name})")
        share = self.share(node)
        label_of_share = f"MEDIAN({name})" if isinstance(node, exp.Median) else f"QUANTILE({name}, {float(share):g})"
        return Aggregate(function, name, label or label_of_share, share)

    def share(self, node: exp.Expr) -> Fraction:
        """Return the share of values below a quantile."""
        if isinstance(node, exp.Median):
            return Fraction(1, 2)
        form = "QUANTILE takes a column and a share between 0 and 1, such as QUANTILE(salary, 0.9)"
        share = self.number(node.args.get("quantile"), form)
        if not 0 < share < 1:
            raise self.fault(f"{form}.", node)
        return share

    def public(self, column: exp.Column, where: str) -> str:
        """Return the name of a public column."""
        if column.name in self.settings.public:
            return column.name
        what = "is sensitive" if column.name in self.settings.sensitive else "identifies people"
        raise self.fault(f"{column.name!r} {what}; {where} takes public columns only.", column)

    def condition(
        self, node: exp.Expr, aggregates: tuple[Aggregate, ...], buckets: ValueCells | None
    ) -> tuple[Condition | None, ValueCells | None]:
        """Return the part of a condition on public columns, which selects people, and the set of protected values that
        the other part describes (for a noisy count).
        """
        counted = buckets is None and all(
            (aggregate.function, aggregate.column) == ("count", None) for aggregate in aggregates
        )
        for column in node.find_all(exp.Column):
            if counted and column.name in self.settings.sensitive:
                self.noisy(column, "WHERE")
            else:
                self.public(column, "WHERE")
        if next(node.find_all(exp.Query), None) is not None:
            raise self.fault("a condition cannot contain another query.", node)
        if _depth(node) > DEEPEST:
            raise self.fault(f"it is nested more than {DEEPEST} deep. Use fewer nested parts.", node)
        condition = Condition(self.text, read_expression(node, self.text))
        parts: dict[bool, list[Condition]] = {False: [], True: []}
        for part in condition.conjuncts:
            parts[any(name in self.settings.sensitive for name in part.scope)].append(part)
        names = {name for part in parts[True] for name in part.scope}
        if not names:
            return condition, buckets
        if len(names) > 1:
            raise self.fault(
                f"a noisy count is about the values of one protected column. Combine conditions on it with those on public columns by AND, not by OR; here they name {', '.join(sorted(names))} together.",
                node,
            )
        public, protected = (self.all_of(parts[is_protected]) for is_protected in (False, True))
        return public, ValueCells(names.pop(), protected)

    def all_of(self, parts: Sequence[Condition]) -> Condition | None:
        """Return the conjunction of some conditions; errors still point into the whole text."""
        return Condition(self.text, Condition.together(parts).node) if parts else None

    def only(self, node: exp.Expr, *known: str) -> None:
        """Refuse unsupported parts of a node, so that nothing is ignored silently."""
        more = [name for name, value in node.args.items() if value and name not in known]
        if more:
            raise self.fault(
                f"{_PARTS.get(more[0], more[0].strip('_').replace('_', ' '))} is not answered. Write {_FORM}.", node
            )

    def fault(self, reason: str, node: exp.Expr) -> StatementError:
        marks = [part.meta for part in node.walk() if "start" in part.meta]
        span = (min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1) if marks else None
        return StatementError(reason, self.text, span or (0, len(self.text)))
