"""The FROM clause: the joined tables of a query block, and the resolution of column names.

Inner-joined tables form one *piece*, a product with conditions. The nullable side of an outer join is a separate piece:
a condition is attached to it only if rows that fail it cannot change the answer, that is, when a row of NULLs fails it
too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from reticent.errors import PolicyError, did_you_mean
from reticent.views.queries import Variable
from reticent.views.schema import SchemaColumn
from reticent.views.sql.conditions import alternatives, conjuncts
from reticent.views.sql.dialect import Unsupported, where
from reticent.views.sql.row_conditions import (
    Alternative,
    Disjunct,
    Hidden,
    NamedRows,
    Output,
    TooManyAlternatives,
    product_of,
)


class OtherPiece(Exception):
    """A condition uses columns of more than one piece."""


@dataclass(frozen=True)
class Item:
    """One FROM item: its columns are ``start ...`` of a piece's outputs; None if any name is accepted."""

    alias: str
    columns: tuple[str, ...] | None
    piece: int
    start: int


@dataclass
class Sources:
    """The FROM items of one block. Mutable while the clause is read, from left to right."""

    text: str
    pieces: list[NamedRows] = field(default_factory=list)
    supplied: list[bool] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    extras: list[NamedRows] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    dropped: bool = False
    merged: set[tuple[str, str]] = field(default_factory=set)

    def add(self, alias: str, table: NamedRows, wildcard: bool = False, apart: bool = False) -> Item:
        """Join one more table to the first piece (FROM items joined so far) and return its item; ``apart`` starts a
        piece of its own, as for the optional side of an outer join.

        Tables of which only what they read is known, and joins with too many alternatives, stay out of the first piece
        too.
        """
        columns = None if wildcard else table.columns
        if table.opaque and any(
            isinstance(output, Hidden) for part in table.parts for disjunct in part for output in disjunct.outputs
        ):
            self.extras.append(table)
            self.reasons += table.inexact
            item = Item(alias, columns, -1, 0)
        elif apart or not self.pieces:
            item = self._new_piece(alias, columns, table, apart)
        elif self.supplied[0]:
            # After a FULL join the table is also paired with rows of NULLs, whatever the first piece allows.
            self.items.append(self._new_piece(alias, columns, table, False))
            self.promote(len(self.pieces) - 1)
            item = self.items.pop()
        else:
            try:
                start = len(self.pieces[0].columns)
                self.dropped = self.dropped or table.opaque
                self.pieces[0] = product_of(self.pieces[0], table)
                item = Item(alias, columns, 0, start)
            except TooManyAlternatives:
                self.reasons.append("a join with too many alternatives")
                item = self._new_piece(alias, columns, table, False)
        self._check_alias(alias)
        self.items.append(item)
        return item

    def supply_everything(self) -> None:
        """Mark all tables so far as nullable (RIGHT and FULL joins)."""
        self.supplied = [True] * len(self.pieces)

    def promote(self, piece: int) -> None:
        """Move a piece (a group of joined tables) to the front: further tables are joined to it."""
        order = [piece, *(number for number in range(len(self.pieces)) if number != piece)]
        self.pieces = [self.pieces[number] for number in order]
        self.supplied = [self.supplied[number] for number in order]
        new_index = {old: new for new, old in enumerate(order)} | {-1: -1}
        self.items = [Item(item.alias, item.columns, new_index[item.piece], item.start) for item in self.items]

    def find(self, node: exp.Column) -> tuple[Item, int] | None:
        """Return the item and column of a reference; None if this block has no such column."""
        alias, name = node.table.lower(), node.name.lower()
        candidates: list[tuple[Item, int]] = []
        for item in self.items:
            if alias and item.alias.lower() != alias:
                continue
            if item.columns is None:
                candidates.append((item, -1))
            else:
                candidates += [
                    (item, column_index) for column_index, column in enumerate(item.columns) if column.lower() == name
                ]
        if alias and not candidates and any(item.alias.lower() == alias for item in self.items):
            names = [column for item in self.items if item.alias.lower() == alias for column in item.columns or ()]
            raise PolicyError(
                f"{node.table} has no column {node.name!r}{where(node, self.text)}.{did_you_mean(node.name, names)} "
                f"Its columns are {', '.join(names)}."
            )
        if len(candidates) > 1 and not alias:
            unmerged = [
                (item, column_index)
                for item, column_index in candidates
                if (item.alias.lower(), name) not in self.merged
            ]
            explicit = [(item, column_index) for item, column_index in unmerged if column_index >= 0]
            if len(explicit) > 1:
                raise PolicyError(
                    f"The column {node.name!r}{where(node, self.text)} is ambiguous; it may belong to "
                    f"{' or '.join(item.alias for item, _ in explicit)}. Put the table's name before it."
                )
            candidates = explicit or unmerged
        return candidates[0] if candidates else None

    def visible(self, alias: str = "") -> Iterator[tuple[Item, int, str]]:
        """Yield the columns of ``*`` or ``alias.*``."""
        for item in self.items:
            if alias and item.alias.lower() != alias.lower():
                continue
            for column_index, name in enumerate(item.columns or ()):
                if alias or (item.alias.lower(), name.lower()) not in self.merged:
                    yield item, column_index, name

    def keep(self, piece: int, chosen: list[list[tuple[Alternative, ...]]]) -> None:
        """Restrict a piece (a group of joined tables): ``chosen`` lists, for each disjunct of each union, the
        conditions under which its rows stay.
        """
        table = self.pieces[piece]
        parts = []
        for part, of_part in zip(table.parts, chosen, strict=True):
            rows = tuple(
                Disjunct(disjunct.when & alternative, disjunct.outputs, disjunct.counted)
                for disjunct, alternatives_of_row in zip(part, of_part, strict=True)
                for alternative in alternatives_of_row
            )
            if len(rows) > 128:
                raise TooManyAlternatives
            parts.append(rows)
        self.pieces[piece] = NamedRows(table.columns, tuple(parts), table.inexact, table.opaque)

    def _new_piece(self, alias: str, columns: tuple[str, ...] | None, table: NamedRows, supplied: bool) -> Item:
        """Start a group of joined tables with one table, and return its item; ``supplied`` if an outer join may add
        rows of NULLs to it.
        """
        self.dropped = self.dropped or table.opaque
        self.pieces.append(table)
        self.supplied.append(supplied)
        return Item(alias, columns, len(self.pieces) - 1, 0)

    def _check_alias(self, alias: str) -> None:
        if alias and any(item.alias.lower() == alias.lower() for item in self.items):
            raise PolicyError(f"The name {alias!r} denotes two tables of one FROM clause; give one an alias.")


