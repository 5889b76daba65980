"""Sorts: classes of columns that are joined, compared or linked by a foreign key; a sort with ``<`` or ``<=`` is ordered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reticent.errors import PolicyError
from reticent.views.constants import order_key
from reticent.views.integer_queries import NULL_CODE, Codebook, CodedQuery, CodedUnion
from reticent.views.schema import Schema

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class OrderedSort:
    """The kind of an ordered sort and its constants, rising."""

    kind: str
    constants: tuple[int, ...]


class Sorts:
    """The joint sorts of the columns of some unions; columns at the same head position are compared too."""

    def __init__(self, unions: Iterable[CodedUnion], schema: Schema, book: Codebook) -> None:
        self._book = book
        self._schema = schema
        self._parent: dict[Place, Place] = {}
        constants: list[tuple[Place, int]] = []
        ordered: list[Place] = []
        for link in schema.foreign_keys:
            for first, second in schema.linked_columns(link):
                self._join(first, second)
        for union in unions:
            shown: dict[int, Place] = {}
            fixed: list[tuple[int, int]] = []
            for query in union.disjuncts:
                home = self._connect(query, constants)
                for operator, left, right in query.comparisons:
                    places = [home[code] for code in (left, right) if code >= 0]
                    if len(places) == 2:
                        self._join(*places)
                    constants += [(places[0], code) for code in (left, right) if code < 0]
                    if operator != "!=":
                        ordered += places
                for position, code in enumerate(query.head):
                    if code < 0:
                        fixed.append((position, code))
                    else:
                        self._join(shown.setdefault(position, home[code]), home[code])
            constants += [(shown[position], code) for position, code in fixed if position in shown]
        self._constants: dict[Place, set[int]] = {}
        for place, code in constants:
            if code != NULL_CODE:
                self._constants.setdefault(self._find(place), set()).add(code)
        self.ordered = {root: self._ordered_sort(root) for root in {self._find(place) for place in ordered}}

    def of(self, relation: str, position: int) -> Place:
        """Return the sort of a column."""
        return self._find((relation, position))

    def whole(self, relation: str, position: int) -> bool:
        """True if the column's values are integral, so that 40 < x < 41 has no solution."""
        column = self._schema.relation(relation).columns[position]
        return column.whole or column.kind in ("date", "timestamp", "moment", "boolean")

    def _connect(self, query: CodedQuery, constants: list[tuple[Place, int]]) -> dict[int, Place]:
        """Join the columns in which each variable of a query occurs; note the constants that occur in them. Return one column of every variable."""
        home: dict[int, Place] = {}
        for atom in query.atoms:
            columns = self._schema.relation(atom.relation).columns
            for position, code in enumerate(atom.terms):
                place = (atom.relation, position)
                if code < 0:
                    constants.append((place, code))
                else:
                    self._join(home.setdefault(code, place), place)
                constants += [(place, self._book.code(item)) for item in columns[position].domain or ()]
        return home

    def _ordered_sort(self, root: Place) -> OrderedSort:
        """Return the kind and the constants of a class of columns that are compared by order."""
        codes = self._constants.get(root, set())
        kinds = {self._book.constant(code).kind for code in codes}
        for place in list(self._parent):
            if self._find(place) == root:
                kind = self._schema.relation(place[0]).columns[place[1]].kind
                kinds |= {kind} if kind else set()
        if len(kinds) > 1:
            raise PolicyError(
                f"{root[0]}, column {self._schema.relation(root[0]).columns[root[1]].name}: '<' compares values of "
                f"different kinds ({', '.join(sorted(kinds))}); use one type."
            )
        return OrderedSort(kinds.pop() if kinds else "number", tuple(sorted(codes, key=self._key)))

    def _key(self, code: int) -> Any:
        return order_key(self._book.constant(code))

    def _find(self, place: Place) -> Place:
        """Return the representative of a column's class (union-find with path compression)"""
        root = place
        while (above := self._parent.setdefault(root, root)) != root:
            root = above
        while place != root:
            self._parent[place], place = root, self._parent[place]
        return root

    def _join(self, left: Place, right: Place) -> None:
        self._parent[self._find(left)] = self._find(right)
