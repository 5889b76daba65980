"""The semantics of SQL as conditions on rows: alternatives, disjuncts and tables.

A :class:`NamedRows` is the result of a FROM item or a query. Its parts are bags of rows: every disjunct of a part lists
what is *counted*, so that a part, read as a set of counted tuples, determines the bag. DISTINCT counts the outputs
only; EXISTS counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

from reticent.views.constants import NULL, Constant
from reticent.views.queries import Atom, ConjunctiveQuery, Term, TermComparison, Union, Variable

CAP = 128
TYPED = ("double", "string", "label")
"""Constants with an explicit type, which determines what they equal."""


class TooManyAlternatives(Exception):
    """The disjunctive normal form exceeds :data:`CAP`."""


@dataclass(frozen=True)
class Computed:
    """An output that is a function of other terms; ``injective`` if the output determines its one input."""

    inputs: tuple[Term, ...]
    injective: bool = False


@dataclass(frozen=True)
class Hidden:
    """An output about which nothing is known (an aggregate, a null-extended column of an opaque query)."""

    why: str


Output = Term | Computed | Hidden


@dataclass(frozen=True)
class Alternative:
    """Subgoals and conditions that must hold together; ``known`` variables must not be NULL."""

    atoms: tuple[Atom, ...] = ()
    equal: tuple[tuple[Term, Term], ...] = ()
    comparisons: tuple[TermComparison, ...] = ()
    known: frozenset[Variable] = frozenset()

    def __and__(self, other: Alternative) -> Alternative:
        """Return the conjunction of two conditions."""
        return Alternative(
            self.atoms + other.atoms,
            self.equal + other.equal,
            self.comparisons + other.comparisons,
            self.known | other.known,
        )


ALWAYS = (Alternative(),)
NEVER: tuple[Alternative, ...] = ()


def both(left: Iterable[Alternative], right: Iterable[Alternative]) -> tuple[Alternative, ...]:
    """Return the conjunction of two disjunctions."""
    return capped([first & second for first in left for second in right])


def capped(items: Iterable[Alternative]) -> tuple[Alternative, ...]:
    """Return the distinct alternatives. Raises if there are too many."""
    distinct = tuple(dict.fromkeys(items))
    if len(distinct) > CAP:
        raise TooManyAlternatives
    return distinct


@dataclass(frozen=True)
class Disjunct:
    """One conjunctive derivation of rows."""

    when: Alternative
    outputs: tuple[Output, ...]
    counted: tuple[Term, ...]


Part = tuple[Disjunct, ...]


@dataclass(frozen=True)
class NamedRows:
    """Rows with named columns; ``inexact`` lists why the parts may read more rows than the SQL does.

    An ``opaque`` table depends on its parts through a function that is not known: DISTINCT must not drop what is counted.
    """

    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    inexact: tuple[str, ...] = ()
    opaque: bool = False


def product_of(left: NamedRows, right: NamedRows) -> NamedRows:
    """Return the cross join of two tables; the columns of ``right`` follow those of ``left``. Raises if it has too many
    alternatives.
    """
    parts = []
    for first, second in product(left.parts, right.parts):
        if len(first) * len(second) > CAP:
            raise TooManyAlternatives
        parts.append(
            tuple(
                Disjunct(a.when & b.when, a.outputs + b.outputs, a.counted + b.counted)
                for a, b in product(first, second)
            )
        )
    if len(parts) > CAP:
        raise TooManyAlternatives
    return NamedRows(left.columns + right.columns, tuple(parts), left.inexact + right.inexact)


def distinct(table: NamedRows, same_select: bool = True) -> NamedRows:
    """Return the distinct rows of a table.

    A computed output f(a,b) is replaced by its inputs a and b, which reveal more: a PRIVATE verdict stays sound, a
    shared row proves nothing unless f is injective. Rows of several SELECTs with computed outputs keep their duplicates
    instead, which also reveals more.
    """
    if table.opaque:
        return table
    disjuncts = [disjunct for part in table.parts for disjunct in part]
    computed = [item for disjunct in disjuncts for item in disjunct.outputs if isinstance(item, Computed)]
    inexact = table.inexact
    if computed and not same_select:
        return opaque(table, "the union of computed outputs")
    if any(not item.injective for item in computed):
        inexact += ("a computed output under DISTINCT may show less than its inputs",)
    if len(disjuncts) > CAP:
        return opaque(table, f"more than {CAP} alternatives under DISTINCT")
    return replace(
        table,
        parts=(tuple(replace(disjunct, counted=shown(disjunct.outputs)) for disjunct in disjuncts),)
        if disjuncts
        else (),
        inexact=inexact,
    )


def opaque(table: NamedRows, why: str, *others: NamedRows) -> NamedRows:
    """Return a table of whose rows only this is known: they depend on the rows of ``table`` and ``others``, and on
    nothing else.

    Its outputs are hidden; ``why`` says what prevents an exact translation.
    """
    hidden = tuple(Hidden(why) for _ in table.columns)
    parts = tuple(
        tuple(replace(disjunct, outputs=hidden) for disjunct in part)
        for table_read in (table, *others)
        for part in table_read.parts
    )
    reasons = (why, *(reason for table_read in (table, *others) for reason in table_read.inexact))
    return NamedRows(table.columns, parts, tuple(dict.fromkeys(reasons)), opaque=True)


def shown(outputs: Iterable[Output]) -> tuple[Term, ...]:
    """Return the variables and constants that outputs can reveal."""
    terms: list[Term] = []
    for item in outputs:
        if isinstance(item, Computed):
            terms += item.inputs
        elif not isinstance(item, Hidden):
            terms.append(item)
    return tuple(terms)


def as_unions(table: NamedRows) -> tuple[Union, ...]:
    """Return the table as unions of conjunctive queries whose heads list what determines the answer, duplicates
    included; contradictory rules are dropped.
    """
    unions = []
    for part in table.parts:
        rules = [rule for disjunct in part if (rule := resolve(disjunct)) is not None]
        if rules:
            unions.append(Union(tuple(dict.fromkeys(rules))))
    return tuple(unions)


def resolve(disjunct: Disjunct) -> ConjunctiveQuery | None:
    """Return the disjunct with its equalities substituted; None if they contradict each other."""
    parent: dict[Term, Term] = {}

    def find(term: Term) -> Term:
        """Return the term by which the equalities seen so far replace this one."""
        while term in parent:
            term = parent[term]
        return term

    for left, right in disjunct.when.equal:
        low, high = find(left), find(right)
        if low == high:
            continue
        if isinstance(low, Constant) and isinstance(high, Constant):
            return None
        if isinstance(low, Constant):
            low, high = high, low
        parent[low] = high
    filled = {find(variable) for variable in disjunct.when.known}
    if NULL in filled:
        return None
    body = tuple(
        Atom(atom.relation, tuple(find(term) for term in atom.terms), atom.alias) for atom in disjunct.when.atoms
    )
    if not body:
        return None
    return ConjunctiveQuery(
        tuple(find(term) for term in disjunct.counted),
        tuple(dict.fromkeys(body)),
        tuple(replace(item, left=find(item.left), right=find(item.right)) for item in disjunct.when.comparisons),
        frozenset(term for term in filled if isinstance(term, Variable)),
    )


def intersection(left: NamedRows, right: NamedRows) -> NamedRows | None:
    """Return INTERSECT as pairs of rows with equal outputs, where NULL equals NULL; None if that is not exact."""
    try:
        both = product_of(left, right)
    except TooManyAlternatives:
        return None
    width = len(left.columns)
    rows = []
    for part in both.parts:
        for row in part:
            pairs = list(zip(row.outputs[:width], row.outputs[width:], strict=True))
            terms = [
                (a, b) for a, b in pairs if isinstance(a, Variable | Constant) and isinstance(b, Variable | Constant)
            ]
            typed = [term for pair in terms for term in pair if isinstance(term, Constant) and term.kind in TYPED]
            if len(terms) < len(pairs) or typed:
                return None
            rows.append(replace(row, when=row.when & Alternative(equal=tuple(terms)), outputs=row.outputs[:width]))
    return distinct(NamedRows(left.columns, (tuple(rows),) if rows else (), both.inexact))
