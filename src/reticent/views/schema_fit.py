"""Type queries by the schema: convert constants to column types, and drop unsatisfiable disjuncts."""

from __future__ import annotations

import re
from dataclasses import replace

from reticent.errors import PolicyError
from reticent.views.constants import Constant, DependsOnDatabase, order_key
from reticent.views.queries import Atom, ConjunctiveQuery, Query, Term, TermComparison, Union, Variable
from reticent.views.row_rules import alternatives
from reticent.views.schema import Schema, SchemaColumn


class _Impossible(Exception):
    """This disjunct has no answer on any database; the message is the reason."""


def fit(query: Query, schema: Schema) -> Query:
    """Return ``query`` with every constant as its column stores it, and without unsatisfiable disjuncts.

    A query that loses all its disjuncts is always empty, so no row is critical to it: a warning explains why.
    """
    warnings: list[str] = []
    parts = []
    for part in query.parts:
        satisfiable = []
        for disjunct in part.disjuncts:
            fitting, reasons = [], []
            for alternative in alternatives(disjunct, schema):
                try:
                    fitting.append(_fit_disjunct(alternative, schema))
                except _Impossible as reason:
                    reasons.append(str(reason))
            if not fitting:
                explanation = reasons[0] if reasons else "no row satisfies the CHECK constraints and it"
                warnings.append(f"{query.name}: a disjunct can have no answer, because {explanation}.")
            satisfiable += fitting
        if satisfiable:
            parts.append(Union(tuple(dict.fromkeys(satisfiable))))
    if not parts:
        warnings.append(f"{query.name} is empty on every database, so it shows nothing and has nothing to hide.")
    return replace(query, parts=tuple(parts), warnings=(*query.warnings, *dict.fromkeys(warnings)))


def _fit_disjunct(query: ConjunctiveQuery, schema: Schema) -> ConjunctiveQuery:
    """Convert the constants of one disjunct to the types of their columns; raises if no row can satisfy it."""
    columns: dict[Variable, list[SchemaColumn]] = {}
    body = tuple(_fit_atom(atom, schema, columns) for atom in query.body)
    comparisons = []
    for item in query.comparisons:
        fitted = _fit_comparison(item, columns)
        if fitted is not None:
            comparisons.append(fitted)
    for variable, columns_of_variable in columns.items():
        _check_shared_domain(variable, columns_of_variable)
    return ConjunctiveQuery(query.head, tuple(dict.fromkeys(body)), tuple(dict.fromkeys(comparisons)), query.known)


def _fit_atom(atom: Atom, schema: Schema, columns: dict[Variable, list[SchemaColumn]]) -> Atom:
    """Convert the constants of one subgoal to the types of their columns, and record the columns of each variable."""
    relation = schema.relation(atom.relation)
    if len(relation.columns) != len(atom.terms):
        raise PolicyError(
            f"{atom} has {len(atom.terms)} terms, but {relation.name} has {len(relation.columns)} columns "
            f"({', '.join(column.name for column in relation.columns)})."
        )
    terms: list[Term] = []
    for term, column in zip(atom.terms, relation.columns, strict=True):
        if isinstance(term, Variable):
            columns.setdefault(term, []).append(column)
            terms.append(term)
            continue
        try:
            stored = column.read(term)
        except DependsOnDatabase as error:
            raise PolicyError(
                f"{relation.name}.{column.name}: {error}. Write a constant that every database reads in the same way."
            ) from None
        except ValueError:
            stored = None
        if stored is None or not column.holds(stored):
            raise _Impossible(f"{relation.name}.{column.name} cannot be {term}")
        terms.append(stored)
    return Atom(relation.name, tuple(terms), atom.alias)


def _fit_comparison(item: TermComparison, columns: dict[Variable, list[SchemaColumn]]) -> TermComparison | None:
    """Return the comparison with typed constants; None if it always holds."""
    left, right = item.left, item.right
    if isinstance(left, Constant) and isinstance(right, Variable):
        left = _read(left, columns[right], item)
    if isinstance(right, Constant) and isinstance(left, Variable):
        right = _read(right, columns[left], item)
    if isinstance(left, Constant) and isinstance(right, Constant):
        if not _holds(left, item.operator, right):
            raise _Impossible(f"{_shown(item)} never holds")
        return None
    if left == right and item.operator != "<=":
        raise _Impossible(f"{_shown(item)} never holds")
    if "null" in (getattr(left, "kind", ""), getattr(right, "kind", "")) and item.operator != "!=":
        raise _Impossible(f"{_shown(item)} compares with NULL")
    return replace(item, left=left, right=right)


def _read(constant: Constant, columns: list[SchemaColumn], item: TermComparison) -> Constant:
    """Return a constant in the type of the columns that it is compared with."""
    typed = [column for column in columns if column.kind]
    if not typed:
        return constant
    try:
        return typed[0].read(constant)
    except ValueError:
        if item.operator == "!=":
            return constant
        raise PolicyError(
            f"{_shown(item)} compares the {typed[0].kind} column {typed[0].name} with {constant}; "
            f"write a {typed[0].kind} instead."
        ) from None


def _shown(item: TermComparison) -> str:
    """Return the comparison without the numbers that distinguish equal column names of one SQL text."""
    return re.sub(r"#\d+", "", f"{item.left} {item.operator} {item.right}")


def _holds(left: Constant, operator: str, right: Constant) -> bool:
    """Return the truth of a comparison of two constants."""
    if operator == "!=":
        return left != right
    if "null" in (left.kind, right.kind):
        return False
    if left.kind != right.kind:
        raise PolicyError(f"{left} {operator} {right} compares a {left.kind} with a {right.kind}; use one type.")
    low, high = order_key(left), order_key(right)
    return bool(low < high or (operator == "<=" and low == high))


def _check_shared_domain(variable: Variable, columns: list[SchemaColumn]) -> None:
    """Raise if joined columns with finite domains have no value in common."""
    finite = [set(column.domain) for column in columns if column.domain is not None]
    nullable = all(column.nullable for column in columns)
    if finite and not nullable and not set.intersection(*finite):
        names = ", ".join(column.name for column in columns)
        raise _Impossible(f"the columns joined by {variable} ({names}) have no value in common")
