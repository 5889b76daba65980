"""Critical rows (critical tuples): the rows on which a query's answer can depend. Source: [Miklau2004].

A :class:`Signature` lists, for one union, the sets of subgoals ("live" sets) through which some row is critical. It
depends on the query and the schema alone, so a matrix of N views and M secrets computes N + M of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from reticent.views.budget import OutOfBudget, SearchBudget
from reticent.views.cases import Cases, Removal
from reticent.views.chase import chase
from reticent.views.containment import answer_remains
from reticent.views.homomorphism import gather
from reticent.views.integer_queries import Codebook, CodedQuery, CodedUnion, Fact
from reticent.views.query_classes import is_blocking
from reticent.views.schema import Schema
from reticent.views.sorts import Sorts
from reticent.views.unification import EqualTerms, respects_null
from reticent.views.variable_models import Literal, Theory

APART = 1 << 20
MOST_LIVE = 20_000


@dataclass(frozen=True)
class Setting:
    """The common context of all queries of a check: schema, codes, and search settings."""

    schema: Schema
    book: Codebook
    exact_keys: bool = True
    fast: bool = True


@dataclass(frozen=True)
class CriticalSubgoals:
    """A set ``gamma`` of subgoals of one disjunct that some critical row can be the image of.

    ``classes`` unify them to one row, ``pattern`` is that row. ``robust`` sets stay live under every more specific row.
    """

    disjunct: int
    gamma: frozenset[int]
    relation: str
    pattern: Fact
    classes: EqualTerms
    robust: bool


def is_plain(union: CodedUnion, setting: Setting) -> bool:
    """True if freezing variables to distinct constants is exact: no comparisons, no finite domains, no undecided NULLs."""
    for query in union.disjuncts:
        if query.comparisons or query.domains:
            return False
    return not _undecided_nulls(union) and not _partial_keys(union, setting.schema)


def _undecided_nulls(union: CodedUnion) -> bool:
    """True if some subgoal requires a column to be non-NULL and another subgoal of the table allows NULL in it."""
    required_positions = {
        (atom.relation, position)
        for query in union.disjuncts
        for atom in query.atoms
        for position, code in enumerate(atom.terms)
        if code in query.required
    }
    return any(
        code >= 0 and code not in query.filled and (atom.relation, position) in required_positions
        for query in union.disjuncts
        for atom in query.atoms
        for position, code in enumerate(atom.terms)
    )


def _partial_keys(union: CodedUnion, schema: Schema) -> bool:
    """Return whether a query reads some table more than once that has a key for part of its rows."""
    return any(
        len(indices) > 1 and any(key.partial for key in schema.relation(relation).keys)
        for query in union.disjuncts
        for relation, indices in query.places.items()
    )


class Signature:
    """The live sets of one union, computed lazily. Mutable only as a cache."""

    def __init__(self, union: CodedUnion, setting: Setting) -> None:
        """Prepare the search for critical rows of a union; found sets are cached by relation, and so is a search that
        was cut off.
        """
        self.union = union
        self.setting = setting
        self.plain = is_plain(union, setting)
        self._found: dict[tuple[str, bool], list[CriticalSubgoals]] = {}
        self._cut: OutOfBudget | None = None

    @cached_property
    def moved(self) -> tuple[CodedQuery, ...]:
        """The disjuncts with variables renamed apart from those of every other signature."""
        return tuple(query.shifted(APART) for query in self.union.disjuncts)

    @cached_property
    def relations(self) -> frozenset[str]:
        """The relations that the union reads."""
        return frozenset(relation for query in self.union.disjuncts for relation in query.places)

    @cached_property
    def rows(self) -> dict[str, list[Fact]]:
        """The subgoals of each relation, for a quick pre-check."""
        return gather((atom.relation, atom.terms) for query in self.union.disjuncts for atom in query.atoms)

    def live(self, relation: str, budget: SearchBudget, single: bool = False) -> list[CriticalSubgoals]:
        """Return the live sets of a relation: subgoals that one row can match at once, such that its removal changes
        the answer.

        ``single`` stops at sets of one subgoal. Cached, and so is a search that ran out of budget.
        """
        if self._cut is not None:
            raise self._cut
        key = (relation, single)
        if key not in self._found:
            try:
                live_sets = list(islice(self._search(relation, budget, single), MOST_LIVE + 1))
                if len(live_sets) > MOST_LIVE:
                    raise OutOfBudget(f"{relation} has more than {MOST_LIVE} live sets of subgoals in one query")
                self._found[key] = live_sets
            except OutOfBudget as cut:
                self._cut = cut
                raise
        return self._found[key]

    def _search(self, relation: str, budget: SearchBudget, single: bool) -> Iterator[CriticalSubgoals]:
        """Yield the sets of subgoals that one row can match at once, such that removing it changes the answer."""
        for number, query in enumerate(self.union.disjuncts):
            indices = query.places.get(relation, [])
            robust_subgoals = self._robust(number, relation, budget)
            only_single = single or len(robust_subgoals) == len(indices)
            for gamma, classes in _unifiable(query, indices, only_single, budget):
                if self.setting.exact_keys and not chase(query, classes, self.setting.schema):
                    continue
                pattern = classes.apply(query.atoms[gamma[0]].terms)
                robust = len(gamma) == 1 and gamma[0] in robust_subgoals
                if (robust and self.plain) or self._is_live(query, frozenset(gamma), classes, pattern, budget):
                    yield CriticalSubgoals(number, frozenset(gamma), relation, pattern, classes, robust)

    def _robust(self, number: int, relation: str, budget: SearchBudget) -> set[int]:
        """Return the subgoals whose row no other row can replace, so that removing it always loses an answer: the only
        subgoal of its relation, or blocking ones.

        None are known without the ``fast`` setting.
        """
        if not self.setting.fast:
            return set()
        query = self.union.disjuncts[number]
        indices = query.places.get(relation, [])
        if len(indices) == 1 and all(relation in other.places for other in self.union.disjuncts):
            return set(indices)
        keyed = any(self.setting.schema.relation(name).keys for name in query.places)
        if len(self.union.disjuncts) == 1 and self.plain and not keyed:
            blocking = set()
            for index in indices:
                budget.look_at_the_clock()
                if is_blocking(query, index):
                    blocking.add(index)
            return blocking
        return set()

    def _is_live(
        self, query: CodedQuery, gamma: frozenset[int], classes: EqualTerms, pattern: Fact, budget: SearchBudget
    ) -> bool:
        """True if removing some row of the pattern, to which the subgoals ``gamma`` are mapped, loses an answer
        ([Machanavajjhala2008], Lemma 2.4; corrected: "through gamma" added).
        """
        for index in query.places[query.atoms[min(gamma)].relation]:
            if index not in gamma and classes.apply(query.atoms[index].terms) == pattern:
                return False
        if self.plain:
            return loses_answer(self, query, gamma, classes, budget)
        sorts = Sorts([self.union], self.setting.schema, self.setting.book)
        theory = Theory([query], sorts, self.setting.book)
        cases = Cases(
            [Removal(self.union, query, gamma)],
            theory,
            self.setting.schema if self.setting.exact_keys else None,
            budget,
        )
        return cases.solve(base_literals(classes, query)) is not None


def base_literals(classes: EqualTerms, *queries: CodedQuery) -> list[Literal]:
    """Return what every case must satisfy: the unification and the queries' own comparisons."""
    merged: list[Literal] = [("=", code, root) for code, root in classes.members() if code != root]
    return merged + [item for query in queries for item in query.comparisons]


