"""Knowledge about the tables: columns, types, finite domains, keys, and dependencies outside the theory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

from reticent.errors import PolicyError, did_you_mean
from reticent.views.constants import Constant, DependsOnDatabase, coerce, constant, is_exact_whole, number, rounds_alike
from reticent.views.queries import Query, Union

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """One column. ``kind`` is None if no type was declared; ``domain`` lists the values of a finite column.

    Columns of kind ``other`` (times, intervals, JSON, arrays ...) may be joined and returned, but their constants are
    not interpreted. In a ``loose`` column different texts may be equal (blank padding, accents, numbers against texts),
    by rules outside the schema; constants for which that matters are refused. ``form`` is how numbers are stored:
    exactly, or as binary ``double`` or ``single``. Numbers of two forms are converted when compared, by rules of the
    database. Equal values of a ``coarse`` column may look different (``'a'`` and ``'A'`` in CITEXT, 1.0 and 1.00 in
    NUMERIC), so that DISTINCT returns one of them. Texts are ``sorted_by_code_point`` if the collation is known to do
    that; the values of an ``enumerated`` type are sorted as declared. Numbers of a ``wide`` column may have more digits
    than the type to which they are converted in a comparison.
    """

    name: str
    kind: str | None = None
    whole: bool = False
    nullable: bool = False
    domain: tuple[Constant, ...] | None = None
    folds_case: bool = False
    loose: bool = False
    form: str = ""
    coarse: bool = False
    sorted_by_code_point: bool = True
    enumerated: bool = False
    wide: bool = False

    def read(self, item: Constant) -> Constant:
        """Return ``item`` as this column stores it, by type and collation.

        Raises ValueError if the column cannot hold it, DependsOnDatabase if databases differ in what it equals.
        """
        if item.kind == "double":
            item = self._read_double(item)
        if item.kind in ("string", "label"):
            item = self._read_typed_text(item)
        if self.kind == "text" and item.kind not in ("text", "null"):
            raise DependsOnDatabase(f"some databases turn the column into a number, and others {item} into a text")
        stored = coerce(item, self.kind) if self.kind else item
        if stored.kind == "number" and not self._compares_exactly(item, stored):
            raise DependsOnDatabase(f"which values equal {item} depends on how the database rounds")
        if (
            self.loose
            and self.kind == "text"
            and stored.kind == "text"
            and (item.kind != "text" or not _is_plain(stored.value))
        ):
            raise DependsOnDatabase(f"what {item} equals depends on the collation")
        if self.folds_case and stored.kind == "text":
            stored = Constant("text", stored.value.lower())
        return stored

    def _read_typed_text(self, item: Constant) -> Constant:
        """Return a text that was written with an explicit type as a plain text.

        Raises :class:`DependsOnDatabase` if this column does not compare texts as written (it folds case, or converts types), or if only one of both is of an enumerated type (``item`` is a label then).
        """
        if self.kind != "text" or self.folds_case or self.loose or (item.kind == "label") != self.enumerated:
            raise DependsOnDatabase(f"the type of {item} decides how it is compared")
        return Constant("text", item.value)

    def _read_double(self, item: Constant) -> Constant:
        """Return a binary floating-point number as the column stores it: integer columns are compared exactly where doubles are exact."""
        if self.form in ("double", "single") or (self.whole and is_exact_whole(item.value)):
            return number(Fraction(item.value))
        raise DependsOnDatabase(f"the column is converted when it is compared with {item}")

    def _compares_exactly(self, item: Constant, stored: Constant) -> bool:
        """True if the database compares this column's numbers with the constant exactly."""
        if self.form in ("double", "single"):
            return rounds_alike(stored.value, single=self.form == "single")
        if self.whole and item.kind == "text" and not isinstance(stored.value, int):
            return False
        # If texts are converted to binary numbers (loose), so is the column.
        return not (self.loose and item.kind == "text") or (self.whole and is_exact_whole(stored.value))

    def holds(self, item: Constant) -> bool:
        """True if the (converted) constant can occur in this column."""
        if item.kind == "null":
            return self.nullable
        if self.domain is not None and item not in self.domain:
            return False
        return not (self.whole and item.kind == "number" and not isinstance(item.value, int))


def _is_plain(text: str) -> bool:
    """True if every collation distinguishes the text from all others, except for case."""
    return text.isascii() and text == text.rstrip()


