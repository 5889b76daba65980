"""Unification by union-find over codes; a constant is always the representative of its class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reticent.views.integer_queries import NULL_CODE, CodedAtom


class EqualTerms:
    """Terms that must be equal. Mutable: classes are only merged; :meth:`copy` starts a branch.

    The two one-step rules of Algorithm 2 in [Machanavajjhala2008] are read as their transitive closure.
    """

    __slots__ = ("_parent",)

    def __init__(self, parent: dict[int, int] | None = None) -> None:
        self._parent: dict[int, int] = {} if parent is None else parent

    def copy(self) -> EqualTerms:
        """Return an independent copy."""
        return EqualTerms(dict(self._parent))

    def find(self, code: int) -> int:
        """Return the representative of a term's class."""
        parent = self._parent
        root = code
        while (above := parent.get(root, root)) != root:
            root = above
        while code != root:
            code, parent[code] = parent.get(code, code), root
        return root

    def merge(self, left: int, right: int) -> bool:
        """Make two terms equal; return False if they are different constants."""
        left, right = self.find(left), self.find(right)
        if left == right:
            return True
        if left < 0 and right < 0:
            return False
        if left < 0:
            self._parent[right] = left
        else:
            self._parent[left] = right
        return True

    def merge_rows(self, left: Sequence[int], right: Sequence[int], positions: Iterable[int]) -> bool:
        """Make two rows equal at some positions."""
        return all(self.merge(left[position], right[position]) for position in positions)

    def apply(self, terms: Iterable[int]) -> tuple[int, ...]:
        """Return the terms replaced by their representatives."""
        find = self.find
        return tuple(find(code) for code in terms)

    def members(self) -> Iterable[tuple[int, int]]:
        """Yield every merged term with its representative."""
        return [(code, self.find(code)) for code in list(self._parent)]


def unify(atoms: Sequence[CodedAtom]) -> EqualTerms | None:
    """Return the equalities of terms that make all subgoals one row; None if they contradict each other."""
    first, *rest = atoms
    classes = EqualTerms()
    for atom in rest:
        if atom.relation != first.relation or not classes.merge_rows(first.terms, atom.terms, range(len(first.terms))):
            return None
    return classes


def respects_null(classes: EqualTerms, filled: frozenset[int]) -> bool:
    """True if no variable that must be non-NULL was made NULL."""
    return all(root != NULL_CODE or code not in filled for code, root in classes.members())
