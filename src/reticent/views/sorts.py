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
        """Group columns whose values can be compared: joined, compared, linked by a foreign key, or in one position of
        the output.

        Collects the constants that occur in each group, and orders them in groups that are compared by ``<`` or ``<=``.
        """
        self._book = book
        self._schema = schema
        self._parent: dict[Place, Place] = {}
        constants: list[tuple[Place, int]] = []
        ordered: list[Place] = []
        for link in schema.foreign_keys:
            for first, second in schema.linked_columns(link):
                self._join(first, second)
        for union in unions:
            output_columns: dict[int, Place] = {}
            constant_outputs: list[tuple[int, int]] = []
            for query in union.disjuncts:
                column_of = self._connect(query, constants)
                for operator, left, right in query.comparisons:
                    columns = [column_of[code] for code in (left, right) if code >= 0]
                    if len(columns) == 2:
                        self._join(*columns)
                    constants += [(columns[0], code) for code in (left, right) if code < 0]
                    if operator != "!=":
                        ordered += columns
                for position, code in enumerate(query.head):
                    if code < 0:
                        constant_outputs.append((position, code))
                    else:
                        self._join(output_columns.setdefault(position, column_of[code]), column_of[code])
            constants += [
                (output_columns[position], code) for position, code in constant_outputs if position in output_columns
            ]
        self._constants: dict[Place, set[int]] = {}
        for column, code in constants:
            if code != NULL_CODE:
                self._constants.setdefault(self._find(column), set()).add(code)
        self.ordered = {root: self._ordered_sort(root) for root in {self._find(column) for column in ordered}}

    def of(self, relation: str, position: int) -> Place:
        """Return the sort of a column."""
        return self._find((relation, position))

    def whole(self, relation: str, position: int) -> bool:
        """True if the column's values are integral, so that 40 < x < 41 has no solution."""
        column = self._schema.relation(relation).columns[position]
        return column.whole or column.kind in ("date", "timestamp", "moment", "boolean")

    def _connect(self, query: CodedQuery, constants: list[tuple[Place, int]]) -> dict[int, Place]:
        """Join the columns in which each variable of a query occurs; note the constants that occur in them. Return one column of every variable."""
        column_of: dict[int, Place] = {}
        for atom in query.atoms:
            columns = self._schema.relation(atom.relation).columns
            for position, code in enumerate(atom.terms):
                column = (atom.relation, position)
                if code < 0:
                    constants.append((column, code))
                else:
                    self._join(column_of.setdefault(code, column), column)
                constants += [(column, self._book.code(item)) for item in columns[position].domain or ()]
        return column_of

    def _ordered_sort(self, root: Place) -> OrderedSort:
        """Return the kind and the constants of a class of columns that are compared by order."""
        codes = self._constants.get(root, set())
        kinds = {self._book.constant(code).kind for code in codes}
        for column in list(self._parent):
            if self._find(column) == root:
                kind = self._schema.relation(column[0]).columns[column[1]].kind
                kinds |= {kind} if kind else set()
        if len(kinds) > 1:
            raise PolicyError(
                f"{root[0]}, column {self._schema.relation(root[0]).columns[root[1]].name}: '<' compares values of "
                f"different kinds ({', '.join(sorted(kinds))}); use one type."
            )
        return OrderedSort(kinds.pop() if kinds else "number", tuple(sorted(codes, key=self._key)))

    def _key(self, code: int) -> Any:
        return order_key(self._book.constant(code))

    def _find(self, column: Place) -> Place:
        """Return the representative of the columns whose values are compared with this one (union-find with path
        compression).
        """
        root = column
        while (above := self._parent.setdefault(root, root)) != root:
            root = above
        while column != root:
            self._parent[column], column = root, self._parent[column]
        return root

    def _join(self, left: Place, right: Place) -> None:
        self._parent[self._find(left)] = self._find(right)
