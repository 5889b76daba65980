"""The core decision: do two queries have a common critical row? Source: [Miklau2004]; [Machanavajjhala2006]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reticent.views.budget import SearchBudget
from reticent.views.cases import Cases, Removal
from reticent.views.chase import chase
from reticent.views.critical import APART, CriticalSubgoals, Signature, base_literals, loses_answer
from reticent.views.integer_queries import NULL_CODE, CodedQuery, Fact
from reticent.views.links import RowTie, ties_of
from reticent.views.schema import RowDependence
from reticent.views.sorts import Sorts
from reticent.views.unification import EqualTerms, respects_null
from reticent.views.variable_models import Literal, Model, Theory


@dataclass(frozen=True)
class Collision:
    """Two sets of subgoals that one row (with keys: two mutually exclusive rows) makes critical in both queries.

    ``model`` assigns every variable of both disjuncts a value: the code of a constant, or the number of a class of
    variables that represents a distinct value.
    """

    secret: CodedQuery
    view: CodedQuery
    secret_gamma: frozenset[int]
    view_gamma: frozenset[int]
    relation: str
    meeting: RowDependence
    classes: EqualTerms
    model: Model

    def pattern(self, of_view: bool = False) -> Fact:
        """Return the row pattern that both sides force, by default at the secret's subgoal."""
        query, gamma = (self.view, self.view_gamma) if of_view else (self.secret, self.secret_gamma)
        return self.classes.apply(query.atoms[min(gamma)].terms)


def find_collision(
    secret: Signature, view: Signature, budget: SearchBudget, same_row: bool = False
) -> Collision | None:
    """Return a common critical row of two unions, or None if there is none: then the view is private against the
    secret.

    ``same_row`` requires the same row even if a key would allow two different ones. Sets of one subgoal are tried
    first, because most colliding pairs collide there. If no two subgoals unify, no larger sets do, and the relation is
    done.
    """
    relations = [name for name in sorted(secret.relations & view.relations) if _may_meet(secret, view, name)]
    pair = _Pair(secret, view, budget, same_row)
    for single in (True, False):
        for relation in relations:
            for first in secret.live(relation, budget, single):
                for second in view.live(relation, budget, single):
                    if single or len(first.gamma) + len(second.gamma) > 2:
                        collision = pair.meet(first, second)
                        if collision is not None:
                            return collision
    return None


def find_ties(secret: Signature, view: Signature, budget: SearchBudget) -> Iterator[tuple[Collision, RowTie]]:
    """Yield rows critical to one union each that keys and foreign keys may link, for the case that no row is critical
    to both; if there are none, the answers are independent.
    """
    pair = _Pair(secret, view, budget, False)
    for single in (True, False):
        for relation in sorted(secret.relations):
            ties = [tie for tie in ties_of(relation, secret.setting.schema) if tie.relation in view.relations]
            for tie in ties:
                for first in secret.live(relation, budget, single):
                    for second in view.live(tie.relation, budget, single):
                        if single or len(first.gamma) + len(second.gamma) > 2:
                            collision = pair.meet_by(first, second, [tie.meeting])
                            if collision is not None:
                                yield collision, tie


def _may_meet(secret: Signature, view: Signature, relation: str) -> bool:
    """Return whether a row that the secret reads can be a row that the view reads, judged by constants alone; False
    proves that none can.
    """
    meetings = secret.setting.schema.relation(relation).meetings
    return any(
        not _clash(first, second, meeting)
        for meeting in meetings
        for first in secret.rows[relation]
        for second in view.rows[relation]
    )


def _clash(first: Fact, second: Fact, meeting: RowDependence) -> bool:
    """True if two rows of terms have different constants (negative codes) where the dependence requires equal values."""
    return any(
        first[column] < 0 and second[view_column] < 0 and first[column] != second[view_column]
        for column, view_column in meeting.pairs
    )


