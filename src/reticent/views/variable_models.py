"""Find values for the variables of a frozen query: equalities, order, finite domains and NULL combined.

This makes the finite-domain check and comparisons exact without enumerating a grid: a :class:`Theory` decides whether a
set of literals has a solution, and returns one in which variables get different values wherever the literals allow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from reticent.views.budget import SearchBudget
from reticent.views.constants import order_key
from reticent.views.integer_queries import NULL_CODE, Codebook, CodedQuery
from reticent.views.sorts import Place, Sorts
from reticent.views.unification import EqualTerms
from reticent.views.value_grid import dense_between, fill_gaps, line_up, reachable, whole_between

Literal = tuple[str, int, int]
Model = dict[int, int]


def negation(literal: Literal) -> Literal:
    """Return the literal that holds exactly when this one does not, for non-NULL values."""
    operator, left, right = literal
    if operator == "<":
        return ("<=", right, left)
    if operator == "<=":
        return ("<", right, left)
    return ("!=" if operator == "=" else "=", left, right)


class Theory:
    """The variables of one or two frozen queries with their domains, and the sorts that order them."""

    def __init__(self, sides: Sequence[CodedQuery], sorts: Sorts, book: Codebook) -> None:
        """Collect which variables of the queries are non-NULL or integral, their finite domains, and the column group
        of each.
        """
        self._book = book
        self._sorts = sorts
        self._filled: set[int] = set()
        self._domains: dict[int, frozenset[int]] = {}
        self._sort: dict[int, Place] = {}
        self._whole: set[int] = set()
        self.variables: list[int] = []
        for side in sides:
            self.variables += range(side.offset, side.offset + side.count)
            self._filled |= side.filled
            self._domains.update(side.domains)
            for atom in side.atoms:
                for position, code in enumerate(atom.terms):
                    if code >= 0:
                        self._sort[code] = sorts.of(atom.relation, position)
                        if sorts.whole(atom.relation, position):
                            self._whole.add(code)

    def may_be_null(self, code: int) -> bool:
        """True if the term is not known to be non-NULL."""
        return code == NULL_CODE or (code >= 0 and code not in self._filled)

    def compare(self, operator: str, left: int, right: int) -> bool:
        """Compare two values of a model; NULL is only ever different."""
        if operator == "!=":
            return left != right
        if NULL_CODE in (left, right):
            return False
        if left == right:
            return operator == "<="
        return bool(order_key(self._book.constant(left)) < order_key(self._book.constant(right)))

    def model(self, literals: Iterable[Literal], budget: SearchBudget) -> Model | None:
        """Return values for all variables that satisfy the literals, or None if there are none."""
        literals = list(literals)
        classes = EqualTerms()
        if not all(classes.merge(left, right) for operator, left, right in literals if operator == "="):
            return None
        if not self._close_order(classes, literals):
            return None
        return _Assignment(self, classes, literals, budget).solve()

    def _close_order(self, classes: EqualTerms, literals: Sequence[Literal]) -> bool:
        """Merge terms that ``<=`` forces to be equal; return False on a strict cycle or a comparison with NULL."""
        while True:
            edges = self._order_edges(classes, literals)
            if edges is None:
                return False
            above = reachable(edges)
            merged = False
            for low, high, strict in edges:
                if low in above[high]:
                    if strict or not classes.merge(low, high):
                        return False
                    merged = merged or low != high
            if not merged:
                return True

    def _order_edges(self, classes: EqualTerms, literals: Sequence[Literal]) -> list[tuple[int, int, bool]] | None:
        """Return the order between classes that literals and constants impose; None if NULL would have to be ordered."""
        edges: list[tuple[int, int, bool]] = []
        for operator, left, right in literals:
            if operator in ("<", "<="):
                low, high = classes.find(left), classes.find(right)
                if NULL_CODE in (low, high):
                    return None
                edges.append((low, high, operator == "<"))
        edges = [edge for edge in edges if edge[0] != edge[1] or edge[2]]
        constants = {code for low, high, _ in edges for code in (low, high) if code < 0}
        for kind in {self._book.constant(code).kind for code in constants}:
            rising = sorted(
                (code for code in constants if self._book.constant(code).kind == kind),
                key=lambda code: order_key(self._book.constant(code)),
            )
            edges += [(low, high, True) for low, high in pairwise(rising)]
        return edges


class _Assignment:
    """One attempt to assign values to classes. Mutable scratch space of :meth:`Theory.model`."""

    def __init__(self, theory: Theory, classes: EqualTerms, literals: Sequence[Literal], budget: SearchBudget) -> None:
        """Collect, for each class of equal terms, its variables, domain and whether it is non-NULL, and the pairs that
        differ or are ordered.
        """
        self.theory, self.classes, self.budget = theory, classes, budget
        self.book = theory._book
        self.filled: set[int] = set()
        self.domains: dict[int, frozenset[int]] = {}
        self.members: dict[int, list[int]] = {}
        self.differ: set[tuple[int, int]] = set()
        self.below: set[tuple[int, int, bool]] = set()
        for operator, left, right in literals:
            low, high = classes.find(left), classes.find(right)
            if operator == "!=":
                self.differ.add((low, high))
            elif operator != "=":
                self.filled |= {low, high}
                if low != high or operator == "<":
                    self.below.add((low, high, operator == "<"))
        for code in theory.variables:
            root = classes.find(code)
            self.members.setdefault(root, []).append(code)
            if code in theory._filled:
                self.filled.add(root)
            if code in theory._domains:
                self.domains[root] = self.domains.get(root, theory._domains[code]) & theory._domains[code]

    def solve(self) -> Model | None:
        """Return values of all variables; None if there are none.

        Classes in ordered column groups get values from a line or a grid of constants and values between them, classes
        with finite domains are searched, and every other class is its own value.
        """
        if any(low == high for low, high in self.differ):
            return None
        for root in self.members:
            if root == NULL_CODE:
                if root in self.filled:
                    return None
            elif root < 0 and not self._holds(root):
                return None
        free = [root for root in self.members if root >= 0]
        options: dict[int, list[int]] = {}
        values: dict[int, int] = {}
        by_sort: dict[Place, list[int]] = {}
        for root in free:
            sort = self._ordered(root)
            if sort is not None:
                by_sort.setdefault(sort, []).append(root)
            elif root in self.domains:
                options[root] = self._finite(root)
            else:
                values[root] = root
        for sort, roots in by_sort.items():
            if any(root in self.domains or self._whole(root) for root in roots):
                options.update(self._grid(sort, roots))
            else:
                values_on_line = self._line(sort, roots)
                if values_on_line is None:
                    return None
                values.update(values_on_line)
        if any(not choice for choice in options.values()) or not self._search(options, values):
            return None
        find = self.classes.find
        return {code: root if (root := find(code)) < 0 else values[root] for code in self.theory.variables}

    def _holds(self, root: int) -> bool:
        """True if the constant assigned to a class fits its domain and the integrality of its columns."""
        if root in self.domains and root not in self.domains[root]:
            return False
        return (
            not self._whole(root)
            or self.book.constant(root).kind != "number"
            or isinstance(self.book.constant(root).value, int)
        )

    def _ordered(self, root: int) -> Place | None:
        sort = self.theory._sort[self.members[root][0]]
        return sort if sort in self.theory._sorts.ordered else None

    def _whole(self, root: int) -> bool:
        return any(code in self.theory._whole for code in self.members[root])

    def _finite(self, root: int) -> list[int]:
        return sorted(self.domains[root], reverse=True) + ([] if root in self.filled else [NULL_CODE])

    def _line(self, sort: Place, roots: list[int]) -> dict[int, int] | None:
        """Return different values for the classes of an ordered column group without gaps in its values; None if a gap
        between constants is too narrow.

        Constants and classes are lined up; each run of classes takes values between the constants around it.
        """
        kind, constants = self.theory._sorts.ordered[sort].kind, self.theory._sorts.ordered[sort].constants
        line = line_up(list(constants), roots, self.below)
        values: dict[int, int] = {}
        start = 0
        while start < len(line):
            if line[start] < 0:
                start += 1
                continue
            end = start
            while end < len(line) and line[end] >= 0:
                end += 1
            low = self.book.constant(line[start - 1]) if start else None
            high = self.book.constant(line[end]) if end < len(line) else None
            values_between = dense_between(kind, low, high, end - start)
            if len(values_between) < end - start:
                return None
            values.update({line[start + index]: self.book.code(item) for index, item in enumerate(values_between)})
            start = end
        return values

    def _grid(self, sort: Place, roots: list[int]) -> dict[int, list[int]]:
        """Return candidate values (codes) for each class of an ordered column group with integral or finite columns:
        the constants, and enough values around them.
        """
        ordered = self.theory._sorts.ordered[sort]
        constants = [self.book.constant(code) for code in ordered.constants]
        count = len(roots)
        wholes = fill_gaps(constants, lambda low, high: whole_between(ordered.kind, low, high, count))
        dense = constants + wholes
        if any(root not in self.domains and not self._whole(root) for root in roots):
            dense.sort(key=order_key)
            dense += fill_gaps(dense, lambda low, high: dense_between(ordered.kind, low, high, count))
        options = {}
        for root in roots:
            if root in self.domains:
                options[root] = self._finite(root)
                continue
            items = wholes + constants if self._whole(root) else dense
            if self._whole(root):
                items = [item for item in items if item.kind != "number" or isinstance(item.value, int)]
            options[root] = [self.book.code(item) for item in dict.fromkeys(items)]
            if root not in self.filled:
                options[root].append(NULL_CODE)
        return options

    def _search(self, options: dict[int, list[int]], values: dict[int, int]) -> bool:
        """Choose one of the options for every class of equal variables, and store it in ``values``; return whether that
        is possible.
        """
        options = {root: self._unary(root, choice) for root, choice in options.items()}
        if any(not choice for choice in options.values()):
            return False
        return self._choose(options, values)

    def _unary(self, root: int, choice: list[int]) -> list[int]:
        """Return the values of ``choice`` that satisfy all comparisons of one class of equal variables with constants."""
        for low, high in self.differ:
            if root in (low, high):
                other = high if root == low else low
                choice = [code for code in choice if code != other]
        for low, high, strict in self.below:
            operator = "<" if strict else "<="
            if root == low and high < 0:
                choice = [code for code in choice if self.theory.compare(operator, code, high)]
            if root == high and low < 0:
                choice = [code for code in choice if self.theory.compare(operator, low, code)]
        return choice

    def _choose(self, options: dict[int, list[int]], values: dict[int, int]) -> bool:
        """Assign values by backtracking, the class of equal variables with the fewest options first, unused values
        first; return whether it succeeded.
        """
        if not options:
            return True
        root = min(options, key=lambda key: len(options[key]))
        used = set(values.values())
        for code in sorted(options[root], key=lambda item: (item == NULL_CODE, item in used)):
            self.budget.tick()
            remaining = self._after(root, code, options)
            if remaining is None:
                continue
            values[root] = code
            if self._choose(remaining, values):
                return True
            del values[root]
        return False

    def _after(self, root: int, code: int, options: dict[int, list[int]]) -> dict[int, list[int]] | None:
        """Return the options of the other classes of equal variables after ``root`` got the value ``code``; None if one
        has none left.
        """
        remaining = {other: choice for other, choice in options.items() if other != root}
        compare = self.theory.compare
        for low, high in self.differ:
            other = high if low == root else low if high == root else None
            if other in remaining:
                remaining[other] = [item for item in remaining[other] if item != code]
        for low, high, strict in self.below:
            operator = "<" if strict else "<="
            if low == root and high in remaining:
                remaining[high] = [item for item in remaining[high] if compare(operator, code, item)]
            elif high == root and low in remaining:
                remaining[low] = [item for item in remaining[low] if compare(operator, item, code)]
        return remaining if all(remaining.values()) else None
