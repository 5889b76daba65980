"""A collision in words: which table, which rows."""

from __future__ import annotations

from reticent.views.collision import Collision
from reticent.views.integer_queries import Codebook, Fact
from reticent.views.schema import Schema


def pattern_text(collision: Collision, book: Codebook, of_view: bool = False) -> str:
    """Return the colliding row as a subgoal: ``D(p,'cancer',m,1212)``."""
    return f"{collision.relation}({','.join(_names(collision, collision.pattern(of_view), book))})"


def reading(collision: Collision, schema: Schema, book: Codebook) -> str:
    """Return one sentence on which rows both queries read."""
    relation = schema.relation(collision.relation)
    pattern = collision.pattern()
    conditions = _conditions(collision, pattern, schema, book)
    if set(collision.meeting.columns) == set(range(len(relation.columns))):
        rows = f"rows of {relation.name}{_where(conditions)}"
        return f"Both queries depend on {rows}."
    other = _conditions(collision, collision.pattern(of_view=True), schema, book)
    shared = ", ".join(relation.columns[column].name for column in collision.meeting.columns) or "nothing at all"
    return (
        f"The secret depends on rows of {relation.name}{_where(conditions)}, the view on rows of {relation.name}"
        f"{_where(other)}; a key lets only one row have the same {shared}."
    )


def _where(conditions: list[str]) -> str:
    return f" where {' and '.join(conditions)}" if conditions else " (any row)"


def _conditions(collision: Collision, pattern: Fact, schema: Schema, book: Codebook) -> list[str]:
    """Return the conditions on the columns of a critical row: constants, equal columns and comparisons."""
    columns = schema.relation(collision.relation).columns
    conditions = []
    first: dict[int, str] = {}
    for column, code in zip(columns, pattern, strict=True):
        if code < 0:
            item = book.constant(code)
            conditions.append(f"{column.name} is NULL" if item.kind == "null" else f"{column.name} = {item}")
        elif code in first:
            conditions.append(f"{first[code]} = {column.name}")
        else:
            first[code] = column.name
    return conditions + _comparisons(collision, first, book)


def _comparisons(collision: Collision, names: dict[int, str], book: Codebook) -> list[str]:
    """Return the comparisons of both queries that involve the row alone."""
    conditions = []
    for query in (collision.secret, collision.view):
        for operator, left, right in query.comparisons:
            sides = [collision.classes.find(code) for code in (left, right)]
            if all(code < 0 or code in names for code in sides) and any(code in names for code in sides):
                texts = [str(book.constant(code)) if code < 0 else names[code] for code in sides]
                conditions.append(f"{texts[0]} {operator} {texts[1]}")
    return list(dict.fromkeys(conditions))


def _names(collision: Collision, pattern: Fact, book: Codebook) -> list[str]:
    """Return the variables and constants of a critical row in words."""
    labels: dict[int, str] = {}
    for query in (collision.secret, collision.view):
        for number, name in enumerate(query.names):
            labels.setdefault(collision.classes.find(query.offset + number), name.split("#")[0])
    return [str(book.constant(code)) if code < 0 else labels[code] for code in pattern]
