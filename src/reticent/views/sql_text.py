"""Conjunctive queries as SQL text, for replaying Datalog and for showing repairs."""

from __future__ import annotations

from collections.abc import Sequence

from reticent.views.constants import Constant
from reticent.views.queries import Atom, ConjunctiveQuery, Query, Term, Variable
from reticent.views.schema import Schema


def table_name(relation: str) -> str:
    """Return the name of a relation as one quoted identifier."""
    return quoted(relation.replace(".", "__"))


def quoted(name: str) -> str:
    """Return a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def to_sql(query: Query, schema: Schema) -> str:
    """Return SQL for the head tuples of a query, each tuple of a union once.

    The head of a query that counts duplicates lists all that is counted, so these sets determine the answers.
    """
    parts = ["\nUNION\n".join(select(rule, schema, True) for rule in part.disjuncts) for part in query.parts]
    if not parts:
        return "SELECT 1 WHERE 1 = 0"
    if len(parts) == 1:
        return parts[0]
    return "\nUNION ALL\n".join(f"SELECT * FROM ({part})" for part in parts)


def select(rule: ConjunctiveQuery, schema: Schema, distinct: bool) -> str:
    """Return one rule as a readable SELECT of its head."""
    aliases = _aliases(rule.body)
    column_of: dict[Variable, str] = {}
    conditions: list[str] = []
    for atom, alias in zip(rule.body, aliases, strict=True):
        for term, column in zip(atom.terms, schema.relation(atom.relation).columns, strict=True):
            column_text = f"{quoted_if_needed(alias)}.{quoted_if_needed(column.name)}"
            if isinstance(term, Constant):
                conditions.append(f"{column_text} IS NULL" if term.kind == "null" else f"{column_text} = {term}")
            elif term in column_of:
                equality = "=" if term in rule.known or not column.nullable else "IS NOT DISTINCT FROM"
                conditions.append(f"{column_of[term]} {equality} {column_text}")
            else:
                column_of[term] = column_text
                if term in rule.known and column.nullable:
                    conditions.append(f"{column_text} IS NOT NULL")

    def show(term: Term) -> str:
        return column_of[term] if isinstance(term, Variable) else str(term)

    for item in rule.comparisons:
        operator = item.operator if item.operator != "!=" else "<>"
        if item.operator == "!=" and not all(_certain(term, rule, schema) for term in (item.left, item.right)):
            operator = "IS DISTINCT FROM"
        conditions.append(f"{show(item.left)} {operator} {show(item.right)}")
    output = [show(term) for term in rule.head] or ["1"]
    tables = ", ".join(
        f"{quoted_if_needed(atom.relation)} AS {quoted_if_needed(alias)}"
        for atom, alias in zip(rule.body, aliases, strict=True)
    )
    text = f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(output)} FROM {tables}"
    return text + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def _certain(term: Term, rule: ConjunctiveQuery, schema: Schema) -> bool:
    """True if the term cannot be NULL, so that ``<>`` and "is not the same" agree."""
    if isinstance(term, Constant):
        return term.kind != "null"
    columns = [
        column
        for atom in rule.body
        for atom_term, column in zip(atom.terms, schema.relation(atom.relation).columns, strict=True)
        if atom_term == term
    ]
    return term in rule.known or any(not column.nullable for column in columns)


def quoted_if_needed(name: str) -> str:
    """Return the identifier as is if every SQL dialect accepts it, else quoted."""
    if "." in name:
        return table_name(name)
    return name if name.isidentifier() and name.isascii() and name.upper() not in _RESERVED else quoted(name)


def _aliases(body: Sequence[Atom]) -> list[str]:
    """Return a distinct alias for every subgoal."""
    aliases: list[str] = []
    for number, atom in enumerate(body):
        alias_wanted = atom.alias or f"t{number}"
        while alias_wanted.lower() in {alias.lower() for alias in aliases}:
            alias_wanted += "_"
        aliases.append(alias_wanted)
    return aliases


_RESERVED = frozenset(
    [
        "ALL",
        "AND",
        "AS",
        "ASC",
        "BETWEEN",
        "BY",
        "CASE",
        "CHECK",
        "COLUMN",
        "CREATE",
        "CROSS",
        "DEFAULT",
        "DELETE",
        "DESC",
        "DISTINCT",
        "DROP",
        "ELSE",
        "END",
        "EXCEPT",
        "EXISTS",
        "FALSE",
        "FOR",
        "FOREIGN",
        "FROM",
        "FULL",
        "GROUP",
        "HAVING",
        "IN",
        "INDEX",
        "INNER",
        "INSERT",
        "INTERSECT",
        "INTO",
        "IS",
        "JOIN",
        "KEY",
        "LEFT",
        "LIKE",
        "LIMIT",
        "NATURAL",
        "NOT",
        "NULL",
        "OFFSET",
        "ON",
        "OR",
        "ORDER",
        "OUTER",
        "PRIMARY",
        "REFERENCES",
        "RIGHT",
        "SELECT",
        "SET",
        "TABLE",
        "THEN",
        "TO",
        "TRUE",
        "UNION",
        "UNIQUE",
        "UPDATE",
        "USER",
        "USING",
        "VALUES",
        "VIEW",
        "WHEN",
        "WHERE",
        "WITH",
    ]
)
