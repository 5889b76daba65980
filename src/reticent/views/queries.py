"""Conjunctive queries and their unions: immutable, validated on construction.

Every query is evaluated with *set* semantics. Bag semantics is reduced to it by a longer head: the head of a query that
returns duplicates also lists everything that is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from reticent.errors import PolicyError
from reticent.views.constants import Constant

OPERATORS = ("<", "<=", "!=")
_FLIPPED = {">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of one query."""

    name: str

    def __str__(self) -> str:
        return self.name


Term = Variable | Constant


@dataclass(frozen=True, slots=True)
class Atom:
    """One subgoal: a relation and a term for every column; ``alias`` is its name in the SQL text."""

    relation: str
    terms: tuple[Term, ...]
    alias: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.relation}({','.join(map(str, self.terms))})"

    def variables(self) -> Iterator[Variable]:
        """Yield the variables of the subgoal, with repeats."""
        return (term for term in self.terms if isinstance(term, Variable))


@dataclass(frozen=True, slots=True)
class TermComparison:
    """``left operator right`` with ``<``, ``<=`` or ``!=``; a NULL satisfies neither ``<`` nor ``<=``.

    ``!=`` means "is not the same value" (a NULL differs from every other value); for SQL's ``<>``, the query lists the
    variables as :attr:`ConjunctiveQuery.known`. With ``by_code_point``, texts are compared by code point whatever their
    collation, as for a prefix search.
    """

    left: Term
    operator: str
    right: Term
    by_code_point: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise PolicyError(f"A comparison's operator must be one of {', '.join(OPERATORS)}, not {self.operator!r}.")

    def __str__(self) -> str:
        return f"{self.left}{self.operator}{self.right}"

    def variables(self) -> Iterator[Variable]:
        """Yield the variables compared."""
        return (term for term in (self.left, self.right) if isinstance(term, Variable))


def comparison(left: Term, operator: str, right: Term) -> TermComparison:
    """Return a comparison in any of ``< <= > >= !=``, normalized to ``<``, ``<=`` and ``!=``."""
    if operator in _FLIPPED:
        return TermComparison(right, _FLIPPED[operator], left)
    return TermComparison(left, operator, right)


@dataclass(frozen=True, slots=True)
class ConjunctiveQuery:
    """``head :- body, comparisons``; ``known`` are variables that the query requires to be non-NULL."""

    head: tuple[Term, ...]
    body: tuple[Atom, ...]
    comparisons: tuple[TermComparison, ...] = ()
    known: frozenset[Variable] = frozenset()

    def __post_init__(self) -> None:
        bound = {variable for atom in self.body for variable in atom.variables()}
        for term in self.head:
            if isinstance(term, Variable) and term not in bound:
                raise PolicyError(f"The head variable {term} occurs in no subgoal of the query; add a subgoal with it.")
        for item in self.comparisons:
            for variable in item.variables():
                if variable not in bound:
                    raise PolicyError(f"The variable {variable} of {item} occurs in no subgoal of the query.")

    def __str__(self) -> str:
        body = [*map(str, self.body), *map(str, self.comparisons)]
        return f"Q({','.join(map(str, self.head))}) :- {', '.join(body)}"

    def variables(self) -> list[Variable]:
        """Return the distinct variables of the body, in order."""
        return list(dict.fromkeys(variable for atom in self.body for variable in atom.variables()))


@dataclass(frozen=True, slots=True)
class Union:
    """A union of conjunctive queries with heads of one length; without a disjunct it has no answers."""

    disjuncts: tuple[ConjunctiveQuery, ...]

    def __post_init__(self) -> None:
        if len({len(disjunct.head) for disjunct in self.disjuncts}) > 1:
            raise PolicyError("The rules of a union must have heads of the same length.")

    def __str__(self) -> str:
        return "\n".join(map(str, self.disjuncts)) or "(no answers)"


@dataclass(frozen=True, eq=False)
class Query:
    """A translated secret or view; two queries are equal only if they are the same object.

    A row is critical to the query iff it is critical to one of ``parts`` (several parts come from ``UNION ALL`` and
    from footprints). ``inexact`` lists why the parts may read more rows than the query does: a PRIVATE verdict stays
    sound, an overlap proves nothing. ``boundless`` lists constructs that may read any table: with one no verdict is
    PRIVATE. ``outputs`` are the terms that a single SELECT returns, if its head lists more.
    """

    name: str
    parts: tuple[Union, ...]
    text: str = ""
    language: str = "datalog"
    duplicates: bool = False
    inexact: tuple[str, ...] = ()
    boundless: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    outputs: tuple[Term, ...] = ()

    def atoms(self) -> Iterator[Atom]:
        """Yield every subgoal of every part."""
        return (atom for part in self.parts for disjunct in part.disjuncts for atom in disjunct.body)

    def relations(self) -> frozenset[str]:
        """The relations that the query reads."""
        return self._relations

    @cached_property
    def _relations(self) -> frozenset[str]:
        return frozenset(atom.relation for atom in self.atoms())

    @cached_property
    def constants(self) -> frozenset[Constant]:
        """The constants of the query."""
        rules = [rule for part in self.parts for rule in part.disjuncts]
        rows = [terms for rule in rules for terms in (rule.head, *(atom.terms for atom in rule.body))]
        rows += [(item.left, item.right) for rule in rules for item in rule.comparisons]
        return frozenset(term for terms in rows for term in terms if isinstance(term, Constant))

    def __str__(self) -> str:
        return "\n".join(map(str, self.parts)) or "(no answers)"