class _Pair:
    """The fixed parts of one check. The joint sorts of both queries are computed only when needed."""

    def __init__(self, secret: Signature, view: Signature, budget: SearchBudget, same_row: bool) -> None:
        """Compare the critical rows of two queries; ``plain`` if neither has comparisons, finite domains or undecided
        NULLs.
        """
        self.secret, self.view, self.budget = secret, view, budget
        self.same_row = same_row
        self.setting = secret.setting
        self.plain = secret.plain and view.plain
        self._sorts: Sorts | None = None

    def meet(self, first: CriticalSubgoals, second: CriticalSubgoals) -> Collision | None:
        """Return a common critical row of two live sets (subgoals that one critical row can match at once) of one
        relation; None if there is none.
        """
        everything = RowDependence(tuple(range(len(first.pattern))))
        meetings = (everything,) if self.same_row else self.setting.schema.relation(first.relation).meetings
        return self.meet_by(first, second, meetings)

    def meet_by(
        self, first: CriticalSubgoals, second: CriticalSubgoals, meetings: Sequence[RowDependence]
    ) -> Collision | None:
        """Return a common critical row of two live sets, or rows that depend on each other in one of the given ways,
        such as an equal key; None if there are none.
        """
        for meeting in meetings:
            self.budget.tick()
            if _clash(first.pattern, second.pattern, meeting):
                continue
            query = self.secret.union.disjuncts[first.disjunct]
            other = self.view.moved[second.disjunct]
            classes = self._joined(first, second, query, other, meeting)
            if classes is None:
                continue
            model = self._model(first, second, query, other, classes, meeting)
            if model is not None:
                return Collision(query, other, first.gamma, second.gamma, first.relation, meeting, classes, model)
        return None

    def _joined(
        self,
        first: CriticalSubgoals,
        second: CriticalSubgoals,
        query: CodedQuery,
        other: CodedQuery,
        meeting: RowDependence,
    ) -> EqualTerms | None:
        """Return the equalities of terms that both sets and the meeting of their rows imply, closed under the keys;
        None if they contradict each other.
        """
        classes = first.classes.copy()
        merged = all(classes.merge(left, right) for left, right in _moved(second.classes))
        terms = query.atoms[min(first.gamma)].terms
        other_terms = other.atoms[min(second.gamma)].terms
        if not merged or not all(
            classes.merge(terms[column], other_terms[view_column]) for column, view_column in meeting.pairs
        ):
            return None
        if meeting.filled and any(classes.find(terms[column]) == NULL_CODE for column in meeting.columns):
            return None
        if not respects_null(classes, query.filled | other.filled):
            return None
        before = None
        while self.setting.exact_keys and before != (now := sorted(classes.members())):
            before = now
            if not chase(query, classes, self.setting.schema) or not chase(other, classes, self.setting.schema):
                return None
        return classes

    def _model(
        self,
        first: CriticalSubgoals,
        second: CriticalSubgoals,
        query: CodedQuery,
        other: CodedQuery,
        classes: EqualTerms,
        meeting: RowDependence,
    ) -> Model | None:
        """Return values of the variables for which the row is critical to both queries; None if there are none.

        Queries without comparisons, finite domains and undecided NULLs need no search: different variables are
        different values, and only a set that the meeting narrowed is tested again.
        """
        if self.plain:
            sides = ((self.secret, first, query), (self.view, second, other))
            for signature, live, side in sides:
                if live.robust or not _narrowed(live, side, classes):
                    continue
                if not loses_answer(signature, side, live.gamma, classes, self.budget):
                    return None
            codes = [code for side in (query, other) for code in range(side.offset, side.offset + side.count)]
            return {code: classes.find(code) for code in codes}
        literals: list[Literal] = base_literals(classes, query, other)
        if meeting.filled:
            terms = query.atoms[min(first.gamma)].terms
            literals += [("!=", terms[column], NULL_CODE) for column in meeting.columns]
        cases = Cases(
            [Removal(self.secret.union, query, first.gamma), Removal(self.view.union, other, second.gamma)],
            Theory([query, other], self._sorted(), self.setting.book),
            self.setting.schema if self.setting.exact_keys else None,
            self.budget,
        )
        return cases.solve(literals)

    def _sorted(self) -> Sorts:
        """Return the classes of columns whose values are compared with each other in the two queries; computed once."""
        if self._sorts is None:
            self._sorts = Sorts((self.secret.union, self.view.union), self.setting.schema, self.setting.book)
        return self._sorts


def _moved(classes: EqualTerms) -> Iterator[tuple[int, int]]:
    """Yield each term of the view with its representative, both with variables renamed apart from the secret."""
    for code, root in classes.members():
        yield (code + APART if code >= 0 else code), (root + APART if root >= 0 else root)


def _narrowed(live: CriticalSubgoals, query: CodedQuery, classes: EqualTerms) -> bool:
    """True if meeting the other query forces more on this one than its own live set did.

    If not, the row is the same up to variable names, and the verdict on the live set holds.
    """
    back: dict[int, int] = {}
    for number in range(query.count):
        old, new = live.classes.find(number), classes.find(number + query.offset)
        if back.setdefault(new, old) != old or (new < 0 <= old):
            return True
    return False
