"""The class of a query, and the resulting running-time bound. Source: [Machanavajjhala2006].

Classes matter for speed and reports only: verdicts never depend on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from reticent.views.acyclic import is_acyclic, join_tree
from reticent.views.integer_queries import CodedQuery
from reticent.views.schema import Schema

_WIDTH_EFFORT = 400
_WIDTH_SUBGOALS = 16
_EXAMINED_SUBGOALS = 200
_COST_INSIDE = {
    "at most one self-join": "n^2 r",
    "acyclic": "r n^2 log n",
    "width 2": "4 r n^3 log n",
}


@dataclass(frozen=True, slots=True)
class QueryClass:
    """The structural properties of a conjunctive query.

    ``blocking`` is the relaxed maximal-row test: every row has, compared with each other row of its relation, a column
    with a constant where the other has another constant or a variable that is not in the row. ``width`` is a heuristic
    upper bound on the query width [Chekuri1997], None if none up to 2 was found.
    """

    no_self_joins: bool
    tableau: bool
    simple_tableau: bool
    maximal_row: bool
    blocking: bool
    one_self_join: bool
    acyclic: bool
    acyclic_without_head: bool
    width: int | None
    subgoals: int
    rows_per_relation: int
    comparisons: bool

    def names(self) -> tuple[str, ...]:
        """The classes that apply, the cheapest first."""
        flags = {
            "no self-joins": self.no_self_joins,
            "maximal-row tableau": self.maximal_row,
            "blocking rows": self.blocking,
            "at most one self-join": self.one_self_join,
            "simple tableau": self.simple_tableau,
            "acyclic": self.acyclic,
            "acyclic without head": self.acyclic_without_head and not self.acyclic,
            "width 2": self.width == 2,
            "tableau": self.tableau,
            "comparisons": self.comparisons,
        }
        return tuple(name for name, holds in flags.items() if holds) or ("general",)


def classify(query: CodedQuery, schema: Schema) -> QueryClass:
    """Return the class of a conjunctive query; simple tableaux [Aho1979] are recognised, but no polynomial bound is
    claimed for them.

    Corrected: Theorem 2.13 as quoted in [Machanavajjhala2008] (containment of any two simple tableaux in polynomial
    time) cannot hold unless P = NP: they can encode 3-colouring. Rows of very long queries are not compared with each
    other.
    """
    counts = Counter(atom.relation for atom in query.atoms)
    most_rows = max(counts.values(), default=0)
    tableau = _is_tableau(query, schema)
    acyclic = is_acyclic(query)
    short = len(query.atoms) <= _EXAMINED_SUBGOALS
    return QueryClass(
        no_self_joins=most_rows <= 1,
        tableau=tableau,
        simple_tableau=tableau and _is_simple(query, schema),
        maximal_row=short and tableau and not _has_smaller_row(query),
        blocking=short and all(is_blocking(query, index) for index in range(len(query.atoms))),
        one_self_join=most_rows <= 2,
        acyclic=acyclic,
        acyclic_without_head=is_acyclic(query, query.head),
        width=1 if acyclic else (2 if len(query.atoms) <= _WIDTH_SUBGOALS and _has_width_two(query) else None),
        subgoals=len(query.atoms),
        rows_per_relation=most_rows,
        comparisons=bool(query.comparisons),
    )


def bound(secret: QueryClass, view: QueryClass) -> str:
    """Return, as text, the running-time bound for deciding whether the view discloses anything about the secret, given the classes of both queries.

    n is the number of subgoals of both, r of columns, m of relations, k of subgoals of one query over the same relation. A query is blocking if every row that matches a subgoal is critical. Source:
    [Machanavajjhala2008]; Table 2.1 calls k "self-joins per relation", but Theorem 2.14 needs the subgoals.
    """
    if secret.comparisons or view.comparisons:
        return "no polynomial bound: comparisons make containment harder than NP; the budget decides"
    if secret.no_self_joins and view.no_self_joins:
        return "O(n r)"
    if secret.blocking and view.blocking:
        return "O(n^2 r)"
    inside = max((_inside(item) for item in (secret, view) if not item.blocking), key=len)
    if secret.blocking or view.blocking:
        other = view if secret.blocking else secret
        if other.one_self_join:
            return "O(n n^2 r)"
        return f"O(n 2^k {inside}), k = {other.rows_per_relation}"
    if secret.one_self_join and view.one_self_join:
        return "O(n^3 r)"
    k = max(secret.rows_per_relation, view.rows_per_relation)
    return f"O(m 2^(2k) {inside}), k = {k}"


def is_blocking(query: CodedQuery, index: int) -> bool:
    """True if every row that matches this subgoal is critical, by a sufficient test.

    Each other subgoal of the table must have, against some constant of this one, another constant or a variable that
    this one lacks.
    """
    row = query.atoms[index]
    own_variables = {code for code in row.terms if code >= 0}
    for other_index in query.places[row.relation]:
        if other_index == index:
            continue
        other = query.atoms[other_index].terms
        if not any(
            own_code < 0 and other_code != own_code and other_code not in own_variables
            for own_code, other_code in zip(row.terms, other, strict=True)
        ):
            return False
    return True


def _inside(item: QueryClass) -> str:
    return next(
        (_COST_INSIDE[name] for name in item.names() if name in _COST_INSIDE), "(n r + exponential containment)"
    )


def _columns(query: CodedQuery, schema: Schema) -> dict[str, list[int]]:
    """Return the symbols of each attribute; a name in several relations is one attribute."""
    columns: dict[str, list[int]] = {}
    for atom in query.atoms:
        for column, code in zip(schema.relation(atom.relation).columns, atom.terms, strict=True):
            columns.setdefault(column.name.lower(), []).append(code)
    return columns


def _is_tableau(query: CodedQuery, schema: Schema) -> bool:
    """Return whether no variable occurs in two different columns."""
    home: dict[int, str] = {}
    return all(
        home.setdefault(code, name) == name
        for name, codes in _columns(query, schema).items()
        for code in codes
        if code >= 0
    )


def _is_simple(query: CodedQuery, schema: Schema) -> bool:
    """True if in each column at most one symbol repeats, or only constants and head variables do."""
    head_codes = set(query.head)
    for codes in _columns(query, schema).values():
        repeated = [code for code, count in Counter(codes).items() if count > 1]
        if len(repeated) > 1 and any(code >= 0 and code not in head_codes for code in repeated):
            return False
    return True


def _has_smaller_row(query: CodedQuery) -> bool:
    """True if, of two subgoals about one table, one has all constants of the other, column by column."""
    for first, second in combinations(query.atoms, 2):
        if first.relation == second.relation and (
            _below(first.terms, second.terms) or _below(second.terms, first.terms)
        ):
            return True
    return False


def _below(small: Iterable[int], large: Iterable[int]) -> bool:
    return all(low == high for low, high in zip(small, large, strict=True) if low < 0)


def _has_width_two(query: CodedQuery) -> bool:
    """True if merging some subgoals in pairs makes the query acyclic: sufficient, not necessary."""
    edges = [frozenset(code for code in atom.terms if code >= 0) for atom in query.atoms]
    effort = 0

    def pair_up(merged: list[frozenset[int]], unpaired: list[frozenset[int]]) -> bool:
        """True if some pairing of ``unpaired`` edges gives an acyclic hypergraph with the ``merged`` ones. The effort
        is limited.
        """
        nonlocal effort
        effort += 1
        if effort > _WIDTH_EFFORT:
            return False
        if join_tree([*merged, *unpaired]) is not None:
            return True
        if len(unpaired) < 2:
            return False
        first, *rest = unpaired
        for index, other in enumerate(rest):
            if pair_up([*merged, first | other], rest[:index] + rest[index + 1 :]):
                return True
        return pair_up([*merged, first], rest)

    return pair_up([], edges)
