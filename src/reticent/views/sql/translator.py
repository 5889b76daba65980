"""Translate the parts of a query: SELECTs, set operations, FROM items and views; exact for positive SQL, a footprint otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from reticent.errors import PolicyError, did_you_mean
from reticent.views.constants import Constant
from reticent.views.queries import Atom, Variable
from reticent.views.schema import Relation, Schema, SchemaColumn
from reticent.views.sql.conditions import alike, conjuncts
from reticent.views.sql.ddl import kind_of
from reticent.views.sql.dialect import body_of, parse_statements, relation_name, where
from reticent.views.sql.failing_expressions import may_fail
from reticent.views.sql.outputs import beside_from, beyond_positive, outside_subqueries, select_list
from reticent.views.sql.row_conditions import (
    Alternative,
    Disjunct,
    Hidden,
    NamedRows,
    Output,
    distinct,
    intersection,
    opaque,
    shown,
)
from reticent.views.sql.scopes import RowScope, Sources, TranslatorProtocol, filter_by, join_conditions

SCANS = 400
_COARSE = "a column in which equal values may look different, each shown once"


@dataclass(frozen=True)
class _Cte:
    node: exp.Expr
    columns: tuple[str, ...]
    environment: Mapping[str, _Cte]
    recursive: bool


def unknown_functions(node: exp.Expr, text: str) -> list[str]:
    """Return functions that are not built in: what they read is not in the text."""
    return [f"the function {function.name}(){where(function, text)}" for function in node.find_all(exp.Anonymous)]


class Translator(TranslatorProtocol):
    """Walks one statement. Mutable: numbers variables and counts table references."""

    def __init__(self, schema: Schema, text: str, dialect: str) -> None:
        """Prepare to translate one text; collects the columns of all variables, the tables read, and functions or
        expressions that make the translation inexact.
        """
        self._schema = schema
        self._text = text
        self.dialect = dialect
        self._columns: dict[Variable, SchemaColumn] = {}
        self._scans = 0
        self._nesting: Mapping[str, _Cte] = {}
        self.boundless: list[str] = []
        self.failing: list[str] = []
        self.scanned: dict[str, Relation] = {}

    def column_type(self, variable: Variable) -> SchemaColumn | None:
        return self._columns.get(variable)

    def cast_kind(self, node: exp.DataType) -> str | None:
        return kind_of(node)[0]

    def nested(self, node: exp.Expr, scope: RowScope) -> NamedRows:
        return self.query(node, self._nesting, scope)

    def query(self, node: exp.Expr, environment: Mapping[str, _Cte], outer: RowScope | None) -> NamedRows:
        """Return the rows of a query expression.

        ``environment`` holds the common table expressions in scope, ``outer`` the row of an enclosing query.
        """
        environment = self._with(node, environment)
        if isinstance(node, exp.Subquery):
            table = self.query(node.this, environment, outer)
            return self._limited(node, table, environment, outer)
        if isinstance(node, exp.Select):
            before, self._nesting = self._nesting, environment
            try:
                return self._limited(node, self._select(node, environment, outer), environment, outer)
            finally:
                self._nesting = before
        if isinstance(node, exp.SetOperation):
            return self._limited(node, self._set_operation(node, environment, outer), environment, outer)
        if isinstance(node, exp.Values):
            listed = NamedRows((), (), (f"VALUES{where(node, self._text)}",), opaque=True)
            return opaque(listed, listed.inexact[0], *self._read_by(node, environment, outer))
        raise PolicyError(f"{node.key.upper()}{where(node, self._text)} is not supported; write a SELECT.")

    def _with(self, node: exp.Expr, environment: Mapping[str, _Cte]) -> Mapping[str, _Cte]:
        """Return the environment extended by the common table expressions of a query."""
        clause = node.args.get("with_") or node.args.get("with")
        if clause is None:
            return environment
        extended = dict(environment)
        for cte in clause.expressions:
            column_list = cte.args["alias"].args.get("columns") or []
            columns = tuple(column.name for column in column_list)
            recursive = bool(clause.args.get("recursive")) and any(
                table.name.lower() == cte.alias.lower() for table in cte.this.find_all(exp.Table)
            )
            extended[cte.alias.lower()] = _Cte(cte.this, columns, dict(extended), recursive)
        return extended

    def _set_operation(
        self, node: exp.SetOperation, environment: Mapping[str, _Cte], outer: RowScope | None
    ) -> NamedRows:
        """Translate UNION and INTERSECT exactly; of any other set operation, keep only which rows it reads."""
        left, right = (self.query(side, environment, outer) for side in (node.this, node.expression))
        if left.columns and right.columns and len(left.columns) != len(right.columns):
            raise PolicyError(
                f"The two sides of {node.key.upper()}{where(node, self._text)} have {len(left.columns)} and "
                f"{len(right.columns)} columns; they must have the same number."
            )
        if isinstance(node, exp.Union):
            combined = NamedRows(
                left.columns, left.parts + right.parts, left.inexact + right.inexact, left.opaque or right.opaque
            )
            return self.distinct(combined, same_select=False) if node.args.get("distinct") else combined
        if isinstance(node, exp.Intersect) and node.args.get("distinct") and not (left.opaque or right.opaque):
            joined = intersection(left, right) if self._are_alike(left, right) and not self._coarse(left) else None
            if joined is not None:
                return joined
        return opaque(left, f"{node.key.upper()}{where(node, self._text)}", right)

    def distinct(self, table: NamedRows, same_select: bool = True) -> NamedRows:
        """Return the distinct rows of a table; of rows that are equal but look different one is returned, which depends on all of them."""
        return opaque(table, _COARSE) if self._coarse(table) else distinct(table, same_select)

    def _coarse(self, table: NamedRows) -> bool:
        """True if a table shows a column whose equal values may look different, such as 1.0 and 1.00."""
        terms = {term for part in table.parts for row in part for term in shown(row.outputs)}
        return any(
            isinstance(term, Variable) and term in self._columns and self._columns[term].coarse for term in terms
        )

    def _are_alike(self, left: NamedRows, right: NamedRows) -> bool:
        """True if the columns of two tables represent equal values in the same way, position by position."""
        rows = [row.outputs for table in (left, right) for part in table.parts for row in part]
        return all(
            alike([self._columns[item] for item in outputs if isinstance(item, Variable) and item in self._columns])
            for outputs in zip(*rows, strict=False)
        )

    def _limited(
        self, node: exp.Expr, table: NamedRows, environment: Mapping[str, _Cte], outer: RowScope | None
    ) -> NamedRows:
        """Return the table restricted by LIMIT, OFFSET and ORDER BY; tables that these clauses read count as read."""
        for clause in ("limit", "offset", "order"):
            argument = node.args.get(clause)
            if argument is None or (clause == "order" and isinstance(node, exp.Select)):
                continue
            nested = self._read_by(argument, environment, outer)
            if nested or clause != "order":
                table = opaque(table, f"{clause.upper()}{where(argument, self._text)}", *nested)
        return table

    def _read_by(self, node: exp.Expr, environment: Mapping[str, _Cte], outer: RowScope | None) -> list[NamedRows]:
        """Return, for each query nested in an expression, the rows that it may read; nothing else is known about it."""
        enclosing, self._nesting = self._nesting, environment
        try:
            queries = [
                child
                for item in ([node] if not isinstance(node, exp.Query) else node.iter_expressions())
                for child in outside_subqueries(item)
                if isinstance(child, exp.Query)
            ]
            return [opaque(self.query(child, environment, outer), "a nested query") for child in queries]
        finally:
            self._nesting = enclosing

    def _select(self, node: exp.Select, environment: Mapping[str, _Cte], outer: RowScope | None) -> NamedRows:
        """Translate a SELECT: FROM, WHERE and outputs.

        If the block goes beyond positive SQL, only the rows that it may read are kept, including those of its nested
        queries.
        """
        sources = self._from(node, environment, outer)
        condition = node.args.get("where")
        for conjunct in conjuncts(condition.this) if condition is not None else []:
            reason = filter_by(sources, conjunct, self, outer)
            if reason is not None:
                self._drop(sources, conjunct, reason, outer)
        columns, outputs = select_list(node, sources, self, outer)
        blocking = beyond_positive(node, self._text)
        if blocking is not None:
            for expression in beside_from(node):
                self._footprint_of_subqueries(sources, expression, outer)
        return self._assemble(node, sources, columns, outputs, blocking)

    def _assemble(
        self,
        node: exp.Select,
        sources: Sources,
        columns: tuple[str, ...],
        outputs: list[list[tuple[Output, ...]]],
        blocking: str | None,
    ) -> NamedRows:
        """Return the table of a SELECT, or only the rows that it may read if something prevents an exact translation.

        ``outputs`` has one tuple per row, in the order of the joined sources; ``blocking`` is the reason found in the
        block, if any.
        """
        if blocking is None and not sources.extras and len(sources.pieces) == 1:
            (piece,) = sources.pieces
            parts = tuple(
                tuple(replace(row, outputs=row_outputs) for row, row_outputs in zip(part, of_part, strict=True))
                for part, of_part in zip(piece.parts, outputs, strict=True)
            )
            reasons = (*piece.inexact, *sources.reasons)
            table = NamedRows(columns, parts, reasons, opaque=sources.dropped or piece.opaque)
            if node.args.get("distinct"):
                return self.distinct(table)
            return table if node.args.get("group") is None else self._grouped(node, sources, table)
        first, *other_pieces = [*sources.pieces, *sources.extras] or [NamedRows((), ())]
        reason = blocking or (sources.reasons[0] if sources.reasons else "an outer join")
        footprint = opaque(replace(first, columns=columns), reason, *other_pieces)
        return replace(footprint, inexact=tuple(dict.fromkeys((reason, *sources.reasons, *footprint.inexact))))

    def _grouped(self, node: exp.Select, sources: Sources, table: NamedRows) -> NamedRows:
        """Translate GROUP BY without aggregates: each combination of the grouping columns is counted once.

        If a key is computed, only the rows that the table may depend on are kept.
        """
        if table.opaque:
            return table
        if self._coarse(table):
            return opaque(table, _COARSE)
        (piece,) = sources.pieces
        keys = [self._group_key(item, node) for item in node.args["group"].expressions]
        rows: list[Disjunct] = []
        for part, shown_part in zip(piece.parts, table.parts, strict=True):
            for row, output in zip(part, shown_part, strict=True):
                scope = RowScope(self, sources, 0, row, None)
                key_columns = [scope.column(key) for key in keys if isinstance(key, exp.Column)]
                if len(key_columns) < len(keys) or not all(
                    isinstance(item, Variable | Constant) for item in key_columns
                ):
                    return opaque(table, f"GROUP BY with a computed key{where(node.args['group'], self._text)}")
                rows.append(replace(output, counted=shown(key_columns)))
        return replace(table, parts=(tuple(rows),) if rows else ())

    def _group_key(self, item: exp.Expr, node: exp.Select) -> exp.Expr:
        """Return the expression of a GROUP BY item; a number refers to a position in the SELECT list."""
        if isinstance(item, exp.Literal) and item.is_int and 0 < int(item.this) <= len(node.expressions):
            chosen: exp.Expr = node.expressions[int(item.this) - 1].unalias().unnest()
            return chosen
        return item.unnest()

    def _from(self, node: exp.Select, environment: Mapping[str, _Cte], outer: RowScope | None) -> Sources:
        """Return the FROM items of a SELECT, joined from left to right."""
        sources = Sources(self._text)
        clause = node.args.get("from_") or node.args.get("from")
        if clause is not None:
            self._add(sources, clause.this, environment, outer)
            for join in [*(clause.this.args.get("joins") or []), *(node.args.get("joins") or [])]:
                self._join(sources, join, environment, outer)
            for lateral in node.args.get("laterals") or []:
                self._add(sources, lateral, environment, outer)
        if not sources.pieces:
            sources.pieces.append(NamedRows((), ((Disjunct(Alternative(), (), ()),),)))
            sources.supplied.append(False)
        return sources

    def _add(
        self,
        sources: Sources,
        node: exp.Expr,
        environment: Mapping[str, _Cte],
        outer: RowScope | None,
        nullable: bool = False,
    ) -> None:
        """Add a FROM item and the joins nested in it; ``nullable`` if an outer join may replace its columns by NULL."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            inner = [*(node.this.args.get("joins") or []), *(node.args.get("joins") or [])]
            if nullable and inner:
                raise PolicyError(
                    f"A parenthesised join on the optional side of an outer join{where(node, self._text)} is not supported; write it as a subquery with its own SELECT."
                )
            self._add(sources, node.this, environment, outer, nullable)
            for join in inner:
                self._join(sources, join, environment, outer)
            return
        alias, table, wildcard = self._item(sources, node, environment, outer)
        sources.add(alias, table, wildcard, nullable)

    def _item(
        self, sources: Sources, node: exp.Expr, environment: Mapping[str, _Cte], outer: RowScope | None
    ) -> tuple[str, NamedRows, bool]:
        """Return the alias, the rows, and whether any column name is accepted, of one FROM item."""
        alias = node.alias_or_name
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            table = self._named(node, environment, outer)
            if node.args.get("sample"):
                table = opaque(table, f"TABLESAMPLE{where(node, self._text)}")
        elif isinstance(node, exp.Subquery):
            table = self.query(node, environment, outer)
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            scope = RowScope(self, sources, -2, None, outer)
            table = opaque(self.query(node.this, environment, scope), f"LATERAL{where(node, self._text)}")
        elif isinstance(node, exp.Values | exp.Unnest | exp.Lateral):
            scope = RowScope(self, sources, -2, None, outer)
            table = NamedRows(
                (), ((Disjunct(Alternative(), (Hidden("values"),), ()),),), ("a list of values",), opaque=True
            )
            sources.extras += self._read_by(node, environment, scope)
            return alias, table, True
        else:
            raise PolicyError(
                f"The FROM clause uses {node.sql()[:60]!r}{where(node, self._text)}, which may read anything; only tables, views and subqueries are supported."
            )
        names = node.args["alias"].args.get("columns") if node.args.get("alias") else None
        if names:
            renamed = (*(name.name for name in names), *table.columns[len(names) :])
            table = replace(table, columns=renamed[: len(table.columns)])
        return alias, table, False

    def _named(self, node: exp.Table, environment: Mapping[str, _Cte], outer: RowScope | None) -> NamedRows:
        """Return the rows of a table, view or common table expression that the FROM clause names."""
        name = relation_name(node)
        cte = environment.get(name.lower())
        if cte is not None:
            return self._cte(name, cte, node)
        relation = self._schema.find(name)
        if relation is not None:
            return self._scan(relation, node)
        stored = self._schema.find_view(name)
        if stored is None:
            known_names = [*(item.name for item in self._schema.relations.values()), *self._schema.views, *environment]
            raise PolicyError(
                f"There is no table or view {name!r}{where(node, self._text)}.{did_you_mean(name, known_names)} "
                "Declare it in the schema, or correct the name."
            )
        return self._stored(name, stored)

    def _cte(self, name: str, cte: _Cte, node: exp.Table) -> NamedRows:
        """Return the rows of a common table expression; of a recursive one, and of VALUES, only which rows it reads."""
        if cte.recursive:
            inner = {**cte.environment, name.lower(): _Cte(exp.Values(), cte.columns, {}, False)}
            table = opaque(self.query(cte.node, inner, None), f"a recursive query{where(node, self._text)}")
        elif isinstance(cte.node, exp.Values):
            hidden = tuple(Hidden("values") for _ in cte.columns)
            return NamedRows(
                cte.columns, ((Disjunct(Alternative(), hidden, ()),),), ("a recursive query",), opaque=True
            )
        else:
            table = self.query(cte.node, cte.environment, None)
        return replace(table, columns=(*cte.columns, *table.columns[len(cte.columns) :])) if cte.columns else table

    def with_failures(self, table: NamedRows, reasons: Sequence[str]) -> NamedRows:
        """Return the table; if an expression may fail, as one that any row of a scanned table may change, because an
        error shows without an answer.
        """
        if not reasons:
            return table
        self._scans += 1
        everything = [self._rows(relation, name) for name, relation in self.scanned.items()]
        return opaque(table, reasons[0], *everything)

    def _stored(self, name: str, text: str) -> NamedRows:
        """Translate a stored view, with its own text for error positions."""
        (statement,) = parse_statements(text, self.dialect, f"The view {name}")
        inner = Translator(self._schema, text, self.dialect)
        inner._columns, inner._scans, inner.scanned = self._columns, self._scans, self.scanned
        table = inner.query(body_of(statement), {}, None)
        self._scans = inner._scans
        unknown = (*unknown_functions(statement, text), *inner.boundless)
        self.boundless += [f"{reason} of the view {name}" for reason in unknown]
        failing = (*may_fail(body_of(statement), text, self.dialect, self._schema, output_shown=False), *inner.failing)
        self.failing += [f"{reason} of the view {name}" for reason in failing]
        declared_columns = statement.this.expressions if isinstance(statement.this, exp.Schema) else []
        columns = tuple(item.name for item in declared_columns) or table.columns
        reasons = tuple(f"{reason} of the view {name}" for reason in table.inexact)
        return replace(table, columns=columns, inexact=reasons)

    def _scan(self, relation: Relation, node: exp.Table) -> NamedRows:
        """Return the rows of a table that the query reads. Raises if it reads too many."""
        self._scans += 1
        if self._scans > SCANS:
            raise PolicyError(f"The query reads more than {SCANS} tables once its views are written out; split it.")
        self.scanned[relation.name] = relation
        self.boundless += relation.reads
        return self._rows(relation, node.alias_or_name)

    def _rows(self, relation: Relation, alias: str) -> NamedRows:
        """Return all rows of a table, with a new variable for each column."""
        variables = tuple(Variable(f"{alias}.{column.name}#{self._scans}") for column in relation.columns)
        self._columns.update(zip(variables, relation.columns, strict=True))
        row = Disjunct(Alternative(atoms=(Atom(relation.name, variables, alias),)), variables, variables)
        return NamedRows(tuple(column.name for column in relation.columns), ((row,),))

    def _join(self, sources: Sources, join: exp.Join, environment: Mapping[str, _Cte], outer: RowScope | None) -> None:
        """Add a join to the sources.

        Tables on the optional side of an outer join stay apart from the others (in ``pieces`` of their own), because
        rows of NULLs may replace them; a condition restricts only pieces whose rows it can exclude.
        """
        side = (join.side or "").upper()
        kind = (join.kind or "").upper()
        before = set(range(len(sources.pieces)))
        count = len(sources.items)
        if kind in ("SEMI", "ANTI", "ASOF") or (join.method or "").upper() == "ASOF":
            side, kind = "FULL", kind
            sources.reasons.append(f"a {kind or 'ASOF'} join{where(join, self._text)}")
        if side in ("RIGHT", "FULL"):
            sources.supply_everything()
        self._add(sources, join.this, environment, outer, nullable=bool(side))
        added = set(range(len(sources.pieces))) - before
        if side:
            sources.reasons.append(f"a {side} outer join{where(join, self._text)}")
            if side == "RIGHT" and added:
                sources.supplied[max(added)] = False
        only = {"": None, "LEFT": added, "RIGHT": before, "FULL": set()}[side]
        for condition in join_conditions(sources, join, count):
            reason = filter_by(sources, condition, self, outer, only)
            if reason is not None and not side:
                self._drop(sources, condition, reason, outer)
            elif reason is not None:
                self._footprint_of_subqueries(sources, condition, outer)
        if side == "RIGHT" and added:
            sources.promote(max(added))

    def _drop(self, sources: Sources, conjunct: exp.Expr, reason: str, outer: RowScope | None) -> None:
        """Leave a condition out of the translation, note why, and record what its nested queries read."""
        sources.reasons.append(reason)
        sources.dropped = True
        self._footprint_of_subqueries(sources, conjunct, outer)

    def _footprint_of_subqueries(self, sources: Sources, node: exp.Expr | None, outer: RowScope | None) -> None:
        """Add to the sources whatever the queries nested in ``node`` read, because the answer may depend on it."""
        scope = RowScope(self, sources, -2, None, outer)
        for nested in outside_subqueries(node):
            if isinstance(nested, exp.Query):
                table = self.query(nested, self._nesting, scope)
                sources.extras.append(opaque(table, "a nested query"))