@dataclass(frozen=True, slots=True)
class Key:
    """Columns (by position) on which no two rows agree; ``partial`` if one of them may be NULL.

    A partial key constrains only rows whose key columns are all non-NULL. Ignoring a UNIQUE constraint over nullable
    columns would be unsound: rows without a NULL still exclude each other
    (``test_a_nullable_unique_column_still_ties_rows``).
    """

    columns: tuple[int, ...]
    partial: bool = False


@dataclass(frozen=True, slots=True)
class RowDependence:
    """When two rows depend on each other: they agree on ``columns`` (all non-NULL), which are ``view_columns`` of the
    second row if that is in another relation.
    """

    columns: tuple[int, ...]
    filled: bool = False
    view_columns: tuple[int, ...] | None = None

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns of the first and of the second row with equal values."""
        return tuple(zip(self.columns, self.columns if self.view_columns is None else self.view_columns, strict=True))


@dataclass(frozen=True)
class Relation:
    """A base table. ``ties`` names constraints that link its rows in ways that no key describes, ``reads`` row-level
    security that may read other tables.

    ``checks`` are the texts of its CHECK constraints. ``rule`` is the query of the rows that satisfy them; None if all
    do, or if one of them cannot be parsed.
    """

    name: str
    columns: tuple[SchemaColumn, ...]
    keys: tuple[Key, ...] = ()
    checks: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    rule: Union | None = None

    def __post_init__(self) -> None:
        names = [column.name.lower() for column in self.columns]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise PolicyError(f"Table {self.name} declares the column {sorted(twice)[0]!r} twice.")
        for key in self.keys:
            for position in key.columns:
                if not 0 <= position < len(self.columns):
                    raise PolicyError(
                        f"A key of {self.name} names column number {position}, but the table has the columns "
                        f"0..{len(self.columns) - 1}."
                    )

    def position(self, name: str) -> int | None:
        """Return the position of a column, case-insensitively."""
        for index, column in enumerate(self.columns):
            if column.name.lower() == name.lower():
                return index
        return None

    @cached_property
    def meetings(self) -> tuple[RowDependence, ...]:
        """Return how critical rows of two queries must agree for the queries to depend on each other.

        Without a key: the same row. One key: the same key ([Machanavajjhala2008], Theorem 2.7). Several keys: the
        columns common to all of them (corrected: the printed "agree on some key" is unsound), because rows that agree
        there are linked by a chain of mutually exclusive rows. One partial key: the same row, or the same non-NULL key.
        """
        everything = RowDependence(tuple(range(len(self.columns))))
        if not self.keys:
            return (everything,)
        if len(self.keys) > 1:
            return (RowDependence(self.effective_key()),)
        (key,) = self.keys
        return (everything, RowDependence(key.columns, filled=True)) if key.partial else (RowDependence(key.columns),)

    def effective_key(self) -> tuple[int, ...]:
        """The columns common to all keys, in order."""
        common = set.intersection(*(set(key.columns) for key in self.keys)) if self.keys else set()
        return tuple(sorted(common))


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Every row of ``child`` whose ``columns`` are all filled has a row of ``parent`` with the same values in its
    columns ``references``; both by position.

    Without positions the columns are unknown, and every child row may depend on every parent row.
    """

    child: str
    parent: str
    text: str
    columns: tuple[int, ...] = ()
    references: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """Relations by case-insensitive name, stored views, and foreign keys."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    foreign_keys: tuple[ForeignKey, ...] = ()
    notes: tuple[str, ...] = ()

    def find(self, name: str) -> Relation | None:
        """Return the relation of this name, with or without its schema prefix; None if there is none."""
        return _lookup(self.relations, name)

    def find_view(self, name: str) -> str | None:
        """Return the text of a stored view."""
        return _lookup(self.views, name)

    def relation(self, name: str) -> Relation:
        """Return the relation of this name, or raise an error that suggests the nearest one."""
        relation = self.find(name)
        if relation is None:
            raise PolicyError(
                f"There is no table {name!r} in the schema.{did_you_mean(name, self.relations)} "
                "Declare it, or correct the name."
            )
        return relation

    def linked_columns(self, link: ForeignKey) -> list[tuple[tuple[str, int], tuple[str, int]]]:
        """Return the columns, by table and position, that a foreign key makes equal, if both have the same kind."""
        child, parent = self.find(link.child), self.find(link.parent)
        if child is None or parent is None:
            return []
        return [
            ((child.name, column), (parent.name, reference))
            for column, reference in zip(link.columns, link.references, strict=True)
            if child.columns[column].kind == parent.columns[reference].kind
        ]

    def with_keys(self, keys: Mapping[str, Iterable[Iterable[int | str]]]) -> Schema:
        """Return the schema with further keys: ``{"R": [[0], ["name"]]}``, columns by position (from 0) or name."""
        changed = dict(self.relations)
        for name, columns_of_keys in keys.items():
            relation = self.relation(name)
            added = tuple(
                _key(relation, [_position(relation, column) for column in columns]) for columns in columns_of_keys
            )
            all_keys = dict.fromkeys((*relation.keys, *added))
            changed[relation.name.lower()] = replace(relation, keys=tuple(all_keys))
        return replace(self, relations=changed)

    def with_domains(self, domains: Mapping[str, Mapping[int | str, Iterable[object]]]) -> Schema:
        """Return the schema with finite domains: ``{"R": {0: [0, 1]}}``."""
        changed = dict(self.relations)
        for name, by_column in domains.items():
            relation = changed[self.relation(name).name.lower()]
            columns = list(relation.columns)
            for label, values in by_column.items():
                position = _position(relation, label)
                columns[position] = _with_domain(relation, columns[position], values)
            changed[relation.name.lower()] = replace(relation, columns=tuple(columns))
        return replace(self, relations=changed)


def inferred(queries: Iterable[Query]) -> Schema:
    """Return the schema that Datalog text implies: the arity of every relation, nothing else."""
    relations: dict[str, Relation] = {}
    for query in queries:
        for atom in query.atoms():
            relation = relations.setdefault(
                atom.relation.lower(),
                Relation(atom.relation, tuple(SchemaColumn(f"c{index}") for index in range(len(atom.terms)))),
            )
            if len(relation.columns) != len(atom.terms):
                raise PolicyError(
                    f"{atom.relation} is used with {len(relation.columns)} and with {len(atom.terms)} columns ({atom}); "
                    "a relation has one number of columns."
                )
    return Schema(relations)


def table(
    name: str,
    columns: Sequence[str | SchemaColumn],
    keys: Sequence[Sequence[int | str]] = (),
) -> Relation:
    """Return a relation from column names, without DDL."""
    schema_columns = tuple(column if isinstance(column, SchemaColumn) else SchemaColumn(column) for column in columns)
    relation = Relation(name, schema_columns)
    return replace(relation, keys=tuple(_key(relation, [_position(relation, c) for c in key]) for key in keys))


def _lookup(items: Mapping[str, Item], name: str) -> Item | None:
    """Return the item of a name, with or without its schema, ignoring case; None if there is none, or more than one."""
    lowered = name.lower()
    if lowered in items:
        return items[lowered]
    last = lowered.rsplit(".", 1)[-1]
    if last != lowered and last in items:
        return items[last]
    if "." not in lowered:
        ends = [key for key in items if key.endswith("." + lowered)]
        if len(ends) == 1:
            return items[ends[0]]
    return None


def _position(relation: Relation, label: int | str) -> int:
    """Return the index of a column given by name or index. Raises if there is none."""
    if isinstance(label, str):
        position = relation.position(label)
        if position is None:
            names = [column.name for column in relation.columns]
            raise PolicyError(
                f"Table {relation.name} has no column {label!r}.{did_you_mean(label, names)} "
                f"Its columns are {', '.join(names)}."
            )
        return position
    if isinstance(label, bool) or not 0 <= label < len(relation.columns):
        raise PolicyError(
            f"Table {relation.name} has the columns 0..{len(relation.columns) - 1}, but column {label!r} was named."
        )
    return label


def _key(relation: Relation, positions: Sequence[int]) -> Key:
    columns = tuple(sorted(set(positions)))
    return Key(columns, partial=any(relation.columns[position].nullable for position in columns))


def _with_domain(relation: Relation, column: SchemaColumn, values: Iterable[object]) -> SchemaColumn:
    """Return a column with a finite domain. Raises if a value does not fit its type."""
    where = f"The domain of {relation.name}.{column.name}"
    if isinstance(values, str):
        raise PolicyError(f"{where} must be a list of values, but it is the text {values!r}.")
    try:
        items = tuple(dict.fromkeys(column.read(constant(value)) for value in values))
    except ValueError as error:
        raise PolicyError(f"{where} does not fit the column's type: {error}.") from None
    if not items:
        raise PolicyError(f"{where} is empty; list at least one value.")
    return replace(column, domain=items)