class RowScope:
    """The columns of one disjunct of one piece, and of the enclosing queries."""

    def __init__(
        self, owner: TranslatorProtocol, sources: Sources, piece: int, disjunct: Disjunct | None, outer: RowScope | None
    ) -> None:
        """Resolve columns against one row (``disjunct``) of one piece, a group of joined tables; unknown names go to
        the ``outer`` query.
        """
        self.text, self.dialect = sources.text, owner.dialect
        self._owner = owner
        self._sources = sources
        self._piece = piece
        self._disjunct = disjunct
        self._outer = outer

    def column(self, node: exp.Column) -> Output:
        """Return what a column reference is in the current row. Raises :class:`OtherPiece` if its table is in another
        group of joined tables.
        """
        reference = self._sources.find(node)
        if reference is None:
            if self._outer is not None:
                return self._outer.column(node)
            names = [column for item in self._sources.items for column in item.columns or ()]
            table = f"{node.table}." if node.table else ""
            raise PolicyError(
                f"There is no column {table}{node.name}{where(node, self.text)}.{did_you_mean(node.name, names)} "
                "Correct the name, or declare the table's columns in the schema."
            )
        item, column_index = reference
        if item.piece < 0 or column_index < 0:
            raise Unsupported(f"a condition on {node.sql()}, a column of an opaque table,", node, self.text)
        if self._disjunct is None or item.piece != self._piece:
            raise OtherPiece
        return self._disjunct.outputs[item.start + column_index]

    def column_type(self, variable: Variable) -> SchemaColumn | None:
        """Return the base column behind a variable."""
        return self._owner.column_type(variable)

    def subquery(self, node: exp.Expr) -> NamedRows:
        """Return a nested query of this row."""
        return self._owner.nested(node, self)

    def cast_kind(self, node: exp.DataType) -> str | None:
        """Return the kind of value of an SQL type."""
        return self._owner.cast_kind(node)