def loses_answer(
    signature: Signature, query: CodedQuery, gamma: frozenset[int], classes: EqualTerms, budget: SearchBudget
) -> bool:
    """True if the frozen head is no longer an answer without ``gamma``: the residual query is not contained.

    The residual may be unsafe (a head variable without a subgoal), which freezing tolerates.
    """
    rest = gather(
        (atom.relation, classes.apply(atom.terms)) for index, atom in enumerate(query.atoms) if index not in gamma
    )
    head = classes.apply(query.head)
    return answer_remains(signature.union, rest, head, budget, fast=signature.setting.fast) is None


def _unifiable(
    query: CodedQuery, indices: list[int], only_single: bool, budget: SearchBudget
) -> Iterator[tuple[tuple[int, ...], EqualTerms]]:
    """Yield every non-empty set of the subgoals ``indices`` that one row can match at once, with the terms that this makes equal, in lexicographic order.

    A row can be critical by any of these sets, not only by single subgoals or by maximal sets. With ``only_single``, sets of one subgoal only.
    """
    stack: list[tuple[tuple[int, ...], EqualTerms]] = [((index,), EqualTerms()) for index in reversed(indices)]
    while stack:
        subgoals, classes = stack.pop()
        yield subgoals, classes.copy()
        if only_single:
            continue
        first = query.atoms[subgoals[0]].terms
        for index in reversed(indices[indices.index(subgoals[-1]) + 1 :]):
            budget.tick()
            merged = classes.copy()
            if merged.merge_rows(first, query.atoms[index].terms, range(len(first))) and respects_null(
                merged, query.filled
            ):
                stack.append(((*subgoals, index), merged))
