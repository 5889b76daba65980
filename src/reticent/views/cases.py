"""Case analysis for finite domains, comparisons, keys and NULL.

Freezing variables to distinct constants is exact only for large, unordered domains. Here the values come from a
:class:`~reticent.views.variable_models.Theory`. If the answer survives the removal of the row under one choice of
values, the homomorphism that preserves it depends on certain conditions; any other solution must violate one of them,
so the search branches on those conditions only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reticent.views.budget import SearchBudget
from reticent.views.chase import keyed_pairs
from reticent.views.containment import answer_remains
from reticent.views.homomorphism import gather
from reticent.views.integer_queries import NULL_CODE, CodedQuery, CodedUnion, Fact
from reticent.views.schema import Schema
from reticent.views.variable_models import Literal, Model, Theory, negation


@dataclass(frozen=True)
class Removal:
    """One query whose subgoals ``gamma`` of ``query`` are mapped to the row in question; ``union`` is the whole query."""

    union: CodedUnion
    query: CodedQuery
    gamma: frozenset[int]


class Cases:
    """Search for values under which every removal loses its answer. Holds the fixed parts of the problem."""

    def __init__(
        self, removals: Sequence[Removal], theory: Theory, schema: Schema | None, budget: SearchBudget
    ) -> None:
        self._removals = removals
        self._theory = theory
        self._schema = schema
        self._budget = budget

    def solve(self, literals: list[Literal]) -> Model | None:
        """Return values of the variables that satisfy the literals and under which every removal of subgoals loses its
        answer; None if there are none.

        A clause that the model violates is solved literal by literal; a literal that failed is excluded from the later
        branches by its negation, unless NULL could falsify both.
        """
        model = self._theory.model(literals, self._budget)
        if model is None:
            return None
        alternatives = self._objection(model)
        if alternatives is None:
            return model
        excluded: list[Literal] = []
        for alternative in alternatives:
            self._budget.tick()
            solution = self.solve([*literals, *excluded, alternative])
            if solution is not None:
                return solution
            if alternative[0] in ("=", "!=") or not any(self._theory.may_be_null(code) for code in alternative[1:]):
                excluded.append(negation(alternative))
        return None

    def _objection(self, model: Model) -> list[Literal] | None:
        """Return a clause of literals that the model violates, one of which must hold; None if the model is a solution."""
        for removal in self._removals:
            broken = self._broken_key(removal.query, model)
            if broken is not None:
                return broken
        for removal in self._removals:
            survival = self._survival(removal, model)
            if survival is not None:
                return survival
        return None

    def _broken_key(self, query: CodedQuery, model: Model) -> list[Literal] | None:
        """Return literals of which one must hold so that two subgoals do not violate a key in the model; None if no key is violated."""
        if self._schema is None:
            return None
        for left, right, key in keyed_pairs(query, self._schema):
            low, high = _ground(left, model), _ground(right, model)
            if low == high or any(low[column] != high[column] for column in key.columns):
                continue
            if key.partial and any(low[column] == NULL_CODE for column in key.columns):
                continue
            position = next(position for position in range(len(low)) if low[position] != high[position])
            alternatives: list[Literal] = [("=", left[position], right[position])]
            for column in key.columns:
                alternatives += self._unequal(left[column], right[column])
                if key.partial:
                    alternatives += self._null(left[column])
            return alternatives
        return None

    def _survival(self, removal: Removal, model: Model) -> list[Literal] | None:
        """Return literals of which one must hold so that the subgoals that remain after a removal no longer give the
        answer; None if the model already loses it.
        """
        query = removal.query
        remaining = [atom for index, atom in enumerate(query.atoms) if index not in removal.gamma]
        symbolic: dict[tuple[str, Fact], Fact] = {}
        for atom in remaining:
            symbolic.setdefault((atom.relation, _ground(atom.terms, model)), atom.terms)
        answer = answer_remains(
            removal.union, gather(symbolic), _ground(query.head, model), self._budget, self._theory.compare
        )
        if answer is None:
            return None
        disjunct = removal.union.disjuncts[answer[0]]
        images = [symbolic[atom.relation, row] for atom, row in zip(disjunct.atoms, answer[1], strict=True)]
        return self._ways_out(disjunct, images, query.head)

    def _ways_out(self, query: CodedQuery, images: list[Fact], head: Fact) -> list[Literal]:
        """Return the negated conditions of the homomorphism from ``query`` to ``images`` with this ``head``: if one
        holds, it is no homomorphism.
        """
        image: dict[int, int] = {}
        negations: dict[Literal, None] = {}
        rows = [(atom.terms, terms) for atom, terms in zip(query.atoms, images, strict=True)]
        for terms, values in [*rows, (query.head, head)]:
            for term, value in zip(terms, values, strict=True):
                expected = term if term < 0 else image.setdefault(term, value)
                negations.update(dict.fromkeys(self._unequal(value, expected)))
        for operator, left, right in query.comparisons:
            low, high = image.get(left, left), image.get(right, right)
            if low >= 0 or high >= 0:
                negations[negation((operator, low, high))] = None
                if operator != "!=":
                    negations.update(dict.fromkeys(self._null(low) + self._null(high)))
        for variable in query.required:
            negations.update(dict.fromkeys(self._null(image[variable])))
        return list(negations)

    def _unequal(self, left: int, right: int) -> list[Literal]:
        return [] if left == right else [("!=", left, right)]

    def _null(self, code: int) -> list[Literal]:
        return [("=", code, NULL_CODE)] if code >= 0 and self._theory.may_be_null(code) else []


def _ground(terms: Fact, model: Model) -> Fact:
    return tuple(code if code < 0 else model[code] for code in terms)
