"""Queries as small integers, for the searches: a variable is its number, a constant a negative code.

A frozen variable is its number, so it never equals a user's constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from reticent.views.constants import NULL, Constant
from reticent.views.queries import ConjunctiveQuery, Query, Term, Variable
from reticent.views.schema import Schema

NULL_CODE = -1
Fact = tuple[int, ...]


class Codebook:
    """Codes of constants. Mutable: it grows as queries are encoded and grids are built; codes never change."""

    def __init__(self) -> None:
        self._codes: dict[Constant, int] = {NULL: NULL_CODE}
        self._constants: list[Constant] = [NULL]

    def code(self, item: Constant) -> int:
        """Return the code of a constant, a new one if needed."""
        code_of_constant = self._codes.get(item)
        if code_of_constant is None:
            self._constants.append(item)
            code_of_constant = self._codes[item] = -len(self._constants)
        return code_of_constant

    def constant(self, code: int) -> Constant:
        """Return the constant of a (negative) code."""
        return self._constants[-code - 1]


@dataclass(frozen=True, slots=True)
class CodedAtom:
    """A subgoal in codes."""

    relation: str
    terms: Fact


@dataclass(frozen=True)
class CodedQuery:
    """A conjunctive query in codes; variables are ``offset .. offset + count - 1``.

    ``required`` are the variables that the query requires to be non-NULL; ``filled`` adds those in a NOT NULL column.
    ``domains`` has the values of variables over finite columns.
    """

    head: Fact
    atoms: tuple[CodedAtom, ...]
    comparisons: tuple[tuple[str, int, int], ...]
    required: frozenset[int]
    filled: frozenset[int]
    domains: Mapping[int, frozenset[int]]
    names: tuple[str, ...]
    offset: int = 0

    @property
    def count(self) -> int:
        """The number of variables."""
        return len(self.names)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The indices of the subgoals, by relation."""
        indices: dict[str, list[int]] = {}
        for index, atom in enumerate(self.atoms):
            indices.setdefault(atom.relation, []).append(index)
        return indices

    def shifted(self, offset: int) -> CodedQuery:
        """Return the query with ``offset`` added to its variables, so that they differ from those of another query."""
        if not offset:
            return self
        move = [code + offset for code in range(self.offset, self.offset + self.count)]

        def shift(code: int) -> int:
            return code if code < 0 else move[code - self.offset]

        return CodedQuery(
            tuple(map(shift, self.head)),
            tuple(CodedAtom(atom.relation, tuple(map(shift, atom.terms))) for atom in self.atoms),
            tuple((operator, shift(left), shift(right)) for operator, left, right in self.comparisons),
            frozenset(map(shift, self.required)),
            frozenset(map(shift, self.filled)),
            {shift(code): domain for code, domain in self.domains.items()},
            self.names,
            self.offset + offset,
        )


@dataclass(frozen=True)
class CodedUnion:
    """A union of coded queries, each with its own variables from 0."""

    disjuncts: tuple[CodedQuery, ...]
    sources: tuple[ConjunctiveQuery, ...] = field(compare=False)


def encode(query: Query, schema: Schema, book: Codebook) -> tuple[CodedUnion, ...]:
    """Return the unions of conjunctive queries in a query with integers for terms: variables from 0, constants
    negative.
    """
    return tuple(
        CodedUnion(tuple(_encode(disjunct, schema, book) for disjunct in part.disjuncts), part.disjuncts)
        for part in query.parts
    )


def _encode(query: ConjunctiveQuery, schema: Schema, book: Codebook) -> CodedQuery:
    """Return a query with integers for its variables (from 0) and constants (negative), with what is known about nulls and domains."""
    numbers = {variable: index for index, variable in enumerate(query.variables())}

    def code(term: Term) -> int:
        return numbers[term] if isinstance(term, Variable) else book.code(term)

    filled = {numbers[variable] for variable in query.known if variable in numbers}
    filled |= {
        numbers[variable] for item in query.comparisons if item.operator != "!=" for variable in item.variables()
    }
    required = set(filled)
    domains: dict[int, frozenset[int]] = {}
    for atom in query.body:
        for term, column in zip(atom.terms, schema.relation(atom.relation).columns, strict=True):
            if not isinstance(term, Variable):
                continue
            if not column.nullable:
                filled.add(numbers[term])
            if column.domain is not None:
                values = frozenset(book.code(item) for item in column.domain)
                domains[numbers[term]] = domains.get(numbers[term], values) & values
    return CodedQuery(
        tuple(code(term) for term in query.head),
        tuple(CodedAtom(atom.relation, tuple(code(term) for term in atom.terms)) for atom in query.body),
        tuple((item.operator, code(item.left), code(item.right)) for item in query.comparisons),
        frozenset(required),
        frozenset(filled),
        domains,
        tuple(variable.name for variable in numbers),
    )
