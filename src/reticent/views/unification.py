"""Unification by union-find over codes; a constant is always the representative of its class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reticent.views.integer_queries import NULL_CODE, CodedAtom


class EqualTerms:
    """Terms that must be equal. Mutable: it only ever merges; :meth:`copy` starts a branch.

    Algorithm 2's two one-step rules are taken as their transitive closure, which is what the thesis means.
    """

    __slots__ = ("_parent",)

    def __init__(self, parent: dict[int, int] | None = None) -> None:
        self._parent: dict[int, int] = {} if parent is None else parent

    def copy(self) -> EqualTerms:
        """The same classes, to be merged further on their own."""
        return EqualTerms(dict(self._parent))

    def find(self, code: int) -> int:
        """The representative of a term's class."""
        parent = self._parent
        root = code
        while (above := parent.get(root, root)) != root:
            root = above
        while code != root:
            code, parent[code] = parent.get(code, code), root
        return root

    def merge(self, left: int, right: int) -> bool:
        """Make two terms equal; False when two different constants would be."""
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
        """The terms with every one replaced by its representative."""
        find = self.find
        return tuple(find(code) for code in terms)

    def members(self) -> Iterable[tuple[int, int]]:
        """Every merged term with its representative."""
        return [(code, self.find(code)) for code in list(self._parent)]


def unify(atoms: Sequence[CodedAtom]) -> EqualTerms | None:
    """The classes that make all subgoals one row, or None."""
    first, *rest = atoms
    classes = EqualTerms()
    for atom in rest:
        if atom.relation != first.relation or not classes.merge_rows(first.terms, atom.terms, range(len(first.terms))):
            return None
    return classes


def respects_null(classes: EqualTerms, filled: frozenset[int]) -> bool:
    """Whether no variable that must be filled was made NULL."""
    return all(root != NULL_CODE or code not in filled for code, root in classes.members())