class TranslatorProtocol(Protocol):
    """What a scope needs from the translator; implemented in ``translate``."""

    dialect: str

    def column_type(self, variable: Variable) -> SchemaColumn | None:
        """Return the base column behind a variable."""

    def nested(self, node: exp.Expr, scope: RowScope) -> NamedRows:
        """Return a nested query."""

    def cast_kind(self, node: exp.DataType) -> str | None:
        """Return the kind of value of an SQL type."""


def filter_by(
    sources: Sources,
    conjunct: exp.Expr,
    owner: TranslatorProtocol,
    outer: RowScope | None,
    only: set[int] | None = None,
) -> str | None:
    """Restrict the group of joined tables that a condition refers to, and return None; otherwise return why that is
    impossible.

    ``only`` lists the groups that may be restricted; one that an outer join fills with NULLs may be only if the
    condition excludes those rows.
    """
    kind = "a condition across an outer join" if any(sources.supplied) else "a condition on an outer query's columns"
    reason = kind + where(conjunct, sources.text)
    for piece, table in enumerate(sources.pieces):
        if only is not None and piece not in only:
            continue
        try:
            chosen = [
                [alternatives(conjunct, RowScope(owner, sources, piece, row, outer)) for row in part]
                for part in table.parts
            ]
            if sources.supplied[piece] and not all(
                alternative.known & _own(row)
                for part, part_alternatives in zip(table.parts, chosen, strict=True)
                for row, row_alternatives in zip(part, part_alternatives, strict=True)
                for alternative in row_alternatives
            ):
                continue
            sources.keep(piece, chosen)
        except OtherPiece:
            continue
        except TooManyAlternatives:
            return "a condition with too many alternatives" + where(conjunct, sources.text)
        except Unsupported as error:
            return str(error)
        return None
    return reason


def _own(row: Disjunct) -> frozenset[Variable]:
    return frozenset(variable for atom in row.when.atoms for variable in atom.variables())


def join_conditions(sources: Sources, join: exp.Join, count: int) -> list[exp.Expr]:
    """Return the conditions of a join: ON as is; USING and NATURAL as equalities, with their columns shown once.

    ``count`` is the number of FROM items before the join.
    """
    conditions = conjuncts(join.args["on"]) if join.args.get("on") is not None else []
    added = sources.items[count:]
    names = [item.name for item in join.args.get("using") or []]
    if (join.method or "").upper() == "NATURAL":
        earlier = {name.lower() for item in sources.items[:count] for name in item.columns or ()}
        names = [name for item in added for name in item.columns or () if name.lower() in earlier]
    for name in names:
        left = next(
            (
                item
                for item in sources.items[:count]
                if name.lower() in {column.lower() for column in item.columns or ()}
                and (item.alias.lower(), name.lower()) not in sources.merged
            ),
            None,
        )
        if left is None:
            raise PolicyError(f"USING ({name}){where(join, sources.text)}: no table before it has that column.")
        for right in added:
            conditions.append(exp.EQ(this=exp.column(name, left.alias), expression=exp.column(name, right.alias)))
            sources.merged.add((right.alias.lower(), name.lower()))
    return conditions
