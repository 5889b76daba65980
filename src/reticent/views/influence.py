"""The rows of each table that influence a query."""

from __future__ import annotations

from dataclasses import dataclass

from reticent.errors import PolicyError
from reticent.views.budget import NODES, SECONDS, SearchBudget
from reticent.views.checker import Checker
from reticent.views.collision import find_collision
from reticent.views.critical import CriticalSubgoals, Signature
from reticent.views.datalog import parse_atom
from reticent.views.integer_queries import Codebook, Fact, encode
from reticent.views.queries import Atom, ConjunctiveQuery, Query, Union, Variable
from reticent.views.schema import Schema
from reticent.views.schema_fit import fit


@dataclass(frozen=True)
class Pattern:
    """A pattern of critical rows: a table of the query, and the conditions on its rows to be critical.

    ``exact`` is False if comparisons, finite domains or NULL further restrict the critical rows.
    """

    relation: str
    text: str
    conditions: tuple[str, ...]
    exact: bool


def critical_rows(query: Query, schema: Schema, *, nodes: int = NODES, seconds: float = SECONDS) -> tuple[Pattern, ...]:
    """Return the patterns of rows that can change the query's answer, without those that a more general pattern covers."""
    checker = Checker(schema, nodes=nodes, seconds=seconds)
    budget = SearchBudget(nodes, seconds)
    patterns: dict[Pattern, None] = {}
    for signature in checker.signatures(query, budget):
        for relation in sorted(signature.relations):
            live = signature.live(relation, budget)
            for item in live:
                if not any(_covers(other, item) for other in live if other is not item):
                    patterns[_pattern(item, signature, schema, checker.setting.book)] = None
    return tuple(patterns)


def is_critical(query: Query, row: Atom | str, schema: Schema) -> bool:
    """True if adding this row can change the query's answer: ``D(135,'cancer','RX2',2312)``."""
    atom = parse_atom(row) if isinstance(row, str) else row
    if any(isinstance(term, Variable) for term in atom.terms):
        raise PolicyError(f"{atom} has variables; a row has a constant in every column.")
    row_query = fit(Query("row", (Union((ConjunctiveQuery((), (atom,)),)),)), schema)
    checker = Checker(schema)
    budget = SearchBudget()
    row_signatures = [Signature(union, checker.setting) for union in encode(row_query, schema, checker.setting.book)]
    return any(
        find_collision(signature, other, budget, same_row=True) is not None
        for signature in checker.signatures(query, budget)
        for other in row_signatures
    )


def _covers(general: CriticalSubgoals, special: CriticalSubgoals) -> bool:
    """True if every row of one pattern matches the other; of two equal ones the smaller set is kept."""
    image: dict[int, int] = {}
    for general_code, special_code in zip(general.pattern, special.pattern, strict=True):
        if (general_code if general_code < 0 else image.setdefault(general_code, special_code)) != special_code:
            return False
    is_equivalent = len(set(image.values())) == len(image) and all(value >= 0 for value in image.values())
    return not is_equivalent or (general.disjunct, sorted(general.gamma)) < (special.disjunct, sorted(special.gamma))


def _pattern(live: CriticalSubgoals, signature: Signature, schema: Schema, book: Codebook) -> Pattern:
    """Return subgoals that one critical row can match as a readable pattern: column values, equal columns and
    comparisons.
    """
    query = signature.union.disjuncts[live.disjunct]
    names = {live.classes.find(code): name.split("#")[0] for code, name in reversed(list(enumerate(query.names)))}
    texts = [str(book.constant(code)) if code < 0 else names[code] for code in live.pattern]
    columns = [column.name for column in schema.relation(live.relation).columns]
    conditions = [
        f"{column} = {text}" for column, text, code in zip(columns, texts, live.pattern, strict=True) if code < 0
    ]
    conditions += _repeats(live.pattern, columns)
    conditions += [
        f"{_side(left, live, names, book)} {operator} {_side(right, live, names, book)}"
        for operator, left, right in query.comparisons
        if all(code < 0 or live.classes.find(code) in live.pattern for code in (left, right))
    ]
    return Pattern(live.relation, f"{live.relation}({','.join(texts)})", tuple(conditions), signature.plain)


def _side(code: int, live: CriticalSubgoals, names: dict[int, str], book: Codebook) -> str:
    root = live.classes.find(code)
    return str(book.constant(root)) if root < 0 else names[root]


def _repeats(pattern: Fact, columns: list[str]) -> list[str]:
    """Return the equalities between columns that a pattern requires."""
    first: dict[int, str] = {}
    equalities = []
    for code, column in zip(pattern, columns, strict=True):
        if code >= 0 and first.setdefault(code, column) != column:
            equalities.append(f"{first[code]} = {column}")
    return equalities
